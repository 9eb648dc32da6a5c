"""What counts as plain data, which is all that a cached trial may return."""

import numpy as np
import pandas as pd


def is_plain(value) -> bool:
    """Return whether `value` is arrays and tables of numbers, numbers, strings and None, in dicts and sequences."""
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and is_plain(list(value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, pd.DataFrame):
        return is_plain([value.to_numpy(), value.index.to_numpy(), list(value)])
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufU"
    return value is None or isinstance(value, bool | int | float | str | np.number)
