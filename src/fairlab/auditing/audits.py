"""The audit: every method on one case, within one budget of queries."""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from inspect import signature
from typing import Any

from fairlab.adf import ADF, Aequitas
from fairlab.auditing.doubts import doubts
from fairlab.auditing.progress import query_bar
from fairlab.auditing.report import MARGIN, VERDICT_ON, WITHIN_MARGIN, Report
from fairlab.cases import Case, Method, MethodResult
from fairlab.cases.finding import listed
from fairlab.cases.method import CASE, LATE, Examination
from fairlab.checks import (
    COUNT_OR_ZERO,
    FRACTION,
    POSITIVE,
    check_count,
    check_flag,
    check_number,
    check_text,
    checked,
    one_of,
    suggestion,
)
from fairlab.fairtest import FairTest, GroupRates
from fairlab.fliptest import FlipTest
from fairlab.individual_fairness import IndividualFairness
from fairlab.themis import Themis

# In running order: first the methods that only need the people of the table, whose decisions are known.
METHODS: dict[str, type[Method]] = {
    "rates": GroupRates,
    "fliptest": FlipTest,
    "fairtest": FairTest,
    "individual_fairness": IndividualFairness,
    "themis": Themis,
    "adf": ADF,
    "aequitas": Aequitas,
}
MODEL_PART = 0.8  # share of an audit's seconds for the model; the rest is for the methods
MOST_CALLS = 100  # model calls by searches for one sensitive feature, whose steps each take a tenth of their queries
SLOW = 1e-3  # seconds a row above which a model is called slow


