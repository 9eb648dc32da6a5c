"""Rates of a case by group: selection rates, and true and false positive rates where true labels are known."""

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np
import pandas as pd

from fairlab.cases import Finding
from fairlab.cases.decisions import why_no_error_rates
from fairlab.cases.finding import decimals, few, listed
from fairlab.cases.method import Examination, Method
from fairlab.checks import check_count, check_number
from fairlab.fairtest.calibration import CALIBRATION, calibration_gap
from fairlab.fairtest.rates import (
    BETWEEN,
    LEAST_FOR_MEANS,
    MEAN,
    RATES,
    TESTED,
    Gap,
    are_few,
    are_in,
    effective_counts,
    feature_sets,
    group_counts,
    mean_gap,
    people_in_sums,
    people_of,
    rate_difference,
)
from fairlab.statistics import smallest_effect

LEAST_RATED = 30  # people of a group, or those of them with a rate's true label
MEAN_MARGIN, MEAN_WITHIN = 0.005, 0.05  # in standard deviations: differences that are no finding, and that are small
MOST_RATED = 12  # groups of one feature, or of two, that are compared, the largest first
SAID = {  # names of less familiar rates, in words
    "true positive rate": "Of people whose true label is favourable, the selection rate",
    "false positive rate": "Of people whose true label is not favourable, the selection rate",
}
MEANS = {  # of people in the denominator of a rate, in words
    "positives": "true label is favourable",
    "negatives": "true label is not favourable",
    "labelled": "true label is known",
}


