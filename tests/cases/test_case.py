import time
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairlab
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
    case = fairlab.Case(pipeline, table, sensitive_features="sex", y_true="repaid", pos_label="yes")
    assert case.features == ("sex", "job", "age", "income"), "those of the fit"
    assert (case.sensitive_features, case.unseen, case.task, case.decision_threshold) == (("sex",), (), "scores", None)
    assert "repaid" not in case.table
    assert (case.decide() == (pipeline.predict(table) == "yes")).all()
    np.testing.assert_allclose(case.score(), pipeline.predict_proba(table)[:, 1])
    np.testing.assert_allclose(case.log_odds(), pipeline.decision_function(table))
    assert (case.y_true == (table["repaid"] == "yes")).all()
    assert case.groups("sex").cat.categories.tolist() == ["f", "m", "(missing)"]
    other = Case(pipeline, table, sensitive_features="sex", y_true="repaid", pos_label="no")
    np.testing.assert_allclose(other.score(), 1 - case.score())
    assert (other.decide() == ~case.decide()).all()


def test_rows_reach_the_model_as_they_came(table):
    features = ["children", "job", "sex", "member", "age"]
    seen = []

    def model(rows):
        seen.append(rows)
        return rows["member"]

    case = Case(model, table, sensitive_features=["sex", "age"], features=features)
    case.decide(case.schema.decode(case.schema.sample_codes(50)))
    case.decide(case.encoding.inverse_transform(case.encoding.transform(case.table)))
    case.decide(table.astype(object)[::-1].reset_index())
    for rows in seen:
        pd.testing.assert_series_equal(rows.dtypes, table[features].dtypes)
    assert case.queries.n_queries == sum(map(len, seen))


def test_true_labels_by_name_by_order_and_by_index(table):
    def model(rows):
        return rows["income"] > 30_000

    truth = (table["repaid"] == "yes").rename("truth")
    expected = truth.to_numpy()
    rows = table.drop(columns="repaid")
    for y in (truth, truth[::-1], truth.to_numpy(), truth.tolist(), truth.astype(int), truth.to_numpy()[:, None]):
        assert (Case(model, rows, sensitive_features="sex", y_true=y).y_true == expected).all()
    assert (Case(model, rows.assign(truth=truth), sensitive_features="sex", y_true="truth").y_true == expected).all()
    some = Case(model, rows, sensitive_features="sex", y_true=truth.astype(object).where(rows["income"] > 0, None))
    assert (some.labelled == (rows["income"] > 0)).all()
    assert (some.y_true == expected & some.labelled).all()
    assert (some.sample(50).labelled == (some.sample(50).table["income"] > 0)).all()
    for y, message in (
        (truth.reset_index(drop=True), r"y_true: has the row label 0, which the table has not"),
        (truth[:-1], "y_true: expected 300 values, one for each row, found 299"),
        (truth.to_numpy()[:-1], "y_true: expected 300 values, one for each row, found 299"),
        ("truth", "y_true: the table has no column 'truth'"),
        (pd.Series([None] * 300, truth.index), "y_true: expected the true labels of some rows at least, all are"),
        (table["repaid"], "y_true: has the labels 'no', 'yes', the model answers False, True; make them alike"),
        (np.where(truth, 1, -1), "y_true: has the labels -1, 1, the model answers False, True; make them alike"),
    ):
        with pytest.raises(CaseError, match=message):
            Case(model, rows, sensitive_features="sex", y_true=y)


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
    given = {
        "model": lambda rows: rows["member"],
        "table": table.assign(constant=1),
        "sensitive_features": "sex",
    } | changes
    with pytest.raises(ValueError, match=message):
        Case(given.pop("model"), given.pop("table"), **given)


def test_the_schema_spans_the_table_and_may_be_given_in_part(table, tmp_path):
    def case(sensitive_features="sex", **options):
        rows = table.drop(columns="repaid")
        return Case(lambda rows: rows["member"], rows, sensitive_features=sensitive_features, **options)

    schema = case().schema
    assert schema.names == table.columns.drop("repaid").tolist()
    assert schema.sizes == (3, 2, 62, 10, 2, 5)
    path = tmp_path / "schema.yaml"
    path.write_text("age: {low: 0, high: 99}\n")
    edges = {"age": {"low": 0, "high": 99}, "income": {"edges": [20_000]}}
    for given, n_income in ((edges, 2), (Schema.from_bounds({"age": (0, 99)}), 10), (path, 10)):
        assert case(schema=given).schema.sizes == (3, 2, 100, n_income, 2, 5)
    groups = case("age", schema={"age": {"edges": [30, 60]}}).groups("age")
    assert groups.cat.categories.tolist() == ["up to 30", "30 to 60", "above 60"]
    blind = case("age", features=["member"], schema={"age": {"edges": [30]}})
    assert blind.groups("age").cat.categories.tolist() == ["up to 30", "above 30"]
    assert (blind.schema.names, blind.unseen) == (["member"], ("age",))


