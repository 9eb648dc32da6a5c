"""Berkeley: gender, department and admission of 4,425 applicants of 1973.

The datasheet is at the head of ``data_scripts/make_berkeley.py``. The rows are made from published counts: nothing is
downloaded, and no surrogate is needed.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load() -> Dataset:
    """Load `berkeley`."""
    return load_variant("berkeley")
