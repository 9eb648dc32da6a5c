from decimal import Decimal

import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from fairlab import audit
from fairlab.benchmarks.adf import dense_network
from fairlab.cases import Case, CaseError, wrap_model
from fairlab.cases.foreign import plain_table
from fairlab.networks import Network

TABLE = pd.DataFrame({"sex": ["f", "m"] * 30, "x": np.arange(60)})


def case(answer, **options):
    model = answer if callable(answer) else lambda rows: answer[rows["x"].to_numpy()]
    return Case(model, TABLE, sensitive_features="sex", **options)


HIGH = np.arange(60) >= 45
SCORE = np.arange(60) / 60


@pytest.mark.parametrize(
    ("answer", "options", "task"),
    [
        (HIGH, {}, "classes"),
        (HIGH.astype(int), {}, "classes"),
        (HIGH.astype(float), {}, "classes"),
        (np.where(HIGH, 1, -1), {}, "classes"),
        (np.where(HIGH, "yes", "no"), {"pos_label": "yes"}, "classes"),
        (np.where(HIGH, "no", "yes"), {"pos_label": "no"}, "classes"),
        (np.where(HIGH, 7, 3), {"pos_label": 7}, "classes"),
        (np.where(HIGH, "a", np.where(SCORE > 0.5, "b", "c")), {"pos_label": "a"}, "classes"),
        (HIGH.astype(int), {"decision_threshold": 0.5}, "classes"),
        (HIGH[:, None], {}, "classes"),
        (SCORE, {"decision_threshold": 0.75}, "scores"),
        (SCORE * 100, {"decision_threshold": 75}, "scores"),
        (np.arange(60), {"decision_threshold": 45}, "scores"),
        (np.column_stack([1 - SCORE, SCORE]), {"decision_threshold": 0.75}, "scores"),
        (np.column_stack([1 - SCORE / 1.5, SCORE / 1.5]), {"decision_threshold": 0.5}, "scores"),
    ],
)
def test_what_answers_mean(answer, options, task):
    asked = case(answer, **options)
    assert (asked.task, asked.has_scores) == (task, task == "scores")
    assert (asked.decide() == HIGH).all()
    again = pd.DataFrame({"x": [50, 3, 50], "sex": "f"}, index=[9, 9, 1])
    assert asked.decide(again).tolist() == [True, False, True]


def test_probabilities_get_one_half_with_a_notice():
    with pytest.warns(UserWarning, match=r"within 0 and 1: from 0\.5 on they count as favourable"):
        asked, against = case(SCORE), case(np.column_stack([1 - SCORE, SCORE]), pos_label=0)
    assert (asked.decide() == (SCORE >= 0.5)).all()
    assert (asked.decision_threshold, asked.unit, len(asked.warnings)) == (0.5, "probability", 1)
    np.testing.assert_allclose(asked.log_odds()[1:], np.log(SCORE[1:] / (1 - SCORE[1:])))
    np.testing.assert_allclose(against.score(), 1 - SCORE)


