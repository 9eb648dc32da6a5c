"""The report of an audit: all findings together, corrected for multiple testing."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairlab.auditing import exports, figures, page, wording
from fairlab.auditing.evidence import ROW_FORMATS, shown_rows
from fairlab.cases import Case, Finding, MethodResult, Result
from fairlab.cases.groups import LEAST_SHOWN, missing_groups
from fairlab.cases.method import Unfinished
from fairlab.cases.table import column_types
from fairlab.checks import checked, one_of
from fairlab.fairtest import impact_table
from fairlab.fairtest.rates import BETWEEN, feature_sets, group_counts, without_tiny
from fairlab.paths import write_text
from fairlab.statistics import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LIKE = 100_000  # people with whom shown rows are compared, for a table of decisions
MARGIN = 0.005  # half a percentage point: what a finding must exceed
WITHIN_MARGIN = 0.05  # five percentage points: what an effect must be shown to be less than to count as small
POPULATIONS = ("people", "generated inputs")
VERDICT_ON = ("people", "all")
ANSWERS = FOUND, RULED_OUT, UNDECIDED = "found", "ruled out", "undecided"
DIFFERENCE, ALL_SMALL, NOT_ASSESSED = "difference found", "large differences ruled out", "not assessed"  # verdicts


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """What an audit found, with what uncertainty, and what it did not assess.

    Findings about people of the table with a p-value form one family, over all methods and sensitive features, whose
    p-values are corrected by Holm's method: if no effect were larger than what its test is against (`limit`), the
    chance of one significant finding or more is at most ``1 - confidence_level``. They decide the verdict. Findings
    about generated inputs form a family of their own, unless they are to decide as well. Intervals are those of single
    findings, not corrected.

    Each comparison of a family has one of three answers, see `answers`: *found*, a difference of more than `margin`;
    *ruled out*, one of `within` or more; or *undecided*.

    Attributes
    ----------
    case : Case
        What was audited.
    results : tuple of MethodResult
        What each method found, in the order in which they ran.
    warnings : tuple of str
        What a reader must know of the model and of the audit before the findings.
    budget : int
        Rows that the model could be queried with, besides those of the determinism check.
    confidence_level : float
    random_state : int
    n_queries : int
        Rows that the model was queried with, when the case was made and by the audit; answers that an earlier audit
        cached count, as for a new case.
    seconds : float
    n_repeated : int
        Rows among `n_queries` that were queried a second time, for the determinism check.
    n_beside : int
        Rows among `n_queries` that were queried when the case was made, before a sample of its table was drawn.
    margin : float
        Differences of rates, flip rates and correlations up to it are no finding; a loss ratio has a limit of its own.
    within : float
        Effects shown to be less are small; a loss ratio has its own limit here, too.
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
    within: float = WITHIN_MARGIN
    verdict_on: str = "people"
    model_name: str = ""
    model_version: str = ""
    date: datetime | None = None

    def __post_init__(self):
        _ = self.frame, self.groups  # computed by the audit, not by a page of it

    @cached_property
    def groups(self) -> dict[str, pd.DataFrame]:
        """Impact tables of each sensitive feature and of each two, by name; see `fairlab.impact_table`."""
        return self.impact_tables(self.confidence_level)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All findings with what is tested: people before generated inputs, the significant ones first.

        One row for each finding: what `to_frame` returns, ``decides`` (whether its test decides the verdict), ``who``
        (the sensitive features in words) and the ``finding`` itself. Findings without a test are last. The others are
        sorted by kind (rates of groups and of intersections, decisions that flip, losses and correlations, subgroups)
        and by size of the effect; for an intersection, by the size that its interval proves.
        """
        found = [finding for result in self.results for finding in result.findings]
        names = ["sensitive_features", "who", "where", "effect", "estimate", "low", "high", "population", "method", "n"]
        names += ["measure", "through", "sentence"]
        frame = pd.DataFrame({name: [getattr(finding, name) for finding in found] for name in names})
        frame["finding"] = pd.Series(found, dtype=object)
        limits = [finding.against(self.margin) for finding in found]
        frame["limit"] = np.array(limits, dtype=float)
        pairs = zip(found, limits, strict=True)
        frame["raw_p_value"] = np.array([finding.p_value_beyond(limit) for finding, limit in pairs], dtype=float)
        on_people = frame["population"].eq("people").to_numpy(dtype=bool)
        frame["p_value_within"] = np.array([finding.p_value_within(self.within) for finding in found], dtype=float)
        alpha, tested = 1 - self.confidence_level, frame["raw_p_value"].notna().to_numpy()
        frame["p_value"], frame["answer"], frame["people_needed"] = np.nan, "", np.nan
        for family in [tested] if self.verdict_on == "all" else [tested & on_people, tested & ~on_people]:
            raw = frame.loc[family, "raw_p_value"].to_numpy()
            frame.loc[family, "p_value"] = holm(raw)
            frame.loc[family, "answer"] = answers(raw, frame.loc[family, "p_value_within"].to_numpy(), alpha)
        frame["significant"] = frame["answer"] == FOUND
        frame["decides"] = tested & (on_people | (self.verdict_on == "all"))
        n_tests = max(int(frame["decides"].sum()), 1)
        level = alpha / n_tests  # of the first step of the correction, whatever the other p-values are
        # Factors on the number of people to rule out all effects together, uncorrected, if the estimates were true.
        parts = [
            found[place].times_within(self.within, alpha) for place in np.flatnonzero(frame["decides"] & on_people)
        ]
        together = max(np.nan_to_num(parts, nan=np.inf, posinf=np.inf), default=np.inf)
        n_people = wording.n_people(self.case)
        for place in np.flatnonzero(frame["answer"].eq(UNDECIDED) & on_people):
            times = found[place].times_as_many(self.margin, self.within, alpha, n_tests)
            frame.loc[place, "people_needed"] = min(times, max(together, 1.0)) * n_people
        silent = frame["decides"] & ~frame["significant"]
        frame["smallest"] = np.array(
            [
                finding.smallest(level, limit) if is_silent and finding.smallest else np.nan
                for finding, limit, is_silent in zip(found, limits, silent, strict=True)
            ],
            dtype=float,
        )
        state = np.where(frame["significant"], 0, np.where(frame["p_value"].isna(), 2, 1))
        ranks = [_rank(finding) for finding in found]
        order = sorted(range(len(found)), key=lambda k: (POPULATIONS.index(found[k].population), state[k], *ranks[k]))
        return frame.iloc[order].reset_index(drop=True)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of `frame`."""
        return tuple(self.frame["finding"])

    @cached_property
    def tested(self) -> pd.DataFrame:
        """The rows of `frame` whose tests decide the verdict."""
        return self.frame[self.frame["decides"]]

    @property
    def significant(self) -> tuple[Finding, ...]:
        """The significant findings that decide the verdict."""
        return tuple(self.tested.loc[self.tested["significant"], "finding"])

    @cached_property
    def facts(self) -> list[list[Finding]]:
        """The significant findings that decide the verdict, grouped into facts by the first finding on a subject.

        A finding joins the first fact whose sensitive features are all among its own.
        """
        facts: list[list[Finding]] = []
        for finding in self.significant:
            about = set(finding.sensitive_features)
            known = next((fact for fact in facts if set(fact[0].sensitive_features) <= about), None)
            if known is None:
                facts.append([finding])
            else:
                known.append(finding)
        return facts

    @property
    def n_tests(self) -> int:
        """How many tests decide the verdict: the size of their family."""
        return len(self.tested)

    @property
    def verdict(self) -> str:
        """One of "difference found", "large differences ruled out", "undecided" and "not assessed" (no test)."""
        if not self.n_tests:
            return NOT_ASSESSED
        return DIFFERENCE if self.significant else ALL_SMALL if self.is_within else UNDECIDED

    @property
    def is_within(self) -> bool:
        """Whether every comparison that decides the verdict, even if found, is shown to be less than `within`.

        False if there are `unfinished` methods, since some comparisons were then not made.

        If one is not less, this is True with a probability of at most ``1 - confidence_level``, however many there are:
        all of their tests would have to reject, including the test of that one (intersection-union).
        """
        p_values = self.tested["p_value_within"].fillna(1.0)
        return not self.unfinished and bool(len(p_values)) and p_values.max() <= 1 - self.confidence_level

    @property
    def answers(self) -> dict[str, int]:
        """How many of the tests that decide the verdict have each of the three answers."""
        return {answer: int((self.tested["answer"] == answer).sum()) for answer in ANSWERS}

    @cached_property
    def group_counts(self) -> pd.DataFrame | None:
        """Counts of people and decisions by group, see `fairlab.fairtest.rates.group_counts`; None for numbers.

        Groups of fewer than five people are merged into one.
        """
        return None if self.case.task == "numbers" else without_tiny(group_counts(self.case))

    @cached_property
    def people(self) -> pd.DataFrame:
        """People with whom shown rows are compared; for decisions one row each, and a sample if there are very many."""
        if self.case.model is not None:
            return self.case.table
        return self.case.one_decision_each().sample(MOST_LIKE).table

    def impact_tables(self, confidence_level: float) -> dict[str, pd.DataFrame]:
        """Return `groups` with intervals at another confidence level, for instance a corrected one."""
        if self.group_counts is None:
            return {}
        tables, unlabelled = {}, [] if self.case.y_true is not None else ["labelled", "positives", "negatives"]
        for names in feature_sets(self.case):
            features = BETWEEN.join(names)
            counts = self.group_counts.drop(columns=unlabelled).loc[features]
            known = group_counts(self.case).loc[features].index.difference(missing_groups(self.case, names))
            unknown = counts.index.difference(known)  # small groups are merged into one
            tables[features] = impact_table(counts, unknown=unknown, confidence_level=confidence_level)
        return tables

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """What was not assessed: pairs of a method and a reason."""
        return tuple((e.method, reason) for e in self.results for reason in e.skipped)

    @property
    def unfinished(self) -> dict[str, str]:
        """Methods with tests that were not made, for lack of time or budget or as the model failed, and the reasons."""
        found: dict[str, str] = {}
        for method, reason in self.skipped:
            if isinstance(reason, Unfinished):
                found[method] = f"{found[method]} {reason}" if method in found else reason
        return found

    @property
    def not_assessed(self) -> dict[str, tuple[str, ...]]:
        """Sensitive features that no statistical test is about, with the reasons that the methods give."""
        tested = set(self.tested["sensitive_features"])
        missed = [name for name in self.case.sensitive_features if (name,) not in tested]
        return {name: self.reasons(name) for name in missed}

    def reasons(self, name: str, method: str = "") -> tuple[str, ...]:
        """Return why methods, or one of them, did not assess a sensitive feature: reasons for it, or for the case."""
        return tuple(
            f"{title}: {reason}"
            for title, reason in self.skipped
            if method in ("", title) and name in (getattr(reason, "sensitive_features", ()) or [name])
        )

    @cached_property
    def provenance(self) -> dict:
        """What is needed to reproduce the report, and to know what it is about."""
        from fairlab import __version__

        parts = [self.case.table] if self.case.model is not None else [self.case.table, self.case.record]
        hashed = np.stack([pd.util.hash_pandas_object(part, index=False) for part in parts], axis=1)
        return {
            "model": self.model_name or wording.name_of(self.case),
            "model_version": self.model_version or "not stated",
            "date": self.date.isoformat(timespec="seconds") if self.date else "not stated",
            "favourable": wording.favourable(self.case),
            "table_sha256": sha256(hashed.tobytes()).hexdigest(),
            "people": len(self.case.table),
            "people_in_table": self.case.n_given,
            "random_state": self.random_state,
            "budget": self.budget,
            "confidence_level": self.confidence_level,
            "margin": self.margin,
            "within": self.within,
            "verdict_on": self.verdict_on,
            "fairlab": __version__,
        }

    @property
    def summary(self) -> str:
        """The verdict in a few sentences: what was found or not, how sure, what was not assessed."""
        return wording.summary(self)

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        found = f"{self.verdict} ({len(self.significant)} of {self.n_tests} tests); " if self.n_tests else ""
        missed = f"not assessed: {wording.listed(self.not_assessed)}; " if self.not_assessed else ""
        return f"Report: {found}{missed}{self.n_queries:,} queries, {self.seconds:.0f} s"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each finding, in the order of `findings`.

        Returns
        -------
        DataFrame
            ``sensitive_features`` (a tuple), ``where``, ``effect`` (the measure, in words), ``estimate``, the interval
            ``low`` to ``high``, ``p_value`` of "at most ``limit`` in size", after correction within the family,
            ``answer`` ("found", "ruled out", "undecided"; "" without a test), ``people_needed``, about how many people
            of the table would settle what is undecided if the estimate were the truth, ``population`` ("people" or
            "generated inputs"), ``method``, ``n``, the people or inputs that it rests on, ``significant`` (whether the
            answer is "found"), ``measure`` (its name as one word), ``raw_p_value`` before correction, ``limit``, what
            the test is against (the margin, of a loss ratio 1.25; nan without a test), ``p_value_within`` of "at least
            `within` in size", before correction, ``smallest``, the smallest effect that would have been found with a
            power of 80% (of findings that are not significant), ``through``, the features that were varied in place of
            the sensitive ones, and ``sentence``.
        """
        measures = ["sensitive_features", "where", "effect", "estimate", "low", "high", "p_value", "answer"]
        more = ["people_needed", "population", "method", "n", "significant", "measure", "raw_p_value", "limit"]
        return self.frame[[*measures, *more, "p_value_within", "smallest", "through", "sentence"]]

    def plot(self) -> "Figure":
        """Return a forest plot: one line for each finding with its interval, one panel for each method."""
        return figures.forest(self)

    @checked(rows=one_of(*ROW_FORMATS))
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
        return written(page.document(self, rows), path)

    @checked(rows=one_of(*ROW_FORMATS))
    def to_json(self, path: str | Path | None = None, *, rows: str = "binned") -> str:
        """Return the report as JSON, and write it to `path`; the parameters are those of `to_html`."""
        named = {"sensitive_features": self.frame["who"], "through": self.frame["through"].map(list)}
        named["groups"] = [list(finding.groups) for finding in self.frame["finding"]]
        findings = self.to_frame().assign(**named).to_dict(orient="records")
        for row, finding in zip(findings, self.frame["finding"], strict=True):
            row["next_step"] = wording.next_step(finding.measure)
            if finding.by_group is not None:
                row["by_group"] = finding.by_group.reset_index().to_dict(orient="records")
            evidence = shown_rows(finding, self.people, rows)
            if evidence is not None:
                row["evidence"] = evidence.to_dict(orient="records")
        content = {
            "verdict": self.verdict,
            "summary": self.summary,
            "provenance": self.provenance,
            "warnings": list(self.warnings),
            "sensitive_features": list(self.case.sensitive_features),
            "features": list(self.case.features),
            "columns": self._columns(),
            "outcome": self.case.outcome | {"favourable": self.case.pos_label},
            "queries": self.n_queries,
            "queries_repeated": self.n_repeated,
            "queries_before_the_sample": self.n_beside,
            "seconds": round(self.seconds, 3),
            "tests": self.n_tests,
            "significant": len(self.significant),
            "answers": self.answers,
            "rows": rows,
            "groups": [] if self.group_counts is None else self.group_counts.reset_index().to_dict(orient="records"),
            "findings": findings,
            "not_assessed": {name: list(reasons) for name, reasons in self.not_assessed.items()},
            "skipped": [{"method": method, "reason": reason} | _n_left_out(reason) for method, reason in self.skipped],
            "unfinished": list(self.unfinished),
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
        return written(exports.as_json(content), path)

    def _columns(self) -> dict[str, dict]:
        """Return the types of the columns; for sensitive features, the groups shown and the number left out."""
        columns = column_types(self.case.table, self.case.sensitive_features)
        for name in self.case.sensitive_features:
            if "categories" in columns[name]:
                sizes = self.people[name].dropna().map(str).value_counts()
                shown = [each for each in columns[name]["categories"] if sizes.get(each, 0) >= LEAST_SHOWN]
                left_out = len(columns[name]["categories"]) - len(shown)
                columns[name] |= {"categories": shown} | ({"left_out": left_out} if left_out else {})
        return columns

    def to_junit(self, path: str | Path | None = None) -> str:
        """Return the tests as JUnit XML, as continuous integration reads it, and write it to `path`."""
        return written(exports.junit(self), path)

    def to_model_card(self, path: str | Path | None = None) -> str:
        """Return a model card in Markdown with front matter, and write it to `path`."""
        return written(exports.model_card(self), path)

    def _repr_html_(self) -> str:
        return page.fragment(self, "binned")


def answers(p_values, p_values_within, alpha: float) -> np.ndarray:
    """Return the answer to each comparison of a family: "found", "ruled out" or "undecided".

    A comparison is found if Holm's method rejects "at most `margin`", the size that counts as no finding (half a
    point): the probability of any false finding is at most `alpha`. It is ruled out if Holm's method rejects "at least
    `within`" (five points), or if all of these tests reject, each by itself; that one statement needs no correction
    (intersection-union). If both hold, it is found: a small difference is a difference.

    Parameters
    ----------
    p_values, p_values_within : array-like of shape (n_tests,)
        Before correction; nan where an effect cannot be shown to be small.
    alpha : float
    """
    small = np.nan_to_num(np.asarray(p_values_within, dtype=float), nan=1.0)
    within = (holm(small) <= alpha) | (small.max(initial=0) <= alpha)
    return np.where(holm(p_values) <= alpha, FOUND, np.where(within, RULED_OUT, UNDECIDED))


def _n_left_out(reason: str) -> dict[str, dict[str, int]]:
    """Return how many groups of one sensitive feature a reason leaves out, not their names; {} for none."""
    names: tuple[str, ...] = getattr(reason, "sensitive_features", ())
    left_out = getattr(reason, "left_out", ())
    return {"left_out": {names[0]: len(left_out)}} if left_out and len(names) == 1 else {}


def _rank(finding: Finding) -> tuple[int, float]:
    """Return the sort key of a finding: its kind, then its size, larger effects first.

    The size of an intersection is what its interval proves, so that it precedes a single feature only if its effect is
    certainly larger.
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
    """Return a text, and write it to a file if one is named."""
    if path is not None:
        if not isinstance(path, str | Path):
            raise TypeError(f"path: expected the name of a file, found {path!r}")
        write_text(Path(path), text)
    return text
