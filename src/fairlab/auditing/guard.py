"""What makes an audit fail in a pipeline: rules with margins, a baseline, and findings that were accepted."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import numpy as np

from fairlab.auditing.impact import impact_table
from fairlab.auditing.report import Report
from fairlab.auditing.wording import line
from fairlab.cases import Finding
from fairlab.checks import suggestion
from fairlab.statistics import bonferroni_level, holm

RATIO = "impact_ratio"
MEASURES = (
    "selection_rate_difference",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "error_rate_difference",
    "counterfactual_flip_rate",
    "excess_flip_rate",
    "demographic_parity_difference",
    "loss_ratio",
    "correlation",
)
PATTERN = re.compile(r"\s*(\w+)\s*([<>])\s*([0-9.eE+-]+)\s*")
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

    Examples
    --------
    >>> from fairlab.auditing.guard import Rule
    >>> Rule.of("selection_rate_difference > 0.05")
    Rule(measure='selection_rate_difference', limit=0.05)
    """

    measure: str
    limit: float

    @classmethod
    def of(cls, text: str) -> "Rule":
        """Return the rule of a text as "selection_rate_difference > 0.05" or "impact_ratio < 0.8".

        Raises
        ------
        ValueError
            If it is none, or its measure is unknown.
        """
        found = PATTERN.fullmatch(text) if isinstance(text, str) else None
        if not found:
            raise ValueError(f"fail_on: expected MEASURE > NUMBER or impact_ratio < NUMBER, found {text!r}")
        measure, sign, number = found.groups()
        if measure not in (*MEASURES, RATIO):
            raise ValueError(f"fail_on: unknown measure {measure!r}{suggestion(measure, (*MEASURES, RATIO))}")
        if (sign == "<") != (measure == RATIO):
            raise ValueError(f"fail_on: expected {'<' if measure == RATIO else '>'} after {measure}, found {text!r}")
        try:
            return cls(measure, float(number))
        except ValueError:
            raise ValueError(f"fail_on: expected a number at the end, found {text!r}") from None

    def failures(self, report: Report) -> list[tuple[Finding | None, str]]:
        """Return the findings that are shown to be beyond the limit, each with a sentence.

        Tests are against the limit, corrected together (Holm); a finding without a test goes by its interval.
        """
        alpha = 1 - report.confidence_level
        if self.measure == RATIO:
            return [(None, said) for said in self._ratios(report)]
        found = [each for each in report.findings if each.measure == self.measure and each.population == "people"]
        p_values = holm([each.test(self.limit) if each.test else np.nan for each in found])
        beyond = [
            p <= alpha if each.test else max(each.low, -each.high) > self.limit
            for each, p in zip(found, p_values, strict=True)
        ]
        said = f"{self.measure} > {self.limit:g}"
        return [(each, f"{said}: {line(each)}") for each, is_so in zip(found, beyond, strict=True) if is_so]

    def _ratios(self, report) -> list[str]:
        said = []
        for features, table in report.groups.items():
            names = table.index[table["ratio high"].notna() & ~table["small"]]
            level = bonferroni_level(report.confidence_level, max(len(names), 1))
            corrected = impact_table(table[["people", "selected"]], confidence_level=level)
            said += [
                f"impact_ratio < {self.limit:g}: {features} {name} {table.loc[name, 'impact ratio']:.2f}"
                for name in names
                if corrected.loc[name, "ratio high"] < self.limit
            ]
        return said


