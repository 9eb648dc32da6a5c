"""A report in plain words: the sentences at its head, and the lines that it shares with the page."""

import math

import numpy as np

from fairlab.cases import Case, Finding
from fairlab.cases.finding import listed

OF_OWN_UNITS = ("loss_ratio", "correlation", "mean_difference")  # measures that are no shares
# What to do about a finding, by its measure; the last is for all others.
NEXT_STEPS = {
    "selection_rate_difference": "Ask whether the groups differ in what the decision is meant to depend on; compare "
    "the rates among people who are alike in that, and look for the feature that carries the difference.",
    "true_positive_rate_difference": "Of people whose true label is favourable, one group is missed more often: check "
    "how its labels came about and whether the features say as much of it, then consider thresholds by group or "
    "training with weights.",
    "false_positive_rate_difference": "One group is wrongly selected more often: check how its labels came about and "
    "how often scores near the threshold are wrong in each group.",
    "error_rate_difference": "The model is wrong more often here: look for missing or rare values in this subgroup, "
    "and for how many of its people the model was trained on.",
    "counterfactual_flip_rate": "The sensitive feature itself decides for these people: leave it out of the features, "
    "or say why it has to be one; the pairs in the report show whom.",
    "demographic_parity_difference": "The model prefers a value of the sensitive feature where all else is equal: "
    "leave it out of the features, or say why it has to be one.",
    "excess_flip_rate": "People who are alike in all other features are decided otherwise: look at the pairs in the "
    "report, and at the features in which they differ most.",
    "loss_ratio": "Small changes along the direction in which the groups differ make the model less right: look for "
    "features that stand for the group, and train without that direction.",
    "calibration_difference": "Equal scores mean different things by group: check how its labels came about, and fit "
    "scores or thresholds to it.",
    "mean_difference": "Ask whether the groups differ in what the number is meant to depend on, and compare people who "
    "are alike in that.",
    "correlation": "The prediction goes with the sensitive feature: compare people who are alike in what it is meant "
    "to depend on.",
    "discriminatory_inputs": "Look at the inputs found: features that occur in many of them show where the sensitive "
    "feature decides.",
    "": "Look at the people or inputs that it rests on.",
}


def summary(report) -> str:
    """Return the verdict in a few sentences: what was found or not, how sure, what could not be seen."""
    parts = [_not_assessed(report), _verdict(report), _clearest(report), _unseen(report), _on_inputs(report)]
    return " ".join(filter(None, parts))


def next_step(measure: str) -> str:
    """Return what to do about a finding of a measure, in a sentence."""
    return NEXT_STEPS.get(measure, NEXT_STEPS[""])


def name_of(case: Case) -> str:
    """Return what to call a case's model: the name of a function, or of its type; and what has none."""
    if case.model is None:
        return "a table of decisions without a model"
    name = getattr(case.model, "__name__", None) or type(case.model).__name__
    return "model" if name == "<lambda>" else name


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``"1 finding"``, ``"1,200 findings"``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """Return a number in three significant digits; nothing for none."""
    return "" if math.isnan(value) else f"{value:.3g}"


def p_value(value: float) -> str:
    """Return a p-value in words, never as 0."""
    return "no test" if math.isnan(value) else f"{value:.1g}" if value >= 1e-4 else "< 0.0001"


def interval(finding: Finding) -> str:
    """Return an interval in words, and that there is none where its ends are unknown."""
    if math.isnan(finding.low) or math.isnan(finding.high):
        return "no interval"
    return f"{number(finding.low)} to {number(finding.high)}"


def reasons(report) -> list[str]:
    """Return one sentence for each sensitive column that was not assessed, with the reasons."""
    return [f"{name} was not assessed. {' '.join(why)}" for name, why in report.not_assessed.items()]


def line(finding: Finding) -> str:
    """Return a finding in a few words: its sentence, or who, where and which effect, then its interval and method."""
    said = finding.sentence or f"{finding.who}, {finding.where}: {finding.effect} {number(finding.estimate)}"
    if math.isnan(finding.low) or math.isnan(finding.high):
        return f"{said} (no interval, by {finding.method})"
    if finding.measure.endswith(("_rate_difference", "_flip_rate")):
        low, high = (finding.low, finding.high) if finding.high > 0 else (-finding.high, -finding.low)  # "lower by"
        known = f"{100 * low:.1f} to {100 * high:.1f} percentage points"
    else:
        known = interval(finding)
    return f"{said} (interval {known}, by {finding.method})"


