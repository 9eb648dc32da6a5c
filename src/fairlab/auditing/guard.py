"""What makes an audit fail in a pipeline: rules with margins, a baseline, and findings that were accepted.

What could not be judged does not pass: a rule on a measure that was not tested, or a test of the baseline that was not
made again.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from math import comb, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from fairlab.auditing.audits import run
from fairlab.auditing.comparison import are_opposite
from fairlab.auditing.report import UNDECIDED, Report
from fairlab.auditing.wording import comparable, line, settled_by
from fairlab.cases import Case, Feature, Finding, MethodResult
from fairlab.cases.decisions import why_no_error_rates
from fairlab.cases.finding import decimals, listed
from fairlab.cases.method import REST, Examination
from fairlab.checks import check_number, suggestion
from fairlab.fairtest import FairTest
from fairlab.statistics import bonferroni_level, holm

RATIO = "impact_ratio"
# By measure, the method that tests it.
MEASURES = {
    "selection_rate_difference": "group rates",
    "true_positive_rate_difference": "group rates",
    "false_positive_rate_difference": "group rates",
    "error_rate_difference": "group rates",
    "calibration_difference": "group rates",
    "mean_difference": "group rates",
    "counterfactual_flip_rate": "Themis",
    "excess_flip_rate": "FlipTest",
    "demographic_parity_difference": "Themis",
    "loss_ratio": "individual fairness",
    "correlation": "FairTest",
}
KNOWN = (*MEASURES, RATIO)
ERRORS, CALIBRATION = "error_rate_difference", "calibration_difference"
# Rates of everyone that are tested only if a rule requests them: audits test errors in subgroups, and calibration where
# there is no model.
ASKED_FOR = (ERRORS, CALIBRATION)
OF_TRUTH = ("true_positive_rate_difference", "false_positive_rate_difference", ERRORS)
OF_LABELS = (*OF_TRUTH, CALIBRATION)
OF_GROUPS = ("selection_rate_difference", *OF_LABELS)
OF_NUMBERS = ("correlation", "mean_difference")
OF_SUBGROUPS = ("selection_rate_difference", ERRORS, "correlation")  # which FairTest looks for, too
DIRECT = ("counterfactual_flip_rate", "demographic_parity_difference")  # 0 for a feature that the model does not get
PATTERN = re.compile(r"\s*(\w+)\s*([<>])\s*([0-9.eE+-]+)\s*")
# What is read of each finding in a baseline.
ABOUT = ("method", "measure", "sensitive_features", "population", "effect", "where")
OF_BASELINE: dict[str, Any] = dict.fromkeys(ABOUT, str)
OF_BASELINE |= dict.fromkeys(("estimate", "low", "high", "p_value"), float | int | None)
OF_BASELINE |= {"significant": bool, "groups": list}
LABELS = str | int | float | bool | None  # what a favourable label in a baseline may be
FLIPS = "excess_flip_rate"  # which has no direction; its groups are those of `by_group`
# Where a baseline tested a measure, in words.
AMONG = {"everyone": "", "proxies": " through proxies", "subgroups": " in subgroups"}
NOT_AGAIN = "was tested in the baseline but not in this audit"
NO_FEATURE = "it is not a sensitive feature of this audit"
KEYS = ("measure", "sensitive_features", "where", "reason", "expires")


@dataclass(frozen=True)
class Rule:
    """A limit on one measure.

    Attributes
    ----------
    measure : str
        One of `MEASURES`, or "impact_ratio".
    limit : float
        Largest size of the effect; of an impact ratio the smallest value.

    Raises
    ------
    ValueError
        If the measure is unknown, or nothing could be beyond the limit.

    Examples
    --------
    >>> from fairlab.auditing.guard import Rule
    >>> Rule.of("selection_rate_difference > 0.05")
    Rule(measure='selection_rate_difference', limit=0.05)
    """

    measure: str
    limit: float

    def __post_init__(self):
        if self.measure not in KNOWN:
            raise ValueError(f"unknown measure {self.measure!r}{suggestion(self.measure, KNOWN)}")
        limit = check_number(self.limit, "limit", least=0)
        is_share = self.measure not in ("loss_ratio", "mean_difference")
        if is_share and (limit > 1 or limit == (self.measure != RATIO)):  # nothing would be beyond it
            limits = "above 0, up to 1" if self.measure == RATIO else "from 0, below 1"
            raise ValueError(f"limit: expected a share {limits}, found {limit:g}")

    @classmethod
    def of(cls, text: str) -> "Rule":
        """Return the rule of a text as "selection_rate_difference > 0.05" or "impact_ratio < 0.8".

        Raises
        ------
        ValueError
            If the text is not a rule, or its measure is unknown.
        """
        found = PATTERN.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise ValueError(f"fail_on: expected MEASURE > NUMBER or impact_ratio < NUMBER, found {text!r}")
        measure, sign, number = found.groups()
        if measure in KNOWN and (sign == "<") != (measure == RATIO):
            raise ValueError(f"fail_on: expected {'<' if measure == RATIO else '>'} after {measure}, found {text!r}")
        try:
            limit = float(number)
        except ValueError:
            raise ValueError(f"fail_on: expected a number at the end, found {text!r}") from None
        try:
            return cls(measure, limit)
        except ValueError as error:
            raise ValueError(f"fail_on: {error}, in {text!r}") from None

    def __str__(self) -> str:
        return f"{self.measure} {'<' if self.measure == RATIO else '>'} {self.limit:g}"

    def failures(self, report: Report) -> list[tuple["Subject", str]]:
        """Return what is shown to be beyond the limit, each with a sentence.

        Tests are against the limit, corrected together: Holm's method over findings, and for impact ratios Bonferroni's
        over all pairs of groups, since any may be the one that is selected most often. So each rule by itself fails
        wrongly with a probability of at most ``1 - confidence_level``; with several rules, these probabilities add up.
        """
        if self.measure == RATIO:
            return self._ratios(report)
        found = [each for each in _tested(report, self.measure) if self._is_tested_by(each)]
        p_values = holm([each.p_value_beyond(self.limit) for each in found])
        beyond = p_values <= 1 - report.confidence_level
        return [(_subject(each), f"{self}: {line(each)}") for each, is_so in zip(found, beyond, strict=True) if is_so]

    def not_judged(self, report: Report) -> list[tuple["Subject", str]]:
        """Return the sensitive features by which the measure was not tested, or not of all groups, with the reasons."""
        known, left_out = _compared_by(report, self.measure), _left_out(report, self.measure)
        names = report.case.sensitive_features
        missed = {name: _untested(report, self.measure, name, known) or left_out.get(name, "") for name in names}
        found = [(Subject(self.measure, name), f"{self}, by {name}: {why}") for name, why in missed.items() if why]
        others = [] if self.measure == RATIO else _tested(report, self.measure)
        return found + [
            (_subject(each), f"{self}, by {each.who}: {each.method} tests it against {each.limit:g} only")
            for each in others
            if not self._is_tested_by(each)
        ]

    def _is_tested_by(self, finding: Finding) -> bool:
        """Return whether the p-value of a finding can be against the limit, or is against more."""
        return finding.test is not None or finding.limit >= self.limit

    def _ratios(self, report) -> list[tuple["Subject", str]]:
        # Small groups, too: they are never the reference of a ratio, but their own ratio has an interval.
        compared = {
            features: table.index[table["impact ratio"].notna()]
            for features, table in report.groups.items()
            if len(comparable(table)) > 1
        }
        n_pairs = sum(comb(len(names), 2) for names in compared.values())
        corrected = report.impact_tables(bonferroni_level(report.confidence_level, max(n_pairs, 1)))
        return [
            (
                Subject(RATIO, features),
                f"{self}: {features} {name} {decimals(table.loc[name, 'impact ratio'], 2, self.limit)}",
            )
            for features, table in corrected.items()
            for name in compared.get(features, ())
            if table.loc[name, "ratio high"] < self.limit
        ]


class Subject(NamedTuple):
    """What a rule, a baseline or an acceptance is about."""

    measure: str
    sensitive_features: str
    where: str = "everyone"


def _subject(finding: Finding) -> Subject:
    return Subject(finding.measure, finding.who, finding.where)


def _tested(report: Report, measure: str, *, any_size: bool = True) -> list[Finding]:
    """Return the findings of a measure that have a test and decide the verdict, and those that only rules request."""
    if measure in OF_TRUTH and why_no_error_rates(report.case):  # FairTest's subgroups are of these people alone
        return []
    found = list(report.tested.loc[report.tested["measure"].eq(measure), "finding"])
    if (asked := _asked_for(report, measure, any_size=any_size)) is not None:
        found = [each for each in found if each.method != asked.method] + list(asked.findings)
    return found


def _asked_for(report: Report, measure: str, *, any_size: bool = True) -> MethodResult | None:
    """Return the tests of group rates that only a rule requests, besides the report's own; None if there are none."""
    case, did_run = report.case, "group rates" in [result.method for result in report.results]
    is_asked = measure in OF_GROUPS if did_run and any_size else measure in ASKED_FOR
    if not is_asked or case.task == "numbers" or (measure in OF_LABELS and case.y_true is None):
        return None
    options: dict = {"rates": [measure.removesuffix("_difference").replace("_", " ")]}
    options |= {"fewest": 1} if any_size and measure != CALIBRATION else {}  # calibration bounds need large groups
    return run("rates", case, confidence_level=report.confidence_level, **options)


