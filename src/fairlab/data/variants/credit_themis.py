"""The Credit table that Themis' subject systems learn from: 600 rows of German Credit in integer codes.

The datasheet is at the head of ``data_scripts/make_credit_themis.py``. Columns of codes are categories of digits; for
integers use ``features.astype(int)``. Sex is among the features.

What the surrogate gets right: the distribution of every column by sex, association with the label. What it does not:
values and categories with fewer than 10 loans, which are merged or left out, and with 600 rows that is many; the
association of categories that hardly go with the label, such as job with telephone, which is lost; the order of the
rows, bad loans first; exactly 300 bad loans.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `credit-themis`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("credit-themis", surrogate=surrogate)
