"""Checks of what learnt maps are told, and of numbers that their networks can hold."""

from collections.abc import Iterable

import numpy as np

from fairlab.checks import check_count, check_number

LARGEST = float(np.finfo(np.float32).max)


def check_options(estimator, *, counts: Iterable[str] = (), positive: Iterable[str] = ()) -> None:
    """Raise a ValueError unless options of an estimator are in their ranges.

    Parameters
    ----------
    estimator : scikit-learn estimator
    counts : iterable of str
        Names of those that are whole numbers of at least 1.
    positive : iterable of str
        Names of those that are finite numbers above 0.

    Raises
    ------
    ValueError
        Also unless ``hidden_layers`` is a sequence of whole numbers of at least 1.
    """
    for name in positive:
        check_number(getattr(estimator, name), name, above=0)
    for name in counts:
        check_count(getattr(estimator, name), name)
    layers = estimator.hidden_layers
    if isinstance(layers, str) or not isinstance(layers, Iterable):
        raise ValueError(f"hidden_layers: expected a sequence of widths, found {layers!r}")
    for width in layers:
        check_count(width, "hidden_layers")


def single_precision(values: np.ndarray, name: str) -> np.ndarray:
    """Return numbers in float32, in which networks reckon.

    Raises
    ------
    ValueError
        If one is too large for it: it would become infinite, and every image missing.
    """
    if (beyond := np.abs(values) > LARGEST).any():
        raise ValueError(
            f"{name}: holds {values[beyond][0]:g}, expected at most {LARGEST:.3g}, as networks take; scale it"
        )
    return values.astype(np.float32)
