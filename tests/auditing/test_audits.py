import html
import io
import json
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from audited import finding, people
from scipy.stats import binomtest

from fairlab import Case, audit
from fairlab.auditing import forecast, progress, run
from fairlab.auditing.probes import probes
from fairlab.auditing.probes.themis import FLIPS
from fairlab.auditing.progress import QueryBar
from fairlab.auditing.varied import PEOPLE, Varied, over_inputs, over_people, proxies_of
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

    def stand_in(name, task):
        given[name] = task
        if asks[name]:
            rows = people(asks[name], seed=METHODS.index(name) + 1)
            task.case.decide(rows.assign(age=np.arange(len(rows)) + 1000 * (1 + METHODS.index(name))))
        yield finding(task.case.table, 0.01, method=name)

    for name, probe in probes().items():
        monkeypatch.setitem(probes(), name, replace(probe, run=partial(stand_in, name), needs=()))
    return given, asks


def test_every_method_runs_once_with_what_the_audit_was_given(case, methods):
    proxies = {"sex": ["job"]}
    report = audit(case, budget=2400, confidence_level=0.9, random_state=7, proxies=proxies)
    given, _ = methods
    assert list(given) == METHODS
    parts = {(task.confidence_level, task.random_state, task.proxies == proxies) for task in given.values()}
    assert parts == {(0.9, 7, True)}
    assert [result.method for result in report.results] == [probe.title for probe in probes().values()]
    assert (report.budget, report.confidence_level, report.random_state) == (2400, 0.9, 7)


def test_every_module_of_probes_is_a_method_in_a_fixed_order():
    assert METHODS == ["rates", "fliptest", "fairtest", "individual_fairness", "themis", "adf"]
    assert [probe.share for probe in probes().values()] == [0, 1, 1, 3, 4, 2]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_not_the_papers_algorithm_is_said_in_a_sentence_of_the_report(case, name):
    report = audit(case, budget=1000, methods=[name])
    [sentence] = [result.description for result in report.results]
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "paper" in sentence
    page = (project().docs / "your_model.md").read_text(encoding="utf-8")
    texts = report.to_html(), json.loads(report.to_json())["methods"][0]["description"], " ".join(page.split())
    assert html.escape(sentence) in texts[0]
    assert sentence == texts[1]
    assert sentence in texts[2]


def test_a_need_is_refused_in_the_same_words_by_every_method():
    numbers = Case(lambda rows: rows["age"] * 1.5, people(), sensitive_features="sex")
    skipped = [run(name, numbers).skipped for name, probe in probes().items() if "decisions" in probe.needs]
    assert len(skipped) == 5
    assert set(skipped) == {
        ("The model gives numbers, not decisions; decision_threshold= of the case makes decisions of them.",)
    }


