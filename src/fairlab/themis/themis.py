"""Themis: discrimination scores of a program, estimated from as few tests as a given precision needs (section 4)."""

from collections.abc import Callable, Iterable
from functools import partial
from math import comb
from numbers import Integral

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.checks import align, check_count
from fairlab.seeds import derive_seed
from fairlab.themis.estimation import Causal, Estimation, others, together
from fairlab.themis.exact import DomainTooLargeError
from fairlab.themis.memory import Memory
from fairlab.themis.sampling import Looks, Sampling
from fairlab.themis.score import MEASURES, Score, expect_measure, expect_share, extreme_groups, pairs_of_inputs
from fairlab.themis.search import Search, run_search
from fairlab.themis.spread import corrected_spread, spread_interval
from fairlab.themis.stopping import RULES

MOST_ASSIGNMENTS = 1_000_000  # combinations of values that a score may compare
READINGS = ("as_described", "as_published")


class Themis:
    """Tests a program for discrimination.

    Parameters
    ----------
    software : callable
        Takes a DataFrame of inputs, returns one output each; see `fairlab.themis.software`.
    schema : Schema
    confidence : float
        How often, at least, an estimate is within its error bound, and an interval holds the truth; between 0 and 1.
    error_bound : float
        How far a causal score, or the share of a group, may be from the truth; between 0 and 1.
    reading : {"as_described", "as_published"}
        As described, the bound is kept, the group score is corrected for the noise that makes it look larger, and a
        search names the sets whose interval lies above its threshold, with intervals that hold for all sets together.
        As published, sampling stops by the normal rule if nothing else is said, the group score is the plain
        difference of the extreme shares, and a search compares estimates with its threshold.
    stop : {"exact", "wilson", "normal"}, optional
        When sampling stops. The exact rule looks a few times and keeps the error bound whatever the truth
        (`fairlab.themis.stopping.look_sizes`); the default as described. The paper's, the normal one, ends at the
        first stretch without a hit, and Wilson's looks after every sample; see `fairlab.themis.stopping.half_width`.
        Neither promises its bound.
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

    Examples
    --------
    >>> from fairlab.themis import Themis
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "race": ["red", "green", "blue"]})
    >>> themis = Themis(lambda rows: (rows["sex"] == "m") & (rows["race"] == "red"), schema)
    >>> themis.group_score(["sex", "race"]).score
    1.0
    """

    def __init__(
        self,
        software: Callable,
        schema: Schema,
        *,
        confidence: float = 0.99,
        error_bound: float = 0.05,
        reading: str = "as_described",
        stop: str | None = None,
        min_samples: int = 10,
        max_samples: int = 100_000,
        output_distance: Callable | None = None,
        random_state: int = 0,
    ):
        if not isinstance(schema, Schema):
            raise TypeError(f"schema: expected a Schema, found {type(schema).__name__}")
        for name, value in (("software", software), ("output_distance", output_distance)):
            if not callable(value) and not (name == "output_distance" and value is None):
                raise TypeError(f"{name}: expected a function, found {type(value).__name__}")
        expect_share("confidence", confidence, open_ends=True)
        expect_share("error_bound", error_bound, open_ends=True)
        if reading not in READINGS:
            raise ValueError(f"reading is {reading!r}, expected one of {', '.join(READINGS)}")
        if stop is not None and stop not in RULES:
            raise ValueError(f"stop is {stop!r}, expected one of {', '.join(RULES)}")
        for name, value in (("min_samples", min_samples), ("max_samples", max_samples)):
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}, expected a whole number")
        if not 0 <= min_samples < max_samples:
            raise ValueError(f"min_samples {min_samples} and max_samples {max_samples}: expected 0 <= min < max")
        self.schema, self.confidence, self.reading = schema, confidence, reading
        self.output_distance, self.random_state = output_distance, check_count(random_state, "random_state", least=0)
        self._memory = Memory(software, schema, binary=output_distance is None)
        self._error_bound, self._samples = error_bound, (min_samples, max_samples)
        self._stop = stop or ("normal" if reading == "as_published" else "exact")

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

        Sampling goes on until the share of every group is within the error bound.

        Raises
        ------
        SchemaError
            If a characteristic is unknown.
        DomainTooLargeError
            If the characteristics have more than `MOST_ASSIGNMENTS` combinations of values.
        TypeError
            With an output distance: shares of positive outputs need binary ones.
        """
        return self._group([characteristics], self._estimation())[0]

    def causal_score(self, characteristics: str | Iterable[str]) -> Score:
        """Estimate the causal discrimination score (algorithm 2).

        Raises
        ------
        SchemaError
            If a characteristic is unknown.
        DomainTooLargeError
            If the characteristics have more than `MOST_ASSIGNMENTS` combinations of values.
        """
        return self._causal([characteristics], self._estimation())[0]

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
            With an output distance, or if the inputs are no table.
        ValueError
            If there is no input, or the weights are not positive, finite and one for each.
        """
        expect_measure(measure)
        if self.output_distance is not None:
            raise TypeError("the apparent score needs binary outputs; there is an output distance")
        positions = self.schema.positions(_listed(characteristics))
        if not isinstance(inputs, pd.DataFrame):
            raise TypeError(f"inputs: expected a DataFrame, found {type(inputs).__name__}")
        codes = self.schema.encode(inputs)
        if len(codes) == 0:
            raise ValueError("inputs: expected at least one, found none")
        weight = _weights(weight, inputs)
        outputs = self._memory(codes)
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

        Every set has random numbers of its own, so its score is the same whatever else is tested. As described, all
        intervals of a search hold together at the confidence, however many sets it may look at (Bonferroni), and a
        set is found if its interval lies at or above the threshold: a set that is below it is named, wherever in the
        search, with at most the error probability. What has the threshold in its interval is undecided.

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
        expect_share("threshold", threshold)
        expect_measure(measure, (*MEASURES, "both"))
        if characteristics is None:
            characteristics = [feature.name for feature in self.schema.features if len(feature.values) > 1]
        positions = self.schema.positions(_listed(characteristics))
        max_size = len(positions) if max_size is None else max_size
        if max_size not in range(1, len(positions) + 1):
            raise ValueError(f"max_size is {max_size!r}, expected 1 to {len(positions)}")
        measures = MEASURES if measure == "both" else (measure,)
        published = self.reading == "as_published"
        n_scores = 1 if published else len(measures) * sum(comb(len(positions), k + 1) for k in range(max_size))
        estimation, ask = self._estimation(n_scores), {"group": self._group, "causal": self._causal}
        found, scores, skipped = run_search(
            lambda one, sets: ask[one](list(map(self._names, sets)), estimation),
            positions,
            measures=measures,
            threshold=threshold,
            max_size=max_size,
            prune=prune,
            group_implies_causal=group_implies_causal,
            decided_by="score" if published else "low",
        )
        names = {one: tuple(map(self._names, minimal)) for one, minimal in found.items()}
        return Search(threshold, names, tuple(scores), skipped, "score" if published else "low")

    def _estimation(self, n_scores: int = 1) -> Estimation:
        """Return how scores are estimated, such that so many of them together keep the confidence."""
        confidence = self.confidence if n_scores == 1 else 1 - (1 - self.confidence) / n_scores
        if self._stop == "exact":
            sampling = Looks(confidence, self._error_bound, *self._samples, binary=self.output_distance is None)
        else:
            sampling = Sampling(confidence, self._error_bound, self._stop, *self._samples)
        return Estimation(self._memory, sampling, self.output_distance)

    def _group(self, sets: list, estimation: Estimation) -> list[Score]:
        if self.output_distance is not None:
            raise TypeError("the group score needs binary outputs; with an output distance use the causal score")
        return self._estimate("group", sets, estimation, self._score_of_shares)

    def _causal(self, sets: list, estimation: Estimation) -> list[Score]:
        return self._estimate("causal", sets, estimation, self._score_of_changes)

    def _estimate(self, measure, sets, estimation: Estimation, score: Callable) -> list[Score]:
        """Return the scores of sets of characteristics, all estimated together."""
        before, positions = self.software_runs, list(map(self._positions, sets))
        rngs = [self._rng(measure, each) for each in positions]
        found = together(self._memory, map(getattr(estimation, measure), positions, rngs))
        known = before + np.cumsum([runs for _, runs in found])
        return [
            score(each, estimate, rng, estimation, {"software_runs": runs, "distinct_inputs": int(total)})
            for each, rng, (estimate, runs), total in zip(positions, rngs, found, known, strict=True)
        ]

    def _score_of_shares(self, positions, found, rng, estimation: Estimation, runs: dict) -> Score:
        counts, samples = found
        shares = counts / samples
        if is_exact := estimation.enumerates(positions):
            low = high = shares
        else:
            low, high = estimation.sampling.interval(counts, samples, n_series=len(counts))
        plain = is_exact or self.reading == "as_published"
        ends = [shares.argmin(), shares.argmax()]
        numbers = {"share": shares[ends], "low": low[ends], "high": high[ends], "samples": samples[ends]}
        codes = estimation.assignments(positions, ends)
        return Score(
            "group",
            self._names(positions),
            float(np.ptp(shares) if plain else corrected_spread(counts, samples, rng)),
            *spread_interval(low, high),
            samples=int(samples.sum()),
            tests=int(samples.sum()),
            make_evidence=partial(extreme_groups, self.schema, positions, codes, numbers),
            **runs,
        )

    def _score_of_changes(self, positions, found: Causal, _, estimation: Estimation, runs: dict) -> Score:
        share = found.count / found.samples
        interval = (share, share) if found.is_exact else estimation.sampling.interval(found.count, found.samples)
        pairs = [(part, self._memory(part)) for part in (found.inputs, found.counterparts)]
        return Score(
            "causal",
            self._names(positions),
            *map(float, (share, *interval)),
            samples=found.samples,
            tests=found.tests,
            make_evidence=partial(pairs_of_inputs, self.schema, positions, *pairs[0], *pairs[1]),
            **runs,
        )

    def _positions(self, characteristics) -> list[int]:
        positions = self.schema.positions(_listed(characteristics))
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


def _weights(weight, inputs: pd.DataFrame) -> np.ndarray:
    """Return one positive, finite weight for each input; those of a Series go by the index."""
    if weight is None:
        return np.ones(len(inputs))
    if isinstance(weight, pd.Series):
        weight = align(weight, inputs.index, "weight")
    try:
        found = np.asarray(weight).astype(float, casting="same_kind")
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(inputs),) or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"weight: expected {len(inputs)} positive numbers, found {weight!r}")
    return found


def _listed(characteristics) -> str | list:
    if isinstance(characteristics, str):
        return characteristics
    if not isinstance(characteristics, Iterable):
        raise TypeError(f"characteristics: expected names of features, found {characteristics!r}")
    return list(characteristics)
