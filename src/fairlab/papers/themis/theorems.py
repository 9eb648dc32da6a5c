"""Scores of many small programs at once, to check what the paper proves (theorems 4.1 to 4.3 and 5.1)."""

from itertools import product

import numpy as np
import pandas as pd

from fairlab.themis.score import MEASURES
from fairlab.themis.search import subsets

LARGEST = 16  # inputs of a program of which all are made
EXHAUSTIVE_SIZES = [(2, 2), (2, 3), (2, 2, 2), (3, 3), (2, 2, 3), (4, 3), (2, 2, 2, 2)]
RANDOM_SIZES = [(5, 4), (3, 4, 5), (2, 3, 4, 3), (3, 3, 2, 2, 3)]
THRESHOLDS = np.linspace(0.05, 1, 20)
MOST_COMPARED = 512  # programs of which all pairs are looked at
ROUNDING = 1e-12  # scores are sums of fractions


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


def program_spaces(n_programs: int, exhaustive_inputs: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return programs by the name of their space: all of the small ones, random ones of the larger.

    Parameters
    ----------
    n_programs : int
        Random programs on each of `RANDOM_SIZES`.
    exhaustive_inputs : int
        Most inputs of a space of `EXHAUSTIVE_SIZES` of which all programs are made.
    rng : Generator
    """
    small = [sizes for sizes in EXHAUSTIVE_SIZES if np.prod(sizes) <= exhaustive_inputs]
    spaces = {f"all of {_shape(sizes)}": all_programs(sizes) for sizes in small}
    return spaces | {f"random of {_shape(sizes)}": random_programs(sizes, n_programs, rng) for sizes in RANDOM_SIZES}


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
    for positions in subsets(range(n_characteristics)):
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
    sets = [frozenset(positions) for positions in subsets(range(n_characteristics))]
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


def count_violations(spaces: dict[str, np.ndarray], scores: dict[str, dict[str, np.ndarray]]) -> pd.DataFrame:
    """Count how often a subset scores above its superset, or the group score is above the causal one.

    Parameters
    ----------
    spaces : dict of str to ndarray
        As of `program_spaces`.
    scores : dict of str to dict of str to ndarray
        By space and measure, as of `scores_of_sets`.

    Returns
    -------
    DataFrame
        One row for each space, with the number of comparisons and the share of sets whose two scores are equal.
    """
    rows = []
    for name, of in scores.items():
        small, large = np.array(proper_subsets(spaces[name].ndim - 1)).T
        row = {"programs": name, "comparisons": len(spaces[name]) * len(small)}
        for measure, values in of.items():
            row[f"{measure}: subset higher"] = int((values[:, small] > values[:, large] + ROUNDING).sum())
        row["group above causal"] = int((of["group"] > of["causal"] + ROUNDING).sum())
        row["group equals causal"] = float((np.abs(of["group"] - of["causal"]) <= ROUNDING).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def count_ordered_pairs(scores: dict[str, dict[str, np.ndarray]]) -> pd.DataFrame:
    """Count pairs of programs of which one scores as high as the other, or higher, on every set (theorem 5.1).

    A violation is a threshold at which a set can be left out for the lower program and not for the higher.

    Parameters
    ----------
    scores : dict of str to dict of str to ndarray
        By space and measure; of each space the first `MOST_COMPARED` programs are paired.
    """
    rows = []
    for name, of in scores.items():
        for measure, values in of.items():
            some = values[:MOST_COMPARED]
            higher = (some[:, None, :] >= some[None, :, :]).all(axis=2)
            lost = 0
            for threshold in THRESHOLDS:
                pruned = prunable(some, threshold)
                lost += int((higher & (~pruned[:, None, :] & pruned[None, :, :]).any(axis=2)).sum())
            rows.append({"programs": name, "measure": measure, "ordered pairs": int(higher.sum()), "violations": lost})
    return pd.DataFrame(rows)


def count_by_scores(scores: dict[str, np.ndarray], n_characteristics: int) -> pd.DataFrame:
    """Count programs and single characteristics by their two scores.

    Parameters
    ----------
    scores : dict of str to ndarray
        By measure, as of `scores_of_sets`.
    n_characteristics : int

    Returns
    -------
    DataFrame
        Columns ``group``, ``causal`` and ``programs``.
    """
    points = pd.DataFrame({measure: scores[measure][:, :n_characteristics].ravel().round(6) for measure in MEASURES})
    return points.groupby(list(MEASURES)).size().rename("programs").reset_index()


def _shape(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))