def test_the_budget_is_split_as_stated_and_what_is_left_goes_on(case, methods):
    given, asks = methods
    asks["individual_fairness"] = 200
    report = audit(case, budget=2400)
    # 400 people first; 2,000 are left in parts of 0, 1, 1, 3, 4, 2.
    budgets = [task.budget for task in given.values()]
    assert budgets == [0, 2000 // 11, 2000 // 10, 2000 * 3 // 9, 1800 * 4 // 6, 1800]
    assert report.n_queries - case.queries.n_for_case == 200


def test_what_is_reported_is_what_the_model_was_asked(methods):
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows["age"] > 5

    table = people().assign(age=np.arange(400) / 10)
    report = audit(Case(model, table, sensitive_features="sex", pos_label=True), budget=800)
    assert report.n_queries == sum(seen) == 800
    said = "with 400 rows (at most 800 were allowed), and 400 rows again for the determinism check"
    assert said in report.to_html()
    seen.clear()
    methods[1]["themis"] = 30
    twins = Case(model, pd.concat([table[:100]] * 4, ignore_index=True), sensitive_features="sex", pos_label=True)
    report = audit(twins, budget=2400)
    assert (report.n_queries, report.n_repeated) == (sum(seen), 100) == (230, 100)
    methods[1]["themis"] = 0
    first, again = audit(twins, budget=2400), audit(twins, budget=2400)
    assert first.n_queries == again.n_queries, "the same audit costs the same"


def test_of_a_table_longer_than_half_the_budget_a_sample_is_examined_and_said(methods):
    table = people(5_000).assign(age=np.arange(5_000) / 50)
    table["truth"] = table["age"] > 30
    case = Case(lambda rows: rows["age"] > 40, table, sensitive_features="sex", y_true="truth", pos_label=True)
    first, again, other = (audit(case, budget=2_000, random_state=seed) for seed in (7, 7, 8))
    sampled = first.case.table
    assert sampled.index.equals(again.case.table.index)
    assert not sampled.index.equals(other.case.table.index)
    assert sampled.equals(table.loc[sampled.index, sampled.columns])
    assert (first.case.y_true == table.loc[sampled.index, "truth"]).all()
    assert (len(sampled), first.n_beside, first.n_queries) == (1_000, 4_000, 6_000)
    assert "on 1,000 people (a random sample of 5,000)" in first.summary
    assert "A random sample of 1,000 of the 5,000 rows is examined; intervals are about all 5,000." in first.to_html()


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
        difference = run("rates", sample, budget=0).findings[0]
        people_of_table = run("themis", sample, budget=1_200, random_state=seed).findings[0]
        assert (difference.n, people_of_table.effect, people_of_table.population) == (600, FLIPS, "people")
        held.append(difference.low <= rates[0] - rates[1] <= difference.high)
        held.append(people_of_table.low <= flips.mean() <= people_of_table.high)
    assert np.mean(held) >= 0.95


def test_some_methods_by_name(case, methods):
    report = audit(case, budget=2400, methods=["AEQUITAS", "FlipTest", "individual fairness"])
    assert list(methods[0]) == ["fliptest", "individual_fairness", "adf"]
    assert "Left out as requested: group rates, FairTest and Themis." in report.warnings


def test_a_method_that_spends_its_share_is_listed_not_hidden(case, methods):
    methods[1]["themis"] = 5000
    report = audit(case, budget=2400)
    [(method, reason)] = report.skipped
    assert method == "Themis"
    assert "its share of the budget, 1,333 queries, was spent" in reason
    assert report.n_queries - report.n_repeated <= 2400


def test_an_error_inside_a_method_is_raised_with_its_name(case, methods, monkeypatch):
    def broken(task):
        raise ZeroDivisionError("broken")

    monkeypatch.setitem(probes(), "themis", replace(probes()["themis"], run=broken))
    with pytest.raises(ZeroDivisionError, match="broken") as caught:
        audit(case, budget=2400)
    assert "while Themis examined the case" in caught.value.__notes__[0]


def test_a_slow_model_is_called_slow_and_a_fast_one_in_small_batches_is_not(methods):
    def told(seconds_a_row, seconds_a_batch):
        def model(rows):
            time.sleep(seconds_a_row * len(rows) + seconds_a_batch)
            return rows["age"] > 40

        return audit(Case(model, people(), sensitive_features="sex", pos_label=True), budget=800).warnings

    assert "The model is slow, " in told(0.0012, 0)[0]
    assert told(0, 0.01) == ()


def test_the_same_audit_comes_out_again():
    frames = []
    for _ in range(2):
        case = Case(lambda rows: (rows["age"] > 40) & (rows["sex"] == "man"), people(150), sensitive_features="sex")
        frames.append(audit(case, budget=1500).to_frame())
    pd.testing.assert_frame_equal(*frames)
    assert frames[0]["significant"].any()
    assert frames[0].groupby("method")["significant"].any()[["group rates", "Themis"]].all()


def test_an_audit_says_how_long_it_takes_and_ends_in_time_with_what_it_has():
    def slow(rows):
        time.sleep(2e-4 * len(rows))
        return rows["age"] + 20 * (rows["sex"] == "man") > 50

    case = Case(slow, people(), sensitive_features="sex", pos_label=True)
    assert forecast(case, budget=50_000) == pytest.approx((50_000 - 400) * 2e-4, rel=0.5)
    start = time.perf_counter()
    report = audit(case, budget=50_000, max_seconds=3)
    assert time.perf_counter() - start < 6
    assert report.n_queries < 20_000
    assert "In 3 seconds the model can be queried with " in " ".join(report.warnings)
    measures = {finding.measure for finding in report.significant}
    assert {"selection_rate_difference", "counterfactual_flip_rate"} <= measures, "with what it has"


def test_methods_that_would_begin_too_late_are_left_out(case, methods, monkeypatch):
    def sleeping(task):
        time.sleep(0.3)
        yield finding(task.case.table, 0.01)

    monkeypatch.setitem(probes(), "rates", replace(probes()["rates"], run=sleeping))
    report = audit(case, budget=2400, max_seconds=0.2)
    assert len(report.findings) == 1
    assert {reason for _, reason in report.skipped} == {"the seconds that the audit may take were over."}


# varied


def varied(decisions, own=0):
    decisions = np.asarray(decisions, dtype=bool)
    rows = pd.DataFrame(
        {"sex": ["f"] * len(decisions), "k": range(len(decisions))}, index=range(100, 100 + len(decisions))
    )
    values = pd.DataFrame({"sex": list("fmx")[: decisions.shape[1]]})
    return Varied(decisions, decisions[:, own], rows, values)


def test_sampled_scores_have_exact_intervals_and_tests():
    decisions = np.zeros((200, 2), dtype=bool)
    decisions[:30, 0] = decisions[30:40, 1] = True
    some = varied(decisions)
    assert some.hits.tolist() == [True] * 40 + [False] * 160
    expected = binomtest(40, 200).proportion_ci(0.95)
    assert some.causal(0.05) == pytest.approx((0.2, expected.low, expected.high))
    score, low, high, p_value = some.group(0.05, np.random.default_rng(0))
    first, second = (binomtest(k, 200).proportion_ci(0.975) for k in (30, 10))
    assert (low, high) == pytest.approx((max(first.low - second.high, 0), first.high - second.low))
    assert p_value == pytest.approx(binomtest(30, 40).pvalue)
    assert score == pytest.approx(0.1, abs=0.01)


def test_noise_is_no_group_score():
    rng = np.random.default_rng(0)
    found, plain = [], []
    for _ in range(200):
        some = varied(rng.random((100, 3)) < 0.5)
        found.append(some.group(0.05, rng))
        plain.append(np.ptp(some.decisions.mean(axis=0)))
    scores, lows, _, p_values = np.transpose(found)
    assert np.mean(lows > 0) <= 0.05
    assert np.mean(p_values <= 0.05) <= 0.08
    assert np.mean(scores) < 0.7 * np.mean(plain)


def test_evidence_is_pairs_of_rows():
    some = varied([[1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]])
    pairs = some.pairs()
    expected = {"sex": ["f"] * 3, "k": [2, 0, 3], "other sex": ["m"] * 3, "favourable": [False, True, True]}
    assert pairs.to_dict("list") == expected
    assert pairs.attrs["generated"] is True
    # Rates 3/4, 2/4 and 2/4: f is favoured where m is not in rows 0 and 3.
    expected = {"sex": ["f"] * 2, "k": [0, 3], "other sex": ["m"] * 2, "favourable": [True, True]}
    assert some.extreme_pairs().to_dict("list") == expected


@pytest.fixture
def drawn_case():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], 300)),
            "owns": rng.choice([True, False, None], 300),
            "age": rng.integers(18, 28, 300),
        },
        index=range(1000, 1300),
    )
    return Case(lambda rows: (rows["age"] > 21) & (rows["sex"] == "m"), table, sensitive_features="sex")


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64"])
def test_inputs_are_drawn_column_by_column_from_the_table(dtype):
    n = 1000
    table = pd.DataFrame({"sex": list("fffm") * 250, "income": pd.Series(np.arange(n) ** 2).astype(dtype)})
    table["double"] = 2 * np.arange(n)
    if dtype != "int64":
        table.loc[:99, "income"] = pd.NA
    drawn_case = Case(lambda rows: rows["income"].fillna(0) > 250_000, table, sensitive_features="sex")
    some = over_inputs(drawn_case, ("sex",), 5_000, np.random.default_rng(0))
    rows = some.rows
    assert rows.dtypes.equals(table.dtypes)
    assert rows["income"].dropna().isin(table["income"]).all()
    assert rows["income"].nunique() > 800
    assert rows["income"].isna().mean() == pytest.approx(table["income"].isna().mean(), abs=0.02)
    assert (rows["sex"] == "f").mean() == pytest.approx(0.75, abs=0.02), "as often as in the table"
    assert abs(rows["income"].astype(float).corr(rows["double"])) < 0.05, "each by itself"
    assert (some.own == drawn_case.decide(rows)).all()
    assert some.decisions.shape == (5_000, 2)
    assert some.generated