def test_a_sample_of_the_rows_before_the_model_is_asked_and_of_a_case(table):
    seen = []

    def model(rows):
        seen.append(len(rows))
        return rows["income"] > 30_000

    rows, truth = table.drop(columns="repaid"), table["repaid"] == "yes"
    small = Case(model, rows, sensitive_features="sex", y_true=truth, max_rows=100, random_state=3)
    assert seen == [100, 100]
    assert small.table.equals(rows.loc[small.table.index])
    assert (small.y_true == truth[small.table.index]).all()
    assert small.warnings == ("A random sample of 100 of the 300 rows is examined; intervals are about all 300.",)
    whole = Case(model, rows, sensitive_features="sex", y_true=truth)
    part, asked = whole.sample(100, random_state=3), whole.queries.n_queries
    assert part.table.equals(small.table)
    assert (part.decide() == (part.table["income"] > 30_000)).all()
    assert whole.queries.n_queries == asked
    assert (part.y_true == small.y_true).all()
    assert part.schema == small.schema != whole.schema
    assert (part.encoding.center == small.encoding.center).all()


@pytest.fixture(scope="module")
def network():
    """A Keras network of age, member and sex whose log odds are a sum."""
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    model.set_weights([np.array([[0.05], [1.0], [-0.5]]), np.array([-2.0])])
    return model


@pytest.fixture(scope="module")
def numbers(table):
    return table[["age", "member"]].assign(sex=(table["sex"] == "m").astype(int))


def test_gradients_of_a_network_are_those_of_its_score_in_units_of_the_encoding(network, numbers):
    case = Case(network, numbers, sensitive_features="sex")
    assert (case.has_gradients, case.has_scores, case.task, case.decision_threshold) == (True, True, "scores", 0.5)
    odds = 0.05 * numbers["age"] + numbers["member"] - 0.5 * numbers["sex"] - 2
    np.testing.assert_allclose(case.score(), 1 / (1 + np.exp(-odds)), rtol=1e-4, atol=1e-5)
    matrix, asked = case.encoding.transform(numbers), case.queries.n_queries
    found, slope = case.log_odds_gradient(matrix)
    assert case.queries.n_queries == asked + N
    np.testing.assert_allclose(found, odds, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slope, np.tile(np.array([0.05, 1, -0.5]) * case.encoding.scale, (N, 1)), rtol=1e-4)
    against = Case(network, numbers, sensitive_features="sex", pos_label=0)
    np.testing.assert_allclose(against.log_odds_gradient(matrix)[1], -slope, rtol=1e-4)
    with case.queries.limit(N - 1), pytest.raises(BudgetSpentError):
        case.log_odds_gradient(matrix)


# queries

ROWS = pd.DataFrame({"x": [3, 1, 3, 2], "name": ["a", "b", "a", None]})


class Doubler:
    """Doubles x, and remembers what it was sent."""

    def __init__(self):
        self.sent = []

    def __call__(self, rows):
        self.sent.append(rows)
        return 2.0 * rows["x"].to_numpy()


def test_a_row_is_asked_once_and_rows_are_sent_in_their_order():
    queries, double = Queries(), Doubler()
    assert queries.answers("double", double, ROWS).tolist() == [6, 2, 6, 4]
    assert double.sent[0]["x"].tolist() == [3, 1, 2]
    assert double.sent[0].index.tolist() == [0, 1, 2]
    assert (queries.n_queries, queries.n_cached) == (3, 1)
    more = pd.concat([ROWS, ROWS.assign(x=9)])
    assert queries.answers("double", double, more).tolist() == [6, 2, 6, 4, 18, 18, 18, 18]
    assert double.sent[1]["name"].isna().tolist() == [False, False, True]
    assert (queries.n_queries, queries.n_cached) == (6, 6)
    assert queries.answers("other", double, ROWS).tolist() == [6, 2, 6, 4]
    assert queries.n_queries == 9, "answers to different questions are kept apart"


