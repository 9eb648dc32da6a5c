"""Credit of ADF: 600 applicants for a loan in 20 integer columns, and whether they were good risks.

The datasheet is at the head of ``data_scripts/make_credit_adf.py``. All columns but the sensitive ones are integers;
`fairlab.data.encoding.codes` gives the integers of those, too, as the published networks take them.

What the surrogate gets right: the distribution of every column by sex, values with fewer than ten applicants merged
with their neighbours; pairwise association, as far as 600 rows fix it. What it does not: anything about three columns
together.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `credit-adf`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("credit-adf", surrogate=surrogate)
