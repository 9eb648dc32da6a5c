"""Scores of many small programs at once, to check what the paper proves (theorems 4.1 to 4.3 and 5.1)."""

from itertools import product

import numpy as np

from fairlab.themis.exact import subsets

LARGEST = 16  # inputs of a program of which all are made


def all_programs(sizes: tuple[int, ...]) -> np.ndarray:
    """Return all programs on a small input space as output tables, shape (n_programs, *sizes).

    Raises
    ------
    ValueError
        If there are more than `LARGEST` inputs, so that the programs are too many.
    """
    n_inputs = int(np.prod(sizes))
    if n_inputs > LARGEST:
        raise ValueError(f"{n_inputs} inputs have 2^{n_inputs} programs; expected at most {LARGEST} inputs")
    bits = np.arange(2**n_inputs, dtype=np.uint32)[:, None] >> np.arange(n_inputs, dtype=np.uint32) & 1
    return bits.astype(bool).reshape(-1, *sizes)


def random_programs(sizes: tuple[int, ...], n_programs: int, rng: np.random.Generator) -> np.ndarray:
    """Return programs whose outputs are true at random, each at its own rate, shape (n_programs, *sizes)."""
    rates = rng.random((n_programs, *[1] * len(sizes)))
    return rng.random((n_programs, *sizes)) < rates


def scores_of_sets(programs: np.ndarray, *, measure: str) -> np.ndarray:
    """Return the exact scores of all sets of characteristics, in the order of `fairlab.themis.exact.subsets`.

    Parameters
    ----------
    programs : ndarray of bool, of shape (n_programs, *sizes)
    measure : {"group", "causal"}

    Returns
    -------
    ndarray of shape (n_programs, n_sets)
    """
    n_characteristics = programs.ndim - 1
    columns = []
    for positions in subsets(n_characteristics):
        axes = tuple(position + 1 for position in positions)
        if measure == "group":
            others = tuple(axis for axis in range(1, programs.ndim) if axis not in axes)
            shares = programs.mean(axis=others).reshape(len(programs), -1)
            columns.append(np.ptp(shares, axis=1))
        else:
            changed = programs.any(axis=axes) != programs.all(axis=axes)
            columns.append(changed.reshape(len(programs), -1).mean(axis=1))
    return np.column_stack(columns)


def proper_subsets(n_characteristics: int) -> list[tuple[int, int]]:
    """Return the numbers of all pairs of sets of which the first is a proper subset of the second."""
    sets = [frozenset(positions) for positions in subsets(n_characteristics)]
    return [(i, j) for i, j in product(range(len(sets)), repeat=2) if sets[i] < sets[j]]


def prunable(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Tell which sets a search never tests: those with a proper subset that reaches the threshold.

    Parameters
    ----------
    scores : ndarray of shape (n_programs, n_sets)
    threshold : float

    Returns
    -------
    ndarray of bool, of shape (n_programs, n_sets)
    """
    n_characteristics = int(np.log2(scores.shape[1] + 1))
    pruned = np.zeros(scores.shape, dtype=bool)
    for small, large in proper_subsets(n_characteristics):
        pruned[:, large] |= scores[:, small] >= threshold
    return pruned
