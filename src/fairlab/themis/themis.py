"""Themis: discrimination scores of a program, estimated from as few tests as a given precision needs (section 4)."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.seeds import derive_seed
from fairlab.themis.estimation import Estimation, others
from fairlab.themis.exact import DomainTooLargeError
from fairlab.themis.sampling import Sampling
from fairlab.themis.score import MEASURES, Score, expect_measure, extreme_groups, pairs_of_inputs
from fairlab.themis.search import Search, run_search
from fairlab.themis.software import Memory
from fairlab.themis.stopping import RULES, wilson_interval, z_value

MOST_ASSIGNMENTS = 1_000_000  # combinations of values that a score may compare


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
        self._estimation = Estimation(
            Memory(software, schema, binary=output_distance is None),
            Sampling(z_value(confidence), error_bound, stop, min_samples, max_samples),
            output_distance,
        )

    @property
    def software_runs(self) -> int:
        """How often the software has been run over all scores: never twice on one input."""
        return self._estimation.memory.runs

    def test_suite(self) -> pd.DataFrame:
        """Return all inputs that were tried, with their output."""
        codes, outputs = self._estimation.memory.contents()
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
        before = self.software_runs
        counts, samples = self._estimation.group(positions, self._rng("group", positions))
        shares = counts / samples
        if self._estimation.enumerates(positions):
            low = high = shares
        else:
            low, high = wilson_interval(counts, samples, alpha=(1 - self.confidence) / len(counts))
        ends = [shares.argmin(), shares.argmax()]
        numbers = {"share": shares[ends], "low": low[ends], "high": high[ends], "samples": samples[ends]}
        codes = self._estimation.assignments(positions, ends)
        return self._score(
            "group",
            positions,
            score=shares.max() - shares.min(),
            low=max(0.0, low.max() - high.min()),
            high=high.max() - low.min(),
            samples=samples.sum(),
            tests=samples.sum(),
            before=before,
            make_evidence=partial(extreme_groups, self.schema, positions, codes, numbers),
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
        before = self.software_runs
        found = self._estimation.causal(positions, self._rng("causal", positions))
        low, high = wilson_interval(found.count, found.samples, alpha=1 - self.confidence)
        pairs = [(part, self._estimation.memory(part)) for part in (found.inputs, found.counterparts)]
        return self._score(
            "causal",
            positions,
            score=found.count / found.samples,
            low=low,
            high=high,
            samples=found.samples,
            tests=found.tests,
            before=before,
            make_evidence=partial(pairs_of_inputs, self.schema, positions, *pairs[0], *pairs[1]),
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
        expect_measure(measure)
        if self.output_distance is not None:
            raise TypeError("the apparent score needs binary outputs; there is an output distance")
        positions = self.schema.positions(characteristics)
        codes = self.schema.encode(inputs)
        if len(codes) == 0:
            raise ValueError("inputs: expected at least one, found none")
        weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        if weight.shape != (len(codes),) or not (weight > 0).all():
            raise ValueError(f"weight: expected {len(codes)} positive numbers, found {weight!r}")
        outputs = self._estimation.memory(codes)
        kept = positions if measure == "group" else others(positions, codes.shape[1])
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
        expect_measure(measure, (*MEASURES, "both"))
        if characteristics is None:
            characteristics = [feature.name for feature in self.schema.features if len(feature.values) > 1]
        positions = self.schema.positions(characteristics)
        max_size = len(positions) if max_size is None else max_size
        if not 1 <= max_size <= len(positions):
            raise ValueError(f"max_size is {max_size}, expected 1 to {len(positions)}")
        found, scores, skipped = run_search(
            lambda one, subset: getattr(self, f"{one}_score")(self._names(subset)),
            positions,
            measures=MEASURES if measure == "both" else (measure,),
            threshold=threshold,
            max_size=max_size,
            prune=prune,
            group_implies_causal=group_implies_causal,
        )
        names = {one: tuple(map(self._names, minimal)) for one, minimal in found.items()}
        return Search(threshold, names, tuple(scores), skipped)

    def _positions(self, characteristics) -> list[int]:
        positions = self.schema.positions(characteristics)
        n_assignments = self.schema.n_assignments(positions)
        if n_assignments > MOST_ASSIGNMENTS:
            names = ", ".join(self._names(positions))
            raise DomainTooLargeError(
                f"{names} have {n_assignments:,} combinations of values, more than {MOST_ASSIGNMENTS:,}"
            )
        return positions

    def _names(self, positions) -> tuple[str, ...]:
        return tuple(self.schema.names[position] for position in positions)

    def _rng(self, measure: str, positions) -> np.random.Generator:
        return np.random.default_rng(derive_seed("themis", self.random_state, measure, *self._names(positions)))

    def _score(self, measure, positions, *, score, low, high, samples, tests, before, make_evidence) -> Score:
        runs = self.software_runs
        numbers = map(float, (score, low, high))
        counts = (int(samples), int(tests), runs - before, runs)
        return Score(measure, self._names(positions), *numbers, *counts, make_evidence)