def test_over_all_people_and_some(drawn_case, monkeypatch):
    every = over_people(drawn_case, ("sex",), np.arange(300))
    assert every.rows.index.equals(drawn_case.table.index)
    assert (every.hits == (drawn_case.table["age"] > 21)).all()
    assert (every.own == drawn_case.decide()).all()
    monkeypatch.setattr("fairlab.auditing.varied.ROWS", 7)  # in batches
    some = over_people(drawn_case, ("sex",), np.arange(0, 300, 6))
    assert some.rows.index.equals(drawn_case.table.index[::6])
    assert (some.decisions == every.decisions[::6]).all()
    assert some.pairs().attrs["generated"] is False


def case_of(n):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], n)
    table = pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["a", "b"], n),
            "title": np.where(sex == "f", "Ms", "Mr"),
            "height": rng.normal(165, 6, n) + 20 * (sex == "m"),
            "district": rng.choice(list("xyz"), n),
        }
    )
    return Case(
        lambda rows: rows["height"] > 170,
        table,
        sensitive_features=["sex", "race"],
        features=["title", "height", "district"],
    )


@pytest.mark.parametrize("n", [500, PEOPLE + 500])
def test_columns_that_tell_about_another(n):
    drawn_case = case_of(n)
    assert proxies_of(drawn_case, "sex") == ("title", "height")
    assert proxies_of(drawn_case, "race") == ()


# progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def advance(show=True):
    queries = SimpleNamespace(n_queries=5)
    with QueryBar(queries, 100, done=7, show=show) as bar:
        bar.begin("Themis")
        queries.n_queries = 47
        bar.add(3)
        time.sleep(0.05)


def test_a_terminal_shows_queries_and_findings(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.01)
    advance()
    shown = sys.stderr.getvalue()
    assert "Themis" in shown
    assert "49/100" in shown, "what was done, and the queries of this audit only"
    assert "3 findings" in shown


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_elsewhere_or_unasked_it_is_quiet(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    advance(show=stream is io.StringIO)
    assert sys.stderr.getvalue() == ""