def _untested(report: Report, measure: str, name: str, known: Collection[str]) -> str:
    """Return why a measure was not tested by a sensitive feature; "" if it was, as it is among those `known`."""
    method = MEASURES.get(measure, "group rates")
    if name not in report.case.sensitive_features:
        return NO_FEATURE
    if name not in known:
        why = _why_untested(report, measure, method)
        return why or " ".join(report.reasons(name, method)) or f"{method} did not test it"
    if measure in OF_SUBGROUPS and FairTest.title in report.unfinished:
        return f"{FairTest.title} did not finish: {report.unfinished[FairTest.title]}"
    return ""


def _left_out(report: Report, measure: str) -> dict[str, str]:
    """Return the sensitive features with groups that a rule on a measure left out, each with the first reason."""
    if measure == RATIO:
        return {}
    method, asked = MEASURES[measure], _asked_for(report, measure)
    skipped = [why for title, why in report.skipped if title == method] if asked is None else asked.skipped
    missed: dict[str, str] = {}
    for reason in skipped:
        if name := _left_out_by(reason):
            missed.setdefault(name, f"{method}: {reason}")
    return missed


def _compared_by(report: Report, measure: str) -> set[str]:
    """Return the sensitive features, alone and together, by which a measure was compared, not only in subgroups."""
    if measure == RATIO:
        return {features for features, table in report.groups.items() if len(comparable(table)) > 1}
    tested = _tested(report, measure, any_size=False)  # small groups can fail a rule, but cannot pass it
    of_all = [each for each in tested if each.where in ("everyone", each.population)]
    return {listed(each.sensitive_features) for each in of_all} | set(report.case.unseen if measure in DIRECT else ())


