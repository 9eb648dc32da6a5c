"""Rates by group: how often the people of each are selected, and how often rightly; by sensitive feature and by two.

Of people with weights, or of several decisions of one person, rates are known as exactly as from some number of
independent people, the effective one (Korn and Graubard 1998, "Confidence intervals for proportions with small expected
number of positive counts estimated from survey data"): the variance of the rate is linearised, persons are its units.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from fairlab.cases import Case, Finding
from fairlab.cases.finding import decimals, percent
from fairlab.cases.groups import group_codes, tiny_as_one
from fairlab.statistics import difference_bounds, difference_p_value, smallest_difference

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
# Kinds of decisions that a count is of: of eight, by whether there is a true label, it is favourable, the decision is.
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
# Sums over the people of a group that the effective number follows from: of weights w, and of those of hits h, by unit.
SUMS = ("h", "w", "squares", "hh", "hw", "ww", "units")
_COUNTS: WeakKeyDictionary = WeakKeyDictionary()  # of each case: the audit's tests and its tables go by the same
LEVEL = 0.999  # at which the spread of few persons makes intervals wider


def feature_sets(case: Case) -> list[tuple[str, ...]]:
    """Return each sensitive feature and each two of them, whose groups are compared."""
    names = case.sensitive_features
    return [*((name,) for name in names), *combinations(names, 2)]


def group_counts(case: Case, rates: Collection[str] = TESTED) -> pd.DataFrame:
    """Return counts of people and decisions by group, of each sensitive feature and of each two of them.

    Returns
    -------
    DataFrame
        Index ``sensitive_features`` ("sex", "sex and race") and ``group`` ("f, black"); columns ``people``,
        ``selected``, and of those with a true label ``labelled``, ``positives``, ``negatives``, ``true positives``,
        ``false positives``, ``true negatives``, ``false negatives``, ``errors``, ``labelled selected``, ``labelled not
        selected``. With weights or several decisions of one person, also what `effective_counts` needs for `rates`; of
        outcomes that are numbers ``people`` and what `mean_gap` needs.
    """
    known_counts = _COUNTS.setdefault(case, {})
    if (key := tuple(rates)) not in known_counts:
        known_counts[key] = _counted(case, rates)
    return known_counts[key]


def _counted(case: Case, rates: Collection[str]) -> pd.DataFrame:
    if case.task == "numbers":
        kind, numbers = np.zeros(len(case.table), dtype=np.int8), case.number()
        units = {MEAN: _units(case, numbers - numbers.mean(), np.ones(len(numbers)))}
    else:
        decided, known = case.decide(), case.labelled
        truth = known & (decided if case.y_true is None else case.y_true.astype(bool))
        kind = (4 * known + 2 * truth + decided).astype(np.int8)
        is_plain = case.weights is None and case.person is None
        units = {} if is_plain else {rate: _units(case, *(KINDS[name][kind] for name in RATES[rate])) for rate in rates}
    first = None if case.person is None else np.unique(case.person, return_index=True)[1]  # decision of each person
    parts = {}
    for features in feature_sets(case):
        codes, groups = group_codes(case, features)
        table = np.bincount(codes * 8 + kind, minlength=8 * len(groups)).reshape(-1, 8)
        counted = {name: table[:, kinds].sum(axis=1) for name, kinds in KINDS.items()}
        codes = codes if first is None else codes[first]
        for rate, sums in units.items():
            for name, values in zip(SUMS, sums, strict=True):
                counted[f"{rate}: {name}"] = np.bincount(codes, values, minlength=len(groups))
        parts[BETWEEN.join(features)] = pd.DataFrame(counted, index=groups)
    frame = pd.concat(parts, names=["sensitive_features", "group"])
    return frame[frame["people"] > 0]


def _units(case: Case, hits: np.ndarray, among: np.ndarray) -> list[np.ndarray]:
    """Return `SUMS` of each person, or of each decision where nobody has two."""
    weights = 1.0 if case.weights is None else case.weights
    h, w = weights * hits, weights * among
    squares = w * w
    if case.person is not None:
        present = np.unique(case.person, return_inverse=True)[1]  # of a sample some persons are not there
        h, w, squares = (np.bincount(present, values) for values in (h, w, squares))
    return [h, w, squares, h * h, h * w, w * w, w > 0]


def effective_counts(counts, rate: str) -> tuple:
    """Return how many hits among how many independent people would tell a rate as exactly as these decisions do.

    Parameters
    ----------
    counts : DataFrame or Series
        Of `group_counts`, or sums and differences of its rows.
    rate : str
        Of `RATES`.
    """
    if f"{rate}: w" not in counts:
        return tuple(counts[name] for name in RATES[rate])
    h, w, squares, hh, hw, ww, _ = (counts[f"{rate}: {name}"] for name in SUMS)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = h / w
        few = w * w / ww  # if all decisions of a person were one
        spread = hh - 2 * share * hw + share * share * ww
        n = np.minimum(share * (1 - share) * w * w / spread, w * w / squares)
        n = np.where((share > 0) & (share < 1) & (spread > 1e-9 * ww), n, few)
        freedom = np.maximum(np.minimum(few, n) - 1, 1)
        n = n * (1 - 1 / few) * (stdtrit(np.maximum(n - 1, 1), LEVEL) / stdtrit(freedom, LEVEL)) ** 2
    return np.where(w > 0, share * n, 0.0)[()], np.where(w > 0, n, 0.0)[()]


@dataclass(frozen=True)
class Gap:
    """A difference between two groups with a normal error.

    Attributes
    ----------
    estimate, error : float
        With its standard error.
    n : int
        Decisions that it rests on.
    freedom : float
        Degrees of freedom: people, or persons, of equal weight, less those that the error is estimated by.
    """

    estimate: float
    error: float
    n: int
    freedom: float

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval."""
        half = float(stdtrit(self.freedom, (1 + confidence_level) / 2)) * self.error
        return self.estimate - half, self.estimate + half

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the difference is at most `margin` in size"."""
        beyond = abs(self.estimate) - margin
        if self.error == 0:
            return float(beyond <= 0)
        return float(2 * stdtr(self.freedom, -beyond / self.error)) if beyond > 0 else 1.0


