import pickle
import warnings

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from plain_data import is_plain
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from fairlab.models import (
    BalancedMLP,
    EqualizedOddsMixture,
    KerasClassifier,
    LinearClassifier,
    ProjectedMLP,
    SenSR,
    SoftVote,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
SENSITIVE = (X[:, [1]] + RNG.normal(size=(80, 1)) > 0).astype(int)
SMALL = {"n_hidden": 4, "n_steps": 3, "batch_size": 8, "from_logits": False}
LEARNERS = [
    (BalancedMLP(**SMALL, random_state=2), {}),
    (ProjectedMLP(**SMALL), {"sensitive_features": SENSITIVE}),
    (SenSR(**SMALL, full_steps=2, learning_rate=0.1), {"sensitive_features": SENSITIVE}),
    (EqualizedOddsMixture(max_iter=3, class_weight=None, from_logits=False), {"sensitive_features": SENSITIVE}),
]


@pytest.mark.parametrize(("learner", "groups"), LEARNERS, ids=lambda value: type(value).__name__)
def test_what_is_rebuilt_from_arrays_is_the_same(learner, groups):
    with pytest.raises(NotFittedError):
        type(learner)().to_arrays()
    learner.fit(X, Y, **groups)
    arrays = learner.to_arrays()
    assert is_plain(arrays)
    rebuilt = type(learner).from_arrays(pickle.loads(pickle.dumps(arrays)))
    assert rebuilt.get_params() == learner.get_params()
    assert vars(rebuilt).keys() == vars(learner).keys()
    for dtype in ("float32", "float64"):
        points = X.astype(dtype)
        np.testing.assert_array_equal(rebuilt.log_odds(points), learner.log_odds(points))
        np.testing.assert_array_equal(rebuilt.predict_proba(points), learner.predict_proba(points))
        np.testing.assert_array_equal(rebuilt.loss(points, Y), learner.loss(points, Y))
        np.testing.assert_array_equal(rebuilt.loss_gradient(points, Y), learner.loss_gradient(points, Y))
    np.testing.assert_array_equal(rebuilt.predict(X), learner.predict(X))
    for name in ("network_", "directions_", "penalty_", "n_skipped_", "projection_", "classes_"):
        if hasattr(learner, name):
            np.testing.assert_equal(getattr(rebuilt, name), getattr(learner, name))
    if hasattr(learner, "metric_"):
        np.testing.assert_array_equal(rebuilt.metric_.projection, learner.metric_.projection)


def test_what_was_not_fitted_has_no_properties():
    for unfitted, name in ((ProjectedMLP(), "metric_"), (EqualizedOddsMixture(), "mixture_")):
        with pytest.raises(NotFittedError):
            getattr(unfitted, name)


def test_labels_and_columns_of_the_users_own():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = BalancedMLP(**SMALL).fit(frame, np.array(["no", "yes"])[Y])
    coded = BalancedMLP(**SMALL).fit(X, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame) == "yes", coded.predict(X) == 1)
    rebuilt = BalancedMLP.from_arrays(model.to_arrays())
    assert is_plain(model.to_arrays())
    np.testing.assert_array_equal(rebuilt.predict(frame), model.predict(frame))
    for one in (model, rebuilt):
        with pytest.raises(ValueError, match="same order"):
            one.predict(frame[["b", "a", "c"]])
        with pytest.raises(ValueError, match="X: column 'b' holds nan in row 0"):
            one.predict(frame.assign(b=np.nan))
        with pytest.raises(ValueError, match="X has 2 features, but BalancedMLP is expecting 3"):
            one.predict(X[:, :2])


def test_plain_arrays_and_leading_axes_are_points_of_an_attack():
    model = BalancedMLP(**SMALL).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(np.stack([X, -X]))[0], expected)
    assert model.predict_proba(X[None]).shape == (1, 80, 2)


def test_bad_training_data():
    with pytest.raises(ValueError, match="y: expected two classes, found 3"):
        BalancedMLP(**SMALL).fit(X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="X: column 'x1' holds inf"):
        BalancedMLP(**SMALL).fit(np.where(np.arange(3) == 1, np.inf, X), Y)


# What is known of these white boxes in closed form.
POINTS = np.array([[0.5, -1.0, 2.0], [0, 0, 0], [-3, 1, 1]])
COEF, INTERCEPT = np.array([[1.0, 2, 3], [0, -1, 1], [5, 5, 5]]), np.array([0.5, -0.25, 0])


def test_a_linear_classifier_by_hand():
    model = LinearClassifier(COEF[0], INTERCEPT[0])
    np.testing.assert_allclose(model.log_odds(POINTS), POINTS @ COEF[0] + 0.5)
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


def test_a_soft_vote_by_hand():
    model = SoftVote(COEF, INTERCEPT, [0.25, 0.75, 0])
    p = expit(POINTS @ COEF[:2].T + INTERCEPT[:2]) @ [0.25, 0.75]
    np.testing.assert_allclose(model.log_odds(POINTS), np.log(p / (1 - p)))
    assert len(model.coef) == 2, "a model without a vote is left out"
    with pytest.raises(ValueError, match=r"shares that sum to 1, found a sum of 1\.5"):
        SoftVote(COEF, INTERCEPT, [0.5, 0.5, 0.5])


def test_rounded_losses_are_zero_and_infinite_where_the_model_is_sure():
    sure = LinearClassifier([1.0], 0.0, from_logits=False)
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


def test_log_odds_of_a_keras_model_that_is_sure():
    sure = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False), keras.layers.Activation("sigmoid")]
    )
    sure.set_weights([np.float32([[1e4]])])
    X = np.float32([[1.0], [-1.0]])
    for model in (sure, keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])):
        if model is not sure:
            model.set_weights([np.float32([[1e4]]), np.zeros(1, np.float32)])
        classifier = KerasClassifier(model)
        np.testing.assert_allclose(classifier.log_odds(X), [1e4, -1e4])
        np.testing.assert_allclose(classifier.loss(X, [0, 0]), [1e4, 0])
        np.testing.assert_allclose(classifier.loss_gradient(X, [0, 0]), [[1e4], [0]])


def test_a_keras_model_that_learns_on():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2), keras.layers.Softmax()])
    classifier = KerasClassifier(model)
    model.set_weights([np.float32([[1.0, 3.0]]), np.float32([0.0, 1.0])])
    np.testing.assert_allclose(classifier.log_odds(np.float32([[2.0]])), [5.0])


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


@pytest.mark.parametrize("model", [LinearClassifier(COEF[0], 0.5), SoftVote(COEF, [0.5, 0.0, -1.0], [0.2, 0.3, 0.5])])
def test_arrays_and_tensors_get_the_same_answers(model):
    y = [1, 0, 1]
    for ask in (model.loss, model.loss_gradient):
        ours, theirs = ask(POINTS, y), ask(tf.constant(POINTS), y)
        assert isinstance(ours, np.ndarray)
        assert tf.is_tensor(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
