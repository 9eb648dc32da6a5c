from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairlab.cases import AnswerCache, BudgetSpentError, Case, CaseError, Finding, MethodResult, Queries, Schema
from fairlab.cases.queries import BATCH, row_keys

N = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "job": pd.Categorical(rng.choice(["clerk", "baker"], N), categories=["clerk", "baker", "king"]),
            "age": rng.integers(18, 80, N),
            "income": rng.normal(30_000, 8000, N).round(2),
            "member": rng.random(N) < 0.5,
            "children": pd.array(np.where(rng.random(N) < 0.1, None, rng.integers(0, 4, N)), dtype="Int64"),
        },
        index=rng.permutation(N) + 1000,
    )
    table.loc[table.index[:5], "sex"] = None
    table["repaid"] = np.where(table["income"] + 200 * table["age"] > 40_000, "yes", "no")
    return table


@pytest.fixture(scope="module")
def pipeline(table):
    texts, numbers = ["sex", "job"], ["age", "income"]
    encode = make_column_transformer((OneHotEncoder(), texts), (StandardScaler(), numbers))
    return make_pipeline(encode, LogisticRegression()).fit(table[texts + numbers], table["repaid"])


def test_a_pipeline_with_texts(pipeline, table):
    case, other = (
        Case(pipeline, table, sensitive_features="sex", y_true="repaid", pos_label=label) for label in ("yes", "no")
    )
    assert case.features == ("sex", "job", "age", "income"), "those of the fit"
    assert (case.sensitive_features, case.unseen, case.task, case.decision_threshold) == (("sex",), (), "scores", None)
    pd.testing.assert_frame_equal(case.table, table[list(case.features)])
    assert (case.decide() == (pipeline.predict(table) == "yes")).all()
    assert (other.decide() == ~case.decide()).all()
    np.testing.assert_allclose([other.score(), case.score()], pipeline.predict_proba(table).T)
    np.testing.assert_allclose(case.log_odds(), pipeline.decision_function(table))
    assert (case.y_true == (table["repaid"] == "yes")).all()
    assert case.groups("sex").cat.categories.tolist() == ["f", "m", "(missing)"]


def test_rows_reach_the_model_as_they_came(table):
    features, seen = ["children", "job", "sex", "member", "age"], []

    def model(rows):
        seen.append(len(rows))
        pd.testing.assert_series_equal(rows.dtypes, table[features].dtypes)
        return rows["member"]

    case = Case(model, table, sensitive_features=["sex", "age"], features=features)
    case.decide(case.schema.decode(case.schema.sample_codes(50)))
    case.decide(case.encoding.inverse_transform(case.encoding.transform(case.table)))
    case.decide(table.astype(object)[::-1].reset_index())
    assert case.queries.n_queries == sum(seen)


def of_truth(rows, y_true):
    return Case(lambda rows: rows["income"] > 30_000, rows, sensitive_features="sex", y_true=y_true)


@pytest.mark.parametrize(
    "form",
    [
        lambda truth: truth,
        lambda truth: truth[::-1],  # by its index
        lambda truth: truth.to_numpy(),
        lambda truth: truth.tolist(),
        lambda truth: truth.astype(int),
        lambda truth: truth.to_numpy()[:, None],
    ],
)
def test_true_labels_by_order_and_by_index(table, form):
    truth = table["repaid"] == "yes"
    assert (of_truth(table.drop(columns="repaid"), form(truth)).y_true == truth).all()


