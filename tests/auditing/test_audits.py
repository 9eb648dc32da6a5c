import io
import re
import sys
import time

import numpy as np
import pandas as pd
import pytest
from audited import finding, people

from fairlab import Case, audit
from fairlab.auditing import audits, forecast
from fairlab.auditing.audits import METHODS as KNOWN
from fairlab.auditing.progress import query_bar
from fairlab.cases import Queries

METHODS = list(KNOWN)


@pytest.fixture
def case():
    return Case(lambda rows: rows["age"] > 40, people(), sensitive_features="sex", pos_label=True)


@pytest.fixture
def methods(monkeypatch):
    """Stand-ins for all methods: each asks for `asks[name]` generated rows and notes what it was given."""
    given, asks = {}, dict.fromkeys(METHODS, 0)

    def stand_in(name, method, examination):
        given[name] = method, examination.budget
        if asks[name]:
            rows = people(asks[name], seed=METHODS.index(name) + 1)
            examination.case.decide(rows.assign(age=np.arange(len(rows)) + 1000 * (1 + METHODS.index(name))))
        yield finding(examination.case.table, 0.01, method=name)

    for name, method in KNOWN.items():
        monkeypatch.setattr(method, "findings", lambda its, case, name=name: stand_in(name, its, case))
        monkeypatch.setattr(method, "needs", ())
    return given, asks


def test_every_method_runs_once_with_what_the_audit_was_given(case, methods):
    report = audit(case, budget=2400, confidence_level=0.9, random_state=7, proxies={"sex": ["job"]})
    given = {name: method for name, (method, _) in methods[0].items()}
    assert ({method.random_state for method in given.values()}, list(given)) == ({7}, METHODS)
    levels = {name: method.confidence_level for name, method in given.items() if name not in ("adf", "aequitas")}
    assert (levels, given["themis"].proxies) == (dict.fromkeys(METHODS[:-2], 0.9), {"sex": ["job"]})
    assert [result.method for result in report.results] == [method.title for method in KNOWN.values()]
    assert (report.budget, report.confidence_level, report.random_state) == (2400, 0.9, 7)


def test_the_budget_is_split_as_stated_and_what_is_left_goes_on(case, methods):
    given, asks = methods
    asks["individual_fairness"] = 200
    report = audit(case, budget=2400)
    # 400 people first; 2,000 are left in parts of 0, 1, 1, 3, 4, 1, 1.
    expected = {"rates": 0, "fliptest": 2000 // 11, "fairtest": 2000 // 10, "individual_fairness": 2000 * 3 // 9}
    expected |= {"themis": 1800 * 4 // 6, "adf": 1800 // 2, "aequitas": 1800}
    assert {name: budget for name, (_, budget) in given.items()} == expected
    assert report.n_queries - case.queries.n_for_case == 200


def test_what_is_reported_is_what_the_model_was_asked(methods):
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows["age"] > 5

    def asked(table, budget):
        return audit(Case(model, table, sensitive_features="sex", pos_label=True), budget=budget)

    table = people().assign(age=np.arange(400) / 10)
    report = asked(table, budget=800)
    assert report.n_queries == sum(seen) == 800
    assert "with 400 rows (at most 800 were allowed), and 400 rows again for the determinism check" in report.to_html()
    methods[1]["themis"] = 30
    report = asked(pd.concat([table[:100]] * 4, ignore_index=True), budget=2400)
    assert (report.n_queries, report.n_repeated) == (sum(seen) - 800, 100) == (230, 100)


def test_of_a_table_longer_than_half_the_budget_a_sample_is_examined_and_said(methods):
    table = people(5_000).assign(age=np.arange(5_000) / 50)
    case = Case(
        lambda rows: rows["age"] > 40, table, sensitive_features="sex", y_true=table["age"] > 30, pos_label=True
    )
    first, again, other = (audit(case, budget=2_000, random_state=seed) for seed in (7, 7, 8))
    sampled = first.case.table.index
    assert [sampled.equals(report.case.table.index) for report in (again, other)] == [True, False]
    assert (len(sampled), first.n_beside, first.n_queries) == (1_000, 4_000, 6_000)
    assert "on 1,000 people (a random sample of 5,000)" in first.summary
    assert "A random sample of 1,000 of the 5,000 rows is examined; intervals are about all 5,000." in first.to_html()


def test_the_next_step_is_a_larger_budget_for_a_sample_and_to_look_at_decisions_that_are_all_alike():
    people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400)})
    case = Case(lambda rows: rows["points"] % 5 > 2, people, sensitive_features="sex")
    said = [audit(case, methods=["rates"], budget=budget).summary for budget in (200, 2_000)]
    assert "Next: Examine more of the 400 rows with a larger budget, or" in said[0]
    assert "Next: Collect data on more people, or" in said[1]
    with pytest.warns(UserWarning, match="All decisions are unfavourable"):
        case = Case(lambda rows: rows["points"] < 0, people, sensitive_features="sex")
    assert "Next: Check the decisions first: they are all alike" in audit(case, methods=["rates"]).summary


