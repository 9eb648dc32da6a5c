"""Themis: discrimination scores of a program, estimated from as few tests as a given precision needs (section 4)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.random import default_rng
from sklearn.base import BaseEstimator

from fairlab.cases.finding import OTHER, Finding, Result, beside, free_name, intervals
from fairlab.cases.method import Examination, Method
from fairlab.cases.schema import Schema
from fairlab.checks import (
    COUNT_OR_ZERO,
    FRACTION,
    ZERO_OR_MORE,
    check_count,
    check_flag,
    check_function,
    check_parameters,
    checked,
    one_of,
)
from fairlab.plotting import GREY
from fairlab.seeds import derive_seed
from fairlab.statistics import bonferroni_level
from fairlab.themis.draws import INPUTS, Comparison, UniformDraw
from fairlab.themis.estimation import (
    DISTANCE,
    EFFECTS,
    MEASURES,
    TITLE,
    corrected_spread,
    count_flips,
    count_positive,
    has_small_groups,
    score_finding,
    spread_interval,
)
from fairlab.themis.exact import DomainTooLargeError
from fairlab.themis.examination import case_findings
from fairlab.themis.stopping import Exact, Fixed, Rule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ASSIGNMENTS = 1_000_000  # combinations of values compared by a score
MADE_OF = ("model", "schema", "output_distance")  # the parameters that outputs depend on
SETS_AT_ONCE = 16
ROUNDING = 1e-12  # of differences of shares
EXAMPLES = 5  # pairs of inputs that show a flip
COLUMNS = ("measure", "sensitive_features", "estimate", "low", "high", "samples", "tests")


@dataclass(frozen=True, repr=False, eq=False)
class Search(Result):
    """Sets of features that a program discriminates against (definition 3.9).

    Attributes
    ----------
    min_score : float
    frame : DataFrame
        One row for each tested set: the columns of `Themis.estimate`, and ``minimal``, whether the set was found.
    skipped : dict of str to int
        Number of sets that needed no test, by measure.
    model_runs : int
        Number of inputs to which the model was applied.
    decided_by : {"low", "estimate"}
        Whether the lower end of the interval or the estimate has to reach `min_score`.

    Examples
    --------
    >>> from fairlab.themis import Themis
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 20}})
    >>> search = Themis(lambda rows: rows["sex"] == "m", schema).search(min_score=0.2)
    >>> search.found
    {'causal': (('sex',),)}
    """

    min_score: float
    frame: pd.DataFrame
    skipped: dict[str, int]
    model_runs: int
    decided_by: str = "low"

    @property
    def found(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The minimal sets whose score reaches `min_score`, by measure."""
        minimal = self.frame[self.frame["minimal"]].groupby("measure")["sensitive_features"].agg(tuple)
        return {measure: minimal.get(measure, ()) for measure in self.skipped}

    @property
    def undecided(self) -> pd.DataFrame:
        """Tested sets whose interval contains `min_score`: more samples might find them."""
        least = self.min_score - ROUNDING
        return self.frame[(self.frame["low"] < least) & (least <= self.frame["high"])]

    @property
    def tests(self) -> int:
        """Number of tests over all scores."""
        return int(self.frame["tests"].sum())

    @property
    def summary(self) -> str:
        """The minimal sets by measure, and how many sets were tested for them."""
        parts = [
            f"{measure}: {'; '.join(' and '.join(names) for names in sets) or 'no set'}"
            for measure, sets in self.found.items()
        ]
        counts = f"{len(self.frame)} sets tested, {sum(self.skipped.values())} skipped"
        if self.decided_by == "low" and len(self.undecided):
            counts += f", {len(self.undecided)} undecided"
        return f"scores of at least {self.min_score:g} by {', by '.join(parts)} ({counts})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each tested set."""
        return self.frame

    def plot(self) -> "Figure":
        """Draw all scores with their intervals, and `min_score`."""
        figure = intervals(self.frame.assign(method=TITLE, where=INPUTS, effect=self.frame["measure"].map(EFFECTS)))
        figure.axes[0].axvline(self.min_score, color=GREY, linestyle="--", linewidth=1)
        return figure