def _why_untested(report: Report, measure: str, method: str) -> str:
    """Return why a measure was not tested by any feature; "" if it could have been."""
    case, ran = report.case, [result.method for result in report.results]
    only_generated = "it is tested on generated inputs, which decide the verdict only with verdict_on='all'"
    reasons = (
        ("there are no true labels", measure in OF_LABELS and case.y_true is None),
        (why_no_error_rates(case), measure in OF_TRUTH),
        ("there are decisions but no scores", measure == CALIBRATION and not case.has_scores),
        (only_generated, measure in DIRECT[1:] and report.verdict_on != "all"),
        ("the model returns numbers, not decisions", measure in (*OF_GROUPS, RATIO) and case.task == "numbers"),
        ("fewer than two groups are large enough, or nobody is selected", measure == RATIO),
        ("the model returns decisions, not numbers", measure in OF_NUMBERS and case.task != "numbers"),
        (f"{method} did not run", method not in ran),
    )
    return next((why for why, applies in reasons if applies and why), "")


def _left_out_by(reason: Any) -> str:
    """Return the sensitive feature whose groups are left out; "" if none are, or if a reason is about several."""
    names: Sequence[str] = getattr(reason, "sensitive_features", ())
    return names[0] if getattr(reason, "left_out", ()) and len(names) == 1 else ""


