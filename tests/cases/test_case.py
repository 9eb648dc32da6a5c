import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairlab
from fairlab.cases import BudgetSpentError, Case, CaseError, Schema

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
