"""Thresholds that cut numbers into parts of similar size."""

from collections.abc import Callable

import numpy as np

N_BINS = 4_096  # of numbers, in one round of the search


def find_thresholds(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Return thresholds that cut numbers into parts of similar size.

    With at most `max_bins` distinct values, these are all midpoints between neighbours. Otherwise the multiples of
    ``n / (max_bins + 1)`` are targets, each with a threshold: the midpoint before the first value whose inclusion takes
    the cumulative count further from the target.
    """
    distinct, counts = np.unique(values, return_counts=True)
    return choose_thresholds(counts, distinct, distinct, max_bins)[0]


def choose_thresholds(counts: np.ndarray, low: np.ndarray, high: np.ndarray, max_bins: int) -> tuple:
    """Return the thresholds between increasing bins of numbers, and the bins that have to be refined.

    Parameters
    ----------
    counts, low, high : ndarray of shape (n_bins,)
        Number of values in each bin, its minimum and its maximum.
    max_bins : int
        Largest number of bins, or distinct values, between all of which there is a threshold.

    Returns
    -------
    tuple of ndarray
        Thresholds, and positions of bins with several numbers on which they depend; without any, they are exact.
    """
    is_clear, unclear = low == high, set()
    if len(counts) <= max_bins:
        chosen, unclear = np.arange(1, len(counts)), set(np.flatnonzero(~is_clear).tolist())
    else:
        cumulative, chosen = counts.cumsum(), []
        step = target = cumulative[-1] / (max_bins + 1)
        while (place := int(np.searchsorted(cumulative, target, side="right"))) < len(counts):
            unclear.add(place)
            # Of the counts on both sides of the target, the first is nearer if their sum exceeds twice the target.
            place += not (place and cumulative[place - 1] + cumulative[place] > 2 * target)
            if chosen and place <= chosen[-1]:
                unclear.add(chosen[-1])
                place = chosen[-1] + 1
            if place == len(counts):
                break
            chosen.append(place)
            target += step
        unclear = {place for place in unclear if not is_clear[place]}
    chosen = np.array(chosen, dtype=np.intp)
    return (high[chosen - 1] + low[chosen]) / 2, np.array(sorted(unclear), dtype=np.intp)


def refine_thresholds(bins: np.ndarray, finer: Callable[[np.ndarray], np.ndarray], max_bins: int) -> np.ndarray:
    """Return the thresholds of binned numbers, with bins refined until the thresholds are exact.

    Parameters
    ----------
    bins : ndarray of shape (n_bins, 3)
        Count, minimum and maximum of each bin.
    finer : callable
        Divides bins, each with at least two different numbers, into finer ones.
    max_bins : int

    Raises
    ------
    ValueError
        If bins cannot be cut.
    """
    while True:
        found, unclear = choose_thresholds(*bins.T, max_bins)
        if not len(unclear):
            return found
        parts = finer(bins[unclear])
        if len(parts) == len(unclear):
            raise ValueError("numbers differ by less than 1e-304; round them")
        bins = np.concatenate([np.delete(bins, unclear, axis=0), parts])
        bins = bins[np.argsort(bins[:, 1])]
