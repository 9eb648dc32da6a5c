"""The report of an audit: all findings together, corrected for how many there are."""

import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairlab.auditing import figures, page, wording
from fairlab.auditing.evidence import ROWS, shown_rows
from fairlab.cases import Case, Finding, MethodResult, Result
from fairlab.cases.schema import is_missing
from fairlab.checks import check_choice
from fairlab.paths import write_text
from fairlab.statistics import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """What an audit found, how sure that is, and what it did not look at.

    Findings with a p-value form one family, over all methods and sensitive columns, whose p-values are corrected by
    Holm's method: if nothing were there to be found, the chance of one significant finding or more is at most
    ``1 - confidence_level``. Intervals are those of single findings, not corrected.

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
        Rows that the model was queried with, when the case was made and by the audit.
    seconds : float
    n_repeated : int
        Rows among these that were queried a second time, for the determinism check.
    n_beside : int
        Rows among these that were queried when the case was made, before a sample of its table was drawn.

    Examples
    --------
    >>> import fairlab
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(
    ...     lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20, people, sensitive_features="sex"
    ... )
    >>> report = fairlab.audit(case, methods=["themis"], budget=2_000)
    >>> len(report.significant) > 0, report.n_queries <= 2_000
    (True, True)
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

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: the significant ones first, by their p-value and then by the size of the effect."""
        found = [finding for result in self.results for finding in result.findings]
        corrected = holm([finding.p_value for finding in found])
        sizes = np.abs(np.nan_to_num([finding.estimate for finding in found], posinf=0, neginf=0))
        order = np.lexsort([-sizes, np.nan_to_num(corrected, nan=2)])  # those without a test are the last
        return tuple(found[position] for position in order)

    @cached_property
    def corrected_p_values(self) -> np.ndarray:
        """Holm's p-values of `findings`, shape (n_findings,); nan for a finding without a test."""
        return holm([finding.p_value for finding in self.findings])

    @property
    def is_significant(self) -> np.ndarray:
        """Which of `findings` are significant after correction, shape (n_findings,)."""
        return self.corrected_p_values <= 1 - self.confidence_level

    @property
    def significant(self) -> tuple[Finding, ...]:
        """The findings that are significant after correction."""
        return tuple(finding for finding, is_so in zip(self.findings, self.is_significant, strict=True) if is_so)

    @property
    def n_tests(self) -> int:
        """How many findings have a p-value: the size of the family."""
        return int(np.isfinite(self.corrected_p_values).sum())

    @property
    def expected_false_alarms(self) -> float:
        """How many findings would be significant by chance if none were corrected and nothing were there."""
        return (1 - self.confidence_level) * self.n_tests

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """What was not assessed: pairs of a method and a reason."""
        return tuple((e.method, reason) for e in self.results for reason in e.skipped)

    @property
    def not_assessed(self) -> dict[str, tuple[str, ...]]:
        """Sensitive columns that no statistical test is about, with the reasons that the methods give."""
        tested = {
            f.sensitive_features for f, p in zip(self.findings, self.corrected_p_values, strict=True) if np.isfinite(p)
        }
        missed = [
            name
            for name in self.case.sensitive_features
            if not any(column == name or column.startswith(f"{name} (through ") for column in tested)
        ]
        about = {name: re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in self.case.sensitive_features}
        return {
            name: tuple(
                f"{method}: {reason}"
                for method, reason in self.skipped
                if about[name].search(reason) or not any(each.search(reason) for each in about.values())
            )
            for name in missed
        }

    @property
    def summary(self) -> str:
        """One paragraph in plain words: what was tested, what was found, how sure, what was not assessed."""
        return wording.summary(self)

    def __repr__(self) -> str:
        found = (
            f"{len(self.significant)} of {len(self.findings)} findings are significant at {self.confidence_level:g}; "
        )
        missed = f"not assessed: {wording.listed(self.not_assessed)}; " if self.not_assessed else ""
        return f"Report: {missed}{found if self.n_tests else ''}{self.n_queries:,} queries, {self.seconds:.0f} s"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each finding, in the order of `findings`.

        Returns
        -------
        DataFrame
            ``method``, ``sensitive_features``, ``where``, ``effect`` (the measure, in words), ``estimate``, the
            interval ``low`` to ``high``, ``p_value`` after and ``raw_p_value`` before correction over all findings,
            ``significant`` (after correction), and ``n``, the people or inputs that it rests on.
        """
        columns = ["method", "sensitive_features", "where", "effect", "estimate", "low", "high"]
        rows = [[getattr(finding, column) for column in columns] for finding in self.findings]
        return pd.DataFrame(rows, columns=columns).assign(
            p_value=self.corrected_p_values,
            raw_p_value=[float(finding.p_value) for finding in self.findings],
            significant=self.is_significant,
            n=[finding.n for finding in self.findings],
        )

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
        return _written(page.document(self, rows), path)

    def to_json(self, path: str | Path | None = None, *, rows: str = "binned") -> str:
        """Return the report as JSON, and write it to `path`; the parameters are those of `to_html`."""
        check_choice(rows, "rows", ROWS)
        findings = self.to_frame().to_dict(orient="records")
        for row, finding in zip(findings, self.findings, strict=True):
            evidence = shown_rows(finding, self.case.table, rows)
            if evidence is not None:
                row["evidence"] = evidence.to_dict(orient="records")
        content = {
            "summary": self.summary,
            "warnings": list(self.warnings),
            "sensitive_features": list(self.case.sensitive_features),
            "features": list(self.case.features),
            "people": len(self.case.table),
            "people_in_table": self.case.n_given,
            "confidence_level": self.confidence_level,
            "random_state": self.random_state,
            "budget": self.budget,
            "queries": self.n_queries,
            "queries_repeated": self.n_repeated,
            "queries_before_the_sample": self.n_beside,
            "seconds": round(self.seconds, 3),
            "tests": self.n_tests,
            "significant": len(self.significant),
            "expected_false_alarms_uncorrected": self.expected_false_alarms,
            "rows": rows,
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
        return _written(json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n", path)

    def _repr_html_(self) -> str:
        return page.fragment(self, "binned")


def _written(text, path) -> str:
    if path is not None:
        if not isinstance(path, str | Path):
            raise TypeError(f"path: expected the name of a file, found {path!r}")
        write_text(Path(path), text)
    return text


def _plain(value):
    """Return nested values in types that JSON has; what is not a finite number becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, bool | int | float) else str(value)
