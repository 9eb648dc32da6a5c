"""Law school: race, sex, LSAT and undergraduate grades of 21,791 students, and their first-year average.

The datasheet is at the head of ``data_scripts/make_law_school.py``. Race and sex are features too, since the published
models were given them. The target is a number (`positive_label` is None); experiments that need a class cut it, for
instance at its median.

What the surrogate gets right: counts of race by sex; the distributions of scores, grades and target by race and sex;
their correlations on average. What it does not: groups with fewer than 200 students share one distribution, so that
American Indian, Mexican male, Puerto Rican and other students hardly differ; all groups have the same correlations, and
every relation is monotone; halves and thirds of LSAT points are mostly merged with their neighbours.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `law-school`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("law-school", surrogate=surrogate)
