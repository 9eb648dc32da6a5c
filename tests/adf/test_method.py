from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from fairlab.adf import ADF, Aequitas
from fairlab.adf.gradients import CodedCase
from fairlab.adf.method import Sample
from fairlab.cases import BudgetSpentError, Case, Schema

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


BOTH = pytest.mark.parametrize("method", [ADF, Aequitas])


@pytest.fixture(scope="module")
def both():
    return {method: method().run(CASE, budget=2000) for method in (ADF, Aequitas)}


def test_findings_of_both_methods(both):
    assert len({result.findings[0].random_per_1000 for result in both.values()}) == 1, "of one sample"
    for name, result in zip(("ADF", "AEQUITAS"), both.values(), strict=True):
        [finding] = result.findings
        kind = result.method, finding.method, finding.population, result.skipped
        assert kind == (name, name, "generated inputs", ())
        assert 1000 >= finding.estimate > finding.random_per_1000 > 0 and finding.n_asked > finding.n
        assert np.isnan([finding.low, finding.high, finding.p_value]).all(), "a search is no test"
        assert f"found {finding.n_found:,} inputs whose decision another sex changes" in finding.summary


@BOTH
def test_evidence_is_pairs_that_differ_in_the_sensitive_attribute_and_the_decision_alone(both, method):
    [finding] = both[method].findings
    shown = finding.evidence
    assert len(shown) == finding.n_found > 0 and (shown["sex"] != shown["other sex"]).all()
    assert (CASE.decide(shown[FEATURES]) == shown["favourable"]).all()
    assert (CASE.decide(shown.assign(sex=shown["other sex"])[FEATURES]) != shown["favourable"]).all()
    assert not shown[FEATURES].drop(columns="sex").duplicated().any()


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    small, large = (Sample(CASE, "sex", budget, 0).discriminatory() for budget in (1000, 2000))
    assert 0 < len(small) < len(large)
    np.testing.assert_array_equal(large[: len(small)], small)


def counts(result):
    return [(each.n_found, each.n_asked, each.estimate) for each in result.findings]


@BOTH
def test_a_case_is_examined_by_its_own_model_and_the_parameters_stay(both, method):
    search = method(lambda X: X[:, 0], Schema.from_bounds({"a": (0, 9), "b": (0, 1)}), "b", decision_threshold=3)
    before, found = search.get_params(), search.run(CASE, budget=2000)
    assert (counts(found), search.get_params()) == (counts(both[method]), before)


@pytest.mark.parametrize(
    ("method", "given"),
    [
        (ADF, {"n_local": 0}),
        (ADF, {"n_clusters": 1}),
        (ADF, {"max_iter": 0}),
        (ADF, {"refresh": 1}),
        (ADF, {"local_step": 20}),
        (Aequitas, {"n_local": 1}),
        (Aequitas, {"in_flight": 1}),
        (Aequitas, {"n_walks": 9}),
        (Aequitas, {"strategy": "random"}),
        (Aequitas, {"learning_rate": 0.1}),
        (Aequitas, {"random_state": 1}),
        (Aequitas, {"variant": "published"}),
    ],
)
def test_a_parameter_that_is_set_is_kept_on_a_case(both, method, given):
    with patch.object(method, "local_search", autospec=True, side_effect=method.local_search) as search:
        assert counts(method(**given).run(CASE, budget=2000)) != counts(both[method])
    search.assert_called()
    given.pop("random_state", None)  # each feature has a generator of its own
    assert all(call.args[0].get_params().items() >= given.items() for call in search.call_args_list)


@BOTH
def test_a_budget_chooses_what_is_not_set(method):
    with patch.object(method, "local_search", autospec=True) as search:
        for budget in (1000, 20_000):
            method().run(CASE, budget=budget)
    small, large = (search.call_args_list[k].args[0].get_params() for k in (0, -1))
    assert small["n_local"] < large["n_local"] <= 1000
    if method is Aequitas:
        assert small["in_flight"] < large["in_flight"] == 128
    else:
        assert small["refresh"] == large["refresh"] == 25


@pytest.mark.parametrize(
    ("method", "search"),
    [
        *((method, lambda its: its.local_search([[1, 0]])) for method in (ADF, Aequitas)),
        (ADF, lambda its: its.seeds([[1, 0]], 1)),
        (Aequitas, lambda its: its.generate()),
    ],
)
@pytest.mark.parametrize(
    ("name", "expected"),
    [("model", "a model"), ("schema", "a Schema"), ("sensitive_features", "attributes of the schema")],
)
def test_a_search_without_a_model_says_what_it_expects(method, search, name, expected):
    given = {"model": print, "schema": Schema.from_bounds({"a": (0, 9), "b": (0, 1)}), "sensitive_features": "b"}
    with pytest.raises(TypeError, match=f"^{name}: expected {expected}, found None; a case is examined by run"):
        search(method(**given | {name: None}))


