import html
import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audited import finding, people

from fairlab import Case, audit
from fairlab.auditing import run
from fairlab.auditing.probes import probes
from fairlab.auditing.probes.themis import PEOPLE
from fairlab.paths import project

ROOT = project().root

METHODS = list(probes())


@pytest.fixture
def case():
    return Case(lambda rows: rows["age"] > 40, people(), sensitive_features="sex", pos_label=True)


@pytest.fixture
def methods(monkeypatch):
    """Stand-ins for all methods: each asks for `asks[name]` generated rows and notes what it was given."""
    given, asks = {}, dict.fromkeys(METHODS, 0)

    def stand_in(name):
        def stand_in_run(task):
            given[name] = task
            rows = people(asks[name], seed=METHODS.index(name) + 1)
            if len(rows):
                task.case.decide(rows.assign(age=np.arange(len(rows)) + 1000 * (1 + METHODS.index(name))))
            yield finding(task.case.table, 0.01, method=name)

        return stand_in_run

    for name, probe in probes().items():
        monkeypatch.setitem(probes(), name, replace(probe, run=stand_in(name), needs=()))
    return given, asks


def test_every_method_runs_once_with_what_the_audit_was_given(case, methods):
    report = audit(case, budget=2400, confidence_level=0.9, random_state=7)
    given, _ = methods
    assert list(given) == METHODS
    assert all((task.confidence_level, task.random_state) == (0.9, 7) for task in given.values())
    assert [result.method for result in report.results] == [probe.title for probe in probes().values()]
    assert (report.budget, report.confidence_level, report.random_state) == (2400, 0.9, 7)


def test_proxies_are_for_the_method_that_varies_them(case, methods):
    audit(case, budget=2400, proxies={"sex": ["job"]})
    assert methods[0]["themis"].proxies == {"sex": ["job"]}


def test_every_module_of_probes_is_a_method_in_a_fixed_order():
    assert METHODS == ["fliptest", "fairtest", "individual_fairness", "themis", "adf"]
    assert [probe.share for probe in probes().values()] == [1, 1, 3, 2, 3]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_not_the_papers_algorithm_is_said_in_a_sentence_of_the_report(case, name):
    report = audit(case, budget=1000, methods=[name])
    [sentence] = [result.description for result in report.results]
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "paper" in sentence
    assert html.escape(sentence) in report.to_html()
    assert json.loads(report.to_json())["methods"][0]["description"] == sentence
    assert sentence in " ".join((ROOT / "docs" / "your_model.md").read_text(encoding="utf-8").split())


def test_individual_fairness_is_called_a_linearised_jackknife():
    assert "is a linearised jackknife" in probes()["individual_fairness"].description


def test_a_need_is_refused_in_the_same_words_by_every_method():
    numbers = Case(lambda rows: rows["age"] * 1.5, people(), sensitive_features="sex")
    skipped = [run(name, numbers).skipped for name, probe in probes().items() if "decisions" in probe.needs]
    assert len(skipped) == 4
    assert set(skipped) == {
        ("The model gives numbers, not decisions; decision_threshold= of the case makes decisions of them.",)
    }


