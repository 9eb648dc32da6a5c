"""Rates by group: selection rates, error rates and predictive values, by one sensitive feature and by two.

With weights, or several decisions of one person, a rate is as precise as one from an effective number of independent
people (Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of positive counts
estimated from survey data"): the variance of the rate is linearised, with persons as units. It is at least the variance
if decisions were as correlated within persons, and the weights inflated it as much, as in all groups together.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from scipy.stats import skew

from fairlab.cases import Case, Finding
from fairlab.cases.finding import ROUNDING, decimals, percent
from fairlab.cases.groups import group_codes, tiny_as_one
from fairlab.fairtest.resampling import MOST_RESAMPLED, permute_sums, resample_sums, resamples_of
from fairlab.statistics import SMALLEST_FLOAT, difference_bounds, difference_p_value, smallest_difference

BETWEEN = " and "  # names of features
# Name of a rate: the counts that it divides.
RATES = {
    "selection rate": ("selected", "people"),
    "true positive rate": ("true positives", "positives"),
    "false positive rate": ("false positives", "negatives"),
    "false negative rate": ("false negatives", "positives"),
    "positive predictive value": ("true positives", "labelled selected"),
    "negative predictive value": ("true negatives", "labelled not selected"),
    "error rate": ("errors", "labelled"),
}
MEAN = "mean"  # of outcomes that are numbers, in place of a rate
TESTED = ("selection rate", "true positive rate", "false positive rate")
# Decisions in each count, by kind: 4 if there is a true label, plus 2 if it is favourable, plus 1 if the decision is.
KNOWN, TRUE, SELECTED = (np.arange(8) & bit > 0 for bit in (4, 2, 1))
KINDS = {
    "people": np.ones(8, dtype=bool),
    "selected": SELECTED,
    "labelled": KNOWN,
    "positives": TRUE,
    "true positives": TRUE & SELECTED,
    "false positives": KNOWN & ~TRUE & SELECTED,
    "negatives": KNOWN & ~TRUE,
    "true negatives": KNOWN & ~TRUE & ~SELECTED,
    "false negatives": TRUE & ~SELECTED,
    "errors": KNOWN & (TRUE != SELECTED),
    "labelled selected": KNOWN & SELECTED,
    "labelled not selected": KNOWN & ~SELECTED,
}
# Sums over the units of a group, of weights w and of the weights of hits h, that give its effective number of people.
SUMS = ("h", "w", "squares", "hit squares", "hh", "hw", "ww", "unlike", "more", "units")
SQUARES = ("h", "w", "hh", "hw", "ww")  # the sums that give the variance of a mean
LEAST_SKEWED = 100  # people per squared skewness that Welch's test needs at the low levels of many tests
LEAST_FOR_MEANS = 10  # the same for bootstrap intervals at 95%, by simulation; with fewer, they may be too short
ALWAYS_ENOUGH = 100_000  # people, assumed to be enough for any skewness
_COUNTS: WeakKeyDictionary = WeakKeyDictionary()  # of each case, shared by the audit's tests and tables
LEVEL = 0.999  # of the t quantiles that make intervals of few persons wider


def feature_sets(case: Case) -> list[tuple[str, ...]]:
    """Return each sensitive feature, and each pair of them, whose groups are compared."""
    names = case.sensitive_features
    return [*((name,) for name in names), *combinations(names, 2)]


def group_counts(case: Case, rates: Collection[str] = TESTED) -> pd.DataFrame:
    """Return counts of people and decisions by group, for each sensitive feature and each pair of them.

    Returns
    -------
    DataFrame
        Index ``sensitive_features`` ("sex", "sex and race") and ``group`` ("f, black"); columns ``people``,
        ``selected``, and of those with a true label ``labelled``, ``positives``, ``negatives``, ``true positives``,
        ``false positives``, ``true negatives``, ``false negatives``, ``errors``, ``labelled selected``, ``labelled not
        selected``. With weights or several decisions of one person, also the sums that `effective_counts` needs for
        `rates`; for numeric outcomes ``people`` and, as ``mean: units``, the number of different persons.
    """
    known_counts = _COUNTS.setdefault(case, {})
    if (key := tuple(rates)) not in known_counts:
        known_counts[key] = _counted(case, rates)
    return known_counts[key]


def _counted(case: Case, rates: Collection[str]) -> pd.DataFrame:
    if case.task == "numbers":
        kind, units = np.zeros(len(case.table), dtype=np.int8), {}
    else:
        decided, known = case.decide(), case.labelled
        truth = known & (decided if case.y_true is None else case.y_true.astype(bool))
        kind = (4 * known + 2 * truth + decided).astype(np.int8)
        is_plain = case.weights is None and case.person is None
        units = {} if is_plain else {rate: _units(case, *(KINDS[name][kind] for name in RATES[rate])) for rate in rates}
    first = None if case.person is None else np.unique(case.person, return_index=True)[1]  # first of each person
    parts = {}
    for features in feature_sets(case):
        codes, groups = group_codes(case, features)
        table = np.bincount(codes * 8 + kind, minlength=8 * len(groups)).reshape(-1, 8)
        counted = {name: table[:, kinds].sum(axis=1) for name, kinds in KINDS.items()}
        codes = codes if first is None else codes[first]
        if case.task == "numbers":
            counted[f"{MEAN}: units"] = np.bincount(codes, minlength=len(groups))
        for rate, of_units in units.items():
            every = zip(SUMS, of_units, strict=True)
            sums = {name: np.bincount(codes, values, minlength=len(groups)) for name, values in every}
            sums["squares"] = _squares_as_in_all(sums)
            counted |= {f"{rate}: {name}": values for name, values in sums.items()}
        parts[BETWEEN.join(features)] = pd.DataFrame(counted, index=groups)
    frame = pd.concat(parts, names=["sensitive_features", "group"])
    return frame[frame["people"] > 0]


def _units(case: Case, hits: np.ndarray, among: np.ndarray) -> list[np.ndarray]:
    """Return `SUMS` for each person, or for each decision if nobody has two."""
    weights = 1.0 if case.weights is None else case.weights
    h, w = weights * hits, weights * among
    squares, hit_squares = w * w, h * h
    if case.person is not None:
        present = np.unique(case.person, return_inverse=True)[1]  # some persons are absent from a sample
        h, w, squares, hit_squares = (np.bincount(present, values) for values in (h, w, squares, hit_squares))
    unlike, more = (np.divide(of, w, out=np.zeros_like(h), where=w > 0) for of in (h * (w - h), w * w - squares))
    return [h, w, squares, hit_squares, h * h, h * w, w * w, unlike, more, w > 0]


def _squares_as_in_all(sums: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return by group the squared weights that give a rate's variance if all groups share two parameters.

    One is the correlation of a person's decisions within groups, from 0 to 1. The other is the ratio of variances to
    those from the weights alone, as where a sample was drawn by outcome and hits have large weights. A single group
    shows neither if its few persons with many decisions, or its few people with large weights, have no hit. The
    correlation is the larger of two estimates: from sums by person, and from how seldom two decisions of a person
    differ (Fleiss and Cuzick 1979, "The reliability of dichotomous judgments: unequal numbers of judges per subject"),
    which works even if the few persons of a group are all decided alike.
    """
    h, w, squares, hit_squares, hh, hw, ww, unlike, more, _ = (sums[name] for name in SUMS)
    share = np.divide(h, w, out=np.zeros_like(h), where=w > 0)
    spread = hh - 2 * share * hw + share**2 * ww
    of_decisions = hit_squares - 2 * share * hit_squares + share**2 * squares
    variance = share * (1 - share)
    alike, differ = (variance * (ww - squares)).sum(), (variance * more).sum()
    if alike > 0 and differ > 0:
        likeness = max((spread - of_decisions).sum() / alike, 1 - unlike.sum() / differ)
        squares = squares + np.clip(likeness, 0, 1) * (ww - squares)
    expected = (share * (1 - share) * squares).sum()
    return squares * max(1.0, spread.sum() / expected) if expected > 0 else squares