@dataclass(frozen=True)
class Accepted:
    """A finding that does not fail an audit until it expires.

    Attributes
    ----------
    measure, sensitive_features : str
    reason : str
    expires : date
        The last day on which it is accepted.
    where : str
        "" for everywhere.
    """

    measure: str
    sensitive_features: str
    reason: str
    expires: date
    where: str = ""

    def __post_init__(self):
        if not isinstance(self.expires, date) or isinstance(self.expires, datetime):
            raise ValueError(f"accept: expected a date as expires, such as 2027-01-31, found {self.expires!r}")

    @classmethod
    def of(cls, content: Mapping) -> "Accepted":
        """Return the acceptance that an entry of a configuration describes.

        Raises
        ------
        ValueError
            If a key or the measure is unknown, or measure, sensitive_features, reason or expires is missing.
        """
        if not isinstance(content, Mapping):
            raise ValueError(f"accept: expected a table with {', '.join(KEYS)}, found {content!r}")
        if strange := [key for key in content if key not in KEYS]:
            raise ValueError(f"accept: unknown key {strange[0]!r}{suggestion(strange[0], KEYS)}")
        for key in ("measure", "sensitive_features", "reason", *{"where"}.intersection(content)):
            if not (isinstance(content.get(key), str) and content[key].strip()):
                raise ValueError(f"accept: expected text as {key}, found {content.get(key)!r}")
        if content["measure"] not in KNOWN:
            raise ValueError(f"accept: unknown measure {content['measure']!r}{suggestion(content['measure'], KNOWN)}")
        expires: Any = content.get("expires")
        with suppress(TypeError, ValueError):  # TOML has dates of its own
            expires = date.fromisoformat(expires)
        return cls(**dict(content) | {"expires": expires})

    def check(self, names: Sequence[str]) -> None:
        """Raise a ValueError if no finding by these sensitive features can match it."""
        given = self.sensitive_features
        named = [name for name in names if name in given]
        sets = (some for size in range(1, len(named) + 1) for some in combinations(named, size))
        if not any(given == who or given.startswith(f"{who} (through ") for who in map(listed, sets)):
            found = f"found {given!r}{suggestion(given, names)}"
            raise ValueError(
                f"accept: expected sensitive features, {', '.join(names)}, or several as a report has them, {found}"
            )

    def is_about(self, subject: Subject) -> bool:
        """Return whether it covers a subject, which fails or could not be judged."""
        return (self.measure, self.sensitive_features) == subject[:2] and self.where in ("", subject.where)

    def __str__(self) -> str:
        return f"accept {self.measure} by {self.sensitive_features}{f', {self.where}' if self.where else ''}"


@dataclass(frozen=True)
class Judgement:
    """Whether an audit passes, one sentence for each reason.

    Attributes
    ----------
    failing : list of str
        What is beyond a limit, new or worse; without any rule and baseline the significant findings.
    not_judged : list of str
        Rules and parts of the baseline that were not tested, with the reasons.
    accepted : list of str
        What would be among these two, but was accepted.
    unused : list of str
        Acceptances that match nothing here.
    """

    failing: list[str]
    not_judged: list[str]
    accepted: list[str]
    unused: list[str]


