"""The search for all sets of characteristics that a program discriminates against, with pruning (algorithm 3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from fairlab.cases.finding import Result
from fairlab.checks import check_count
from fairlab.themis.score import Score, expect_share

MOST_CHARACTERISTICS = 24  # whose sets `n_groups` goes through


@dataclass(frozen=True, repr=False)
class Search(Result):
    """Sets of characteristics that a program discriminates against (definition 3.9).

    Attributes
    ----------
    threshold : float
    found : dict of str to tuple of tuple of str
        By measure, the minimal sets whose score reaches the threshold.
    scores : tuple of Score
        Of all sets that were tested.
    skipped : dict of str to int
        By measure, how many sets needed no test.
    decided_by : {"score", "low"}
        Which number of a `Score` has to reach the threshold: the estimate, or the lower end of its interval.

    Examples
    --------
    >>> from fairlab.themis import Themis
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 20}})
    >>> search = Themis(lambda rows: rows["sex"] == "m", schema).search(threshold=0.2)
    >>> search.found
    {'causal': (('sex',),)}
    """

    threshold: float
    found: dict[str, tuple[tuple[str, ...], ...]]
    scores: tuple[Score, ...]
    skipped: dict[str, int]
    decided_by: str = "score"

    @property
    def undecided(self) -> tuple[Score, ...]:
        """Scores of the tested sets whose interval has the threshold inside: more samples might find them."""
        return tuple(score for score in self.scores if score.low < self.threshold <= score.high)

    @property
    def tests(self) -> int:
        """Number of tests over all scores."""
        return sum(score.tests for score in self.scores)

    @property
    def software_runs(self) -> int:
        """How often the software was run."""
        return sum(score.software_runs for score in self.scores)

    @property
    def summary(self) -> str:
        """The minimal sets by measure, and how many sets were tested for them."""
        parts = [
            f"{measure}: {'; '.join(' and '.join(names) for names in sets) or 'no set'}"
            for measure, sets in self.found.items()
        ]
        skipped = sum(self.skipped.values())
        counts = f"{len(self.scores)} sets tested, {skipped} skipped"
        if self.decided_by == "low" and self.undecided:
            counts += f", {len(self.undecided)} undecided"
        return f"scores of at least {self.threshold:g} by {', by '.join(parts)} ({counts})"

    def pruned(self, threshold: float) -> "Search":
        """Return what a pruned search at another threshold would have tested, if this one tested all sets.

        The score of a set and its number of tests do not depend on what else is tested. The software runs do; they
        are those of this search.

        Raises
        ------
        ValueError
            If this search was pruned itself, or the threshold is not between 0 and 1.
        """
        expect_share("threshold", threshold)
        if any(self.skipped.values()):
            raise ValueError("expected an unpruned search, found one that skipped sets")
        found, kept, skipped = {}, [], {}
        for measure in self.found:
            scores = [score for score in self.scores if score.measure == measure]
            decisive = [getattr(score, self.decided_by) for score in scores]
            tested, minimal = pruned_sets([score.characteristics for score in scores], decisive, threshold)
            kept += [score for score, test in zip(scores, tested, strict=True) if test]
            skipped[measure] = int((~tested).sum())
            found[measure] = tuple(s.characteristics for s, least in zip(scores, minimal, strict=True) if least)
        return Search(threshold, found, tuple(kept), skipped, self.decided_by)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested set."""
        minimal = {(measure, names) for measure, sets in self.found.items() for names in sets}
        table = pd.DataFrame([score.to_dict() for score in self.scores], columns=_COLUMNS)
        return table.assign(minimal=[(score.measure, score.characteristics) in minimal for score in self.scores])

    def plot(self):
        """Draw all scores with their intervals and the threshold; see `fairlab.themis.figures.score_intervals`."""
        from fairlab.themis.figures import score_intervals

        return score_intervals(self.to_frame(), threshold=self.threshold)


_COLUMNS = [name for name in Score.__dataclass_fields__ if name != "make_evidence"]