def test_true_labels_of_some_people(table):
    truth, known = table["repaid"] == "yes", table["income"] > 30_000
    some = of_truth(table.assign(truth=truth.astype(object).where(known, None)), "truth")
    assert (some.labelled == known).all()
    assert (some.y_true == truth & known).all()
    assert (some.sample(50).labelled == known[some.sample(50).table.index]).all()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda truth: truth.reset_index(drop=True), "y_true: has the row label 0, which the table has not"),
        (lambda truth: truth[:-1], "y_true: expected 300 values, one for each row, found 299"),
        (lambda truth: truth.to_numpy()[:-1], "y_true: expected 300 values, one for each row, found 299"),
        (lambda truth: "truth", "y_true: the table has no column 'truth'"),
        (lambda truth: [None] * N, "y_true: expected the true labels of some rows at least, all are"),
        (
            lambda truth: truth.map({True: "yes", False: "no"}),
            "y_true: has the labels 'no', 'yes', the model answers",
        ),
        (
            lambda truth: np.where(truth, 1, -1),
            "y_true: has the labels -1, 1, the model answers False, True",
        ),
    ],
)
def test_true_labels_that_do_not_fit(table, form, message):
    with pytest.raises(CaseError, match=message):
        of_truth(table.drop(columns="repaid"), form(table["repaid"] == "yes"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 3}, r"model: expected an object with \.predict .*, found int"),
        ({"model": ["./credit"]}, "a program comes in as fairlab.models.CommandModel"),
        ({"model": LogisticRegression}, "found the class LogisticRegression"),
        ({"model": LogisticRegression()}, "model: fails on the rows of the table: "),
        ({"sensitive_features": [["sex"]]}, r"sensitive_features: expected names of columns, found \['sex'\]"),
        ({"y_true": {"a": 1}}, "y_true: expected one value for each row, found dict"),
        ({"y_true": {1, 2}}, "y_true: expected one value for each row, found set"),
        ({"y_true": [[1, 2]] * N}, "y_true: expected strings, booleans or numbers, found a list"),
        ({"y_true": pd.date_range("2020", periods=N)}, "y_true: expected strings, .* found a Timestamp"),
        ({"y_true": np.zeros((N, 2))}, r"y_true: expected one value for each row, found shape \(300, 2\)"),
        ({"pos_label": [1]}, r"pos_label: expected a label, found \[1\]"),
        ({"decision_threshold": 1j}, "decision_threshold: expected a finite number, found 1j"),
        ({"schema": {"age": {"edges": "ab"}}}, "schema: feature 'age': expected increasing numbers as edges"),
        ({"schema": {"job": {"edges": [1]}}}, "schema: edges: column 'job' has type category, expected numbers"),
        ({"schema": {"age": 3}}, "schema: feature 'age': expected a list of values, found 3"),
        ({"sensitive_features": ["sex", "sex"]}, "sensitive_features: expected every column once, found sex, sex"),
        ({"y_true": "sex"}, "y_true: 'sex' is also among sensitive"),
        ({"y_true": "member", "features": ["member"]}, "y_true: 'member' is also among features"),
        ({"decision_threshold": True}, "decision_threshold: expected a finite number, found True"),
        ({"schema": {"wage": [1]}}, "schema: 'wage' is not among the columns"),
        ({"schema": {"member": [True]}}, "schema: column 'member' holds False, not among its values"),
        ({"schema": "no-such-file.yaml"}, "schema: .*no-such-file"),
    ],
)
def test_what_cannot_be_examined(table, changes, message):
    given = {"model": lambda rows: rows["member"], "table": table, "sensitive_features": "sex"}
    with pytest.raises(ValueError, match=message):
        Case(**given | changes)


def test_the_schema_spans_the_table_and_may_be_given_in_part(table, tmp_path):
    def case(sensitive_features="sex", **options):
        rows = table.drop(columns="repaid")
        return Case(lambda rows: rows["member"], rows, sensitive_features=sensitive_features, **options)

    schema, path = case().schema, tmp_path / "schema.yaml"
    assert dict(zip(schema.names, schema.sizes, strict=True)) == {
        "sex": 3, "job": 2, "age": 62, "income": 10, "member": 2, "children": 5
    }  # fmt: skip
    path.write_text("age: {low: 0, high: 99}\n")
    edges = {"age": {"low": 0, "high": 99}, "income": {"edges": [20_000]}}
    for given, n_income in ((edges, 2), (Schema.from_bounds({"age": (0, 99)}), 10), (path, 10)):
        assert case(schema=given).schema.sizes == (3, 2, 100, n_income, 2, 5)
    seen, blind = (
        case("age", schema={"age": {"edges": edges}}, **features)
        for edges, features in (([30, 60], {}), ([30], {"features": ["member"]}))
    )
    assert seen.groups("age").cat.categories.tolist() == ["up to 30", "30 to 60", "above 60"]
    assert blind.groups("age").cat.categories.tolist() == ["up to 30", "above 30"]
    assert (blind.schema.names, blind.unseen) == (["member"], ("age",))