def judge(
    report: Report,
    *,
    rules: Iterable[Rule | str] = (),
    baseline: str | Path | None = None,
    accepted: Iterable[Accepted | Mapping] = (),
    require_within: bool = False,
    today: date | None = None,
) -> Judgement:
    """Return whether an audit passes.

    Without rules and baseline, each significant finding that decides the verdict makes it fail. With rules, so does
    what is shown to be beyond a limit. With a baseline, a report of an earlier audit as JSON, so does each significant
    finding that was not significant then, or in the other direction (new), or whose interval lies beyond the earlier
    one (worse). A rule is not judged for a sensitive feature by which its measure was not tested, a baseline not for
    one that was tested then but not now; a flip rate of a feature that the model does not get is 0 without a test. With
    `require_within`, each comparison in which a large difference is found or undecided makes the audit fail, too, and
    sensitive features that were not assessed, and methods that did not finish, are not judged.

    Rules may be texts, see `Rule.of`, and what is accepted entries of a configuration, see `Accepted.of`.

    Raises
    ------
    ValueError
        If a rule or an acceptance is not as it should be; if the baseline is not a report, or one on another outcome or
        with the other label favourable; or if an acceptance names something other than sensitive features.
    """
    limits = [each if isinstance(each, Rule) else Rule.of(each) for each in rules]
    entries = [each if isinstance(each, Accepted) else Accepted.of(each) for each in accepted]
    for entry in entries:
        entry.check(report.case.sensitive_features)
    failing = [each for rule in limits for each in rule.failures(report)]
    not_judged = [each for rule in limits for each in rule.not_judged(report)]
    if baseline is not None:
        before = read_baseline(baseline)
        before.check(report.case, baseline)
        failing += _since(report, before.findings)
        not_judged += _not_again(report, before)
    if require_within or (not limits and baseline is None):
        failing += [(_subject(finding), line(finding)) for finding in report.significant]
    if require_within:
        failing += _open(report)
        reasons = {name: " ".join(why) for name, why in report.not_assessed.items()}
        left_out = {str(why): name for _, why in report.skipped if (name := _left_out_by(why))}
        not_judged += [(Subject("", name), why) for why, name in left_out.items() if name not in reasons]
        not_judged += [(Subject("", name), f"{name} was not assessed: {why}") for name, why in reasons.items()]
        not_judged += [(Subject("", name), f"{name} did not finish: {why}") for name, why in report.unfinished.items()]
    today, passed, used = today or date.today(), [], set()

    def left(found) -> list[str]:
        """Return the sentences on what is not accepted, and keep what is."""
        said = []
        for subject, text in found:
            known = [each for each in entries if each.is_about(subject)]
            used.update(known)
            if valid := [each for each in known if each.expires >= today]:
                passed.append(f"{text}; accepted until {valid[0].expires}: {valid[0].reason}")
            else:
                late = f"; it was accepted until {known[0].expires}" if known else ""
                said.append(f"{text}{late}")
        return said

    kept = left(failing), left(not_judged)
    unused = [f"{each}: it matches nothing in this audit; remove it" for each in entries if each not in used]
    return Judgement(*kept, passed, unused)


def failures(report: Report, **options: Any) -> tuple[list[str], list[str]]:
    """Return what fails or could not be judged, and what was accepted; see `judge`."""
    judged = judge(report, **options)
    return [*judged.failing, *(f"not judged: {said}" for said in judged.not_judged)], judged.accepted


class Baseline(NamedTuple):
    """The parts of an earlier report that are used.

    Attributes
    ----------
    findings : list of dict
        The significant ones last.
    sensitive_features : list of str
    outcome : dict
        ``name`` and ``favourable``, the label.
    left_out : dict
        By method and sensitive feature, how many groups were not compared.
    """

    findings: list[dict]
    sensitive_features: list[str]
    outcome: dict
    left_out: Mapping[tuple[str, str], int]

    def check(self, case: Case, path: str | Path) -> None:
        """Raise a ValueError if it is about another outcome than a case, or the other label was favourable."""
        outcomes = [self.outcome, case.outcome | {"favourable": case.pos_label}]
        for name, differ in (("name", _are_two), ("favourable", are_opposite)):
            then, now = (outcome[name] for outcome in outcomes)
            if differ(then, now):
                what = "decisions" if name == "name" else "favourable label"
                raise ValueError(f"baseline: expected a report on the {what} {now!r}, found {then!r} in {path}")


