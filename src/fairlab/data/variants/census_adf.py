"""Census of ADF: 32,561 people of UCI Adult in 13 integer columns, and whether they earned more than 50,000 dollars.

The datasheet is at the head of ``data_scripts/make_census_adf.py``. All columns but the sensitive ones are integers;
`fairlab.data.encoding.codes` gives the integers of those, too, as the published networks take them.

What the surrogate gets right: counts of sex by race; the distribution of every column by race and sex; pairwise
association. What it does not: combinations of codes that never occur together do; unknown workclass and occupation,
both coded 100, do not fall on the same people; groups with fewer than 200 people share one distribution.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `census-adf`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("census-adf", surrogate=surrogate)