def test_a_limit_is_never_exceeded_and_inner_ones_count_for_outer_ones():
    queries, double = Queries(), Doubler()
    with queries.limit(10):
        queries.answers("double", double, ROWS)
        with queries.limit(100):
            assert queries.left == 7
        with queries.limit(2):
            with pytest.raises(BudgetSpentError, match="expected at most 2 more model queries, found 3"):
                queries.answers("double", double, ROWS.assign(x=[5, 6, 7, 7], name="c"))
            queries.answers("double", double, ROWS.iloc[:2])
            assert queries.left == 2, "rows from memory are free"
            queries.answers("double", double, ROWS.assign(x=8).iloc[:2])
            assert queries.left == 0
        assert queries.left == 5
    assert queries.left == np.inf
    assert queries.n_queries == sum(map(len, double.sent)) == 5


def test_large_questions_come_in_batches():
    rows = pd.DataFrame({"x": np.arange(BATCH + 5)})
    queries, double = Queries(), Doubler()
    assert (queries.answers("double", double, rows) == 2 * rows["x"]).all()
    assert [len(sent) for sent in double.sent] == [BATCH, 5]


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
    first = row_keys(pd.DataFrame({"a": column, "b": 1}))
    assert len(set(first.tolist())) == len(column)
    again = row_keys(pd.DataFrame({"a": column.iloc[::-1], "b": 1}))
    assert again.tolist() == first.tolist()[::-1]


def test_keys_spread_over_all_bits():
    keys = row_keys(pd.DataFrame({"a": np.repeat(np.arange(300), 1000), "b": np.tile(np.arange(1000), 300)}))
    assert len(np.unique(keys)) == 300_000
    ones = np.unpackbits(keys[:100_000].view(np.uint8)).mean()
    assert ones == pytest.approx(0.5, abs=0.002)


def test_more_than_100_000_rows_a_second():
    rng = np.random.default_rng(0)
    n = 48_842
    texts = {f"text{k}": rng.choice([f"value {v}" for v in range(16)], n) for k in range(8)}
    rows = pd.DataFrame({"id": np.arange(n)} | texts | {f"number{k}": rng.integers(0, 99, n) for k in range(5)})
    queries = Queries()
    start = time.perf_counter()
    queries.answers("zero", lambda rows: np.zeros(len(rows)), rows)
    queries.answers("zero", lambda rows: np.zeros(len(rows)), rows)
    assert 2 * n / (time.perf_counter() - start) > 100_000


# finding


def gap(n_rows=1, **changes):
    evidence = pd.DataFrame({"id": range(n_rows)})
    found = Finding("Gaps", "sex", "age < 30", "difference of rates", 0.12345, 0.05, 0.2, 0.01, evidence, 40)
    return replace(found, **changes)


def test_findings_are_compared_and_hashed_by_their_numbers():
    assert gap(1) == gap(2) != gap(n=41)
    assert len({gap(1), gap(2), gap(n=41)}) == 2
    with pytest.raises(FrozenInstanceError):
        gap().estimate = 0


def test_impossible_numbers_are_refused():
    assert np.isnan(gap(p_value=np.nan).p_value)
    with pytest.raises(ValueError, match=r"low: expected at most high \(0\.2\), found 0\.3"):
        gap(low=0.3)
    with pytest.raises(ValueError, match=r"p_value: expected a number within 0 and 1, or nan, found 1\.5"):
        gap(p_value=1.5)


def test_in_a_notebook_the_table_follows_its_first_rows_only():
    assert "Finding: Gaps, sex, age &lt; 30" in gap()._repr_html_()
    html = MethodResult("Gaps", [gap()] * 25, [], 0, 0.0)._repr_html_()
    assert html.count("<tr") == 1 + 10
    assert "15 more rows" in html


def test_a_result_lists_what_was_found_and_what_was_skipped():
    result = MethodResult(
        "Gaps", [gap(), gap(sensitive_features="race")], ["race is missing for 3 people."], 1200, 0.25
    )
    assert result.summary == "Gaps: 2 findings, 1 skipped (1,200 model queries, 0.2 s)"
    frame, nothing = result.to_frame(), MethodResult("Gaps", (), (), 0, 0.0).to_frame()
    assert frame["sensitive_features"].tolist() == ["sex", "race"]
    assert frame.loc[0, ["estimate", "p_value", "n"]].tolist() == [0.12345, 0.01, 40]
    assert nothing.empty
    assert nothing.columns.tolist() == frame.columns.tolist() == gap().to_frame().columns.tolist()