def test_a_sample_of_the_rows_before_the_model_is_asked_and_of_a_case(table):
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows["income"] > 30_000

    options = {"sensitive_features": "sex", "y_true": "repaid", "pos_label": True}
    rows = table.assign(repaid=table["repaid"] == "yes")
    small = Case(model, rows, max_rows=100, random_state=3, **options)
    assert seen == [100, 100]
    assert small.warnings == ("A random sample of 100 of the 300 rows is examined; intervals are about all 300.",)
    whole = Case(model, rows, **options)
    part, asked = whole.sample(100, random_state=3), len(seen)
    for case in (small, part):
        pd.testing.assert_frame_equal(case.table.assign(repaid=case.y_true), rows.loc[small.table.index])
    assert (part.decide() == (part.table["income"] > 30_000)).all()
    assert len(seen) == asked, "the answers are known"
    assert part.schema == small.schema != whole.schema
    assert (part.encoding.center == small.encoding.center).all()


@pytest.fixture(scope="module")
def network():
    """A Keras network of age, member and sex whose log odds are a sum."""
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    model.set_weights([np.array([[0.05], [1.0], [-0.5]]), np.array([-2.0])])
    return model


def test_gradients_of_a_network_are_those_of_its_score_in_units_of_the_encoding(network, table):
    numbers = table[["age", "member"]].assign(sex=(table["sex"] == "m").astype(int))
    case, against = (Case(network, numbers, sensitive_features="sex", pos_label=label) for label in (1, 0))
    assert (case.has_gradients, case.has_scores, case.task, case.decision_threshold) == (True, True, "scores", 0.5)
    odds = 0.05 * numbers["age"] + numbers["member"] - 0.5 * numbers["sex"] - 2
    np.testing.assert_allclose(case.score(), 1 / (1 + np.exp(-odds)), rtol=1e-4, atol=1e-5)
    matrix, asked = case.encoding.transform(numbers), case.queries.n_queries
    found, slope = case.log_odds_gradient(matrix)
    assert case.queries.n_queries == asked + N
    np.testing.assert_allclose(found, odds, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slope, np.tile(np.array([0.05, 1, -0.5]) * case.encoding.scale, (N, 1)), rtol=1e-4)
    np.testing.assert_allclose(against.log_odds_gradient(matrix)[1], -slope, rtol=1e-4)
    with case.queries.limit(N - 1), pytest.raises(BudgetSpentError):
        case.log_odds_gradient(matrix)


# queries

ROWS = pd.DataFrame({"x": [3, 1, 3, 2], "name": ["a", "b", "a", None]})


class Asking:
    """Asks a model that doubles x, and keeps the rows that it was sent."""

    def __init__(self):
        self.queries, self.sent = Queries(), []

    def __call__(self, rows, question="double"):
        return self.queries.answers(question, lambda some: self.sent.append(some) or 2.0 * some["x"].to_numpy(), rows)


def test_a_row_is_asked_once_and_rows_are_sent_in_their_order():
    ask = Asking()
    assert ask(ROWS).tolist() == [6, 2, 6, 4]
    pd.testing.assert_frame_equal(ask.sent[0], ROWS.iloc[[0, 1, 3]].reset_index(drop=True))
    assert (ask.queries.n_queries, ask.queries.n_cached) == (3, 1)
    assert ask(pd.concat([ROWS, ROWS.assign(x=9)])).tolist() == [6, 2, 6, 4, 18, 18, 18, 18]
    assert ask.sent[1]["name"].isna().tolist() == [False, False, True]
    assert (ask.queries.n_queries, ask.queries.n_cached) == (6, 6)
    assert ask(ROWS, "other").tolist() == [6, 2, 6, 4]
    assert ask.queries.n_queries == 9, "answers to different questions are kept apart"


def test_a_limit_is_never_exceeded_and_inner_ones_count_for_outer_ones():
    ask, left = Asking(), []
    queries = ask.queries
    with queries.limit(10):
        ask(ROWS)
        with queries.limit(100):
            left.append(queries.left)
        with queries.limit(2):
            with pytest.raises(BudgetSpentError, match="expected at most 2 more model queries, found 3"):
                ask(ROWS.assign(x=[5, 6, 7, 7], name="c"))
            ask(ROWS.iloc[:2])
            left.append(queries.left)  # rows from memory are free
            ask(ROWS.assign(x=8).iloc[:2])
            left.append(queries.left)
        left.append(queries.left)
    assert [*left, queries.left] == [7, 2, 0, 5, np.inf]
    assert queries.n_queries == sum(map(len, ask.sent)) == 5


def test_large_questions_come_in_batches():
    ask, rows = Asking(), pd.DataFrame({"x": np.arange(BATCH + 5)})
    assert (ask(rows) == 2 * rows["x"]).all()
    assert [len(sent) for sent in ask.sent] == [BATCH, 5]


