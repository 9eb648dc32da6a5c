"""How many groups a search has to sample, by counting."""

from collections.abc import Iterable, Mapping

import numpy as np

MOST_CHARACTERISTICS = 24


def n_groups(sizes: Mapping[str, int], found: Iterable[Iterable[str]] = ()) -> float:
    """Return how many groups all sets of characteristics have together.

    A set has a group for every combination of its values. Without found sets that makes the product of one more than
    each size, less one.

    Parameters
    ----------
    sizes : mapping of str to int
        Number of values of each characteristic.
    found : iterable of iterables of str
        Sets whose proper supersets are left out, as pruning does.

    Raises
    ------
    ValueError
        If there are more than `MOST_CHARACTERISTICS` characteristics, whose sets are too many to go through.
    """
    if len(sizes) > MOST_CHARACTERISTICS:
        raise ValueError(f"{len(sizes)} characteristics, expected at most {MOST_CHARACTERISTICS}")
    # Sets are numbered by bits; a set that holds the next characteristic has as many times the groups.
    groups = np.ones(1)
    for size in sizes.values():
        groups = np.concatenate([groups, groups * size])
    numbers, bit = np.arange(len(groups)), dict(zip(sizes, 1 << np.arange(len(sizes)), strict=True))
    groups[0] = 0.0
    for names in found:
        members = sum(bit[name] for name in names)
        groups[(numbers & members == members) & (numbers != members)] = 0.0
    return float(groups.sum())