def test_numbers_without_a_threshold_are_a_regression():
    with pytest.warns(UserWarning, match="gives numbers from 0 to 98.3333 and no threshold is given: taken as a regr"):
        asked = case(SCORE * 100, y_true=np.arange(60) * 2.0)
    assert (asked.task, asked.has_scores, len(asked.warnings)) == ("numbers", False, 1)
    np.testing.assert_allclose([asked.number(), asked.y_true], [SCORE * 100, np.arange(60) * 2.0])
    with pytest.raises(CaseError, match="decision_threshold: the model gives numbers; the least favourable one makes"):
        asked.decide()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"y_true": HIGH}, "y_true has the labels False, True"),
        ({"y_true": HIGH.astype(int)}, "y_true has the labels 0, 1"),
        ({"y_true": np.where(HIGH, 2.0, 1.0), "pos_label": 2.0}, r"y_true has the labels 1\.0, 2\.0"),
        ({"y_true": np.where(HIGH, "yes", "no"), "pos_label": "yes"}, "y_true has the labels 'no', 'yes'"),
        ({"pos_label": 1}, "the favourable label is 1"),
        ({"y_true": np.arange(60), "pos_label": 1}, "the favourable label is 1"),
    ],
)
def test_numbers_beside_labels_are_no_regression(options, found):
    hint = r"; give decision_threshold=, or Network\(model, from_logits=True\) for a network that ends in logits"
    with pytest.raises(
        CaseError, match=f"decision_threshold: the model gives numbers from -30.5 to 28.5, {found}{hint}"
    ):
        case(SCORE * 60 - 30.5, **options)
    assert (case(SCORE * 60 - 30.5, decision_threshold=14.5, **options).decide() == HIGH).all()


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (np.where(HIGH, "yes", "no"), {}, "pos_label: the labels are 'no', 'yes'; which one is favourable?"),
        (np.arange(60) % 3, {}, "pos_label: the labels are 0, 1, 2; which one is favourable, one against the rest?"),
        (np.where(HIGH, 1, 2), {}, "pos_label: the labels are 1, 2; which one"),
        (
            np.where(HIGH, "yes", "no"),
            {"pos_label": "Yes"},
            "pos_label: 'Yes' is not among the labels; did you mean 'yes'\\? \\(known: 'no', 'yes'\\)",
        ),
        (
            np.where(HIGH, 1, 0),
            {"pos_label": "1"},
            r"pos_label: '1' is not among the labels; did you mean 1\? \(known: 0, 1\)",
        ),
        (np.where(HIGH, "1", "0"), {"pos_label": 1}, "did you mean '1'\\? \\(known: '0', '1'\\)"),
        (
            HIGH,
            {"decision_threshold": 0.5},
            "decision_threshold: the model gives the labels False, True; leave the threshold out",
        ),
        (
            np.where(HIGH, "yes", "no"),
            {"decision_threshold": 0.5, "pos_label": "yes"},
            "decision_threshold: the model gives the labels",
        ),
        (np.where(HIGH, 1.0, np.nan), {}, "model: 45 of 60 answers are missing, expected one for each row"),
        (np.where(HIGH, 1.0, np.inf), {}, "model: answers infinite or complex numbers"),
        (np.where(HIGH, None, "a"), {"pos_label": "a"}, "model: 15 of 60 answers are missing"),
        (lambda rows: HIGH[:-1], {}, "model: expected 60 values, one for each row, found 59"),
        (lambda rows: True, {}, "model: expected one value for each row, found bool"),
        (lambda rows: "yes", {}, "model: expected one value for each row, found str"),
        (lambda rows: rows["wage"], {}, "model: fails on the rows of the table: KeyError: 'wage'"),
        (lambda rows: {"a": 1}, {}, "model: expected one value for each row, found dict"),
        (lambda rows: None, {}, "model: expected one value for each row, found NoneType"),
        (lambda rows: [[1, 2]] * 60, {}, "model: expected strings, booleans or numbers, found a list"),
        (lambda rows: pd.date_range("2020", periods=60), {}, "model: expected strings, .* found a Timestamp"),
        (lambda rows: np.full((60, 2), "a"), {}, "model: returned several columns that are no numbers"),
        (lambda rows: HIGH * 1j, {}, "model: answers infinite or complex numbers"),
        (lambda rows: rows[["x", "x"]], {}, "model: returned 2 columns, .* Network.model, from_logits=True"),
        (lambda rows: np.ones((2, 2, 2)), {}, "model: expected one value for each row, found shape"),
        (lambda rows: pd.Series(HIGH, index=range(1, 61)), {}, "model: has the row label 60, which the table has not"),
    ],
)
def test_answers_that_cannot_be_read(answer, options, message):
    with pytest.raises(CaseError, match=message):
        case(answer, **options)


@pytest.mark.parametrize(
    ("first", "then", "options"),
    [
        (HIGH.astype(int), 2, {}),
        (np.where(HIGH, "a", "b"), None, {"pos_label": "a"}),
        (SCORE, 1.5, {"decision_threshold": 0.5}),
        (SCORE, np.nan, {"decision_threshold": 0.5}),
    ],
)
def test_answers_of_another_kind_later_on_are_refused(first, then, options):
    asked = case(lambda rows: np.array([first[x] if x < 60 else then for x in rows["x"]]), **options)
    with pytest.raises(CaseError, match="model: "):
        asked.decide(pd.DataFrame({"sex": ["f"], "x": [99]}))


def test_noise_is_noticed():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"Queried again, the model answers \d+% of 100 rows otherwise"):
        noisy = case(lambda rows: rng.random(len(rows)) < 0.5)
    assert not noisy.queries.is_deterministic
    assert (noisy.decide() == noisy.decide()).all(), "answers are remembered"
    assert case(HIGH).queries.is_deterministic
    with pytest.warns(UserWarning, match="it is not deterministic"):
        case(lambda rows: rows["x"] > rows["x"].mean() + 20 * (len(rows) == 1) + rng.normal(0, 20))


class Larger:
    def predict(self, X):
        return X[:, 0] > X[:, 1]


LARGER = dense_network([np.array([[0.0, 1], [1, 0]]), np.zeros(2)])


@pytest.mark.parametrize("given", [LARGER, Network(LARGER), Larger(), Larger().predict])
def test_anything_that_predicts_gives_classes(given):
    X = np.random.default_rng(0).integers(0, 9, (6, 2))
    np.testing.assert_array_equal(wrap_model(given).classes_of(X), X[:, 0] > X[:, 1])


