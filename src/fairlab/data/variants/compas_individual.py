"""COMPAS for individual fairness: 5,278 people scored in Broward County, and whether they were charged again.

The datasheet is at the head of ``data_scripts/make_compas_individual.py``. Sex and race are features too, since the
published models were given them. A new charge is 1, so that 0 is the favourable outcome.

What the surrogate gets right: counts of sex by race; the distribution of every column by race and sex; pairwise
association. What it does not: all groups have the same correlations, and every relation is monotone; rare numbers of
prior charges are merged with their neighbours.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `compas-individual`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("compas-individual", surrogate=surrogate)