def test_some_methods_by_name(case, methods):
    report = audit(case, budget=2400, methods=["AEQUITAS", "FlipTest", "individual fairness"])
    assert list(methods[0]) == ["fliptest", "individual_fairness", "aequitas"]
    assert "Left out as requested: group rates, FairTest, Themis and ADF." in report.warnings


def test_a_report_states_one_level_and_has_each_method_once(case, methods):
    own = KNOWN["themis"](confidence_level=0.9, random_state=3)
    several = ["rates", own], ["fliptest", "FlipTest"]
    assert [len(audit(case, methods=some, confidence_level=0.9).results) for some in several] == [2, 1]
    assert methods[0]["themis"][0] is own


def test_a_method_that_spends_its_share_is_listed_not_hidden(case, methods):
    methods[1]["themis"] = 5000
    report = audit(case, budget=2400)
    assert report.skipped == (("Themis", "its share of the budget, 1,333 queries, ran out before it had a result."),)
    assert report.n_queries - report.n_repeated <= 2400


def test_an_error_inside_a_method_is_raised_with_its_name(case, methods, monkeypatch):
    monkeypatch.setattr(KNOWN["themis"], "findings", lambda method, examination: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        audit(case, budget=2400)
    assert "while Themis examined the case" in caught.value.__notes__[0]


def test_an_audit_says_how_long_it_takes_and_ends_in_time_with_what_it_has(monkeypatch):
    def slow(rows):
        time.sleep(2e-4 * len(rows))
        return rows["age"] + 20 * (rows["sex"] == "man") > 50

    monkeypatch.setattr(audits, "SLOW", 1e-4)
    case = Case(slow, people(), sensitive_features="sex", pos_label=True)
    report = audit(case, budget=50_000, max_seconds=2)
    assert report.n_queries < 20_000, "of 50,000, which would take ten seconds"
    assert re.search("The model is slow, .*In 2 seconds the model can be queried with ", " ".join(report.warnings))
    assert {"selection_rate_difference", "counterfactual_flip_rate"} <= {each.measure for each in report.significant}


def test_the_forecast_is_the_time_of_all_rows_by_the_pace_and_of_many_calls_by_the_shortest(case):
    case.queries.seconds, case.queries.n_sent, case.queries.shortest = 1.0, 1_000, 0.01
    # At most half of the budget is a sample of the 400 people; other rows take 1 ms each, a hundred calls 10 ms each.
    assert [forecast(case, budget=budget) for budget in (2_000, 600)] == pytest.approx([1.6 + 1, 0.3 + 1])


def test_methods_that_would_begin_too_late_are_left_out(case, methods, monkeypatch):
    def sleeping(method, examination):
        time.sleep(0.3)
        yield finding(examination.case.table, 0.01)

    monkeypatch.setattr(KNOWN["rates"], "findings", sleeping)
    report = audit(case, budget=2400, max_seconds=0.2)
    assert len(report.findings) == 1
    assert {reason for _, reason in report.skipped} == {"the seconds that the audit may take were over."}


# progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "show", "expected"),
    [
        (Terminal, True, ["Themis", "49/100", "3 findings"]),  # what was done, and the queries of this audit only
        (io.StringIO, True, []),
        (Terminal, False, []),
    ],
)
def test_a_terminal_shows_queries_and_findings_if_asked_to(monkeypatch, stream, show, expected):
    monkeypatch.setattr(sys, "stderr", stream())
    queries = Queries()
    with query_bar(queries, 100, done=7, show=show) as tell:
        tell("Themis", 0)
        queries.send(lambda rows: rows["age"], people(42))
        tell("ADF", 3)
    assert queries.watch is None
    shown = sys.stderr.getvalue()
    assert (bool(shown), [part for part in expected if part not in shown]) == (bool(expected), [])
