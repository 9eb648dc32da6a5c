"""Rates of a case by group: selection rates, and true and false positive rates where true labels are known."""

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np
import pandas as pd

from fairlab.cases import Finding
from fairlab.cases.finding import few, listed
from fairlab.cases.method import Examination, Method
from fairlab.fairtest.calibration import CALIBRATION, calibration_gap
from fairlab.fairtest.rates import (
    BETWEEN,
    RATES,
    TESTED,
    effective_counts,
    feature_sets,
    group_counts,
    pairs_of_groups,
    people_of,
)
from fairlab.statistics import difference_bounds, difference_p_value, smallest_difference, smallest_effect

LEAST_RATED = 30  # people of a group, or people with such a true label
MOST_RATED = 12  # of one feature, or of two, that are compared, the largest first
MEANS = {
    "positives": "true label is favourable",
    "negatives": "true label is not favourable",
    "labelled": "true label is known",
}


class GroupRates(Method):
    """Compares the rates of groups: of every sensitive feature, and of the intersections of two.

    Of a feature with two groups the first is compared with the second; of one with more, and of intersections, each
    with everyone else. The selection rate difference is demographic parity's, that of true positive rates equal
    opportunity's; with that of false positive rates it is equalised odds'. Bounds are put together from exact ones of
    both rates, and the p-value is the level at which they reach the margin. An audit does not test error rates, which
    follow from these and from how many labels are favourable; a rule on them has `rates` do it. Of decisions that came
    with scores, and with true labels, calibration is compared as well, see `fairlab.fairtest.calibration`.

    Weights and several decisions of one person are in all of these; see `fairlab.fairtest.rates`.

    Parameters
    ----------
    rates : collection of str, optional
        Some of `fairlab.fairtest.rates.RATES` and ``"calibration"``, which any model with scores may be tested for. By
        default the rates of `fairlab.fairtest.rates.TESTED`, and calibration of decisions without a model.
    confidence_level : float
    random_state : int

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.fairtest import GroupRates
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> [finding.measure for finding in GroupRates().run(case).findings]
    ['selection_rate_difference']
    """

    title = "group rates"
    description = (
        "Group rates are compared between the groups of each sensitive feature and of each two together, of "
        "more than two groups each with everyone else: selection rates, and true and false positive rates where true "
        "labels are known; no paper is behind this."
    )
    share = 0
    needs = ("decisions",)
    takes_weights = True

    def __init__(self, *, rates: Collection[str] | None = None, confidence_level: float = 0.95, random_state: int = 0):
        super().__init__(confidence_level=confidence_level, random_state=random_state)
        self.rates = rates

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the difference of each rate between two groups."""
        case = examination.case
        rates = (*TESTED, *[CALIBRATION] * (case.model is None)) if self.rates is None else self.rates
        counts = group_counts(case, [rate for rate in rates if rate != CALIBRATION])
        for features in feature_sets(case):
            groups = counts.loc[BETWEEN.join(features)]
            for name, other, own, rest in pairs_of_groups(groups, _compared(examination, features, groups)):
                for rate in rates:
                    if rate != CALIBRATION:
                        yield from self._difference(examination, features, (name, other), rate, own, rest)
                    elif len(features) == 1 and case.has_scores and case.labelled.any():
                        yield from self._calibration(examination, *features, (name, other))

    def _calibration(self, examination, feature, names) -> Iterator[Finding]:
        """Yield how much more often a label is favourable in one group than in the other at equal scores."""
        case = examination.case
        groups = case.groups(feature).astype(str).to_numpy()
        found = calibration_gap(case, groups == names[0], LEAST_RATED)
        if found is None:
            examination.skip(
                f"{feature}: {CALIBRATION} of {names[0]} was not compared, since fewer than {LEAST_RATED} people with "
                f"true labels and scores that occur in both groups are {names[0]} or {names[1]}."
            )
            return
        low, high = found.bounds(self.confidence_level)
        more = "more" if found.estimate > 0 else "less"
        yield Finding(
            self.title,
            (feature,),
            "everyone",
            f"calibration difference, {names[0]} minus {names[1]}",
            found.estimate,
            low,
            high,
            found.p_value(),
            pd.DataFrame(),
            found.n,
            f"At equal scores the true label of {names[0]} is favourable {more} often than that of {names[1]}, by "
            f"{100 * abs(found.estimate):.1f} percentage points",
            measure="calibration_difference",
            test=found.p_value,
            smallest=partial(smallest_effect, low, high, self.confidence_level),
        )

    def _difference(self, examination, features, names, rate, own, rest) -> Iterator[Finding]:
        """Yield the difference of one rate; nothing where nobody's true label is known."""
        if rate != "selection rate" and not own["labelled"] + rest["labelled"]:
            return
        people = [int(people_of(counts, rate)) for counts in (own, rest)]
        if min(people) < LEAST_RATED:
            who = names[int(np.argmin(people))]
            few_people = f"fewer than {LEAST_RATED} people are {who} and their {MEANS[RATES[rate][1]]} ({min(people)})"
            examination.skip(f"{listed(features)}: {few_people}.")
            return
        hits, totals = zip(*(effective_counts(counts, rate) for counts in (own, rest)), strict=True)
        low, high = map(float, difference_bounds(hits, totals, confidence_level=self.confidence_level))
        rates = np.divide(hits, totals)
        estimate, test = float(rates[0] - rates[1]), partial(difference_p_value, hits, totals)
        side = "lower" if estimate < 0 else "higher"
        yield Finding(
            self.title,
            features,
            "everyone",
            f"{rate} difference, {names[0]} minus {names[1]}",
            estimate,
            low,
            high,
            test(),
            pd.DataFrame(),
            int(own[RATES[rate][1]] + rest[RATES[rate][1]]),
            f"The {rate} of {names[0]} is {100 * abs(estimate):.1f} percentage points {side} than that of {names[1]} "
            f"({rates[0]:.1%} and {rates[1]:.1%})",
            measure=f"{rate} difference".replace(" ", "_"),
            test=test,
            smallest=partial(smallest_difference, hits, totals),
        )


def _compared(examination: Examination, features: tuple[str, ...], groups: pd.DataFrame) -> list[str]:
    """Return the groups that are large enough, and note the others."""
    sizes = people_of(groups, "selection rate").astype(int)
    if small := [f"{name} ({size})" for name, size in sizes[sizes < LEAST_RATED].items()]:
        examination.skip(f"{listed(features)}: fewer than {LEAST_RATED} people are {few(small)}.")
    large = sizes[sizes >= LEAST_RATED]
    kept = set(large.sort_values(ascending=False, kind="stable").index[:MOST_RATED])
    if left_out := [name for name in large.index if name not in kept]:
        examination.skip(f"{listed(features)}: only the {MOST_RATED} largest groups are compared, not {few(left_out)}.")
    return [name for name in large.index if name in kept and sizes.sum() - sizes[name] >= LEAST_RATED]
