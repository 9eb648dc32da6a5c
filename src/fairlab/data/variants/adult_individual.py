"""UCI Adult for individual fairness: the 45,222 people without an unknown entry, sex and race not among the features.

The datasheet is at the head of ``data_scripts/make_adult_individual.py``.

What the surrogate gets right: counts of sex by race; the distribution of every column by race and sex; pairwise
association. What it does not: combinations of categories that never occur together (a husband who never married) do;
all groups have the same correlations; a category with fewer than 10 people in a group never occurs in it.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `adult-individual`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("adult-individual", surrogate=surrogate)
