"""Themis: discrimination scores of a program, estimated from as few tests as a given precision needs (section 4)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.seeds import derive_seed
from fairlab.themis.exact import DomainTooLargeError
from fairlab.themis.sampling import Sampling
from fairlab.themis.software import Memory
from fairlab.themis.stopping import RULES, wilson_interval, z_value

MEASURES = ("group", "causal")
MOST_ASSIGNMENTS = 1_000_000  # combinations of values that a score may compare
GROUPS_AT_ONCE = 2_000
CELLS = 2_000_000  # outputs in flight


@dataclass(frozen=True)
class Score:
    """An estimated discrimination score.

    Attributes
    ----------
    measure : {"group", "causal"}
    characteristics : tuple of str
    score : float
    low, high : float
        Confidence interval: Wilson's for the causal score; for the group score, which is a range of many shares and
        therefore biased upwards, the range that all shares' Wilson intervals together allow (Bonferroni).
    samples : int
        Random inputs that the estimate rests on.
    tests : int
        Inputs that the paper's algorithm looks at, one by one, in memory or not.
    software_runs : int
        How often the software was run for it. Inputs are tried in batches, so this can exceed `tests`.
    distinct_inputs : int
        Inputs in memory afterwards, over all scores.
    """

    measure: str
    characteristics: tuple[str, ...]
    score: float
    low: float
    high: float
    samples: int
    tests: int
    software_runs: int
    distinct_inputs: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row."""
        return pd.DataFrame([vars(self)])


@dataclass(frozen=True)
class Search:
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
    """

    threshold: float
    found: dict[str, tuple[tuple[str, ...], ...]]
    scores: tuple[Score, ...]
    skipped: dict[str, int]

    @property
    def tests(self) -> int:
        """Number of tests over all scores."""
        return sum(score.tests for score in self.scores)

    @property
    def software_runs(self) -> int:
        """How often the software was run."""
        return sum(score.software_runs for score in self.scores)

    def pruned(self, threshold: float) -> "Search":
        """Return what a pruned search at another threshold would have tested, if this one tested all sets.

        The score of a set and its number of tests do not depend on what else is tested. The software runs do; they
        are those of this search.

        Raises
        ------
        ValueError
            If this search was pruned itself.
        """
        if any(self.skipped.values()):
            raise ValueError("expected an unpruned search, found one that skipped sets")
        found, tested = dict.fromkeys(self.found, ()), []
        skipped = dict.fromkeys(self.found, 0)
        for score in self.scores:
            minimal = found[score.measure]
            if any(set(names) <= set(score.characteristics) for names in minimal):
                skipped[score.measure] += 1
                continue
            tested.append(score)
            if score.score >= threshold:
                found[score.measure] = (*minimal, score.characteristics)
        return Search(threshold, found, tuple(tested), skipped)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested set."""
        minimal = {(measure, names) for measure, sets in self.found.items() for names in sets}
        table = pd.DataFrame(map(vars, self.scores), columns=list(Score.__annotations__))
        return table.assign(minimal=[(score.measure, score.characteristics) in minimal for score in self.scores])