@pytest.mark.parametrize(
    ("search", "message"),
    [
        *(
            (method(random_state=seed), "random_state: expected an integer, at least 0, found")
            for method in (ADF, Aequitas)
            for seed in (None, np.random.default_rng(0))
        ),
        (ADF(variant="published"), "variant: expected 'sound' on a case, found 'published'"),
    ],
)
def test_a_case_needs_parameters_in_their_range(search, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        search.run(CASE)


@BOTH
def test_a_fair_model_gives_no_evidence(method):
    case = Case(lambda rows: rows["income"] / 10, PEOPLE, sensitive_features=["sex", "member"], decision_threshold=2.5)
    findings = method().run(case, budget=2000).findings
    assert [(each.n_found, each.estimate, len(each.evidence)) for each in findings] == [(0, 0, 0)] * 2


@BOTH
def test_a_small_domain_is_asked_whole(method):
    case = Case(
        lambda rows: 2.0 * ((rows["sex"] == "m") & rows["member"] & (rows["job"] == "cook")),
        PEOPLE[["sex", "member", "job"]],
        sensitive_features="sex",
        decision_threshold=0.5,
    )
    [finding] = method().run(case, budget=4000).findings
    found = finding.n, finding.n_found, finding.random_per_1000
    assert found == (6, 1, pytest.approx(1000 / 12)), "one of six combinations, each asked for both sexes"
    assert "(all combinations were asked)" in finding.sentence


@BOTH
def test_a_sample_is_of_twenty_inputs_at_least(method):
    names = PEOPLE.assign(sex=PEOPLE.index)
    case = Case(lambda rows: rows["income"], names, sensitive_features="sex", decision_threshold=20)
    found = method().run(case, budget=20 * N)
    said = "sex: a budget of 3200 rows does not suffice for inputs with each of 160 values."
    assert (found.findings, found.skipped) == ((), (said,))


def test_labels_alone_are_enough_for_aequitas():
    case = Case(lambda rows: score(rows) >= 2.5, PEOPLE, sensitive_features="sex")
    by_adf, by_walks = (method().run(case, budget=2000) for method in (ADF, Aequitas))
    assert (by_adf.findings, by_adf.skipped) == ((), ("The model gives labels only, no scores.",))
    assert (len(by_walks.findings), by_walks.skipped) == (1, ())


TABLE = pd.DataFrame({"sex": ["f", "m"] * 20, "age": np.arange(20).repeat(2), "job": ["a", "b", "c", "d"] * 10})


def rule(rows):
    assert list(rows.columns) == ["sex", "age", "job"]
    return rows["age"] + 3.0 * (rows["sex"] == "m")


@pytest.fixture
def model():
    case = Case(rule, TABLE, sensitive_features="sex", decision_threshold=10.0)
    with case.queries.limit(10_000):
        yield CodedCase(case, "sex")


def test_an_input_is_asked_once(model):
    codes = np.array([[0, 5, 3], [1, 9, 0], [0, 5, 3]])
    assert model.decisions.positive(codes).tolist() == [False, True, False]
    np.testing.assert_allclose(model.leads(codes), [-5, 2, -5])
    nothing = model.decisions.positive(np.empty((0, 3), dtype=int))
    assert (len(model.decisions), 10_000 - model.case.queries.left, nothing.shape) == (2, 2, (0,))


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
        model = CodedCase(case, "sex")
        model.leads(codes)
        assert (len(model.decisions), case.queries.left) == (0, 4)
        model.decisions(codes)
        assert (len(model.decisions), case.queries.left) == (3, 1)
        with pytest.raises(BudgetSpentError, match="expected at most 1 more model queries, found 2"):
            model.decisions([[0, 8, 1], [0, 9, 1]])
        assert len(model.decisions) == 3, "none was asked"


def test_pairs_are_all_that_the_answers_hold(model):
    codes, favourable = model.domain.sample(3000, random_state=0), model.decisions.positive
    asked = dict(zip(map(tuple, codes.tolist()), favourable(codes).tolist(), strict=True))
    expected = {code[1:] for code, answer in asked.items() if asked.get((1 - code[0], *code[1:]), answer) != answer}
    pairs = model.pairs()
    assert sorted(map(tuple, pairs.inputs[:, 1:].tolist())) == sorted(expected)
    assert (favourable(pairs.inputs) == pairs.favourable).all()
    assert (favourable(np.column_stack([pairs.other, pairs.inputs[:, 1:]])) != pairs.favourable).all()