@pytest.mark.parametrize("length", [5, 2_000_000])
def test_an_answer_is_asked_for_once_and_kept_in_order(length):
    rng, cache, truth = np.random.default_rng(0), AnswerCache(), {}
    for _ in range(50):
        keys = rng.integers(0, length, rng.integers(0, 200))
        values, is_new = cache(keys, lambda new, keys=keys: keys[new] * 1.5)
        assert is_new.tolist() == [key not in truth and key not in keys[:n] for n, key in enumerate(keys.tolist())]
        assert (values == keys * 1.5).all()
        truth |= dict.fromkeys(keys.tolist())
    assert cache.keys.tolist() == list(truth)
    assert (cache.values == cache.keys * 1.5).all()


@pytest.mark.parametrize(
    "values",
    [
        [1, "1", True, 1.0, None, "None", "nan", "(missing)", "", "True"],
        ["a", None, "nan", "None", "(missing)", ""],
        pd.array([0, 1, None, -1], dtype="Int64"),
        pd.array([True, False, None], dtype="boolean"),
        pd.array([0.5, None, 0.0], dtype="Float64"),
        pd.Categorical(["b", None, "a"]),
        [0.0, 1.0, np.nan, 1e-300, -1.0, 2.0**53],
        [2**62, 2**62 + 1, -1, 0],
        np.array([2**63, 2**63 + 1, 0], dtype=np.uint64),
        [True, False],
        pd.array(["x", None, "y"], dtype="string"),
    ],
)
def test_different_values_have_different_keys_and_the_same_have_the_same(values):
    column = pd.Series(values)
    first, again = (row_keys(pd.DataFrame({"a": part, "b": 1})).tolist() for part in (column, column.iloc[::-1]))
    assert len(set(first)) == len(column)
    assert again == first[::-1]


def test_keys_spread_over_all_bits():
    keys = row_keys(pd.DataFrame({"a": np.repeat(np.arange(300), 1000), "b": np.tile(np.arange(1000), 300)}))
    assert len(np.unique(keys)) == 300_000
    assert np.unpackbits(keys[:100_000].view(np.uint8)).mean() == pytest.approx(0.5, abs=0.002)


# finding


def gap(n_rows=1, **changes):
    names = {"method": "Gaps", "sensitive_features": "sex", "where": "age < 30", "effect": "difference of rates"}
    numbers = {"estimate": 0.12345, "low": 0.05, "high": 0.2, "p_value": 0.01, "n": 40}
    return Finding(**names | numbers | {"evidence": pd.DataFrame({"id": range(n_rows)})} | changes)


def test_findings_are_compared_and_hashed_by_their_numbers():
    assert gap(1) == gap(2) != gap(n=41)
    assert len({gap(1), gap(2), gap(n=41)}) == 2
    with pytest.raises(FrozenInstanceError):
        gap().estimate = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 0.3}, r"low: expected at most high \(0\.2\), found 0\.3"),
        ({"p_value": 1.5}, r"p_value: expected a number within 0 and 1, or nan, found 1\.5"),
    ],
)
def test_impossible_numbers_are_refused(changes, message):
    assert np.isnan(gap(p_value=np.nan).p_value)
    with pytest.raises(ValueError, match=message):
        gap(**changes)


def test_in_a_notebook_the_table_follows_its_first_rows_only():
    assert "Finding: Gaps, sex, age &lt; 30" in gap()._repr_html_()
    html = MethodResult("Gaps", [gap()] * 25, [], 0, 0.0)._repr_html_()
    assert (html.count("<tr"), "15 more rows" in html) == (1 + 10, True)


def test_a_result_lists_what_was_found_and_what_was_skipped():
    found = [gap(), gap(sensitive_features="race")]
    result = MethodResult("Gaps", found, ["race is missing for 3 people."], 1200, 0.25)
    assert result.summary == "Gaps: 2 findings, 1 skipped (1,200 model queries, 0.2 s)"
    pd.testing.assert_frame_equal(
        result.to_frame(), pd.concat([finding.to_frame() for finding in found], ignore_index=True)
    )
    row = {"sensitive_features": "race", "estimate": 0.12345, "p_value": 0.01, "n": 40}
    assert result.to_frame().loc[1, list(row)].to_dict() == row
    nothing = MethodResult("Gaps", (), (), 0, 0.0).to_frame()
    assert (len(nothing), list(nothing)) == (0, list(result.to_frame()))
