"""Thresholds that cut numbers into parts of similar size."""

from collections.abc import Callable

import numpy as np

N_BINS = 4_096  # of numbers, in one round of the search


def find_thresholds(values: np.ndarray, max_bins: int) -> np.ndarray:
    """Return thresholds that cut numbers into parts of similar size.

    With at most `max_bins` distinct values, all midpoints between neighbours. Otherwise the target is a multiple
    of ``n / (max_bins + 1)``: a threshold lies halfway before the first value up to which, itself included, the count
    is further from the target than without it.
    """
    distinct, counts = np.unique(values, return_counts=True)
    return choose_thresholds(counts, distinct, distinct, max_bins)[0]


def choose_thresholds(counts: np.ndarray, low: np.ndarray, high: np.ndarray, max_bins: int) -> tuple:
    """Return the thresholds that follow from increasing bins of numbers, and the bins that have to be known better.

    Parameters
    ----------
    counts, low, high : ndarray of shape (n_bins,)
        How many numbers are in each bin, its least and its largest number.

    Returns
    -------
    tuple of ndarray
        Thresholds, and the places of bins of more than one number that they depend on; they are right if there is none.
    """
    is_clear, unclear = low == high, set()
    if len(counts) <= max_bins:
        chosen, unclear = np.arange(1, len(counts)), set(np.flatnonzero(~is_clear).tolist())
    else:
        cumulative, chosen = counts.cumsum(), []
        step = target = cumulative[-1] / (max_bins + 1)
        while (place := int(np.searchsorted(cumulative, target, side="right"))) < len(counts):
            unclear.add(place)
            # Of two counts on both sides of the target the first is the nearer one if their sum exceeds it twice.
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
    """Return the thresholds of numbers of which only bins are known, cut until all that matters is known.

    Parameters
    ----------
    bins : ndarray of shape (n_bins, 3)
        Of each the count, the least and the largest number.
    finer : callable
        Returns the bins that some bins, with two different numbers at least in each, are made of.
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