def effective_counts(counts, rate: str) -> tuple:
    """Return the numbers of hits and of independent people that would give a rate the precision of these decisions.

    Parameters
    ----------
    counts : DataFrame or Series
        Rows of `group_counts`, or sums and differences of them.
    rate : str
        A key of `RATES`.
    """
    if f"{rate}: w" not in counts:
        return tuple(counts[name] for name in RATES[rate])
    h, w, squares, _, hh, hw, ww, *_ = (counts[f"{rate}: {name}"] for name in SUMS)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = h / w
        few = w * w / ww  # if all decisions of a person were one
        most = w * w / squares
        spread = hh - 2 * share * hw + share * share * ww
        n = np.minimum(share * (1 - share) * w * w / spread, most)
        n = np.where((share > 0) & (share < 1) & (spread > 1e-9 * ww), n, np.minimum(few, most))
        freedom = np.maximum(np.minimum(few, n) - 1, 1)
        n = n * (1 - 1 / few) * (stdtrit(np.maximum(n - 1, 1), LEVEL) / stdtrit(freedom, LEVEL)) ** 2
    return np.where(w > 0, share * n, 0.0)[()], np.where(w > 0, n, 0.0)[()]


@dataclass(frozen=True)
class Gap:
    """A difference between two groups with its error.

    Attributes
    ----------
    estimate, error : float
        The difference and its standard error.
    n : int
        Number of decisions behind it.
    freedom : float
        Degrees of freedom: the effective number of people, or persons, less the estimated parameters.
    drawn : tuple of ndarray
        Simulated differences over their errors, sorted, one array for each kind of simulation. A tail has the largest
        probability that Student's t or one of these gives it.
    """

    estimate: float
    error: float
    n: int
    freedom: float
    drawn: tuple[np.ndarray, ...] = field(default=(), compare=False)

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval."""
        tail = (1 - confidence_level) / 2
        least, most = (self._quantile(tail, side) for side in (1, -1))
        return float(self.estimate - most * self.error), float(self.estimate - least * self.error)

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the difference is at most `margin` in size"."""
        if self.error == 0:
            return float(abs(self.estimate) <= margin)
        ends = ((self.estimate + side * margin) / self.error for side in (1, -1))
        return min(1.0, 2 * min(self._tail(end, side) for end, side in zip(ends, (1, -1), strict=True)))

    def _tail(self, end: float, side: int) -> float:
        """Return the probability beyond an end: below it for side 1, above it for side -1."""
        by_theory = found = float(stdtr(self.freedom, side * end))
        for drawn in self._from_side(side):
            n_beyond, n = np.searchsorted(drawn, side * end + ROUNDING, side="right"), len(drawn) + 1
            # Further out than the draws reach, their tail is continued by Student's t.
            found = max(found, float((1 + n_beyond if n_beyond else by_theory / self._furthest(drawn)) / n))
        return found

    def _quantile(self, tail: float, side: int) -> float:
        """Return the end beyond which the probability is `tail`."""
        found = float(stdtrit(self.freedom, tail))
        for drawn in self._from_side(side):
            beyond = tail * (len(drawn) + 1)
            further = stdtrit(self.freedom, max(beyond * self._furthest(drawn), SMALLEST_FLOAT))
            found = min(found, float(drawn[int(beyond) - 1] if beyond >= 1 else further))
        return side * found

    def _from_side(self, side: int) -> list[np.ndarray]:
        """Return the draws in ascending order; for side -1 negated."""
        return [each if side > 0 else -each[::-1] for each in self.drawn]

    def _furthest(self, drawn: np.ndarray) -> float:
        """Return the probability beyond the furthest draw by Student's t, at least the smallest positive float."""
        return max(float(stdtr(self.freedom, drawn[0])), SMALLEST_FLOAT)


