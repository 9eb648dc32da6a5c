"""The audit: every method on one case, within one budget of queries."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module

from fairlab.auditing.progress import Progress
from fairlab.auditing.report import Report
from fairlab.auditing.wording import count, listed
from fairlab.cases import BudgetSpentError, Case, Examination
from fairlab.checks import check_count, check_number, suggestion

SLOW = 1e-3  # seconds a row from which on a model is called slow


@dataclass(frozen=True)
class Method:
    """One method of the audit.

    Attributes
    ----------
    name : str
        In words.
    share : int
        Its part of the queries that are left once the people of the table are answered for, among the parts of all
        methods that have not run yet; what one does not use is there for the next.
    """

    name: str
    share: int


# In the order in which they run: what needs only the people of the table comes first.
METHODS = {
    "fliptest": Method("FlipTest", 1),
    "fairtest": Method("FairTest", 1),
    "individual_fairness": Method("individual fairness", 3),
    "themis": Method("Themis", 2),
    "adf": Method("ADF and AEQUITAS", 3),
}


def audit(
    case: Case,
    *,
    budget: int = 200_000,
    methods: Iterable[str] | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    proxies: Mapping[str, Iterable[str]] | bool = False,
    progress: bool = True,
) -> Report:
    """Put all methods to one case.

    Parameters
    ----------
    case : Case
    budget : int
        How many rows the model may be asked at most, beside those that the case asked a second time, 1,000 at most, to
        see whether the model answers alike. The people of the table count first, once for all methods that
        look at people, also where the case has asked about them already. They take half of the budget at most: of a
        longer table a simple random sample is examined, and the report says of how many. What is left is split in
        parts of 1 (FlipTest), 1 (FairTest), 3 (individual fairness), 2 (Themis) and 3 (ADF and AEQUITAS), and what
        one method does not use goes to those after it.
    methods : iterable of str, optional
        Some of ``"fliptest"``, ``"fairtest"``, ``"individual_fairness"``, ``"themis"`` and ``"adf"``, which brings
        AEQUITAS; all by default. They run in this order.
    confidence : float
        Of every interval by itself, and of all tests together: findings are called significant so that for a model
        without any effect the chance of one finding or more is at most ``1 - confidence`` (Holm's correction).
    random_state : int
    proxies : mapping of str to iterable of str, or bool
        For Themis: by sensitive column, features that stand for it and are varied in its place; True takes, for columns
        that the model does not get, the features that tell most about them.
    progress : bool
        Whether to show a bar with queries and findings so far, in a terminal or a notebook.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If `case` is none.
    ValueError
        If a parameter is not as it should be.

    Notes
    -----
    A method that cannot look at a case, or at a part of it, says so in the report. An error inside a method or of the
    model is raised, with a note that says which method it was.

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
    if not isinstance(case, Case):
        raise TypeError(
            f"case: expected a fairlab.Case, found {type(case).__name__}; wrap model and table in one first"
        )
    budget = check_count(budget, "budget")
    names = _chosen(methods)
    check_number(confidence, "confidence", above=0, below=1)
    random_state = check_count(random_state, "random_state", least=0)
    start, examinations, pace = time.perf_counter(), [], case.queries.seconds_per_row
    case = case.sample(max(budget // 2, 1), random_state=random_state)
    people = len(case.table)
    case.number() if case.task == "numbers" else case.decide()  # every method then finds the answers in memory
    asked = case.queries.asked
    with Progress(case.queries, budget, done=people, show=progress) as bar:
        for position, name in enumerate(names):
            left = budget - people - (case.queries.asked - asked)
            share = METHODS[name].share / sum(METHODS[other].share for other in names[position:])
            bar.begin(METHODS[name].name)
            options = {"confidence": confidence, "random_state": random_state}
            if name == "themis":
                options["proxies"] = proxies
            examinations.append(_examine(name, case, int(left * share), options))
            bar.add(len(examinations[-1].findings))
    return Report(
        case=case,
        examinations=tuple(examinations),
        notices=_notices(case, names, pace),
        budget=budget,
        confidence=confidence,
        random_state=random_state,
        n_queries=case.queries.for_case + case.queries.asked - asked,
        n_twice=case.queries.n_repeated,
        n_beside=max(case.queries.for_case - case.queries.n_repeated - people, 0),
        seconds=time.perf_counter() - start,
    )


def _chosen(methods) -> list[str]:
    if methods is None:
        return list(METHODS)
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Iterable):
        raise ValueError(f"methods: expected some of {', '.join(METHODS)}, found {methods!r}")
    wanted = {str(name).lower().replace(" ", "_") for name in methods}
    wanted = {"adf" if name == "aequitas" else name for name in wanted}
    for name in sorted(wanted - set(METHODS)):
        raise ValueError(f"methods: unknown method {name!r}{suggestion(name, METHODS)}")
    if not wanted:
        raise ValueError(f"methods: expected some of {', '.join(METHODS)}, found none")
    return [name for name in METHODS if name in wanted]


def _examine(name, case, budget, options) -> Examination:
    method, start, asked = METHODS[name].name, time.perf_counter(), case.queries.asked
    examine = import_module(f"fairlab.{name}").examine
    try:
        with case.queries.limit(budget):
            return examine(case, budget=budget, **options)
    except BudgetSpentError:
        reason = f"its share of the budget, {count(budget, 'query', 'queries')}, was spent before it came to an answer."
        return Examination(method, (), (reason,), case.queries.asked - asked, time.perf_counter() - start)
    except Exception as error:
        error.add_note(f"This happened while {method} examined the case; audit(methods=...) can leave it out.")
        raise


def _notices(case, names, pace) -> tuple[str, ...]:
    """Return what a reader must know of the model before the findings."""
    notices = list(case.notices)
    if case.unseen:
        whom = listed(case.unseen)
        notices.append(
            f"The model does not get {whom}: changing {'them' if len(case.unseen) > 1 else 'it'} alone cannot change "
            "a decision, so that Themis, ADF and AEQUITAS have nothing to vary there (proxies= lets Themis vary what "
            "predicts it). FlipTest and FairTest compare people, and see what the model does through other columns."
        )
    if not case.queries.is_deterministic:
        notices.append(
            "The model is not deterministic: the same row got different answers. Answers were asked once and kept, so "
            "the same audit can come out differently another time, and methods that compare two answers about one row "
            "cannot tell a difference of treatment from chance."
        )
    if pace >= SLOW:  # over whole batches: a question about a few rows takes longer by the row
        notices.append(
            f"The model is slow, {1000 * pace:.1f} ms a row in large batches, and took "
            f"{case.queries.seconds / 60:.1f} minutes of the audit. A smaller budget is faster, its intervals wider."
        )
    left_out = [method.name for name, method in METHODS.items() if name not in names]
    if left_out:
        notices.append(f"Left out as asked: {listed(left_out)}.")
    return tuple(notices)