class GroupRates(Method):
    """Compares the rates of groups: of every sensitive feature, and of the intersections of two.

    With two groups, the first is compared with the second; with more, and for intersections, each is compared with
    everyone else. The selection rate difference measures demographic parity, that of true positive rates equal
    opportunity, and those of true and of false positive rates together equalised odds. Bounds combine exact ones of
    both rates, and the p-value is the alpha at which they reach the margin. An audit does not test error rates, which
    follow from these and from how many labels are favourable; a rule on error rates names them in `rates`. For
    decisions with scores and true labels, calibration is compared as well, see `fairlab.fairtest.calibration`.

    Numeric outcomes have no rates: their means are compared by Welch's t, in small groups of skewed numbers also by a
    permutation test and bootstrap samples; see `fairlab.fairtest.rates.mean_gap`.

    All of these allow for weights and for several decisions of one person; see `fairlab.fairtest.rates`.

    Parameters
    ----------
    rates : collection of str, optional
        Some of `fairlab.fairtest.rates.RATES` and ``"calibration"``, which any model with scores can be tested for. By
        default the rates in `fairlab.fairtest.rates.TESTED` and, for decisions without a model, calibration.
    mean_margin : float or None
        For numeric outcomes, the difference of means, in their unit, up to which it is no finding and counts as small;
        by default, 0.005 standard deviations are no finding, and 0.05 are small.
    fewest : int
        Least number of people in a group that is compared, and of those with the rate's true label.
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
        "more than two groups each with everyone else: selection rates, true and false positive rates where true "
        "labels are known, calibration where decisions come with scores, and means where outcomes are numbers; no "
        "paper is behind this."
    )
    share = 0
    takes_weights = True

    def __init__(
        self,
        *,
        rates: Collection[str] | None = None,
        mean_margin: float | None = None,
        fewest: int = LEAST_RATED,
        confidence_level: float = 0.95,
        random_state: int = 0,
    ):
        super().__init__(confidence_level=confidence_level, random_state=random_state)
        self.rates, self.mean_margin, self.fewest = rates, mean_margin, check_count(fewest, "fewest")
        if mean_margin is not None:
            check_number(mean_margin, "mean_margin", above=0)

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the difference of each rate between two groups."""
        case, rates = examination.case, self._rates(examination)
        counts = group_counts(case, [rate for rate in rates if rate in RATES])
        people, skewed = people_in_sums(case) if MEAN in rates else np.empty(0), {}
        for features, names, own, rest in self._pairs(examination, counts) if rates else ():
            for rate in rates:
                if rate == MEAN:
                    inside, n = are_in(case, features, names[0]), int(own["people"] + rest["people"])
                    for name, some in zip(names, (people[:, inside], people[:, ~inside]), strict=True):
                        if are_few(some, some.shape[1], LEAST_FOR_MEANS):
                            skewed[name] = f"{name} ({some.shape[1]:,})"
                    yield self._mean(case, features, names, mean_gap(people, inside, n, self.random_state))
                elif rate != CALIBRATION:
                    yield from self._difference(examination, features, names, rate, own, rest)
                elif len(features) == 1 and case.has_scores and case.labelled.any():
                    yield from self._calibration(examination, features, names)
        if skewed:
            examination.warnings.append(
                f"So few people are {few([*skewed.values()])} that a few large numbers make their means, and intervals "
                "may be too short. Compare logarithms, or the share of numbers above a limit, too."
            )

    def _rates(self, examination) -> list[str]:
        """Return the rates that can be compared; report the others as skipped."""
        case = examination.case
        if case.task == "numbers":
            if self.rates is not None and examination.lacks("decisions"):
                return []
            if np.ptp(number := case.number()) == 0:
                examination.skip(f"No means were compared: each number is {number[0]:g}.")
                return []
            return [MEAN]
        rates = [*TESTED, *[CALIBRATION] * (case.model is None)] if self.rates is None else list(self.rates)
        left = [rate for rate in rates if rate in RATES and RATES[rate][1] in MEANS]
        if not left or not (why := why_no_error_rates(case)):
            return rates
        examination.skip(f"No {' and no '.join(left)} was compared: {why}.")
        return [rate for rate in rates if rate not in left]

    def _pairs(self, examination, counts) -> Iterator[tuple]:
        """Yield features, the names of two groups, and the counts of both."""
        for features in feature_sets(examination.case):
            groups = counts.loc[BETWEEN.join(features)]
            sizes = people_of(groups, "selection rate").astype(int)
            for names in examination.pairs_of_groups(features, sizes, self.fewest, MOST_RATED):
                own = groups.loc[names[0]]
                yield features, names, own, groups.loc[names[1]] if len(groups) == 2 else groups.sum() - own

    def _mean(self, case, features, names, gap: Gap) -> Finding:
        """Return the difference of the means of two groups."""
        margin = within = self.mean_margin
        if margin is None:
            margin, within = (share * float(case.number().std()) for share in (MEAN_MARGIN, MEAN_WITHIN))
        side = "lower" if gap.estimate < 0 else "higher"
        said = f"The mean of {names[0]} is {abs(gap.estimate):.3g} {side} than that of {names[1]}"
        return self._gap(
            features, names, MEAN, gap, gap.bounds(self.confidence_level), said, limit=margin, within=within
        )

    def _calibration(self, examination, features, names) -> Iterator[Finding]:
        """Yield how much more often a label is favourable in one group than in the other at equal scores."""
        groups = examination.case.groups(*features)
        gap = calibration_gap(examination.case, (groups == names[0]).to_numpy(), self.fewest)
        if gap is None:
            examination.skip(
                f"{features[0]}: {CALIBRATION} of {names[0]} was not compared, since fewer than {self.fewest} people "
                f"with true labels, and with scores that occur in both groups, are {names[0]} or {names[1]}.",
                features[0],
                left_out=[names[0]],
            )
            return
        low, high = gap.bounds(self.confidence_level)
        more = "more" if gap.estimate > 0 else "less"
        said = (
            f"At equal scores the true label of {names[0]} is favourable {more} often than that of {names[1]}, by "
            f"{decimals(100 * abs(gap.estimate))} percentage points"
        )
        yield self._gap(features, names, CALIBRATION, gap, (max(low, -1.0), min(high, 1.0)), said)

    def _gap(self, features, names, what, gap: Gap, ends, said, **options) -> Finding:
        """Return the finding on the difference in a `Gap`."""
        return Finding(
            self.title,
            features,
            "everyone",
            f"{what} difference, {names[0]} minus {names[1]}",
            gap.estimate,
            *ends,
            gap.p_value(),
            pd.DataFrame(),
            gap.n,
            said,
            measure=f"{what}_difference",
            groups=names,
            test=gap.p_value,
            smallest=partial(smallest_effect, *ends, self.confidence_level),
            bounds=gap.bounds,
            **options,
        )

    def _difference(self, examination, features, names, rate, own, rest) -> Iterator[Finding]:
        """Yield the difference of one rate; nothing where nobody's true label is known."""
        if rate != "selection rate" and not own["labelled"] + rest["labelled"]:
            return
        people = [int(people_of(counts, rate)) for counts in (own, rest)]
        if min(people) < self.fewest:
            who = names[int(np.argmin(people))]
            few_people = f"fewer than {self.fewest} people" if self.fewest > 1 else "no people"
            reason = f"{few_people} are {who} and their {MEANS[RATES[rate][1]]} ({min(people)})"
            left_out = [who] if len(features) == 1 else ()  # as for groups that are small altogether
            examination.skip(f"{listed(features)}: {reason}.", *features, left_out=left_out)
            return
        hits, totals = zip(*(effective_counts(counts, rate) for counts in (own, rest)), strict=True)
        yield rate_difference(
            self.title,
            features,
            rate,
            names,
            hits,
            totals,
            start=SAID.get(rate, f"The {rate}"),
            confidence_level=self.confidence_level,
            n=int(own[RATES[rate][1]] + rest[RATES[rate][1]]),
        )