ROWS = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 2)), columns=["a", "b"])
KERNEL, BIAS = np.array([[1.5], [-2.0]]), np.array([0.25])
ODDS = (ROWS.to_numpy() @ KERNEL + BIAS)[:, 0]


def logistic(*, names=True, labels=(0, 1)):
    """A logistic regression with the weights above."""
    y = np.asarray(labels)[(ODDS > 0).astype(int)]
    model = LogisticRegression().fit(ROWS if names else ROWS.to_numpy(), y)
    model.coef_, model.intercept_ = KERNEL.T.copy(), BIAS.copy()
    return model


def keras_network(end="sigmoid", *, kernel=KERNEL, bias=BIAS, functional=False, compiled=None):
    layer, entering = keras.layers.Dense(kernel.shape[1], activation=end), keras.Input((2,))
    model = keras.Model(entering, layer(entering)) if functional else keras.Sequential([entering, layer])
    layer.set_weights([kernel, bias])
    if compiled:
        model.compile(loss=compiled)
    return model


TWO = {"kernel": np.hstack([0 * KERNEL, KERNEL]), "bias": np.append(0, BIAS)}


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    "given",
    [
        keras_network(),
        keras_network(functional=True),
        keras_network("softmax", **TWO),
        keras_network("softmax", functional=True, **TWO),
        keras_network("linear", compiled=keras.losses.BinaryCrossentropy(from_logits=True)),
        keras_network("linear", compiled=keras.losses.SparseCategoricalCrossentropy(from_logits=True), **TWO),
        Network(keras_network("linear"), from_logits=True),
    ],
    ids=["sigmoid", "functional", "softmax", "functional softmax", "logit", "two logits", "told"],
)
def test_every_end_of_a_keras_network_gives_the_same_log_odds(given, label):
    form, sign = wrap_model(given), 2 * label - 1
    assert (form.unit, form.classes, form.answer) == ("log odds", (0, 1), None)
    odds, slope = form.gradient(ROWS.to_numpy(), label)
    for found in (form.scorer(ROWS, label), odds):
        np.testing.assert_allclose(found, sign * ODDS, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slope, np.tile(sign * KERNEL[:, 0], (40, 1)), rtol=1e-4)


def test_keras_models_of_ones_own_making_are_asked_as_they_are():
    nested, share = keras.Sequential([keras.Input((2,)), keras_network()]), 1 / (1 + np.exp(-ODDS))
    for model, expected in ((OwnMaking(), share), (nested, share), (keras_network("linear"), ODDS)):
        form = wrap_model(model)
        assert (form.scorer, form.gradient) == (None, None)
        np.testing.assert_allclose(form.answer(ROWS)[:, -1], expected, rtol=1e-4, atol=1e-5)


def test_estimators_give_labels_and_scores_of_a_class():
    form, margin = wrap_model(logistic(labels=("no", "yes"))), wrap_model(LinearSVC().fit(ROWS, ODDS > 0))
    assert (form.unit, form.classes, form.columns) == ("probability", ("no", "yes"), ("a", "b"))
    for label, sign in ((1, -1), (0, 1)):
        np.testing.assert_allclose(form.scorer(ROWS, label), 1 / (1 + np.exp(sign * ODDS)))
    assert (form.answer(ROWS) == np.where(ODDS > 0, "yes", "no")).all()
    assert (margin.unit, margin.classes) == ("score", (False, True))
    np.testing.assert_allclose(margin.scorer(ROWS, 0), -margin.scorer(ROWS, 1))
    for labels_only in (IsolationForest(n_estimators=5).fit(ROWS), LinearRegression().fit(ROWS, ODDS)):
        assert wrap_model(labels_only).scorer is None


@pytest.mark.filterwarnings("error")
def test_what_was_fitted_to_an_array_gets_one():
    form = wrap_model(logistic(names=False))
    assert form.columns is None
    np.testing.assert_allclose(form.scorer(ROWS, 1), 1 / (1 + np.exp(-ODDS)))
    mixed = pd.DataFrame({"flag": [True, False], "n": pd.array([1, None], dtype="Int64")})
    forest = RandomForestClassifier(n_estimators=2).fit(np.array([[1.0, 1.0], [0.0, np.nan]]), [0, 1])
    assert wrap_model(forest).answer(mixed).shape == (2,)