def read_baseline(baseline: str | Path) -> Baseline:
    """Return the parts of an earlier report that are used; raises a ValueError if it is not a report."""
    try:
        content = json.loads(Path(baseline).read_text(encoding="utf-8-sig"))
        rows, names, outcome = content["findings"], content["sensitive_features"], content["outcome"]
        for values, kind in ((content, dict), (rows, list), (names, list), *((name, str) for name in names)):
            _check_kind(values, kind)
        _check_kind(outcome["name"], str | None)
        _check_kind(outcome["favourable"], LABELS)
        for row in rows:
            for name, kind in OF_BASELINE.items():
                _check_kind(row[name], kind)
            row["groups"] = _groups_of(row, row.get("by_group", ()))
            for each in (*row["groups"], *row.get("through", ())):
                _check_kind(each, str)
        left_out: Counter[tuple[str, str]] = Counter()
        for skipped in content["skipped"]:
            _check_kind(skipped, dict)
            _check_kind(groups := skipped.get("left_out", {}), dict)
            for name, n in groups.items():
                left_out[skipped["method"], name] += n
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"baseline: expected a report that to_json wrote, found {baseline} ({error!r})") from None
    return Baseline(sorted(rows, key=lambda row: row["significant"]), names, outcome, left_out)


def _groups_of(row: Mapping, by_group: Iterable[Mapping]) -> list[str]:
    """Return the two groups that a finding compares; none if it is not about two."""
    return list(row["groups"]) or ([each["group"] for each in by_group] if row["measure"] == FLIPS else [])


def _are_two(first, second) -> bool:
    return None not in (first, second) and first != second


def _check_kind(value, kind) -> None:
    """Raise a TypeError if a value has another type, and a ValueError if a number is not finite."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, LABELS)):
        raise TypeError(f"found {value!r:.50}")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"found {value!r}")


def _sides(row: Mapping) -> list[tuple[tuple, Mapping]]:
    """Return the subject and direction of a finding, with its numbers; of two groups also in the opposite direction.

    A difference has an entry for each of its groups, as they are compared with everyone else if there are more; that
    reference has none, since it is another one for each group. All subgroups have the same entry, since each audit
    finds new ones.
    """
    about, sign = (row["measure"], row["sensitive_features"], row["population"]), (row["estimate"] or 0) < 0
    if not _is_whole(row):
        return [((*about, "a subgroup", sign), row)]
    first, *second = row["groups"] or [row["effect"]]
    sides = [((*about, first, sign), row)]
    for group in second:
        if group not in REST:
            is_turned = row["measure"] != FLIPS
            sides.append(((*about, group, sign != is_turned), _turned(row) if is_turned else row))
    return sides


def _turned(row: Mapping) -> Mapping:
    """Return a finding with the numbers of the opposite direction."""
    ends = [("estimate", "estimate"), ("low", "high"), ("high", "low")]
    return {**row, **{name: None if row[of] is None else -row[of] for name, of in ends}}


def _is_whole(row: Mapping) -> bool:
    return row["where"] in ("everyone", row["population"])


def _subgroup(row: Mapping) -> tuple:
    return () if _is_whole(row) else (row["where"], row["effect"])


def _since(report, before: list[dict]) -> list[tuple[Subject, str]]:
    """Return the significant findings that are new, or worse than the same one was."""
    sides = [side for row in before for side in _sides(row)]
    found, then = [], dict(sides)
    same = {(*key, *_subgroup(row)): row for key, row in sides}
    for row in _rows_of(report.tested[report.tested["significant"]]):
        finding = row["finding"]
        known = [side for side in _sides(row) if then.get(side[0], {}).get("significant")]
        if not known:
            found.append((_subject(finding), f"new: {line(finding)}"))
            continue
        key, now = known[0]
        if (old := same.get((*key, *_subgroup(row)))) is not None and _is_worse(now, old):
            found.append((_subject(finding), f"worse than {old['estimate']:.3g}: {line(finding)}"))
    return found


def _open(report) -> list[tuple[Subject, str]]:
    """Return the undecided comparisons, each with about how many people would settle it."""
    rows = report.tested[report.tested["answer"].eq(UNDECIDED)]
    return [
        (_subject(each), "; ".join(filter(None, (f"{UNDECIDED}: {line(each)}", settled_by(people)))))
        for each, people in zip(rows["finding"], rows["people_needed"], strict=True)
    ]


def _rows_of(frame) -> list[dict]:
    """Return rows of a report's frame as those of a baseline."""
    rows = frame.assign(sensitive_features=frame["who"]).to_dict(orient="records")
    by_group = [row["finding"].by_group for row in rows]
    of_groups = [() if each is None else each.reset_index().to_dict(orient="records") for each in by_group]
    return [
        row | {"groups": _groups_of(row | {"groups": row["finding"].groups}, each)}
        for row, each in zip(rows, of_groups, strict=True)
    ]


