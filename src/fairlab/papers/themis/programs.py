"""Programs that explain the paper's definitions (sections 2 and 3), and many small ones that check its theorems."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.themis.score import MEASURES
from fairlab.themis.themis import Themis

PEOPLE_OF_RARE = Schema.from_dict({"sex": ["f", "m"], "person": range(1000)})
STAYS = Schema.from_dict({"device": ["phone", "laptop"], "nights": range(1, 15)})
# Programs, in Python, that fail in each of the ways a command can.
BROKEN = {
    "crashes": "import sys; sys.exit(3)",
    "hangs": "import time; time.sleep(60)",
    "chatters": "print('certainly')",
}


def loan(inputs: pd.DataFrame) -> np.ndarray:
    """Lend as LOAN does, for all inputs at once: to purple by name, to green by savings (section 2)."""
    return np.where(inputs["race"] == "green", inputs["savings"] >= 7, inputs["name"] < 3)


def draw_applicants(n_applicants: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return applicants for LOAN of whom the purple rarely have savings."""
    race = rng.choice(["green", "purple"], n_applicants)
    return pd.DataFrame(
        {
            "age": rng.choice(["under40", "over40"], n_applicants),
            "race": race,
            "name": rng.integers(10, size=n_applicants),
            "savings": np.where(race == "green", rng.integers(4, 10, n_applicants), rng.integers(0, 6, n_applicants)),
        }
    )


def pairs_by(suite: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return pairs of inputs of a test suite that differ in one characteristic and in their output, one pair a row.

    Parameters
    ----------
    suite : DataFrame
        As `Themis.test_suite` returns it.
    name : str
        The characteristic; of a pair, the smaller value comes first.
    """
    same = [column for column in suite if column not in (name, "output")]
    pairs = suite.merge(suite, on=same, suffixes=("", " of the counterpart"))
    other, output = pairs[f"{name} of the counterpart"], pairs["output of the counterpart"]
    return pairs[(pairs[name] < other) & (pairs["output"] != output)]


def group_score_of_shares(shares: tuple[float, float], n_people: int) -> float:
    """Return the group score of a program that says yes to these shares of two groups, all of whom are tried."""
    schema = Schema.from_dict({"group": [0, 1], "person": range(n_people)})
    yes = np.round(np.array(shares) * n_people)
    themis = Themis(lambda x: x["person"] < yes[x["group"]], schema, min_samples=n_people, max_samples=n_people + 1)
    return themis.group_score("group").score


def unfair_to_one_in_twenty(inputs: pd.DataFrame) -> pd.Series:
    """Refuse women whose number ends with 00, 20, 40, 60 or 80."""
    return ~((inputs["sex"] == "f") & (inputs["person"] % 20 == 0))


def stopping_rules(scores: dict[str, pd.DataFrame], *, truth: float, error_bound: float) -> pd.DataFrame:
    """Return how estimates of one score fare under different stopping rules, one row a rule.

    Parameters
    ----------
    scores : dict of str to DataFrame
        By rule, one row for each estimate with the attributes of `Score`.
    truth : float
    error_bound : float
        What the rule is to keep.
    """
    rows = []
    for rule, found in scores.items():
        rows.append(
            {"rule": rule, "mean samples": found["samples"].mean(), "mean score": found["score"].mean()}
            | {"scores of exactly 0": (found["score"] == 0).mean()}
            | {"off by more than the bound": ((found["score"] - truth).abs() > error_bound).mean()}
            | {f"interval covers {truth:.0%}": ((found["low"] <= truth) & (found["high"] >= truth)).mean()}
        )
    return pd.DataFrame(rows)


def price_of_stay(inputs: pd.DataFrame) -> np.ndarray:
    """Return the price of a stay: 10% more on a laptop."""
    return 60.0 * inputs["nights"] * np.where(inputs["device"] == "laptop", 1.1, 1.0)


def relative_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return by what share of the higher price two prices differ."""
    return np.abs(first - second) / np.maximum(first, second)


def as_program(table: np.ndarray) -> tuple[Schema, Callable[[pd.DataFrame], np.ndarray]]:
    """Return the program that a table of outputs describes, and the schema of its inputs, the table's indices."""
    schema = Schema.from_dict({f"x{axis}": range(size) for axis, size in enumerate(table.shape)})
    return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]


EXHAUSTIVE_SIZES = [(2, 2), (2, 3), (2, 2, 2), (3, 3), (2, 2, 3), (4, 3), (2, 2, 2, 2)]
RANDOM_SIZES = [(5, 4), (3, 4, 5), (2, 3, 4, 3), (3, 3, 2, 2, 3)]
THRESHOLDS = np.linspace(0.05, 1, 20)
MOST_COMPARED = 512  # programs of which all pairs are looked at
ROUNDING = 1e-12  # scores are sums of fractions


def subsets(positions: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all non-empty sets of positions, small ones first."""
    return [subset for size in range(1, len(positions) + 1) for subset in combinations(positions, size)]


def pruned_sets(sets: Sequence[Iterable], scores: Sequence[float], threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Tell what a pruned search would test, given the scores of all sets by one measure."""
    tested, minimal, found = np.zeros(len(sets), dtype=bool), np.zeros(len(sets), dtype=bool), []
    for number, (names, score) in enumerate(zip(map(frozenset, sets), scores, strict=True)):
        tested[number] = not any(small <= names for small in found)
        minimal[number] = tested[number] and score >= threshold
        if minimal[number]:
            found.append(names)
    return tested, minimal


def n_groups(sizes: Mapping[str, int], found: Iterable[Iterable[str]] = ()) -> float:
    """Return how many groups all sets of characteristics have together: what a search has to sample."""
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


def all_programs(sizes: tuple[int, ...]) -> np.ndarray:
    """Return all programs on a small input space as output tables, shape (n_programs, *sizes)."""
    n_inputs = int(np.prod(sizes))
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


def scores_of_sets(programs: np.ndarray) -> dict[str, np.ndarray]:
    """Return the exact scores of all sets of characteristics, in the order of `subsets`, by measure.

    Parameters
    ----------
    programs : ndarray of bool, of shape (n_programs, *sizes)

    Returns
    -------
    dict of str to ndarray of shape (n_programs, n_sets)
    """
    group, causal = [], []
    for positions in subsets(range(programs.ndim - 1)):
        axes = tuple(position + 1 for position in positions)
        others = tuple(axis for axis in range(1, programs.ndim) if axis not in axes)
        group.append(np.ptp(programs.mean(axis=others).reshape(len(programs), -1), axis=1))
        changed = programs.any(axis=axes) != programs.all(axis=axes)
        causal.append(changed.reshape(len(programs), -1).mean(axis=1))
    return {"group": np.column_stack(group), "causal": np.column_stack(causal)}


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