@checked(
    case=CASE,
    budget=check_count,
    confidence_level=FRACTION,
    random_state=COUNT_OR_ZERO,
    margin=partial(check_number, least=0, below=1),
    verdict_on=one_of(*VERDICT_ON),
    model_name=check_text,
    model_version=check_text,
    max_seconds=POSITIVE,
    progress=check_flag,
)
def audit(
    case: Case,
    *,
    budget: int = 200_000,
    methods: Iterable[str | Method] | None = None,
    confidence_level: float = 0.95,
    random_state: int = 0,
    proxies: Mapping[str, Iterable[str]] | bool = False,
    margin: float = MARGIN,
    within: float | None = None,
    verdict_on: str = "people",
    model_name: str = "",
    model_version: str = "",
    max_seconds: float | None = None,
    progress: bool = True,
) -> Report:
    """Apply all methods to one case.

    Parameters
    ----------
    case : Case
    budget : int
        Most rows that the model is queried with, besides the determinism check: at most 1,000 rows by the case, and the
        first ten pairs of each finding, fewer for a slow model. The people of the table count first, once for all
        methods that look at people, even if the case has queried them already. They take at most half of the budget; of
        a longer table, a simple random sample is examined, and the report says how large it is. The rest is divided in
        parts of 1 (FlipTest), 1 (FairTest), 3 (individual fairness), 4 (Themis), 1 (ADF) and 1 (AEQUITAS), and what one
        method does not use goes to those after it. Rates by group need no more queries. For decisions without a model,
        FlipTest and FairTest use a random sample of at most half the budget, and rates use all rows.
    methods : iterable of str or Method, optional
        Some of ``"rates"``, ``"fliptest"``, ``"fairtest"``, ``"individual_fairness"``, ``"themis"``, ``"adf"`` and
        ``"aequitas"``; all by default. They run in this order. A `Method` of your own runs after them; it has its own
        parameters, but must have the audit's `confidence_level`. No two methods may have the same title.
    confidence_level : float
        Of every interval by itself, and of all tests together: findings are called significant so that the family-wise
        error rate is at most ``1 - confidence_level`` (Holm's correction).
    random_state : int
    proxies : mapping of str to iterable of str, or bool
        For Themis: by sensitive column, the proxy features that are varied in its place. True takes the features that
        predict a column best, for columns that the model does not get.
    margin : float
        Differences of rates, flip rates and correlations of at most this size are no finding: tests are against it, not
        against 0. A loss ratio is tested against 1.25 instead; each row of the report says what its test is against.
    within : float, optional
        The difference that is to be ruled out; the report says for each comparison whether it is. At least `margin`;
        by default 0.05, or `margin` if that is more. A loss ratio has to be less than 1.25.
    verdict_on : {"people", "all"}
        Which findings decide the verdict: those about people of the table, or those about generated inputs, too.
    model_name, model_version : str
        What the report calls the model; by default the name of its function or class.
    max_seconds : float or None
        Seconds that the audit may take, from this call on. The budget is cut to what fits at the model's pace so far,
        and a method that would begin later is left out. A running method is interrupted at a query, even if the model
        does not answer it: in the main thread on Unix, and in compiled code only when that returns.
    progress : bool
        Whether to show a bar with queries and findings so far, in a terminal or a notebook.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If `case` is not a Case.
    ValueError
        If a parameter is invalid.

    Notes
    -----
    A method that cannot assess a case, or a part of it, says so in the report, also where the model fails on rows that
    the method made. An error inside a method is raised, with a note that says which method it was.

    Examples
    --------
    >>> import fairlab
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> report = fairlab.audit(case, methods=["themis"], budget=2_000)
    >>> len(report.significant) > 0
    True
    >>> report.to_html("audit.html")  # doctest: +SKIP
    """
    within = max(WITHIN_MARGIN, margin) if within is None else check_number(within, "within", least=margin, below=1)
    options = {"confidence_level": confidence_level, "random_state": random_state, "proxies": proxies}
    chosen = [each if isinstance(each, Method) else _made(each, options) for each in _chosen(methods)]
    _check_methods(chosen, confidence_level)
    start, pace = time.perf_counter(), case.queries.seconds_per_row
    results: list[MethodResult] = []
    some = case.sample(max(budget // 2, 1), random_state=random_state)
    case = some if case.model is not None else case  # rates are of all decisions
    people, queried = 0 if case.model is None else len(case.table), case.queries.n_queries
    confirmed, given, until = case.queries.n_confirmed, budget, start + (max_seconds or float("inf"))
    if max_seconds is not None and case.model is not None:
        budget = min(budget, people + int(MODEL_PART * max_seconds / max(case.queries.seconds_per_row, 1e-9)))
    allowed = f"the model can be queried with {budget:,} of the {given:,} rows allowed."
    cut = [f"In {max_seconds:.3g} seconds {allowed}"] if budget < given else []
    deadline = case.queries.deadline(max_seconds or float("inf"))
    # One limit around all methods, within which each row counts once, whatever earlier audits queried.
    limit = case.queries.limit(max(budget - people, 0))
    with deadline, limit, query_bar(case.queries, budget, done=people, show=progress) as tell:
        for position, method in enumerate(chosen):
            share = method.share / max(sum(other.share for other in chosen[position:]), 1)
            tell(method.title, sum(len(result.findings) for result in results))
            if time.perf_counter() > until:
                results.append(_left_out(method, case))
                continue
            results.append(method.run(case if method.takes_weights else some, budget=int(case.queries.left * share)))
    confirmed = case.queries.n_confirmed - confirmed
    return Report(
        case=case,
        results=tuple(results),
        warnings=(
            *_warnings(case, some, chosen, pace, within),
            *cut,
            *(said for result in results for said in result.warnings),
        ),
        budget=budget,
        confidence_level=confidence_level,
        random_state=random_state,
        n_queries=case.queries.n_for_case + case.queries.n_queries - queried + confirmed,
        n_repeated=case.queries.n_repeated + confirmed,
        n_beside=max(case.queries.n_for_case - case.queries.n_repeated - people, 0),
        seconds=time.perf_counter() - start,
        margin=margin,
        within=within,
        verdict_on=verdict_on,
        model_name=model_name,
        model_version=model_version,
        date=datetime.now(UTC),
    )


@checked(case=CASE, budget=check_count)
def forecast(case: Case, *, budget: int = 200_000) -> float:
    """Return how many seconds the model will take in an audit at most, by its pace when the case was made.

    Parameters
    ----------
    case : Case
    budget : int
        As in `audit`. The methods themselves take some seconds more.

    Raises
    ------
    TypeError
        If `case` is not a Case.
    ValueError
        If `budget` is no positive integer.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.auditing import forecast
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(lambda rows: rows["points"] > 20, people, sensitive_features="sex")
    >>> 0 < forecast(case, budget=1_000) < 60
    True
    """
    if case.model is None:
        return 0.0
    of_rows = max(budget - min(len(case.table), budget // 2), 0) * case.queries.seconds_per_row
    return of_rows + MOST_CALLS * len(case.sensitive_features) * case.queries.shortest


@checked(method=check_text)
def run(
    method: str,
    case: Case,
    *,
    budget: int = 200_000,
    confidence_level: float = 0.95,
    random_state: int = 0,
    **options: Any,
) -> MethodResult:
    """Apply one method to a case: what `audit` does for each, without the correction over all findings.

    Parameters
    ----------
    method : str
        As in `audit`.
    case : Case
    budget : int
        Most rows that the model is queried with, besides the people of the table, whose decisions are cached.
    confidence_level : float
        Of intervals; ADF and AEQUITAS have none.
    random_state : int
    **options
        Parameters of the class in `METHODS`, such as `proxies` and `min_score` of Themis, `max_loss_ratio` of
        individual fairness, `n_local` of ADF.

    Returns
    -------
    MethodResult

    Raises
    ------
    TypeError
        If `case` is not a Case, or the method has no such option.
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.auditing import run
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9 * (rows["sex"] == "m") > 20
    >>> case = fairlab.Case(rule, people, sensitive_features="sex")
    >>> run("fliptest", case).method, [finding.p_value < 0.05 for finding in run("themis", case).findings][0]
    ('FlipTest', True)
    """
    [name] = _chosen(method)
    given = {"confidence_level": confidence_level, "random_state": random_state}
    return _made(str(name), given, **options).run(case, budget=budget)


def _made(name: str, given: Mapping[str, Any], **options: Any) -> Method:
    """Return a method with its own options, and with those of the audit that its class takes."""
    return METHODS[name](
        **{option: value for option, value in given.items() if option in signature(METHODS[name]).parameters}, **options
    )


def _chosen(methods) -> list[str | Method]:
    """Return the names of methods in running order, from names as people write them, then the given methods."""
    if methods is None:
        return list(METHODS)
    wanted = [methods] if isinstance(methods, str | Method) else methods
    if not isinstance(wanted, Iterable) or not (wanted := list(wanted)):
        raise ValueError(f"methods: expected some of {', '.join(METHODS)}, found {methods!r}")
    titles = {method.title.lower(): name for name, method in METHODS.items()}
    given = [each for each in wanted if isinstance(each, Method)]
    names = [str(each) for each in wanted if not isinstance(each, Method)]
    asked = [titles.get(name.lower(), name.lower().replace(" ", "_")) for name in names]
    for name in asked:
        if name not in METHODS:
            raise ValueError(f"methods: unknown method {name!r}{suggestion(name, METHODS)}")
    return [*(name for name in METHODS if name in asked), *given]


def _left_out(method: Method, case: Case) -> MethodResult:
    """Return the result of a method that does not run because the seconds of the audit are over."""
    examination = Examination(case, 0, has_tests=method.has_tests)
    if not method.is_skipped(examination):
        examination.stop(LATE)
    return MethodResult(method.title, (), tuple(examination.skipped), 0, 0.0)


def _check_methods(chosen: list[Method], confidence_level: float) -> None:
    """Raise a ValueError if a report could not tell methods apart, or would state another level than theirs."""
    titles = [method.title for method in chosen]
    for method in chosen:
        if titles.count(method.title) > 1:
            raise ValueError(
                f"methods: expected each method once, found {method.title} {titles.count(method.title)} times"
            )
        its = getattr(method, "confidence_level", confidence_level)
        if its != confidence_level:
            raise ValueError(
                f"methods: expected {method.title} with the confidence_level of the audit, {confidence_level:g}, "
                f"found {its:g}"
            )


def _warnings(case, some, chosen, pace, within) -> list[str]:
    """Return what a reader must know of the model before the findings."""
    warnings = [*case.warnings, *doubts(case, within)]
    if case.unseen:
        whom = listed(case.unseen)
        warnings.append(
            f"The model does not receive {whom}: changing {'them' if len(case.unseen) > 1 else 'it'} alone cannot "
            "change a decision, so Themis, ADF and AEQUITAS have nothing to vary (with proxies=, Themis varies proxy "
            "features instead). FlipTest and FairTest compare people, and detect differences that arise through other "
            "columns."
        )
    if not case.queries.is_deterministic:
        warnings.append(
            "The model is not deterministic: the same row got different answers. Answers were cached; a new audit can "
            "give other results. Flip rates exclude this noise, which repeated queries measure; other methods that "
            "compare two answers about one row cannot distinguish unequal treatment from chance."
        )
    if pace >= SLOW:  # over whole batches: a query with few rows takes longer per row
        warnings.append(
            f"The model is slow, {1000 * pace:.1f} ms a row in large batches, and took "
            f"{case.queries.seconds / 60:.1f} minutes of the audit. A smaller budget is faster but widens "
            "intervals."
        )
    left_out = [method.title for method in METHODS.values() if not any(isinstance(each, method) for each in chosen)]
    if left_out:
        warnings.append(f"Left out as requested: {listed(left_out)}.")
    sampling = [method.title for method in chosen if not method.takes_weights and "model" not in method.needs]
    if len(some.table) < len(case.table) and sampling:
        uses = f"{listed(sampling)} {'uses' if len(sampling) == 1 else 'use'} a random sample of"
        warnings.append(f"{uses} {len(some.table):,} of the {len(case.table):,} decisions.")
    return warnings