def people_in_sums(case: Case) -> np.ndarray:
    """Return each person's contribution to `SQUARES` of a mean, shape (5, n_people)."""
    numbers = case.number()
    sums = dict(zip(SUMS, _units(case, numbers - numbers.mean(), np.ones(len(numbers))), strict=True))
    return np.stack([sums[name] for name in SQUARES])


def are_in(case: Case, features: Sequence[str], group: str) -> np.ndarray:
    """Return whether each person of `people_in_sums` is in a group of some sensitive features."""
    codes, groups = group_codes(case, features)
    inside = codes == list(groups).index(group)
    return inside if case.person is None else inside[np.unique(case.person, return_index=True)[1]]


def are_few(people: np.ndarray, n: int, times: float = LEAST_SKEWED) -> bool:
    """Return whether `n` people are too few for Student's t, given the skewness of these numbers.

    Enough are 100 times the squared skewness of each person's contribution to the mean (so that weights and several
    decisions count), and `ALWAYS_ENOUGH` in any case. That is four times Cochran's rule for 95% (1977, Sampling
    Techniques, 2.15), as one of many tests has a lower level. With fewer people, the mean and its error are often low
    together, and Welch's test rejects too often.

    Parameters
    ----------
    people : ndarray of shape (5, n_people)
        As `people_in_sums` returns it.
    n : int
    times : float
        Factor of the squared skewness.
    """
    h, w, *_ = people
    return n < ALWAYS_ENOUGH and n < times * skew(h - h.sum() / w.sum() * w, bias=False) ** 2