class Scores:
    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_a_model_of_scores_alone_has_no_classes():
    X = np.array([[0, 1], [3, 0], [5, 1], [9, 1]])
    with pytest.raises(ValueError, match="expected predict, found scores of Scores only; give decision_threshold"):
        wrap_model(Scores()).classes_of(X)
    assert wrap_model(Scores()).deciding(0.5)(X).all()
    assert wrap_model(lambda X: X[:, :1] / 10).deciding(0.3)(X).tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.2, 0.7, 1.0], "returned .*0.2.*, expected one class per row; scores and probabilities need decision_thr"),
        ([0.5, 0.5 + 1e-12, 0.5], "need decision_threshold"),
        (np.array([0.5, 1, 0], dtype=object), "need decision_threshold"),
        ([0.0, np.nan, np.nan], "no class for 2 of 3 rows: nan"),
        (np.array(["yes", None, "no"], dtype=object), "no class for 1 of 3 rows: None"),
        ([0.0, np.inf, 1.0], "returned .*inf"),
    ],
)
def test_scores_and_missing_answers_are_no_classes(answer, said):
    for given in (answer, np.asarray(answer)):
        with pytest.raises(ValueError, match=f"model: .*{said}"):
            wrap_model(lambda X, given=given: given).classes_of(np.zeros((3, 2)))


class Column:
    def predict(self, X):
        return np.asarray(X)[:, [0]] > 1  # a column, and of booleans


OBJECTS = np.array([0, True], dtype=object)


@pytest.mark.parametrize(
    "given", [Column(), Column().predict, lambda X: [0.0, 1.0], lambda X: pd.Series([0, 1]), lambda X: OBJECTS]
)
def test_zeros_and_ones(given):
    labels = wrap_model(given).binary_of(np.array([[0.0], [2.0]]))
    assert (labels.tolist(), labels.dtype) == ([False, True], bool)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0], "expected 2 values, one for each row, found 1"),
        (np.zeros((2, 2)), r"expected one value for each row, found shape \(2, 2\)"),
        ([0.0, 0.7], r"returned 0\.7 on input \(0 0\.0\), expected 0 or 1"),
        ([0, 2], "returned 2 on input"),
        (["0", "1"], "returned '0' on input"),
        ([None, 1], "returned None on input"),
        ([0, np.nan], "returned nan on input"),
    ],
)
def test_what_is_neither_zero_nor_one(answer, message):
    with pytest.raises(CaseError, match=f"model: {message}"):
        wrap_model(lambda X: answer).binary_of(np.zeros((2, 1)))


class OwnMaking(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras_network("softmax", **TWO)

    def call(self, X):
        return self.inner(X)


# foreign

N = 400
BORN = pd.Series(pd.Timestamp("1950-01-01") + pd.to_timedelta(np.arange(N) * 50, unit="D"))
COLUMNS = {
    "dates and times": BORN + pd.Timedelta(hours=7, minutes=3),
    "dates of a zone": BORN.dt.tz_localize("Europe/Paris"),
    "dates of Python": pd.Series(BORN.dt.date.tolist(), dtype=object),
    "dates, some missing": BORN.where(BORN.dt.year != 1960),
    "decimals": pd.Series([Decimal(k) / 100 for k in range(N)], dtype=object),
    "decimals, some missing": pd.Series([None if k % 9 == 0 else Decimal(k) / 8 for k in range(N)], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_methods_get_numbers_and_the_model_what_was_in_the_table(name):
    column, seen = COLUMNS[name], []
    table = pd.DataFrame({"sex": np.tile(["f", "m"], N // 2), "value": column})
    middle = column.dropna().sort_values().iloc[N // 2]

    def model(rows):
        seen.append(rows["value"])
        return [bool(value > middle) if value == value and value is not None else False for value in rows["value"]]

    case = Case(model, table, sensitive_features="sex")
    assert pd.api.types.is_numeric_dtype(case.table["value"])
    assert audit(case, methods=["rates", "themis"], budget=2_000, progress=False).verdict == "no difference found"
    pd.testing.assert_series_equal(seen[0], table.drop_duplicates(ignore_index=True)["value"])
    assert {type(value) for values in seen for value in values.dropna()} == set(map(type, column.dropna()))
    assert (case.decide(table) == model(table)).all()


def test_plain_tables_stay_as_they_are():
    table = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    plain, foreign = plain_table(table)
    pd.testing.assert_frame_equal(plain, table)
    assert foreign == {}


@pytest.mark.parametrize(("library", "make"), [("polars", "DataFrame"), ("pyarrow", "table")])
def test_tables_of_other_libraries_come_in(library, make):
    pytest.importorskip("pyarrow")
    columns = {"sex": ["f", "m"] * 50, "points": list(range(100))}
    table = getattr(pytest.importorskip(library), make)(columns)
    case = Case(lambda rows: rows["points"] > 40, table, sensitive_features="sex")
    assert (case.table["points"].tolist(), case.decide().sum()) == (columns["points"], 59)
