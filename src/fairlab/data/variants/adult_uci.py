"""UCI Adult: 48,842 people of the 1994 US census survey, and whether they earned more than 50,000 dollars.

The datasheet is at the head of ``data_scripts/make_adult_uci.py``. Sex and race are among the 14 features.

What the surrogate gets right: counts of sex by race; the distribution of every column by race and sex; pairwise
association. What it does not: combinations of categories that never occur together (a husband who never married) do;
American Indian women and women of other races, fewer than 200 each, share one distribution; all groups have the same
correlations; there is no training and test part; a category with fewer than 10 people in a group never occurs in it.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `adult-uci`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("adult-uci", surrogate=surrogate)
