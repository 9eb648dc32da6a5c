"""The Census that Themis' subject systems learn from: 15,360 rows of UCI Adult in integer codes.

The datasheet is at the head of ``data_scripts/make_census_balanced.py``. Half of the people have a high income, and
race and income are confounded. Columns of codes are categories of digits; for integers use ``features.astype(int)``.

What the surrogate gets right: counts of sex by race, the share of high incomes in each (so the confounding is kept),
the distribution of every column by race and sex, pairwise association. What it does not: the order of the rows;
combinations of categories that never occur together; countries with fewer than 10 people in a group.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `census-balanced`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("census-balanced", surrogate=surrogate)