@checked(
    confidence_level=FRACTION,
    error_bound=FRACTION,
    min_samples=COUNT_OR_ZERO,
    max_samples=check_count,
    stop=check_function,
    output_distance=check_function,
    min_score=FRACTION,
    random_state=COUNT_OR_ZERO,
)
class Themis(BaseEstimator, Method):
    """Themis: how often features alone change a model's decisions, and how far selection rates of their values differ.

    `run` measures both on a case, for the table's people and for inputs drawn from it; `estimate`, `group_score`,
    `causal_score` and `search` test a model or a program on inputs that are drawn uniformly from a schema, until a rule
    stops them.

    **On a case**, for each sensitive feature that the model gets, and for all of them together, there are three
    findings. The counterfactual flip rate (the paper's causal score, definition 3.7) is the share whose decision
    changes with some other values. It is measured among the people of the table (everyone if the budget allows it, else
    a random sample), and among generated inputs, for which each feature is drawn by itself from the values of the
    table; such inputs are often unlike people. The third finding is the demographic parity difference among generated
    inputs, the largest minus the smallest selection rate of those values (the group score, definition 3.6). With three
    features or more, sets of some of them are tested, too, small ones first. Skipped are sets that contain one whose
    flip rate is shown to be at least `min_score`, since theirs is no lower (theorem 4.2), and all of them if the flip
    rate of all features together is shown to be below it.

    Intervals are exact (Clopper and Pearson), since the budget fixes sample sizes beforehand; they are for the
    population that the table is a sample of. The p-value of a flip rate is that of "it is at most the margin"; without
    a margin it is 0 with the first change, since a deterministic model that changes one decision has a flip rate above
    0. That of the difference is "no two values differ by more than the margin", see
    `fairlab.themis.estimation.paired_p_value`.

    The evidence is pairs that differ in the features and in the decision; people who lose by their own values come
    first.

    A model whose answers to the same row vary is applied to people only, twice to each and twice to a counterpart with
    other values drawn at random: see `fairlab.themis.noisy`. The flip rate then excludes the model's own noise.

    **On a schema**, the default rule keeps the error bound, the group score is corrected for the upward bias from
    noise, and a search finds the sets whose interval lies above its threshold, with simultaneous intervals for all
    sets. The paper's rules, which correct nothing, are in `fairlab.papers.themis.published`.

    Parameters
    ----------
    model : callable, or object with ``predict``
        Takes a DataFrame of inputs, returns one output each; a `fairlab.models.CommandModel` for a program. A case has
        its own.
    schema : Schema
        A case has its own.
    confidence_level : float
        Least probability that an estimate is within its error bound and an interval contains the truth; between 0 and
        1. The default is the paper's; an audit gives its own.
    error_bound : float
        Largest error of a causal score, or of the share of a group; between 0 and 1.
    stop : callable, optional
        When sampling from a schema stops: ``stop(confidence_level, error_bound, min_samples, max_samples, binary)``
        returns a `fairlab.themis.stopping.Rule`; by default `Exact`, which keeps the error bound whatever the truth.
    min_samples, max_samples : int
        Sampling stops after more than `min_samples`, and at `max_samples` even if the bound is not reached.
    output_distance : callable or None
        For outputs that are not binary: ``output_distance(a, b)`` returns distances between 0 and 1 of two arrays of
        outputs (definition 3.3). The causal score is then the mean, over inputs, of the largest distance that other
        values cause.
    proxies : mapping of str to iterable of str, or bool
        Features to vary in place of a sensitive column of a case; True takes, for columns that the model does not get,
        the features that predict them best.
    min_score : float
        Flip rate of a set of columns of a case from which on sets that contain it are not tested.
    random_state : int

    Notes
    -----
    Parameters are checked when a score is estimated: a `ValueError` names a number that is out of range, a `TypeError`
    anything that is no schema or no model. The model is never applied twice to one input, until `model`, `schema` or
    `output_distance` is set. A model that is changed in place, as by another fit, has to be set again.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.themis import Themis
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> [round(finding.estimate, 3) for finding in Themis().run(case).findings][:1]
    [0.225]
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "race": ["red", "green", "blue"]})
    >>> themis = Themis(lambda rows: (rows["sex"] == "m") & (rows["race"] == "red"), schema)
    >>> themis.group_score(["sex", "race"]).estimate
    1.0
    """

    title = TITLE
    description = (
        "Themis counts flips (its causal score) among the people of the table, all of them where the budget "
        "allows it, and measures its causal and group scores on inputs whose features are drawn one by one from the "
        "table; numbers of inputs are fixed by the budget and intervals are exact, where the paper draws inputs from a "
        "schema until a normal interval is narrow enough."
    )
    share = 4
    needs = ("model", "decisions")

    def __init__(
        self,
        model: Any = None,
        schema: Schema | None = None,
        *,
        confidence_level: float = 0.99,
        error_bound: float = 0.05,
        stop: Callable | None = None,
        min_samples: int = 10,
        max_samples: int = 100_000,
        output_distance: Callable | None = None,
        proxies: Mapping[str, Iterable[str]] | bool = False,
        min_score: float = 0.05,
        random_state: int = 0,
    ):
        self.model, self.schema, self.confidence_level, self.error_bound = model, schema, confidence_level, error_bound
        self.stop, self.min_samples, self.max_samples = stop, min_samples, max_samples
        self.output_distance, self.random_state = output_distance, random_state
        self.proxies, self.min_score = proxies, min_score

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield flip rates and differences for all features of a case that can be varied, and for sets of them."""
        check_parameters(self)
        options = {name: getattr(self, name) for name in ("proxies", "min_score", "confidence_level", "random_state")}
        yield from case_findings(examination, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter; forget known outputs if another model, schema or output distance may change them."""
        if name in MADE_OF:
            vars(self).pop("_draw", None)
        super().__setattr__(name, value)

    @cached_property
    def _draw(self) -> UniformDraw:
        return UniformDraw(self.model, self.schema, self.output_distance)

    @property
    def model_runs(self) -> int:
        """Number of inputs to which the model was applied over all scores, never twice to one input."""
        return self._draw.runs

    def test_suite(self) -> pd.DataFrame:
        """Return all inputs that were tried, with their output."""
        codes, outputs = self._draw.contents()
        return self.schema.decode(codes).assign(output=outputs)

    @checked(measure=one_of(*MEASURES))
    def estimate(self, measure: str, sets: Iterable[str | Iterable[str]]) -> pd.DataFrame:
        """Estimate the score of some sets of features, each as it would be alone.

        Parameters
        ----------
        measure : {"group", "causal"}
            The group discrimination score (algorithm 1), sampled until the share of every group is within the error
            bound, or the causal discrimination score (algorithm 2).
        sets : iterable of str or of iterables of str

        Returns
        -------
        DataFrame
            One row for each set: ``measure``, ``sensitive_features``, ``estimate``, ``low``, ``high``; ``samples``, the
            number of random inputs behind the estimate; ``tests``, the number of inputs that the paper's algorithm
            tests one by one, cached or not.

        Raises
        ------
        CaseError
            If a feature is unknown.
        DomainTooLargeError
            If features have more than `MOST_ASSIGNMENTS` combinations of values.
        TypeError
            If `sets` is not an iterable of sets, or for the group score with an output distance: shares of positive
            outputs need binary outputs.
        """
        if isinstance(sets, str) or not isinstance(sets, Iterable):
            raise TypeError(f"sets: expected sets of features, found {sets!r}")
        found = self._estimate(measure, list(map(self._positions, sets)), self._rule())
        return pd.DataFrame([row for row, _ in found], columns=list(COLUMNS))

    def group_score(self, sensitive_features: str | Iterable[str]) -> Finding:
        """Return the group discrimination score as a finding; its evidence is the lowest and the highest group.

        The interval is the range that the intervals of all groups' shares together allow (Bonferroni). Errors are those
        of `estimate`.
        """
        return self._finding("group", sensitive_features)

    def causal_score(self, sensitive_features: str | Iterable[str]) -> Finding:
        """Return the causal discrimination score as a finding.

        The evidence is the first inputs whose output changes with other values of the features, each beside such
        values. Errors are those of `estimate`.
        """
        return self._finding("causal", sensitive_features)

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
        """Find the minimal sets of features whose score reaches `min_score` (algorithm 3).

        Every set has random numbers of its own, so its score is the same whatever else is tested. All intervals of a
        search hold simultaneously at the confidence level (Bonferroni over all sets that it may test). A set is found
        if its interval lies at or above the threshold, so that the probability that a search finds any set below it is
        at most the error probability. A set whose interval contains the threshold is undecided.

        Parameters
        ----------
        min_score : float
            Between 0 and 1. A set is found if its score is at least that (definition 3.9; algorithm 3 says above).
        measure : {"causal", "group", "both"}
            Both are searched one after the other, group first.
        sensitive_features : iterable of str, optional
            Features that sets are made of; all by default.
        max_size : int, optional
            Largest set.
        prune : bool
            Whether to skip supersets of sets that were found (theorems 4.1 and 4.2). Without it all sets are tested.

        Raises
        ------
        ValueError
            If `min_score`, `measure` or `max_size` is out of range.
        DomainTooLargeError
            If a set that has to be tested has more than `MOST_ASSIGNMENTS` combinations of values.
        """
        if min_score > 1:
            raise ValueError(f"min_score: expected a number between 0 and 1, found {min_score!r}")
        schema = self._draw.schema
        if sensitive_features is None:
            sensitive_features = [name for name, size in zip(schema.names, schema.sizes, strict=True) if size > 1]
        positions = schema.positions(sensitive_features)
        max_size = check_count(len(positions) if max_size is None else max_size, "max_size", most=len(positions))
        measures = tuple(MEASURES) if measure == "both" else (measure,)
        rule = self._rule(len(measures) * sum(comb(len(positions), k + 1) for k in range(max_size)))
        decided_by = "low" if rule.is_sound else "estimate"
        # Sets of one size do not prune each other, so they are tested together.
        sizes = [[size] for size in range(1, max_size + 1)] if prune else [range(1, max_size + 1)]
        rows, skipped, before = [], {}, self.model_runs
        for one in measures:
            minimal, skipped[one] = [], 0
            for tested_together in sizes:
                sets = [list(subset) for size in tested_together for subset in combinations(positions, size)]
                tested = [self._checked(subset) for subset in sets if not (prune and _covered(subset, minimal))]
                skipped[one] += len(sets) - len(tested)
                for subset, (row, _) in zip(tested, self._estimate(one, tested, rule), strict=True):
                    is_minimal = row[decided_by] >= min_score - ROUNDING and not _covered(subset, minimal)
                    minimal += [subset] * is_minimal
                    rows.append(row | {"minimal": is_minimal})
        return Search(min_score, pd.DataFrame(rows), skipped, self.model_runs - before, decided_by)

    def _rule(self, n_scores: int = 1) -> Rule:
        """Return the stopping rule; a sound one keeps the confidence level over `n_scores` scores together."""
        check_parameters(self)
        check_count(self.max_samples, "max_samples", least=self.min_samples + 1)
        limits = (self.confidence_level, self.error_bound, self.min_samples, self.max_samples)
        rule = (self.stop or Exact)(*limits, binary=self.output_distance is None)
        return (
            replace(rule, confidence_level=bonferroni_level(rule.confidence_level, n_scores)) if rule.is_sound else rule
        )

    def _estimate(self, measure: str, sets: list[list[int]], rule: Rule) -> list[tuple[dict, Callable]]:
        """Return the row of each set in `estimate`, and a function that returns its evidence."""
        if measure == "group" and self.output_distance is not None:
            raise TypeError("the group score needs binary outputs; with an output distance use the causal score")
        found = []
        for start in range(0, len(sets), SETS_AT_ONCE):
            some = sets[start : start + SETS_AT_ONCE]
            names = [tuple(self.schema.names[position] for position in positions) for positions in some]
            seeds = [derive_seed("themis", self.random_state, measure, *each) for each in names]
            scores = (self._group if measure == "group" else self._causal)(some, rule, list(map(default_rng, seeds)))
            for each, (estimate, interval, n, tests, evidence) in zip(names, scores, strict=True):
                row = dict(zip(COLUMNS, (measure, each, estimate, *map(float, interval), n, tests), strict=True))
                found.append((row, evidence))
        return found

    def _group(self, sets: list[list[int]], rule: Rule, rngs: list) -> Iterator[tuple]:
        for positions, rng in zip(sets, rngs, strict=True):
            counts, samples = count_positive(self._draw, positions, rule, rng)
            shares = counts / samples
            low, high, estimate = shares, shares, float(np.ptp(shares))
            if not has_small_groups(self.schema, positions, rule):
                low, high = rule.interval(counts, samples, n_series=len(counts))
                estimate = corrected_spread(counts, samples, rng) if rule.is_sound else estimate
            ends, n = [shares.argmin(), shares.argmax()], int(samples.sum())
            measured = {"share": shares[ends], "low": low[ends], "high": high[ends], "samples": samples[ends]}
            yield estimate, spread_interval(low, high), n, n, partial(self._groups, positions, ends, measured)

    def _groups(self, positions: list[int], numbers: list[int], measured: dict) -> pd.DataFrame:
        """Return groups, given by their numbers, with their measurements."""
        return self.schema.decode(self.schema.combinations(positions, numbers)).iloc[:, positions].assign(**measured)

    def _causal(self, sets: list[list[int]], rule: Rule, rngs: list) -> Iterator[tuple]:
        schema, counting, every = self.schema, rule, None
        if rule.enumerates(schema.n_inputs, measure="causal"):
            counting = Fixed(schema.n_inputs)
            every = schema.assignments(range(len(schema.sizes)))

        def compare(owner):
            return self._draw.compare(self._draw.sample(owner, rngs, every), sets, owner)

        for positions, count, drawn in zip(sets, *count_flips(counting, len(sets), compare), strict=True):
            n = len(drawn.own)
            interval = rule.interval(count, n) if every is None else [count / n] * 2
            shown = drawn.take(np.flatnonzero(drawn.changed)[:EXAMPLES])
            yield float(count / n), interval, n, int(drawn.tests.sum()), partial(self._pairs, positions, shown)

    def _pairs(self, positions: list[int], drawn: Comparison) -> pd.DataFrame:
        """Return inputs beside the values that change the output, and the outputs of both."""
        others = drawn.inputs.copy()
        others[:, positions] = self.schema.combinations(positions, drawn.partner)[:, positions]
        values = self.schema.decode(others).iloc[:, positions]
        found = beside(self.schema.decode(drawn.inputs), values, drawn.own, generated=True, name="output")
        return found.assign(**{free_name(f"{OTHER}output", found): self._draw.decide(others)})

    def _finding(self, measure: str, sensitive_features: str | Iterable[str]) -> Finding:
        [(row, evidence)] = self._estimate(measure, [self._positions(sensitive_features)], self._rule())
        numbers = (row["estimate"], row["low"], row["high"], np.nan)
        finding = score_finding(measure, row["sensitive_features"], numbers, evidence(), row["samples"])
        if self.output_distance is None:
            return finding
        return replace(finding, effect=DISTANCE, measure="counterfactual_distance")

    def _positions(self, sensitive_features: str | Iterable[str]) -> list[int]:
        return self._checked(self._draw.schema.positions(sensitive_features))

    def _checked(self, positions: list[int]) -> list[int]:
        """Return positions of features, if they have no more than `MOST_ASSIGNMENTS` combinations of values."""
        if (n := self.schema.n_assignments(positions)) > MOST_ASSIGNMENTS:
            names = ", ".join(self.schema.names[position] for position in positions)
            raise DomainTooLargeError(f"{names} have {n:,} combinations of values, more than {MOST_ASSIGNMENTS:,}")
        return positions


def _covered(subset: list[int], minimal: list[list[int]]) -> bool:
    return any(set(other) <= set(subset) for other in minimal)
