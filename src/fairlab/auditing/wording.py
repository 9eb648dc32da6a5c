"""A report in plain words: the paragraph at its head, and the lines that it shares with the page."""

import math
from collections.abc import Sequence

from fairlab.cases import Case, Finding

MOST_NAMED = 3  # groups in a sentence


def summary(report) -> str:
    """Return one paragraph: what was tested, what was found, how sure that is, and what was not assessed."""
    parts = [_not_assessed(report), _tested(report), _found(report), _sure(report), _left_out(report)]
    return " ".join(filter(None, parts))


def name_of(case: Case) -> str:
    """Return what to call a case's model: the name of a function, or of its type."""
    return getattr(case.model, "__name__", None) or type(case.model).__name__


def listed(words: Sequence[str]) -> str:
    """Return words in a sentence: ``"a, b and c"``."""
    words = list(words)
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def few(names: Sequence[str]) -> str:
    """Return the first names in words, and how many there are besides."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``"1 finding"``, ``"1,200 findings"``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """Return a number in three significant digits."""
    return f"{value:.3g}"


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
    said = (
        finding.sentence
        or f"{finding.sensitive_features}, {finding.where}: {finding.effect} {number(finding.estimate)}"
    )
    known = interval(finding)
    return f"{said} ({known if known == 'no interval' else f'interval {known}'}, by {finding.method})"


def _not_assessed(report) -> str:
    if not report.n_tests:
        whom = listed(report.case.sensitive_features)
        return (
            f"Not assessed: no statistical test was possible, so this audit says nothing about differences by {whom}."
        )
    names = listed(report.not_assessed)
    return f"Not assessed: {names}, of which no statistical test was possible." if names else ""


def _tested(report) -> str:
    ran = [result for result in report.results if result.findings or result.n_queries]
    methods = [name for result in ran for name in result.method.split(" and ")]
    asked = f"{listed(methods)} queried it with" if methods else "it was queried with"
    again = f", and {count(report.n_repeated, 'row')} again for the determinism check, which the budget does not count"
    before = f", beside {count(report.n_beside, 'other row')} when the case was made"
    people, given = count(len(report.case.table), "person", "people"), report.case.n_given
    queries = report.n_queries - report.n_repeated - report.n_beside
    sample = f", a random sample of the {given:,} of the table," if len(report.case.table) < given else ""
    return (
        f"{name_of(report.case)} was tested on {people}{sample} for differences by "
        f"{listed(report.case.sensitive_features)}: {asked} "
        f"{count(queries, 'row')} (at most {report.budget:,} were allowed"
        f"{before if report.n_beside else ''}){again if report.n_repeated else ''}."
    )


def _found(report) -> str:
    found = report.significant
    if not report.findings:
        return "No method came to a finding."
    if not found:
        return f"None of the {count(len(report.findings), 'finding')} is significant: no difference could be shown."
    best = {}
    for finding in found:
        best.setdefault(finding.method, finding)
    ran = dict.fromkeys(f.method for result in report.results for f in result.findings)
    best = [line(best[method]) for method in ran if method in best]
    are = "is" if len(found) == 1 else "are"
    return (
        f"{len(found)} of {count(len(report.findings), 'finding')} {are} significant; the clearest of each method: "
        f"{'; '.join(best)}."
    )


def _sure(report) -> str:
    if not report.n_tests:
        return ""
    risk = f"{1 - report.confidence_level:.2g}"
    return (
        f"How sure: {count(report.n_tests, 'finding was', 'findings were')} tested together, corrected by Holm's "
        f"method, so that for a model without any such effect the family-wise error rate is at most {risk}; "
        f"uncorrected, up to {report.expected_false_alarms:.2g} would be expected by chance alone."
    )


def _left_out(report) -> str:
    reasons = report.skipped
    if not reasons:
        return "Every method assessed all that it can assess."
    silent = [e.method for e in report.results if not e.findings]
    found_none = f"{listed(silent)} came to no finding; " if silent and report.findings else ""
    return f"Not assessed: {found_none}{count(len(reasons), 'point')}, listed with the reasons."