def test_the_budget_is_split_as_stated_and_what_is_left_goes_on(case, methods):
    given, asks = methods
    asks["individual_fairness"] = 200
    report = audit(case, budget=2400)
    # 400 people first; 2,000 are left in parts of 1, 1, 3, 2, 3.
    budgets = [task.budget for task in given.values()]
    assert budgets == [200, 2000 // 9, 2000 * 3 // 8, 1800 * 2 // 5, 1800]
    assert report.n_queries - case.queries.n_for_case == 200


def test_people_are_asked_about_once(case, methods):
    first = audit(case, budget=2400)
    asked = case.queries.n_queries
    assert audit(case, budget=2400).n_queries == first.n_queries == asked, "the same audit costs the same"
    assert case.queries.n_queries == asked


def test_what_is_reported_is_what_the_model_was_asked(methods):
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows["age"] > 5

    table = people().assign(age=np.arange(400) / 10)
    report = audit(Case(model, table, sensitive_features="sex", pos_label=True), budget=800)
    assert report.n_queries == sum(seen) == 800
    assert "with 400 rows (at most 800 were allowed), and 400 rows again for the determinism check" in report.summary
    seen.clear()
    methods[1]["themis"] = 30
    twins = Case(model, pd.concat([table[:100]] * 4, ignore_index=True), sensitive_features="sex", pos_label=True)
    report = audit(twins, budget=2400)
    assert (report.n_queries, report.n_repeated) == (sum(seen), 100) == (230, 100)


def test_of_a_table_longer_than_half_the_budget_a_sample_is_examined_and_said(methods):
    table = people(5_000).assign(age=np.arange(5_000) / 50)
    table["truth"] = table["age"] > 30
    case = Case(lambda rows: rows["age"] > 40, table, sensitive_features="sex", y_true="truth", pos_label=True)
    reports = [audit(case, budget=2_000, random_state=seed) for seed in (7, 7, 8)]
    sampled = [report.case.table for report in reports]
    assert sampled[0].index.equals(sampled[1].index)
    assert not sampled[0].index.equals(sampled[2].index)
    first = reports[0]
    assert sampled[0].equals(table.loc[sampled[0].index, sampled[0].columns])
    assert (first.case.y_true == table.loc[sampled[0].index, "truth"]).all()
    assert (len(sampled[0]), first.n_beside, first.n_queries) == (1_000, 4_000, 6_000)
    assert "tested on 1,000 people, a random sample of the 5,000 of the table, for differences by sex" in first.summary
    allowed = "(at most 2,000 were allowed, beside 4,000 other rows when the case was made), and 1,000 rows again"
    assert f"queried it with 1,000 rows {allowed}" in first.summary
    assert "A random sample of 1,000 of the 5,000 rows is examined; intervals are about all 5,000." in first.to_html()
    assert json.loads(first.to_json())["people_in_table"] == 5_000
    assert "a random sample" not in audit(case, budget=10_000).summary


def test_intervals_of_a_sample_hold_what_is_true_of_the_table():
    table = people(3_000, seed=1).sort_values("age")

    def model(rows):
        return (rows["age"] + 9 * (rows["sex"] == "man") + 20 * (rows["job"] == "miner")) > 64

    case = Case(model, table, sensitive_features="sex", pos_label=True)
    man = table["sex"] == "man"
    rates = [model(table)[group].mean() for group in (man, ~man)]
    flips = model(table.assign(sex="man")) != model(table.assign(sex="woman"))
    held = []
    for seed in range(60):
        sample = case.sample(600, random_state=seed)  # as the audit does
        difference = run("fairtest", sample, budget=0).findings[0]
        [*_, people_of_table] = run("themis", sample, budget=1_200, random_state=seed).findings
        assert (difference.n, people_of_table.effect) == (600, PEOPLE)
        held.append(difference.low <= rates[0] - rates[1] <= difference.high)
        held.append(people_of_table.low <= flips.mean() <= people_of_table.high)
    assert np.mean(held) >= 0.95


def test_some_methods_by_name(case, methods):
    report = audit(case, budget=2400, methods=["AEQUITAS", "FlipTest", "individual fairness"])
    assert list(methods[0]) == ["fliptest", "individual_fairness", "adf"]
    assert "Left out as requested: FairTest and Themis." in report.warnings


def test_a_method_that_spends_its_share_is_listed_not_hidden(case, methods):
    methods[1]["themis"] = 5000
    report = audit(case, budget=2400)
    [(method, reason)] = report.skipped
    assert method == "Themis"
    assert "its share of the budget, 800 queries, was spent" in reason
    assert report.n_queries - report.n_repeated <= 2400


def test_an_error_inside_a_method_is_raised_with_its_name(case, methods, monkeypatch):
    def broken(task):
        raise ZeroDivisionError("broken")

    monkeypatch.setitem(probes(), "themis", replace(probes()["themis"], run=broken))
    with pytest.raises(ZeroDivisionError, match="broken") as caught:
        audit(case, budget=2400)
    assert "while Themis examined the case" in caught.value.__notes__[0]


def test_what_must_be_known_of_the_model_is_said(methods):
    unseen = Case(lambda rows: rows["age"] > 40, people(), sensitive_features="sex", features=["age"], pos_label=True)
    [notice] = audit(unseen, budget=2400).warnings
    assert "does not get sex: changing it alone cannot change a decision" in notice


def test_a_model_that_answers_by_chance_is_called_so(methods):
    rng = np.random.default_rng(0)
    noisy = Case(lambda rows: rng.random(len(rows)) < 0.5, people(), sensitive_features="sex", pos_label=True)
    assert any("The model is not deterministic" in notice for notice in audit(noisy, budget=2400).warnings)


def test_a_slow_model_is_called_slow_and_a_fast_one_in_small_batches_is_not(methods):
    def slow(rows):
        time.sleep(0.0012 * len(rows))
        return rows["age"] > 40

    def fast(rows):
        time.sleep(0.01)
        return rows["age"] > 40

    told = [
        audit(Case(model, people(), sensitive_features="sex", pos_label=True), budget=800).warnings
        for model in (slow, fast)
    ]
    assert "The model is slow, " in told[0][0]
    assert told[1] == ()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"budget": 0}, "budget: expected a positive integer, found 0"),
        ({"methods": ["themes"]}, "methods: unknown method 'themes'; did you mean 'themis'"),
        ({"methods": []}, "methods: expected some of fliptest"),
        ({"confidence_level": 95}, "confidence_level: expected a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(case, methods, options, error):
    with pytest.raises(ValueError, match=error):
        audit(case, **({"budget": 2400} | options))


def test_a_model_is_not_a_case():
    with pytest.raises(TypeError, match=r"case: expected a fairlab.Case, found function"):
        audit(lambda rows: rows)


def test_findings_of_all_methods_are_one_family(case, methods):
    report = audit(case, budget=2400)
    assert report.n_tests == len(METHODS)
    assert report.corrected_p_values == pytest.approx([0.05] * 5)
    assert len(replace(report, confidence_level=0.99).significant) == 0


REASONS = {
    "regression": ["FlipTest", "individual fairness", "Themis", "ADF and AEQUITAS"],
    "unseen": ["Themis", "ADF and AEQUITAS"],
}


@pytest.mark.parametrize("kind", REASONS)
def test_what_a_method_cannot_do_is_listed_with_the_reason(kind):
    table = people(150)
    if kind == "regression":
        case = Case(lambda rows: 100 * rows["age"] + 0.5, table, sensitive_features="sex", y_true=table["age"] * 99.5)
    else:
        case = Case(lambda rows: rows["age"] > 40, table, sensitive_features="sex", features=["age", "job"])
    report = audit(case, budget=1000)
    silent = [result.method for result in report.results if not result.findings]
    reasoned = {method for method, _ in report.skipped}
    assert set(REASONS[kind]) <= set(silent) <= reasoned
    assert "FairTest" not in silent


def test_the_same_audit_comes_out_again():
    frames = []
    for _ in range(2):
        case = Case(lambda rows: (rows["age"] > 40) & (rows["sex"] == "man"), people(150), sensitive_features="sex")
        frames.append(audit(case, budget=1500).to_frame())
    pd.testing.assert_frame_equal(*frames)
    assert frames[0]["significant"].any()
    assert frames[0].groupby("method")["significant"].any()[["FlipTest", "FairTest", "Themis", "ADF"]].all()


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(
            lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 1, n)), id="numbers missing"
        ),
        pytest.param(lambda rng, n: np.full(n, np.nan), id="all missing"),
        pytest.param(lambda rng, n: rng.choice(["12345", "67890"], n), id="numbers as text"),
        pytest.param(
            lambda rng, n: np.array([[1, "1"][k] for k in rng.integers(0, 2, n)], dtype=object), id="1 and '1'"
        ),
    ],
)
def test_every_method_takes_columns_as_they_come(column):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(18, 80, 300)})
    table["other"] = column(rng, 300)
    case = Case(lambda rows: rows["age"] + 20 * (rows["sex"] == "m") > 50, table, sensitive_features="sex")
    report = audit(case, budget=3000, progress=False)
    assert {"FlipTest", "FairTest", "Themis"} <= set(report.to_frame()["method"])
