"""Bank of ADF: 45,211 telephone calls of a bank in 16 integer columns, and whether a deposit was subscribed.

The datasheet is at the head of ``data_scripts/make_bank_adf.py``. All columns but the sensitive ones are integers;
`fairlab.data.encoding.codes` gives the integers of those, too, as the published networks take them.

What the surrogate gets right: the distribution of every column by age band; pairwise association. What it does not: a
client who was never called before may have an outcome of an earlier call; bands with fewer than 200 calls share one
distribution; the largest balances exceed the cut-off a little.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `bank-adf`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("bank-adf", surrogate=surrogate)
