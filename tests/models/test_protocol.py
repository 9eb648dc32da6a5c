import keras
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from fairlab.models.protocol import Form, as_classifier, as_form, as_matrix, as_network, is_keras, is_torch
from fairlab.networks import Network, dense_network

X = np.random.default_rng(0).integers(0, 9, (6, 2))


@pytest.fixture(scope="module")
def model():
    """The class is 1 where the first column is the larger."""
    return dense_network([np.array([[0.0, 1], [1, 0]]), np.zeros(2)])


class Larger:
    def predict(self, X):
        return X[:, 0] > X[:, 1]


def test_anything_that_predicts_is_a_classifier(model):
    expected = (X[:, 0] > X[:, 1]).astype(int)
    for given in (model, Network(model), Larger(), Larger().predict):
        np.testing.assert_array_equal(as_classifier(given)(X), expected)


def test_what_does_not_give_one_class_per_row_is_refused():
    with pytest.raises(TypeError, match="expected a function or an object with"):
        as_classifier(3)
    with pytest.raises(ValueError, match=r"returned shape \(6, 2\) for 6 rows"):
        as_classifier(lambda X: X)(X)


def test_a_network_is_wrapped_once(model):
    network = as_network(model)
    assert as_network(network) is network
    with pytest.raises(TypeError, match="expected a Keras model, whose gradients can be had, found function"):
        as_network(lambda X: X)


def test_keras_models_are_known(model):
    assert is_keras(model)
    assert is_keras(keras.Sequential())
    assert not is_keras(Network(model))
    assert not is_keras(Larger())


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
    layer = keras.layers.Dense(kernel.shape[1], activation=end)
    if functional:
        entering = keras.Input((2,))
        model = keras.Model(entering, layer(entering))
    else:
        model = keras.Sequential([keras.Input((2,)), layer])
    layer.set_weights([kernel, bias])
    if compiled:
        model.compile(loss=compiled)
    return model


TWO = {"kernel": np.hstack([0 * KERNEL, KERNEL]), "bias": np.append(0, BIAS)}


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
def test_every_end_of_a_keras_network_gives_the_same_log_odds(given):
    form = as_form(given)
    assert (form.unit, form.classes, form.answer) == ("log odds", (0, 1), None)
    for label, sign in ((1, 1), (0, -1)):
        np.testing.assert_allclose(form.score(ROWS, label), sign * ODDS, rtol=1e-4, atol=1e-5)
        odds, slope = form.gradient(ROWS.to_numpy(), label)
        np.testing.assert_allclose(odds, sign * ODDS, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(slope, np.tile(sign * KERNEL[:, 0], (40, 1)), rtol=1e-4)


def test_a_keras_model_without_such_an_end_is_asked_as_it_is():
    form = as_form(keras_network("linear"))
    assert (form.score, form.gradient) == (None, None)
    np.testing.assert_allclose(form.answer(ROWS)[:, 0], ODDS, rtol=1e-4, atol=1e-5)


def test_keras_models_of_ones_own_making_are_asked_as_they_are():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras_network("softmax", **TWO)

        def call(self, X):
            return self.inner(X)

    unbuilt = keras.Sequential([keras.layers.Dense(1)])
    nested = keras.Sequential([keras.Input((2,)), keras_network()])
    share = 1 / (1 + np.exp(-ODDS))
    np.testing.assert_allclose(as_form(Own()).answer(ROWS)[:, 1], share, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(as_form(nested).answer(ROWS)[:, 0], share, rtol=1e-4, atol=1e-5)
    assert as_form(unbuilt).answer(ROWS).shape == (40, 1)


def test_a_keras_model_of_three_classes_has_labels_and_scores():
    kernel, bias = np.array([[1.0, 0, -1], [0, 1, 0.5]]), np.array([0.1, 0, 0])
    form = as_form(keras_network("softmax", kernel=kernel, bias=bias))
    logits = ROWS.to_numpy() @ kernel + bias
    assert (form.answer(ROWS) == logits.argmax(axis=1)).all()
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for label in range(3):
        odds = np.log(share[:, label] / (1 - share[:, label]))
        np.testing.assert_allclose(form.score(ROWS, label), odds, rtol=1e-3, atol=1e-4)


def test_estimators_give_labels_and_scores_of_a_class():
    form = as_form(logistic(labels=("no", "yes")))
    assert (form.unit, form.classes, form.columns) == ("probability", ("no", "yes"), ("a", "b"))
    np.testing.assert_allclose(form.score(ROWS, 1), 1 / (1 + np.exp(-ODDS)))
    np.testing.assert_allclose(form.score(ROWS, 0), 1 / (1 + np.exp(ODDS)))
    assert (form.answer(ROWS) == np.where(ODDS > 0, "yes", "no")).all()
    margin = as_form(LinearSVC().fit(ROWS, ODDS > 0))
    assert (margin.unit, margin.classes) == ("score", (False, True))
    np.testing.assert_allclose(margin.score(ROWS, 0), -margin.score(ROWS, 1))
    for labels_only in (IsolationForest(n_estimators=5).fit(ROWS), LinearRegression().fit(ROWS, ODDS)):
        assert as_form(labels_only).score is None


@pytest.mark.filterwarnings("error")
def test_what_was_fitted_to_an_array_gets_one():
    form = as_form(logistic(names=False))
    assert form.columns is None
    np.testing.assert_allclose(form.score(ROWS, 1), 1 / (1 + np.exp(-ODDS)))
    mixed = pd.DataFrame({"flag": [True, False], "n": pd.array([1, None], dtype="Int64")})
    forest = RandomForestClassifier(n_estimators=2).fit(np.array([[1.0, 1.0], [0.0, np.nan]]), [0, 1])
    assert as_form(forest).answer(mixed).shape == (2,)


def test_any_other_model():
    assert as_form(len) == Form("len", answer=len)
    for given, message in (
        (3, "found int"),
        ("./program", "a program comes in as CommandSoftware"),
        (LogisticRegression, "found the class LogisticRegression"),
    ):
        with pytest.raises(TypeError, match=f"expected an object with .predict.*{message}"):
            as_form(given)
    entering = [keras.Input((1,)), keras.Input((1,))]
    two = keras.Model(entering, keras.layers.Concatenate()(entering))
    with pytest.raises(TypeError, match="expected a Keras model with one input, found 2"):
        as_form(two)
    assert not is_torch(len)


def test_networks_take_numbers_only():
    table = pd.DataFrame({"n": [1, 2], "flag": [True, False], "text": ["a", "b"], "share": [0.5, np.nan]})
    assert as_matrix(table[["n", "flag"]], 2).tolist() == [[1, 1], [2, 0]]
    for columns, message in (
        (["n"], "features: the network takes 2 columns, found 1: n"),
        (["n", "text"], "a network takes numbers, column 'text' has type (str|object)"),
        (["n", "share"], "a network takes no missing values, column 'share' has some"),
    ):
        with pytest.raises(ValueError, match=message):
            as_matrix(table[columns], 2)