def run_search(
    score,
    positions: Sequence[int],
    *,
    measures: Iterable[str],
    threshold: float,
    max_size: int,
    prune: bool,
    group_implies_causal: bool,
    decided_by: str = "score",
) -> tuple[dict[str, tuple], list[Score], dict[str, int]]:
    """Test sets of characteristics, small ones first.

    Parameters
    ----------
    score : callable
        ``score(measure, sets)`` takes a list of tuples of positions and returns a `Score` for each.
    positions : sequence of int
        What sets are made of.
    measures, threshold, max_size, prune, group_implies_causal
        See `fairlab.themis.Themis.search`.
    decided_by : {"score", "low"}
        See `Search`.

    Returns
    -------
    found : dict of str to tuple of tuple of int
        By measure, the minimal sets, as positions.
    scores : list of Score
    skipped : dict of str to int
    """
    scores, skipped, found = [], {}, {}
    # Sets of one size do not prune each other, so they are tested together.
    sizes = [[size] for size in range(1, max_size + 1)] if prune else [range(1, max_size + 1)]
    for measure in measures:
        implied = found.get("group", ()) if group_implies_causal else ()
        minimal, skipped[measure] = [], 0
        for together in sizes:
            sets = [subset for size in together for subset in combinations(positions, size)]
            tested = [s for s in sets if not (prune and _covered(s, minimal)) and s not in implied]
            skipped[measure] += len(sets) - len(tested)
            by_set = dict(zip(tested, score(measure, tested), strict=True))
            scores += by_set.values()
            for subset in sets:
                reaches = subset in by_set and getattr(by_set[subset], decided_by) >= threshold
                if (reaches or subset in implied) and not _covered(subset, minimal):
                    minimal.append(subset)
        found[measure] = tuple(minimal)
    return found, scores, skipped


def _covered(subset: tuple[int, ...], minimal: list[tuple[int, ...]]) -> bool:
    return any(set(other) <= set(subset) for other in minimal)


def subsets(positions: Sequence[int], max_size: int | None = None) -> list[tuple[int, ...]]:
    """Return all non-empty sets of positions with at most so many members, small ones first."""
    max_size = len(positions) if max_size is None else max_size
    return [subset for size in range(1, max_size + 1) for subset in combinations(positions, size)]


def pruned_sets(sets: Sequence[Iterable], scores: Sequence[float], threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Tell what a pruned search would test, given the scores of all sets by one measure.

    Parameters
    ----------
    sets : sequence of iterables
        In the order in which they are searched: no set comes before one of its subsets.
    scores : sequence of float
        One for each.
    threshold : float

    Returns
    -------
    tested, minimal : ndarray of bool, of shape (n_sets,)
        What is tested, and which sets are found: no smaller one in them reaches the threshold.
    """
    tested, minimal, found = np.zeros(len(sets), dtype=bool), np.zeros(len(sets), dtype=bool), []
    for number, (names, score) in enumerate(zip(map(frozenset, sets), scores, strict=True)):
        tested[number] = not any(small <= names for small in found)
        minimal[number] = tested[number] and score >= threshold
        if minimal[number]:
            found.append(names)
    return tested, minimal


def n_groups(sizes: Mapping[str, int], found: Iterable[Iterable[str]] = ()) -> float:
    """Return how many groups all sets of characteristics have together: what a search has to sample.

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
        If there are more than `MOST_CHARACTERISTICS` characteristics, whose sets are too many to go through; if a size
        is no positive number, or a found set has a member that is not among them.

    Examples
    --------
    >>> from fairlab.themis import n_groups
    >>> n_groups({"sex": 2, "race": 3}), n_groups({"sex": 2, "race": 3}, found=[["sex"]])
    (11.0, 5.0)
    """
    if not sizes:
        raise ValueError("sizes: expected at least one characteristic, found none")
    if len(sizes) > MOST_CHARACTERISTICS:
        raise ValueError(f"{len(sizes)} characteristics, expected at most {MOST_CHARACTERISTICS}")
    for name, size in sizes.items():
        check_count(size, f"sizes[{name!r}]")
    found = [(names,) if isinstance(names, str) else tuple(names) for names in found]
    if strange := [name for names in found for name in names if name not in sizes]:
        raise ValueError(f"found: expected sets of {', '.join(sizes)}, found {strange[0]!r}")
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