def mean_gap(own: pd.Series, rest: pd.Series) -> Gap:
    """Return the difference of the means of two groups, from `group_counts`, by Welch with linearised variances.

    Of very skewed numbers a small group often has a low mean together with a small variance, so that p-values are too
    small; in groups of one size they keep their level. `fairlab.auditing.doubts` says where.
    """
    means, variances, freedoms = [], [], []
    for counts in (own, rest):
        h, w, _, hh, hw, ww, _ = (float(counts[f"{MEAN}: {name}"]) for name in SUMS)
        mean, few = h / w, w * w / ww
        means.append(mean)
        freedoms.append(max(few - 1, 1))
        variances.append(max(hh - 2 * mean * hw + mean * mean * ww, 0) / w**2 * few / freedoms[-1])
    error, parts = sum(variances), np.square(variances) / freedoms
    freedom = error**2 / parts.sum() if error else 1.0
    return Gap(means[0] - means[1], float(np.sqrt(error)), int(own["people"] + rest["people"]), float(freedom))


def without_tiny(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts by group, those of fewer than five people as one: see `fairlab.cases.groups.tiny_as_one`.

    Of weights and persons they have the effective counts of `TESTED`, as ``effective people``, and how many ``persons``
    there are.
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
    """Return the finding on a rate of a first group less that of a second one.

    Parameters
    ----------
    method, features, where, evidence, n
        Of the finding.
    rate : str
    names : pair of str
        Of the groups.
    hits, totals : array-like of shape (2,)
        Counts of both groups.
    start : str
        Of the sentence: the rate in words.
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
        test=test,
        smallest=partial(smallest_difference, hits, totals),
        bounds=partial(difference_bounds, hits, totals),
    )