def mean_gap(people: np.ndarray, inside: np.ndarray, n: int, random_state: int = 0) -> Gap:
    """Return the mean inside a group minus that outside, by Welch's method with linearised variances.

    If the smaller group has too few people for the skewness of everyone's numbers (`are_few`), a permutation test of
    the difference over its error is added. With many people it tests equal means, whatever else differs between groups
    (Janssen 1997, Studentized permutation tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher problem);
    with few, equal shapes. So a group that is too small for the skewness of its own numbers is resampled, too
    (bootstrap-t: Efron and Tibshirani 1993, An Introduction to the Bootstrap, 12.5). The widest interval counts. In a
    group of a few dozen people whose mean depends on a few large numbers, none of the three is reliable: see
    `LEAST_FOR_MEANS`.

    Parameters
    ----------
    people : ndarray of shape (5, n_people)
        As `people_in_sums` returns it.
    inside : ndarray of bool of shape (n_people,)
    n : int
        Number of decisions behind it.
    random_state : int
    """
    sides = [people[:, inside], people[:, ~inside]]
    sums = np.stack([side.sum(axis=1) for side in sides], axis=1)
    estimate, error, freedom = map(float, _welch(sums))
    rng, sizes, drawn = np.random.default_rng(random_state), [side.shape[1] for side in sides], []
    if are_few(people, min(sizes)):
        some = permute_sums(people, min(sizes), rng)
        differences, errors, _ = _welch(np.stack([some, people.sum(axis=1, keepdims=True) - some], axis=1))
        drawn.append((differences if sizes[0] == min(sizes) else -differences, errors))
    small = [size < MOST_RESAMPLED and are_few(side, size) for side, size in zip(sides, sizes, strict=True)]
    if any(small):
        n_draws = resamples_of(max(size for size, is_small in zip(sizes, small, strict=True) if is_small))
        some = [
            resample_sums(side, n_draws, rng) if is_small else _moved(side.sum(axis=1), rng.normal(size=n_draws))
            for side, is_small in zip(sides, small, strict=True)
        ]
        differences, errors, _ = _welch(np.stack(some, axis=1))
        drawn.append((differences - estimate, errors))
    over = [np.divide(*each, out=np.zeros_like(each[0]), where=each[1] > 0) for each in drawn]
    return Gap(estimate, error, n, freedom, tuple(map(np.sort, over)))