def _not_assessed(report) -> str:
    if not report.n_tests:
        whom = listed(report.case.sensitive_features)
        return (
            f"Not assessed: no statistical test was possible, so this audit says nothing about differences by {whom}."
        )
    names = listed(report.not_assessed)
    return f"Not assessed: {names}, of which no statistical test was possible." if names else ""


def _verdict(report) -> str:
    if not report.n_tests:
        return ""
    features, name = listed(report.case.sensitive_features), report.model_name or name_of(report.case)
    people, given = count(len(report.case.table), "person", "people"), report.case.n_given
    sample = f" (a random sample of {given:,})" if len(report.case.table) < given else ""
    risk = f"family-wise error rate at most {1 - report.confidence_level:.2g}"
    n_found = len(report.significant)
    if not n_found:
        tests = "the only test" if report.n_tests == 1 else f"any of {report.n_tests:,} tests"
        return (
            f"No difference by {features} beyond {_margins(report)} could be shown for {name} on {people}{sample} "
            f"in {tests} ({risk})."
        )
    return (
        f"{name} was tested on {people}{sample} for differences by {features}: {n_found:,} of "
        f"{count(report.n_tests, 'test')} {'is' if n_found == 1 else 'are'} significant, beyond {_margins(report)} "
        f"({risk})."
    )


def _margins(report) -> str:
    """Return what the tests that decide are against: percentage points of rates, and measures with their own units."""
    tested = report.frame[report.frame["decides"]]
    has_own = tested["measure"].isin(OF_OWN_UNITS)
    others = [f"a {row.measure.replace('_', ' ')} of {row.limit:g}" for row in tested[has_own].itertuples()]
    points = listed(f"{100 * limit:g}" for limit in np.unique(tested["limit"][~has_own]))
    return listed([*[f"the margin of {points} percentage points"] * bool(points), *dict.fromkeys(others)])


def _clearest(report) -> str:
    return f"The first of them: {line(report.significant[0])}." if report.significant else ""


def _unseen(report) -> str:
    """Return how small a difference of selection rates, and a flip rate, could not have been seen."""
    everyone = report.frame[report.frame["where"].eq("everyone") & np.isfinite(report.frame["smallest"])]
    smallest = everyone.groupby(["measure", "who"])["smallest"].max()
    said = []
    for measure in ("selection_rate_difference", "counterfactual_flip_rate"):
        known = [name for name in report.case.sensitive_features if (measure, name) in smallest.index]
        if shown := [f"{100 * smallest[measure, name]:.1f} ({name})" for name in known]:
            said.append(f"a {measure.replace('_', ' ')} of {listed(shown)}")
    if not said:
        return ""
    return f"Where it is silent, it would have found with 80% power {' and '.join(said)} percentage points or more."


def _on_inputs(report) -> str:
    found = int((report.frame["significant"] & report.frame["population"].ne("people")).sum())
    if not found or report.verdict_on == "all":
        return ""
    are = "is" if found == 1 else "are"
    return f"On generated inputs, which do not decide the verdict, {count(found, 'test')} {are} significant."


def how(report) -> str:
    """Return with how many rows the model was queried, by which methods."""
    if report.case.model is None:
        return "Decisions were examined as they are: there is no model, and nothing was queried."
    ran = [result for result in report.results if result.findings or result.n_queries]
    methods = [name for result in ran for name in result.method.split(" and ")]
    again = f", and {count(report.n_repeated, 'row')} again for the determinism check, which the budget does not count"
    before = f", beside {count(report.n_beside, 'other row')} when the case was made"
    queries = report.n_queries - report.n_repeated - report.n_beside
    return (
        f"{listed(methods) or 'No method'} queried the model with {count(queries, 'row')} (at most {report.budget:,} "
        f"were allowed{before if report.n_beside else ''}){again if report.n_repeated else ''}."
    )
