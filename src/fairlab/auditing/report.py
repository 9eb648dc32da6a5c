"""The report of an audit: all findings together, corrected for how many there are."""

import math
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairlab.auditing import exports, figures, page, wording
from fairlab.auditing.evidence import MISSING, ROWS, shown_rows
from fairlab.cases import Case, Finding, MethodResult, Result
from fairlab.cases.groups import WITHIN
from fairlab.cases.schema import is_missing
from fairlab.checks import check_choice
from fairlab.fairtest import impact_table
from fairlab.fairtest.rates import TINY, group_counts, without_tiny
from fairlab.paths import write_text
from fairlab.statistics import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.005  # half a percentage point
POPULATIONS = ("people", "generated inputs")
VERDICT_ON = ("people", "all")
FOUND, NOT_FOUND, NOT_ASSESSED = "difference found", "no difference found", "not assessed"
SHOWN = [
    "sensitive_features",
    "where",
    "effect",
    "estimate",
    "low",
    "high",
    "p_value",
    "significant",
    "population",
    "method",
    "n",
]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """What an audit found, how sure that is, and what it did not look at.

    Findings about people of the table with a p-value form one family, over all methods and sensitive features, whose
    p-values are corrected by Holm's method: if no effect were larger than what its test is against (`limits`), the
    chance of one significant finding or more is at most ``1 - confidence_level``. They decide the verdict. Findings
    about generated inputs form a family of their own, unless they are to decide as well. Intervals are those of single
    findings, not corrected.

    Attributes
    ----------
    case : Case
        What was audited.
    results : tuple of MethodResult
        What each method found, in the order in which they ran.
    warnings : tuple of str
        What a reader must know of the model and of the audit before the findings.
    budget : int
        Rows that the model could be queried with, beside those of the determinism check.
    confidence_level : float
    random_state : int
    n_queries : int
        Rows that the model was queried with, when the case was made and by the audit; an answer that is cached since an
        earlier audit counts, as of a fresh case.
    seconds : float
    n_repeated : int
        Rows among these that were queried a second time, for the determinism check.
    n_beside : int
        Rows among these that were queried when the case was made, before a sample of its table was drawn.
    margin : float
        Differences of rates, flip rates and correlations up to it are no finding; a loss ratio has a limit of its own.
    verdict_on : {"people", "all"}
        Which findings decide the verdict.
    model_name, model_version : str
    date : datetime

    Examples
    --------
    >>> import fairlab
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> report = fairlab.audit(case, methods=["themis"], budget=2_000)
    >>> report.verdict, report.n_queries <= 2_000
    ('difference found', True)
    >>> sorted(report.to_frame()["method"].unique())
    ['Themis']
    """

    case: Case
    results: tuple[MethodResult, ...]
    warnings: tuple[str, ...]
    budget: int
    confidence_level: float
    random_state: int
    n_queries: int
    seconds: float
    n_repeated: int = 0
    n_beside: int = 0
    margin: float = MARGIN
    verdict_on: str = "people"
    model_name: str = ""
    model_version: str = ""
    date: datetime | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: people before generated inputs, the significant ones first, by kind and size of the effect.

        Those without a test are last. Kinds are rates of groups and of intersections, decisions that flip, losses and
        correlations, and subgroups. The size of an effect on an intersection is what its interval proves.
        """
        found = [finding for result in self.results for finding in result.findings]
        corrected = self._corrected(found)
        state = np.where(corrected <= 1 - self.confidence_level, 0, np.where(np.isnan(corrected), 2, 1))
        order = sorted(range(len(found)), key=lambda place: (state[place], *_rank(found[place])))
        order.sort(key=lambda place: POPULATIONS.index(found[place].population))
        return tuple(found[place] for place in order)

    @cached_property
    def p_values(self) -> np.ndarray:
        """P-values of `findings` before correction, each against its `limits`, shape (n_findings,); nan for no test."""
        return self._raw(self.findings)

    @property
    def limits(self) -> np.ndarray:
        """What the test of each of `findings` is against, shape (n_findings,): the margin, or its own; nan without."""
        return np.array([each.against(self.margin) for each in self.findings], dtype=float)

    @cached_property
    def corrected_p_values(self) -> np.ndarray:
        """Holm's p-values of `findings`, shape (n_findings,); nan for a finding without a test."""
        return self._corrected(self.findings)

    @property
    def is_significant(self) -> np.ndarray:
        """Which of `findings` are significant after correction within their family, shape (n_findings,)."""
        return self.corrected_p_values <= 1 - self.confidence_level

    @property
    def significant(self) -> tuple[Finding, ...]:
        """The significant findings that decide the verdict."""
        chosen = zip(self.findings, self.is_significant & self.decides, strict=True)
        return tuple(finding for finding, is_so in chosen if is_so)

    @property
    def decides(self) -> np.ndarray:
        """Which of `findings` decide the verdict, shape (n_findings,): those with a test, on people or on all."""
        is_on = [self.verdict_on == "all" or finding.population == "people" for finding in self.findings]
        return np.array(is_on, dtype=bool) & np.isfinite(self.corrected_p_values)

    @property
    def n_tests(self) -> int:
        """How many tests decide the verdict: the size of their family."""
        return int(self.decides.sum())

    @property
    def verdict(self) -> str:
        """One of "difference found", "no difference found", "not assessed" (without any test)."""
        return FOUND if self.significant else NOT_FOUND if self.n_tests else NOT_ASSESSED

    @cached_property
    def smallest_effects(self) -> np.ndarray:
        """The smallest effects that would have been found with a power of 80%, shape (n_findings,).

        At the level of the first step of Holm's correction, so that it holds whatever the other findings are; nan for
        significant findings and where it is not known.
        """
        alpha = (1 - self.confidence_level) / max(self.n_tests, 1)
        silent = ~self.is_significant & self.decides
        return np.array(
            [
                finding.smallest(alpha, limit) if is_silent and finding.smallest else np.nan
                for finding, limit, is_silent in zip(self.findings, self.limits, silent, strict=True)
            ],
            dtype=float,
        )

    @property
    def expected_false_alarms(self) -> float:
        """How many findings would be significant by chance if none were corrected and nothing were there."""
        return (1 - self.confidence_level) * self.n_tests

    @cached_property
    def group_counts(self) -> pd.DataFrame | None:
        """Counts of people and decisions by group, see `fairlab.fairtest.rates.group_counts`; None for numbers.

        Groups of fewer than five people are one.
        """
        return None if self.case.task == "numbers" else without_tiny(group_counts(self.case))

    @cached_property
    def groups(self) -> dict[str, pd.DataFrame]:
        """Impact tables of each sensitive feature and of each two, by name; see `fairlab.impact_table`."""
        return self.impact_tables(self.confidence_level)

    def impact_tables(self, confidence_level: float) -> dict[str, pd.DataFrame]:
        """Return `groups` with intervals at another confidence level, as a correction asks for."""
        if self.group_counts is None:
            return {}
        tables, names = {}, ["people", "selected"] if self.case.y_true is None else list(self.group_counts)
        for features, counts in self.group_counts[names].groupby(level=0, sort=False):
            counts = counts.droplevel(0)
            unknown = [group for group in counts.index if MISSING in group.split(WITHIN) or group.endswith(TINY)]
            tables[features] = impact_table(counts, unknown=unknown, confidence_level=confidence_level)
        return tables

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """What was not assessed: pairs of a method and a reason."""
        return tuple((e.method, reason) for e in self.results for reason in e.skipped)

    @property
    def not_assessed(self) -> dict[str, tuple[str, ...]]:
        """Sensitive features that no statistical test is about, with the reasons that the methods give."""
        tested = {f.sensitive_features for f, is_so in zip(self.findings, self.decides, strict=True) if is_so}
        missed = [name for name in self.case.sensitive_features if (name,) not in tested]
        return {name: self.reasons(name) for name in missed}

    def reasons(self, name: str, method: str = "") -> tuple[str, ...]:
        """Return why methods, or one of them, did not assess a sensitive feature: what they say of it, or of none."""
        about = {each: re.compile(rf"(?<!\w){re.escape(each)}(?!\w)") for each in self.case.sensitive_features}
        return tuple(
            f"{title}: {reason}"
            for title, reason in self.skipped
            if method in ("", title)
            and (about[name].search(reason) or not any(each.search(reason) for each in about.values()))
        )

    @cached_property
    def provenance(self) -> dict:
        """What is needed to make the same report again, and to know what it speaks of."""
        from fairlab import __version__

        hashed = pd.util.hash_pandas_object(self.case.table, index=False).to_numpy()
        return {
            "model": self.model_name or wording.name_of(self.case),
            "model_version": self.model_version or "not stated",
            "date": self.date.isoformat(timespec="seconds") if self.date else "not stated",
            "table_sha256": sha256(hashed.tobytes()).hexdigest(),
            "people": len(self.case.table),
            "people_in_table": self.case.n_given,
            "random_state": self.random_state,
            "budget": self.budget,
            "confidence_level": self.confidence_level,
            "margin": self.margin,
            "verdict_on": self.verdict_on,
            "fairlab": __version__,
        }

    @property
    def summary(self) -> str:
        """The verdict in a few sentences: what was found or not, how sure, what was not assessed."""
        return wording.summary(self)

    def _raw(self, findings) -> np.ndarray:
        return np.array([each.p_value_beyond(each.against(self.margin)) for each in findings], dtype=float)

    def _corrected(self, findings) -> np.ndarray:
        raw, corrected = self._raw(findings), np.full(len(findings), np.nan)
        is_people = np.array([finding.population == "people" for finding in findings], dtype=bool)
        families = [is_people | True] if self.verdict_on == "all" else [is_people, ~is_people]
        for family in families:
            corrected[family] = holm(raw[family])
        return corrected

    def __repr__(self) -> str:
        found = f"{len(self.significant)} of {self.n_tests} tests are significant at {self.confidence_level:g}; "
        missed = f"not assessed: {wording.listed(self.not_assessed)}; " if self.not_assessed else ""
        return f"Report: {missed}{found if self.n_tests else ''}{self.n_queries:,} queries, {self.seconds:.0f} s"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each finding, in the order of `findings`.

        Returns
        -------
        DataFrame
            ``sensitive_features``, ``where``, ``effect`` (the measure, in words), ``estimate``, the interval ``low`` to
            ``high``, ``p_value`` of "at most ``limit`` in size", after correction within the family, ``significant``,
            ``population`` ("people" or "generated inputs"), ``method``, ``n``, the people or inputs that it rests on,
            ``measure`` (its name as one word), ``raw_p_value`` before correction, ``limit``, what the test is against
            (the margin, of a loss ratio 1.25; nan without a test), ``smallest``, the smallest effect that would have
            been found with a power of 80% (of findings that are not significant), and ``sentence``.
        """
        columns = {
            "p_value": self.corrected_p_values,
            "significant": self.is_significant,
            "raw_p_value": self.p_values,
            "limit": self.limits,
            "smallest": self.smallest_effects,
        }
        names = [*SHOWN, "measure", "raw_p_value", "limit", "smallest", "sentence"]
        of_findings = {
            name: [getattr(finding, name) for finding in self.findings] for name in names if name not in columns
        } | {"sensitive_features": [finding.who for finding in self.findings]}
        return pd.DataFrame(of_findings | columns)[names]

    def plot(self) -> "Figure":
        """Return a forest plot: one line for each finding with its interval, one panel for each method."""
        return figures.forest(self)

    def to_html(self, path: str | Path | None = None, *, rows: str = "binned") -> str:
        """Return the report as one page that needs no other file, and write it to `path`.

        Parameters
        ----------
        path : str or Path, optional
        rows : {"none", "binned", "all"}
            What is shown of evidence, which is rows about real people: nothing; rows without their labels, numbers as
            ranges and rare categories merged; or the rows as they are.

        Raises
        ------
        ValueError
            If `rows` is something else.
        """
        check_choice(rows, "rows", ROWS)
        return written(page.document(self, rows), path)

    def to_json(self, path: str | Path | None = None, *, rows: str = "binned") -> str:
        """Return the report as JSON, and write it to `path`; the parameters are those of `to_html`."""
        check_choice(rows, "rows", ROWS)
        findings = self.to_frame().to_dict(orient="records")
        for row, finding in zip(findings, self.findings, strict=True):
            row["next_step"] = wording.next_step(finding)
            if finding.by_group is not None:
                row["by_group"] = finding.by_group.reset_index().to_dict(orient="records")
            evidence = shown_rows(finding, self.case.table, rows)
            if evidence is not None:
                row["evidence"] = evidence.to_dict(orient="records")
        content = {
            "verdict": self.verdict,
            "summary": self.summary,
            "provenance": self.provenance,
            "warnings": list(self.warnings),
            "sensitive_features": list(self.case.sensitive_features),
            "features": list(self.case.features),
            "queries": self.n_queries,
            "queries_repeated": self.n_repeated,
            "queries_before_the_sample": self.n_beside,
            "seconds": round(self.seconds, 3),
            "tests": self.n_tests,
            "significant": len(self.significant),
            "expected_false_alarms_uncorrected": self.expected_false_alarms,
            "rows": rows,
            "groups": [] if self.group_counts is None else self.group_counts.reset_index().to_dict(orient="records"),
            "findings": findings,
            "not_assessed": {name: list(reasons) for name, reasons in self.not_assessed.items()},
            "skipped": [{"method": method, "reason": reason} for method, reason in self.skipped],
            "methods": [
                {
                    "method": result.method,
                    "description": result.description,
                    "findings": len(result.findings),
                    "queries": result.n_queries,
                    "seconds": result.seconds,
                }
                for result in self.results
            ],
        }
        return written(exports.as_json(plain(content)), path)

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return the tests as JUnit XML, as continuous integration reads it, and write it to `path`."""
        return written(exports.junit(self), path)

    def to_sarif(self, path: str | Path | None = None) -> str:
        """Return the significant findings as SARIF 2.1.0, as code scanning reads it, and write it to `path`."""
        return written(exports.sarif(self), path)

    def to_model_card(self, path: str | Path | None = None) -> str:
        """Return a model card in Markdown with front matter, and write it to `path`."""
        return written(exports.model_card(self), path)

    def _repr_html_(self) -> str:
        return page.fragment(self, "binned")


def _rank(finding: Finding) -> tuple[int, float]:
    """Return the place of a finding among the others: that of its kind, then the larger effects first.

    An intersection counts as much as its interval proves: it stands before a single feature only if it is certainly
    more than that.
    """
    if finding.where not in ("everyone", POPULATIONS[1]):
        kind = 3
    elif finding.measure.endswith("_rate_difference"):
        kind = 0
    else:
        kind = 1 if finding.measure.endswith("flip_rate") else 2
    size = abs(finding.estimate - finding.limit)
    if len(finding.sensitive_features) > 1:
        size = max(finding.low - finding.limit, finding.limit - finding.high, 0.0)
    return kind, -np.nan_to_num(size, posinf=0)


def written(text, path) -> str:
    """Return a text that was written to a file, if one is named."""
    if path is not None:
        if not isinstance(path, str | Path):
            raise TypeError(f"path: expected the name of a file, found {path!r}")
        write_text(Path(path), text)
    return text


def plain(value):
    """Return nested values in types that JSON has; what is not a finite number becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float) else str(value)
