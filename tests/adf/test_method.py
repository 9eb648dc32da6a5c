from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.adf.answers import Answers
from fairlab.auditing import run
from fairlab.cases import BudgetSpentError, Case

RNG, N = np.random.default_rng(0), 160
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(18, 78, N),
        "income": RNG.lognormal(3, 0.5, N),
        "job": pd.Categorical(RNG.choice(["cook", "clerk", None], N)),
        "member": RNG.integers(0, 2, N).astype(bool),
    },
    index=[f"p{k}" for k in range(N)],
)
FEATURES = ["sex", "age", "income", "job", "member"]


def score(rows):
    """Women under 40 need a little more."""
    pd.testing.assert_series_equal(rows.dtypes, PEOPLE.dtypes)
    return rows["income"] / 10 + rows["member"] - 0.4 * ((rows["sex"] == "f") & (rows["age"] < 40))


CASE = Case(score, PEOPLE, sensitive_features="sex", decision_threshold=2.5)


@pytest.fixture(scope="module")
def both():
    return run("adf", CASE, budget=4000)


def test_findings_of_both_methods(both):
    assert (both.method, both.skipped) == ("ADF and AEQUITAS", ())
    at_random = both.findings[0].random_per_1000  # one sample for both
    for name, finding in zip(("ADF", "AEQUITAS"), both.findings, strict=True):
        assert (finding.method, finding.population, finding.random_per_1000) == (name, "generated inputs", at_random)
        assert finding.estimate > at_random > 0
        assert finding.n_asked > finding.n
        assert np.isnan([finding.low, finding.high, finding.p_value]).all(), "a search is no test"
        assert f"found {finding.n_found:,} inputs whose decision another sex changes" in finding.summary


@pytest.mark.parametrize("method", [0, 1])
def test_evidence_is_pairs_that_differ_in_the_sensitive_attribute_and_the_decision_alone(both, method):
    shown = both.findings[method].evidence
    assert len(shown) == both.findings[method].n_found > 0
    assert (shown["sex"] != shown["other sex"]).all()
    assert (CASE.decide(shown[FEATURES]) == shown["favourable"]).all()
    assert (CASE.decide(shown.assign(sex=shown["other sex"])[FEATURES]) != shown["favourable"]).all()
    assert not shown[FEATURES].drop(columns="sex").duplicated().any()


def test_a_fair_model_gives_no_evidence():
    case = Case(lambda rows: rows["income"] / 10, PEOPLE, sensitive_features=["sex", "member"], decision_threshold=2.5)
    found = [(each.n_found, each.estimate, len(each.evidence)) for each in run("adf", case, budget=4000).findings]
    assert found == [(0, 0, 0)] * 4


def test_a_small_domain_is_asked_whole():
    case = Case(
        lambda rows: 2.0 * ((rows["sex"] == "m") & rows["member"] & (rows["job"] == "cook")),
        PEOPLE[["sex", "member", "job"]],
        sensitive_features="sex",
        decision_threshold=0.5,
    )
    for finding in run("adf", case, budget=8000).findings:
        assert (finding.n, finding.n_found) == (6, 1), "one of six combinations"
        assert "(all combinations were asked)" in finding.sentence


def test_a_sample_is_of_twenty_inputs_at_least():
    names = PEOPLE.assign(sex=PEOPLE.index)
    case = Case(lambda rows: rows["income"], names, sensitive_features="sex", decision_threshold=20)
    found = run("adf", case, budget=2 * 20 * N)
    said = "sex: a budget of 3200 rows does not suffice for inputs with each of 160 values."
    assert (found.findings, found.skipped) == ((), (said,))


def test_labels_alone_are_enough_for_aequitas():
    found = run("adf", Case(lambda rows: score(rows) >= 2.5, PEOPLE, sensitive_features="sex"), budget=4000)
    [finding] = found.findings
    assert (finding.method, found.skipped) == ("AEQUITAS", ("ADF: the model gives labels only, no scores.",))


TABLE = pd.DataFrame({"sex": ["f", "m"] * 20, "age": np.arange(20).repeat(2), "job": ["a", "b", "c", "d"] * 10})


def rule(rows):
    assert list(rows.columns) == ["sex", "age", "job"]
    return rows["age"] + 3.0 * (rows["sex"] == "m")


@pytest.fixture
def answers():
    case = Case(rule, TABLE, sensitive_features="sex", decision_threshold=10.0)
    with case.queries.limit(10_000):
        yield Answers(case)


def test_an_input_is_asked_once(answers):
    codes = np.array([[0, 5, 3], [1, 9, 0], [0, 5, 3]])
    assert answers.favourable(codes).tolist() == [False, True, False]
    np.testing.assert_allclose(answers.lead(codes), [-5, 2, -5])
    nothing = answers.favourable(np.empty((0, 3), dtype=int))
    assert (len(answers), 10_000 - answers.left, nothing.shape) == (2, 2, (0,))


def probabilities(rows):
    p = 1 / (1 + np.exp(10 - rule(rows).to_numpy()))
    return np.stack([1 - p, p], axis=1)


LABELS = SimpleNamespace(
    classes_=np.array([0, 1]), predict=lambda rows: probabilities(rows).argmax(axis=1), predict_proba=probabilities
)


def test_scores_of_a_model_that_decides_by_labels_are_rows_of_their_own():
    case = Case(LABELS, TABLE, sensitive_features="sex", features=["sex", "age", "job"])
    codes = [[0, 5, 1], [0, 6, 1], [0, 7, 1]]  # not in the table
    with case.queries.limit(7):
        answers = Answers(case)
        answers.lead(codes)
        assert (len(answers), answers.left) == (0, 4)
        answers.favourable(codes)
        assert (len(answers), answers.left) == (3, 1)
        with pytest.raises(BudgetSpentError, match="expected at most 1 more model queries, found 2"):
            answers.favourable([[0, 8, 1], [0, 9, 1]])
        assert len(answers) == 3, "none was asked"


def test_pairs_are_all_that_the_answers_hold(answers):
    codes = answers.domain.sample(3000, random_state=0)
    asked = dict(zip(map(tuple, codes.tolist()), answers.favourable(codes).tolist(), strict=True))
    expected = {code[1:] for code, answer in asked.items() if asked.get((1 - code[0], *code[1:]), answer) != answer}
    pairs = answers.pairs(0)
    assert sorted(map(tuple, pairs.inputs[:, 1:].tolist())) == sorted(expected)
    assert (answers.favourable(pairs.inputs) == pairs.favourable).all()
    assert (answers.favourable(np.column_stack([pairs.other, pairs.inputs[:, 1:]])) != pairs.favourable).all()
