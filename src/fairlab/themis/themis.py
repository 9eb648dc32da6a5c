"""Themis: discrimination scores of a program, estimated from as few tests as a given precision needs (section 4)."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from fairlab.cases.schema import Schema, check_schema
from fairlab.checks import (
    COUNT_OR_ZERO,
    FRACTION,
    ZERO_OR_MORE,
    align,
    check_array,
    check_count,
    check_flag,
    check_function,
    check_kind,
    check_parameters,
    checked,
    one_of,
)
from fairlab.seeds import derive_seed
from fairlab.themis.estimation import (
    Causal,
    Estimation,
    Looks,
    Program,
    corrected_spread,
    others,
    spread_interval,
    together,
)
from fairlab.themis.exact import DomainTooLargeError
from fairlab.themis.score import MEASURES, Score, Search, extreme_groups, pairs_of_inputs

MOST_ASSIGNMENTS = 1_000_000  # combinations of values that a score may compare
VARIANTS = ("sound", "published")
MADE_OF = ("model", "schema", "output_distance")  # the parameters that outputs depend on


@checked(
    confidence_level=FRACTION,
    error_bound=FRACTION,
    min_samples=COUNT_OR_ZERO,
    max_samples=check_count,
    stop=check_function,
    output_distance=check_function,
    variant=one_of(*VARIANTS),
    random_state=COUNT_OR_ZERO,
)
class Themis(BaseEstimator):
    """Tests a model or a program for discrimination.

    Parameters
    ----------
    model : callable, or object with ``predict``
        Takes a DataFrame of inputs, returns one output each; a `fairlab.models.CommandModel` for a program.
    schema : Schema
    confidence_level : float
        How often, at least, an estimate is within its error bound, and an interval holds the truth; between 0 and 1.
    error_bound : float
        How far a causal score, or the share of a group, may be from the truth; between 0 and 1.
    variant : {"sound", "published"}
        Sound: the bound is kept, the group score is corrected for the noise that makes it look larger, and a search
        names the sets whose interval lies above its threshold, with intervals that hold for all sets together.
        Published: the group score is the plain difference of the extreme shares, and a search compares estimates with
        its threshold.
    stop : callable, optional
        When sampling stops: ``stop(confidence_level, error_bound, min_samples, max_samples)`` returns an object with
        the methods of `fairlab.themis.estimation.Looks`, which is the default: it looks a few times and keeps the error
        bound whatever the truth. The paper's rule, `fairlab.papers.themis.stopping.Normal`, promises no bound.
    min_samples, max_samples : int
        Sampling stops after more than `min_samples`, and at `max_samples` even if the bound is not reached.
    output_distance : callable or None
        For outputs that are not binary: ``output_distance(a, b)`` returns distances between 0 and 1 of two arrays of
        outputs (definition 3.3). The causal score is then the mean largest distance that a change makes.
    random_state : int

    Notes
    -----
    Parameters are checked when a score is estimated: a `ValueError` names a number that is out of range, a `TypeError`
    what is no schema or no model. To no input is the model applied twice, until `model`, `schema` or `output_distance`
    is set. A model that is changed in place, as by another fit, has to be set again.

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
        model: Any,
        schema: Schema,
        *,
        confidence_level: float = 0.99,
        error_bound: float = 0.05,
        variant: str = "sound",
        stop: Callable | None = None,
        min_samples: int = 10,
        max_samples: int = 100_000,
        output_distance: Callable | None = None,
        random_state: int = 0,
    ):
        self.model, self.schema, self.confidence_level, self.error_bound = model, schema, confidence_level, error_bound
        self.variant, self.stop, self.min_samples, self.max_samples = variant, stop, min_samples, max_samples
        self.output_distance, self.random_state = output_distance, random_state

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter; what is known of the outputs is forgotten if another model or schema may give others."""
        if name in MADE_OF:
            vars(self).pop("_program", None)
        super().__setattr__(name, value)

    @cached_property
    def _program(self) -> Program:
        return Program(self.model, check_schema(self.schema), binary=self.output_distance is None)

    @property
    def model_runs(self) -> int:
        """To how many inputs the model was applied over all scores: never twice to one input."""
        return self._program.runs

    def test_suite(self) -> pd.DataFrame:
        """Return all inputs that were tried, with their output."""
        codes, outputs = self._program.contents()
        return self.schema.decode(codes).assign(output=outputs)

    def group_score(self, sensitive_features: str | Iterable[str]) -> Score:
        """Estimate the group discrimination score (algorithm 1).

        Sampling goes on until the share of every group is within the error bound.

        Raises
        ------
        CaseError
            If a feature is unknown.
        DomainTooLargeError
            If the features have more than `MOST_ASSIGNMENTS` combinations of values.
        TypeError
            With an output distance: shares of positive outputs need binary ones.
        """
        return self._estimate("group", [sensitive_features], self._estimation())[0]

    def causal_score(self, sensitive_features: str | Iterable[str]) -> Score:
        """Estimate the causal discrimination score (algorithm 2).

        Raises
        ------
        CaseError
            If a feature is unknown.
        DomainTooLargeError
            If the features have more than `MOST_ASSIGNMENTS` combinations of values.
        """
        return self._estimate("causal", [sensitive_features], self._estimation())[0]

    @checked(inputs=partial(check_kind, kind=pd.DataFrame), measure=one_of(*MEASURES))
    def apparent_score(
        self,
        inputs: pd.DataFrame,
        sensitive_features: str | Iterable[str],
        *,
        measure: str,
        weight: ArrayLike | None = None,
    ) -> float:
        """Return a score on the inputs of a test suite or of an operational profile (definition 3.8).

        Parameters
        ----------
        inputs : DataFrame
            One row for each input, with the schema's columns. Inputs and counterparts are among them only.
        sensitive_features : str or iterable of str
        measure : {"group", "causal"}
        weight : array-like of shape (n_inputs,), optional
            How often each input occurs; once by default.

        Raises
        ------
        CaseError
            If a feature is unknown, or an input does not fit the schema.
        TypeError
            With an output distance, or if the inputs are no table.
        ValueError
            If there is no input, or the weights are not positive, finite and one for each.
        """
        if self.output_distance is not None:
            raise TypeError("the apparent score needs binary outputs; there is an output distance")
        positions = self._program.schema.positions(sensitive_features)
        codes = self.schema.encode(inputs)
        if len(codes) == 0:
            raise ValueError("inputs: expected at least one, found none")
        weight = _weights(weight, inputs)
        outputs = self._program(codes)
        kept = positions if measure == "group" else others(positions, codes.shape[1])
        _, group = np.unique(codes[:, kept], axis=0, return_inverse=True)
        group = group.reshape(-1)
        true, every = np.bincount(group, weight * outputs), np.bincount(group, weight)
        if measure == "group":
            return float(np.ptp(true / every))
        false = np.bincount(group, weight * ~outputs)
        return float(every[(true > 0) & (false > 0)].sum() / every.sum())

    @checked(min_score=ZERO_OR_MORE, measure=one_of(*MEASURES, "both"), prune=check_flag)
    def search(
        self,
        min_score: float,
        *,
        measure: str = "causal",
        sensitive_features: Iterable[str] | None = None,
        max_size: int | None = None,
        prune: bool = True,
    ) -> Search:
        """Find the minimal sets of features whose score reaches a least one (algorithm 3).

        Every set has random numbers of its own, so its score is the same whatever else is tested. All
        intervals of a search hold together at the confidence, however many sets it may look at (Bonferroni), and a
        set is found if its interval lies at or above the threshold: a set that is below it is named, wherever in the
        search, with at most the error probability. What has the threshold in its interval is undecided.

        Parameters
        ----------
        min_score : float
            Between 0 and 1. A set is found if its score is at least that (definition 3.9; algorithm 3 says above).
        measure : {"causal", "group", "both"}
            Both are searched one after the other, group first.
        sensitive_features : iterable of str, optional
            Those that sets are made of; all by default.
        max_size : int, optional
            Largest set.
        prune : bool
            Whether to skip supersets of sets that were found (theorems 4.1 and 4.2). Without it all sets are tested.

        Raises
        ------
        ValueError
            If the least score, the measure or the largest size is out of range.
        DomainTooLargeError
            If a set that has to be tested has more than `MOST_ASSIGNMENTS` combinations of values.
        """
        if min_score > 1:
            raise ValueError(f"min_score: expected a number between 0 and 1, found {min_score!r}")
        schema = self._program.schema
        if sensitive_features is None:
            sensitive_features = [name for name, size in zip(schema.names, schema.sizes, strict=True) if size > 1]
        positions = schema.positions(sensitive_features)
        max_size = len(positions) if max_size is None else max_size
        if isinstance(max_size, bool) or max_size not in range(1, len(positions) + 1):
            raise ValueError(f"max_size: expected 1 to {len(positions)}, found {max_size!r}")
        measures = MEASURES if measure == "both" else (measure,)
        decided_by = "score" if self.variant == "published" else "low"
        n_scores = len(measures) * sum(comb(len(positions), k + 1) for k in range(max_size))
        estimation = self._estimation(1 if self.variant == "published" else n_scores)
        # Sets of one size do not prune each other, so they are tested together.
        sizes = [[size] for size in range(1, max_size + 1)] if prune else [range(1, max_size + 1)]
        scores, skipped, found = [], {}, {}
        for one in measures:
            minimal, skipped[one] = [], 0
            for tested_together in sizes:
                sets = [subset for size in tested_together for subset in combinations(positions, size)]
                tested = [subset for subset in sets if not (prune and _covered(subset, minimal))]
                skipped[one] += len(sets) - len(tested)
                estimates = self._estimate(one, list(map(self._names, tested)), estimation)
                scores += estimates
                for subset, score in zip(tested, estimates, strict=True):
                    if getattr(score, decided_by) >= min_score and not _covered(subset, minimal):
                        minimal.append(subset)
            found[one] = tuple(map(self._names, minimal))
        return Search(min_score, found, tuple(scores), skipped, decided_by)

    def _estimation(self, n_scores: int = 1) -> Estimation:
        """Return how scores are estimated, such that so many of them together keep the confidence; check parameters."""
        check_parameters(self)
        check_count(self.max_samples, "max_samples", least=self.min_samples + 1)
        level = self.confidence_level if n_scores == 1 else 1 - (1 - self.confidence_level) / n_scores
        rule = self.stop or partial(Looks, binary=self.output_distance is None)
        sampling = rule(level, self.error_bound, self.min_samples, self.max_samples)
        return Estimation(self._program, sampling, self.output_distance)

    def _estimate(self, measure: str, sets: list, estimation: Estimation) -> list[Score]:
        """Return the scores of sets of features, all estimated together."""
        if measure == "group" and self.output_distance is not None:
            raise TypeError("the group score needs binary outputs; with an output distance use the causal score")
        score = self._score_of_shares if measure == "group" else self._score_of_changes
        before, positions = self.model_runs, list(map(self._positions, sets))
        rngs = [self._rng(measure, each) for each in positions]
        found = together(self._program, map(getattr(estimation, measure), positions, rngs))
        known = before + np.cumsum([runs for _, runs in found])
        return [
            score(each, estimate, rng, estimation, {"model_runs": runs, "distinct_inputs": int(total)})
            for each, rng, (estimate, runs), total in zip(positions, rngs, found, known, strict=True)
        ]

    def _score_of_shares(self, positions, found, rng, estimation: Estimation, runs: dict) -> Score:
        counts, samples = found
        shares = counts / samples
        if is_exact := estimation.enumerates(positions):
            low = high = shares
        else:
            low, high = estimation.sampling.interval(counts, samples, n_series=len(counts))
        plain = is_exact or self.variant == "published"
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
        pairs = [(part, self._program(part)) for part in (found.inputs, found.counterparts)]
        return Score(
            "causal",
            self._names(positions),
            *map(float, (share, *interval)),
            samples=found.samples,
            tests=found.tests,
            make_evidence=partial(pairs_of_inputs, self.schema, positions, *pairs[0], *pairs[1]),
            **runs,
        )

    def _positions(self, sensitive_features) -> list[int]:
        positions = self.schema.positions(sensitive_features)
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
    found = check_array(weight, "weight")
    if found.shape != (len(inputs),) or not (found > 0).all():
        raise ValueError(f"weight: expected {len(inputs)} positive numbers, found {weight!r}")
    return found


def _covered(subset: tuple[int, ...], minimal: list[tuple[int, ...]]) -> bool:
    return any(set(other) <= set(subset) for other in minimal)