def _welch(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return differences of two means, their errors and degrees of freedom, from `SQUARES`, of shape (5, 2, ...)."""
    h, w, hh, hw, ww = sums
    mean, few = h / w, w * w / ww
    freedom = np.maximum(few - 1, 1)
    variance = np.maximum(hh - 2 * mean * hw + mean * mean * ww, 0) / w**2 * few / freedom
    error, parts = variance.sum(axis=0), (variance**2 / freedom).sum(axis=0)
    freedom = np.divide(error**2, parts, out=np.ones_like(error), where=parts > 0)
    return mean[0] - mean[1], np.sqrt(error), freedom


def _moved(sums: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return `SQUARES` after all numbers are shifted by `times` the error of their mean."""
    h, w, hh, hw, ww = sums
    by = times * _welch(np.stack([sums, [0, 1, 0, 0, 1]], axis=1))[1]
    return np.stack([h + by * w, w + 0 * by, hh + 2 * by * hw + by**2 * ww, hw + by * ww, ww + 0 * by])


def without_tiny(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts by group, with groups of fewer than five people merged: see `fairlab.cases.groups.tiny_as_one`.

    With weights or persons, they include the effective counts of `TESTED`, such as ``effective people``, the number of
    ``persons`` and the ``weight``.
    """
    parts = {}
    for features, groups in counts.groupby(level=0, sort=False):
        groups = groups.droplevel(0)
        parts[features] = tiny_as_one(groups, people_of(groups, "selection rate"))
    counts = pd.concat(parts, names=counts.index.names)
    if "selection rate: w" not in counts:
        return counts
    own = {"persons": counts["selection rate: units"], "weight": counts["selection rate: w"]}
    for rate in TESTED:
        own |= {f"effective {name}": n for name, n in zip(RATES[rate], effective_counts(counts, rate), strict=True)}
    return counts[list(KINDS)].astype(int).assign(**own)


def people_of(counts, rate: str):
    """Return how many different people a rate rests on."""
    of_rate = f"{MEAN if f'{MEAN}: units' in counts else rate}: units"
    return counts[of_rate] if of_rate in counts else counts[RATES[rate][1]]


def rate_difference(
    method: str,
    features: tuple[str, ...],
    rate: str,
    names: tuple[str, str],
    hits,
    totals,
    *,
    start: str,
    confidence_level: float,
    n: int,
    where: str = "everyone",
    evidence: pd.DataFrame | None = None,
) -> Finding:
    """Return the finding on the rate of a first group minus that of a second one.

    Parameters
    ----------
    method, features, where, evidence, n
        Fields of the finding.
    rate : str
    names : pair of str
        Names of the groups.
    hits, totals : array-like of shape (2,)
        Counts of both groups.
    start : str
        Start of the sentence: the rate in words.
    confidence_level : float
    """
    rates, test = np.divide(hits, totals), partial(difference_p_value, hits, totals)
    low, high = map(float, difference_bounds(hits, totals, confidence_level=confidence_level))
    estimate = float(rates[0] - rates[1])
    return Finding(
        method,
        features,
        where,
        f"{rate} difference, {names[0]} minus {names[1]}",
        estimate,
        low,
        high,
        test(),
        pd.DataFrame() if evidence is None else evidence,
        n,
        f"{start} of {names[0]} is {decimals(100 * abs(estimate))} percentage points "
        f"{'lower' if estimate < 0 else 'higher'} than that of {names[1]} ({' and '.join(map(percent, rates))})",
        measure=f"{rate} difference".replace(" ", "_"),
        groups=names,
        test=test,
        smallest=partial(smallest_difference, hits, totals),
        bounds=partial(difference_bounds, hits, totals),
    )
