"""The 32,561 training rows of UCI Adult in the integer codes of Themis, AEQUITAS and ADF.

The datasheet is at the head of ``data_scripts/make_census_themis.py``. Columns of codes are categories of digits; for
the integers that the systems under test learn from, use ``features.astype(int)``. Sex and race are among the features.

What the surrogate gets right and wrong: as `fairlab.data.variants.adult_uci`, of which these rows are two thirds.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `census-themis`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("census-themis", surrogate=surrogate)