@dataclass(frozen=True)
class Accepted:
    """A finding that does not fail an audit until a day.

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

    @classmethod
    def of(cls, content: Mapping) -> "Accepted":
        """Return what an entry of a configuration says.

        Raises
        ------
        ValueError
            If a key is unknown, or measure, sensitive_features, reason or expires is missing.
        """
        if not isinstance(content, Mapping):
            raise ValueError(f"accept: expected a table with {', '.join(KEYS)}, found {content!r}")
        if strange := [key for key in content if key not in KEYS]:
            raise ValueError(f"accept: unknown key {strange[0]!r}{suggestion(strange[0], KEYS)}")
        for key in ("measure", "sensitive_features", "reason"):
            if not (isinstance(content.get(key), str) and content[key].strip()):
                raise ValueError(f"accept: expected text as {key}, found {content.get(key)!r}")
        expires = content.get("expires")
        if isinstance(expires, str):
            try:
                expires = date.fromisoformat(expires)
            except ValueError:
                raise ValueError(f"accept: expected a date as expires, such as 2027-01-31, found {expires!r}") from None
        if not isinstance(expires, date) or isinstance(expires, datetime):
            raise ValueError(f"accept: expected a date as expires, such as 2027-01-31, found {expires!r}")
        return cls(**dict(content) | {"expires": expires})

    def is_about(self, finding: Finding) -> bool:
        """Return whether it is about a finding."""
        return (self.measure, self.sensitive_features) == (finding.measure, finding.sensitive_features) and (
            self.where in ("", finding.where)
        )


def failures(
    report: Report,
    *,
    rules: Sequence[Rule] = (),
    baseline: str | Path | None = None,
    accepted: Sequence[Accepted] = (),
    today: date | None = None,
) -> tuple[list[str], list[str]]:
    """Return why an audit fails, and what was accepted, one sentence each.

    Without rules and baseline it fails by every significant finding that decides the verdict. With rules it fails by
    what is shown to be beyond a limit. With a baseline, a report of an earlier audit as JSON, it fails by significant
    findings that were not significant then (new) or whose interval lies beyond that of then (worse).

    Raises
    ------
    ValueError
        If the baseline is no report.
    """
    found = [each for rule in rules for each in rule.failures(report)]
    if baseline is not None:
        found += _since(report, _read(baseline))
    if not rules and baseline is None:
        found = [(finding, line(finding)) for finding in report.significant]
    failing, passed, today = [], [], today or date.today()
    for finding, said in found:
        known = [] if finding is None else [each for each in accepted if each.is_about(finding)]
        valid = [each for each in known if each.expires >= today]
        if valid:
            passed.append(f"{said}; accepted until {valid[0].expires}: {valid[0].reason}")
        else:
            late = f"; it was accepted until {known[0].expires}" if known else ""
            failing.append(f"{said}{late}")
    return failing, passed


def _read(baseline) -> dict:
    """Return the findings of an earlier report by what they are about."""
    try:
        content = json.loads(Path(baseline).read_text(encoding="utf-8"))
        rows = sorted(content["findings"], key=lambda row: row["significant"])  # of subgroups a significant one
        return {_key(row): row for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"baseline: expected a report that to_json wrote, found {baseline} ({error!r})") from None


def _key(row: Mapping) -> tuple:
    """Return what a finding is about; subgroups are found anew in every audit, so that one stands for any."""
    is_whole = row["where"] in ("everyone", row["population"])
    return row["measure"], row["sensitive_features"], row["population"], row["effect"] if is_whole else "a subgroup"


def _since(report, before: dict) -> list[tuple[Finding, str]]:
    found = []
    for row, finding in zip(report.to_frame().to_dict(orient="records"), report.findings, strict=True):
        if finding not in report.significant:
            continue
        old = before.get(_key(row))
        if old is None or not old["significant"]:
            found.append((finding, f"new: {line(finding)}"))
        elif finding.where == old["where"] and _is_worse(finding, old):
            found.append((finding, f"worse than {old['estimate']:.3g}: {line(finding)}"))
    return found


def _is_worse(finding: Finding, old: Mapping) -> bool:
    """Return whether the interval lies beyond that of an earlier audit, further from no effect."""
    if None in (old["low"], old["high"]):
        return False
    return finding.low > old["high"] >= 0 or finding.high < old["low"] <= 0
