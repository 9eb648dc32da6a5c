"""Thresholds that cut numbers into parts of similar size."""

import numpy as np


def find_thresholds(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Return thresholds that cut numbers into parts of similar size.

    With at most `max_bins` distinct values, all midpoints between neighbours. Otherwise the target is a multiple
    of ``n / (max_bins + 1)``: a threshold lies halfway before the first value up to which, itself included, the count
    is further from the target than without it.
    """
    distinct, counts = np.unique(values, return_counts=True)
    midpoints = (distinct[1:] + distinct[:-1]) / 2
    if len(distinct) <= max_bins:
        return midpoints
    cumulative = counts.cumsum()
    # Counts before and after a value lie on both sides of the target or on one; either way the one before is the
    # nearer of the two if and only if their sum exceeds twice the target.
    both = cumulative[1:] + cumulative[:-1]
    step = len(values) / (max_bins + 1)
    chosen, target = [], step
    while (place := max(np.searchsorted(both, 2 * target, side="right"), chosen[-1] + 1 if chosen else 0)) < len(both):
        chosen.append(place)
        target += step
    return midpoints[chosen]