class Themis:
    """Tests a program for discrimination.

    Parameters
    ----------
    software : callable
        Takes a DataFrame of inputs, returns one output each; see `fairlab.themis.software`.
    schema : Schema
    confidence : float
        Level of the error bound, between 0 and 1.
    error_bound : float
        Half-width at which sampling stops, between 0 and 1.
    stop : {"normal", "wilson"}
        The paper's rule or Wilson's; see `fairlab.themis.stopping.half_width`.
    min_samples, max_samples : int
        Sampling stops after more than `min_samples`, and at `max_samples` even if the bound is not reached.
    output_distance : callable or None
        For outputs that are not binary: ``output_distance(a, b)`` returns distances between 0 and 1 of two arrays of
        outputs (definition 3.3). The causal score is then the mean largest distance that a change makes.
    random_state : int

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(
        self,
        software: Callable,
        schema: Schema,
        *,
        confidence: float = 0.99,
        error_bound: float = 0.05,
        stop: str = "normal",
        min_samples: int = 10,
        max_samples: int = 100_000,
        output_distance: Callable | None = None,
        random_state: int = 0,
    ):
        for name, value in (("confidence", confidence), ("error_bound", error_bound)):
            if not 0 < value < 1:
                raise ValueError(f"{name} is {value}, expected a number between 0 and 1")
        if stop not in RULES:
            raise ValueError(f"stop is {stop!r}, expected one of {', '.join(RULES)}")
        if not 0 <= min_samples < max_samples:
            raise ValueError(f"min_samples {min_samples} and max_samples {max_samples}: expected 0 <= min < max")
        self.schema, self.confidence = schema, confidence
        self.output_distance, self.random_state = output_distance, random_state
        self._memory = Memory(software, schema, binary=output_distance is None)
        self._sampling = Sampling(z_value(confidence), error_bound, stop, min_samples, max_samples)

    @property
    def software_runs(self) -> int:
        """How often the software has been run over all scores: never twice on one input."""
        return self._memory.runs

    def test_suite(self) -> pd.DataFrame:
        """Return all inputs that were tried, with their output."""
        codes, outputs = self._memory.contents()
        return self.schema.decode(codes).assign(output=outputs)

    def group_score(self, characteristics: str | Iterable[str]) -> Score:
        """Estimate the group discrimination score (algorithm 1).

        Raises
        ------
        SchemaError
            If a characteristic is unknown.
        DomainTooLargeError
            If the characteristics have more than `MOST_ASSIGNMENTS` combinations of values.
        TypeError
            With an output distance: shares of positive outputs need binary ones.
        """
        if self.output_distance is not None:
            raise TypeError("the group score needs binary outputs; with an output distance use the causal score")
        positions = self._positions(characteristics)
        n_groups = self.schema.n_assignments(positions)
        before, rng = self._memory.runs, self._rng("group", positions)
        chunks = [
            self._group_counts(positions, range(start, min(start + GROUPS_AT_ONCE, n_groups)), rng)
            for start in range(0, n_groups, GROUPS_AT_ONCE)
        ]
        counts, samples = (np.concatenate(part) for part in zip(*chunks, strict=True))
        shares = counts / samples
        if self._n_others(positions) <= self._sampling.min_samples:  # all inputs of a group were tried
            low = high = shares
        else:
            low, high = wilson_interval(counts, samples, z_value(1 - (1 - self.confidence) / n_groups))
        return self._score(
            "group",
            positions,
            score=shares.max() - shares.min(),
            low=max(0.0, low.max() - high.min()),
            high=high.max() - low.min(),
            samples=samples.sum(),
            tests=samples.sum(),
            before=before,
        )

    def causal_score(self, characteristics: str | Iterable[str]) -> Score:
        """Estimate the causal discrimination score (algorithm 2).

        Raises
        ------
        SchemaError
            If a characteristic is unknown.
        DomainTooLargeError
            If the characteristics have more than `MOST_ASSIGNMENTS` combinations of values.
        """
        positions = self._positions(characteristics)
        before, rng = self._memory.runs, self._rng("causal", positions)
        tests = []

        def draw(series):
            changed, tried = self._changes(self.schema.sample_codes(len(series), random_state=rng), positions)
            tests.append(tried)
            return changed

        counts, samples = self._sampling.proportions(draw, 1)
        low, high = wilson_interval(counts, samples, self._sampling.z)
        return self._score(
            "causal",
            positions,
            score=counts[0] / samples[0],
            low=low[0],
            high=high[0],
            samples=samples[0],
            tests=np.concatenate(tests)[: samples[0]].sum(),
            before=before,
        )

    def apparent_score(
        self, inputs: pd.DataFrame, characteristics: str | Iterable[str], *, measure: str, weight=None
    ) -> float:
        """Return a score on the inputs of a test suite or of an operational profile (definition 3.8).

        Parameters
        ----------
        inputs : DataFrame
            One row for each input, with the schema's columns. Inputs and counterparts are among them only.
        characteristics : str or iterable of str
        measure : {"group", "causal"}
        weight : array-like of shape (n_inputs,), optional
            How often each input occurs; once by default.

        Raises
        ------
        SchemaError
            If a characteristic is unknown, or an input does not fit the schema.
        TypeError
            With an output distance.
        ValueError
            If there is no input, or the weights are not positive and one for each.
        """
        _expect_measure(measure, MEASURES)
        if self.output_distance is not None:
            raise TypeError("the apparent score needs binary outputs; there is an output distance")
        positions = self.schema.positions(characteristics)
        codes = self.schema.encode(inputs)
        if len(codes) == 0:
            raise ValueError("inputs: expected at least one, found none")
        weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        if weight.shape != (len(codes),) or not (weight > 0).all():
            raise ValueError(f"weight: expected {len(codes)} positive numbers, found {weight!r}")
        outputs = self._memory(codes)
        kept = list(positions) if measure == "group" else self._others(positions)
        _, group = np.unique(codes[:, kept], axis=0, return_inverse=True)
        group = group.reshape(-1)
        true, every = np.bincount(group, weight * outputs), np.bincount(group, weight)
        if measure == "group":
            return float(np.ptp(true / every))
        false = np.bincount(group, weight * ~outputs)
        return float(every[(true > 0) & (false > 0)].sum() / every.sum())

    def search(
        self,
        threshold: float,
        *,
        measure: str = "causal",
        characteristics: Iterable[str] | None = None,
        max_size: int | None = None,
        prune: bool = True,
        group_implies_causal: bool = False,
    ) -> Search:
        """Find the minimal sets of characteristics whose score reaches a threshold (algorithm 3).

        Every set has random numbers of its own, so its score is the same whatever else is tested.

        Parameters
        ----------
        threshold : float
            Between 0 and 1. A set is found if its score is at least that (definition 3.9; algorithm 3 says above).
        measure : {"causal", "group", "both"}
            Both are searched one after the other, group first.
        characteristics : iterable of str, optional
            Those that sets are made of; all by default.
        max_size : int, optional
            Largest set.
        prune : bool
            Whether to skip supersets of sets that were found (theorems 4.1 and 4.2). Without it all sets are tested.
        group_implies_causal : bool
            Whether sets found by the group measure count as found for the causal one (theorem 4.3), without a test.

        Raises
        ------
        ValueError
            If the threshold, the measure or the largest size is out of range.
        DomainTooLargeError
            If a set that has to be tested has more than `MOST_ASSIGNMENTS` combinations of values.
        """
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold is {threshold}, expected a number between 0 and 1")
        _expect_measure(measure, (*MEASURES, "both"))
        positions = self.schema.positions(self.schema.names if characteristics is None else characteristics)
        max_size = len(positions) if max_size is None else max_size
        if not 1 <= max_size <= len(positions):
            raise ValueError(f"max_size is {max_size}, expected 1 to {len(positions)}")
        scores, skipped, found = [], {}, {}
        for one in MEASURES if measure == "both" else (measure,):
            implied = found.get("group", ()) if group_implies_causal else ()
            minimal, skipped[one] = [], 0
            for size in range(1, max_size + 1):
                for subset in combinations(positions, size):
                    covered = any(set(other) <= set(subset) for other in minimal)
                    if covered and prune:
                        skipped[one] += 1
                        continue
                    if subset in implied:
                        minimal += [] if covered else [subset]
                        skipped[one] += 1
                        continue
                    score = getattr(self, f"{one}_score")(self._names(subset))
                    scores.append(score)
                    if score.score >= threshold and not covered:
                        minimal.append(subset)
            found[one] = tuple(minimal)
        names = {one: tuple(self._names(subset) for subset in minimal) for one, minimal in found.items()}
        return Search(threshold, names, tuple(scores), skipped)

    def _group_counts(self, positions, groups: range, rng) -> tuple[np.ndarray, np.ndarray]:
        """Return true outputs and samples of some groups, by number."""
        fixed = self.schema.assignments(positions, start=groups.start, stop=groups.stop)
        others = self._others(positions)
        n_others = self._n_others(positions)
        if n_others <= self._sampling.min_samples:
            codes = np.empty((len(groups), n_others, len(self.schema.sizes)), dtype=np.int64)
            codes[:, :, positions] = fixed[:, None, :]
            if others:
                codes[:, :, others] = self.schema.assignments(tuple(others))
            outputs = self._memory(codes.reshape(-1, codes.shape[-1])).reshape(len(groups), n_others)
            return outputs.sum(axis=1).astype(float), np.full(len(groups), n_others)

        def draw(series):
            codes = self.schema.sample_codes(len(series), random_state=rng)
            codes[:, positions] = fixed[series]
            return self._memory(codes)

        return self._sampling.proportions(draw, len(groups))

    def _changes(self, base: np.ndarray, positions) -> tuple[np.ndarray, np.ndarray]:
        """Tell for every input whether, or how far, some other values of the characteristics change its output.

        Returns
        -------
        changed, tests : ndarray of shape (n_inputs,)
            And how many inputs had to be looked at, in the order of the assignments, up to the first change.
        """
        n_values = self.schema.n_assignments(positions)
        own = np.ravel_multi_index(tuple(base[:, positions].T), [self.schema.sizes[p] for p in positions])
        outputs = self._memory(base)
        changed, looked = np.zeros(len(base)), np.full(len(base), n_values)
        active, start, width = np.arange(len(base)), 0, 1
        while start < n_values and len(active):
            stop = min(start + width, n_values)
            codes = np.repeat(base[active], stop - start, axis=0)
            codes[:, positions] = np.tile(self.schema.assignments(positions, start=start, stop=stop), (len(active), 1))
            difference = self._difference(np.repeat(outputs[active], stop - start), self._memory(codes))
            difference = difference.reshape(len(active), -1)
            changed[active] = np.maximum(changed[active], difference.max(axis=1))
            if self.output_distance is None:  # one change is enough
                hit = difference.any(axis=1)
                looked[active[hit]] = start + difference[hit].argmax(axis=1) + 1
                active = active[~hit]
            start, width = stop, min(2 * width, max(1, CELLS // max(1, len(active))))
        return changed, looked + (own >= looked)

    def _difference(self, first, second) -> np.ndarray:
        if self.output_distance is None:
            return first != second
        distance = np.asarray(self.output_distance(first, second), dtype=float)
        if distance.shape != first.shape or not ((distance >= 0) & (distance <= 1)).all():
            raise ValueError(f"output_distance: expected {len(first)} numbers from 0 to 1, found {distance!r}")
        return distance

    def _positions(self, characteristics) -> tuple[int, ...]:
        positions = self.schema.positions(characteristics)
        n_assignments = self.schema.n_assignments(positions)
        if n_assignments > MOST_ASSIGNMENTS:
            names = ", ".join(self._names(positions))
            raise DomainTooLargeError(
                f"{names} have {n_assignments:,} combinations of values, more than {MOST_ASSIGNMENTS:,}"
            )
        return positions

    def _others(self, positions) -> list[int]:
        return [position for position in range(len(self.schema.sizes)) if position not in positions]

    def _n_others(self, positions) -> int:
        return self.schema.n_assignments(self._others(positions))

    def _names(self, positions) -> tuple[str, ...]:
        return tuple(self.schema.names[position] for position in positions)

    def _rng(self, measure: str, positions) -> np.random.Generator:
        return np.random.default_rng(derive_seed("themis", self.random_state, measure, *self._names(positions)))

    def _score(self, measure, positions, *, score, low, high, samples, tests, before) -> Score:
        runs = self._memory.runs
        numbers = map(float, (score, low, high))
        return Score(measure, self._names(positions), *numbers, int(samples), int(tests), runs - before, runs)


def _expect_measure(measure: str, known: tuple[str, ...]) -> None:
    if measure not in known:
        raise ValueError(f"measure is {measure!r}, expected one of {', '.join(known)}")