def _not_again(report, before: Baseline) -> list[tuple[Subject, str]]:
    """Return the tests by one sensitive feature that only an earlier audit made, with the reasons."""
    then: dict[Subject, list[dict]] = {}
    for row in before.findings:
        through = f" (through {listed(row['through'])})" if row.get("through") else ""
        name = row["sensitive_features"].removesuffix(through)
        decides = row["population"] == "people" or report.verdict_on == "all"
        if decides and row["p_value"] is not None and name in before.sensitive_features:
            where = "subgroups" if not _is_whole(row) else "proxies" if through else "everyone"
            then.setdefault(Subject(row["measure"], name, where), []).append(row)
    known = {measure: _compared_by(report, measure) for measure in {subject.measure for subject in then}}
    missed: dict[Subject, str] = {}
    for subject, rows in sorted(then.items(), key=lambda each: tuple(AMONG).index(each[0].where)):
        measure, name, where = subject
        if where == "everyone":
            why = _untested(report, measure, name, known[measure]) or _lost(report, subject, rows, before)
        elif Subject(measure, name) in missed:
            continue
        else:
            why = _not_elsewhere(report, subject, rows[0]["method"])
        if why:
            missed[subject] = why
    return [
        (each, f"{each.measure} by {each.sensitive_features}{AMONG[each.where]} {NOT_AGAIN}: {why}")
        for each, why in missed.items()
    ]


def _lost(report, subject: Subject, then: list[dict], before: Baseline) -> str:
    """Return which groups are not compared any more by a measure that still is tested, and why; "" for none."""
    measure, name, _ = subject
    tested, method = report.tested, then[0]["method"]
    now = _rows_of(tested[tested["measure"].eq(measure) & tested["who"].eq(name)])
    now = [row for row in now if _is_whole(row)]
    reasons = [why for title, why in report.skipped if title == method and _left_out_by(why) == name]
    left_out = {group for why in reasons for group in getattr(why, "left_out", ())}
    compared = [{group: None for row in rows for group in row["groups"] if group not in REST} for rows in (then, now)]
    names = _names_of_groups(report.case, name)
    if not compared[0]:  # it does not say of which groups it is
        lost = left_out if len(left_out) > before.left_out[method, name] else set()
    elif not names:
        lost = left_out if len(now) < len(then) else set()
    else:
        lost = {group for group in compared[0] if group not in compared[1]}
        if gone := [group for group in compared[0] if group not in names]:
            return f"the table has no {listed(gone)}"
    why = " ".join(why for why in reasons if lost.intersection(getattr(why, "left_out", ())))
    return f"{method}: {why}" if why else f"{listed(sorted(lost))} not compared" if lost else ""


def _not_elsewhere(report, subject: Subject, method: str) -> str:
    """Return why a measure could not be tested in subgroups, or was not through proxies; "" if it could, or was."""
    measure, name, where = subject
    if name not in report.case.sensitive_features:
        return NO_FEATURE
    if method in report.unfinished:
        return f"{method} did not finish"
    if why := _why_untested(report, measure, method):
        return why
    if where == "proxies":
        found = [each.through for each in _tested(report, measure) if each.sensitive_features == (name,)]
        return "" if any(found) else "no proxy was varied"
    examination = Examination(report.case, 0)
    return " ".join(examination.skipped) if method == FairTest.title and FairTest().is_skipped(examination) else ""


def _names_of_groups(case: Case, name: str) -> set[str]:
    """Return the groups of a sensitive feature; none for numbers that each table cuts in its own way."""
    groups, feature = list(case.groups(name).cat.categories), Feature.groups(name, case.table[name])
    is_own_cut = feature.edges is not None and groups == feature.named(case.named(name))
    return set() if is_own_cut else set(groups)


def _is_worse(now: Mapping, old: Mapping) -> bool:
    """Return whether the interval of a finding lies beyond that of an earlier audit, further from no effect."""
    if None in (old["low"], old["high"]):
        return False
    return now["low"] > max(old["high"], 0) or now["high"] < min(old["low"], 0)
