import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlab.models import KerasClassifier, LinearClassifier, WhiteBoxClassifier

RNG = np.random.default_rng(0)

# What is known of these white boxes in closed form.
POINTS = np.array([[0.5, -1.0, 2.0], [0, 0, 0], [-3, 1, 1]])
COEF, INTERCEPT = np.array([[1.0, 2, 3], [0, -1, 1], [5, 5, 5]]), np.array([0.5, -0.25, 0])


def test_a_linear_classifier_by_hand():
    model = LinearClassifier(COEF[0], INTERCEPT[0])
    p = expit(POINTS @ COEF[0] + 0.5)
    np.testing.assert_allclose(model.predict_proba(POINTS), np.stack([1 - p, p], axis=1))
    assert model.predict(POINTS).tolist() == (p > 0.5).astype(int).tolist()
    np.testing.assert_allclose(model.loss(POINTS, [1, 0, 1]), -np.log(np.where([1, 0, 1], p, 1 - p)))
    np.testing.assert_allclose(model.loss_gradient(POINTS, [1, 0, 1]), (p - [1, 0, 1])[:, None] * COEF[0])
    several = LinearClassifier(COEF, INTERCEPT)
    each = np.einsum("mnf,mf->mn", np.stack([POINTS] * 3), COEF) + INTERCEPT[:, None]
    np.testing.assert_allclose(several.log_odds(np.stack([POINTS] * 3)), each)
    with pytest.raises(ValueError, match=r"coef has shape \(3, 3\), intercept \(2,\)"):
        LinearClassifier(COEF, INTERCEPT[:2])


def test_rounded_losses_are_zero_and_infinite_where_the_model_is_sure():
    sure = LinearClassifier([1.0], 0.0, rounded_loss=True)
    exact = LinearClassifier([1.0], 0.0)
    X = np.float32([[200], [-200]])
    np.testing.assert_array_equal(sure.loss(X, [1, 1]), [0, np.inf])
    np.testing.assert_allclose(exact.loss(X, [1, 1]), [0, 200])
    np.testing.assert_allclose(sure.loss_gradient(X, [1, 1]), [[0], [-1]])


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("from_logits", [True, False])
def test_a_keras_model_is_the_classifier_of_its_outputs(n_outputs, from_logits):
    kernel, bias = COEF[:n_outputs].T.astype(np.float32), INTERCEPT[:n_outputs].astype(np.float32)
    activation = None if from_logits else "sigmoid" if n_outputs == 1 else "softmax"
    keras_model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(n_outputs, activation)])
    keras_model.set_weights([kernel, bias])
    logits = POINTS @ kernel + bias
    expected = logits[:, 0] if n_outputs == 1 else logits[:, 1] - logits[:, 0]
    model = KerasClassifier(keras_model, from_logits=from_logits)
    np.testing.assert_allclose(model.log_odds(np.float32(POINTS)), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "layers", [[keras.layers.Dense(1, "sigmoid")], [keras.layers.Dense(1), keras.layers.Activation("sigmoid")]]
)
def test_log_odds_of_a_keras_model_that_is_sure(layers):
    model = keras.Sequential([keras.Input((1,)), *layers])
    model.set_weights([np.float32([[1e4]]), np.zeros(1, np.float32)])
    X, classifier = np.float32([[1.0], [-1.0]]), KerasClassifier(model)
    np.testing.assert_allclose(classifier.log_odds(X), [1e4, -1e4])
    np.testing.assert_allclose(classifier.loss(X, [0, 0]), [1e4, 0])
    np.testing.assert_allclose(classifier.loss_gradient(X, [0, 0]), [[1e4], [0]])


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (("Dense", 3, "softmax"), "expected one or two outputs per point, found 3"),
        (("Dense", 1, None), "ends with linear, expected sigmoid for 1 outputs; .* say from_logits=True"),
        (("Dense", 2, "sigmoid"), "ends with sigmoid, expected softmax for 2 outputs"),
    ],
)
def test_a_keras_model_without_log_odds_is_refused(layer, message):
    kind, *options = layer
    keras_model = keras.Sequential([keras.Input((3,)), getattr(keras.layers, kind)(*options)])
    with pytest.raises(ValueError, match=message):
        KerasClassifier(keras_model)


@pytest.mark.parametrize("model", [LinearClassifier(COEF[0], 0.5)])
def test_arrays_and_tensors_get_the_same_answers(model):
    y = [1, 0, 1]
    for ask in (model.loss, model.loss_gradient):
        ours, theirs = ask(POINTS, y), ask(tf.constant(POINTS), y)
        assert isinstance(ours, np.ndarray)
        assert tf.is_tensor(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


class Learnt(WhiteBoxClassifier):
    """A classifier of one's own: `fit` and `log_odds` are all that it defines."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        if type_of_target(y, raise_unknown=True) != "binary":
            raise ValueError(f"Only binary classification is supported, found {len(np.unique(y))} classes")
        self.classes_, y = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y: expected two classes, found one class")
        model = LogisticRegression(C=100, max_iter=1000).fit(X, y)
        self.line_ = LinearClassifier(model.coef_[0], model.intercept_[0])
        return self

    def log_odds(self, X):
        check_is_fitted(self)
        return self.line_.log_odds(validate_data(self, X, dtype=float, reset=False))


@parametrize_with_checks([Learnt()])
def test_scikit_learn(estimator, check):
    check(estimator)
