from itertools import pairwise

import keras
import numpy as np
import pytest
from scipy.special import log_softmax

from fairlab.networks import Network, as_classifier, as_network, dense_classifier, dense_network


@pytest.fixture(scope="module")
def weights():
    """A small random network over five columns with two classes."""
    rng = np.random.default_rng(3)
    layers = [(rng.normal(0, 0.5, (n, m)), rng.normal(0, 0.5, m)) for n, m in pairwise([5, 16, 8, 2])]
    return [part.astype(np.float32) for layer in layers for part in layer]


@pytest.fixture(scope="module")
def network(weights):
    return Network(dense_network(weights))


def rows(n, seed):
    return np.random.default_rng(seed).integers(0, 10, (n, 5))


def logits_by_hand(weights, X):
    for kernel, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        X = np.maximum(X @ kernel.astype(float) + bias, 0)
    return X @ weights[-2].astype(float) + weights[-1]


def test_probabilities_and_classes_are_those_of_the_model(network, weights):
    X = rows(50, 0)
    expected = np.exp(log_softmax(logits_by_hand(weights, X), axis=1))
    np.testing.assert_allclose(network.probabilities(X), expected, atol=1e-4)
    assert (network.predict(X) == expected.argmax(axis=1)).all()
    np.testing.assert_allclose(network.model.predict(X.astype(float), verbose=0), expected, atol=1e-4)


def test_loss_gradient_is_the_slope_of_the_loss_of_the_predicted_class(network, weights):
    X = rows(30, 1).astype(float) + 0.3
    label = logits_by_hand(weights, X).argmax(axis=1)

    def loss(X):
        return -log_softmax(logits_by_hand(weights, X), axis=1)[np.arange(len(X)), label]

    h = 1e-5
    slope = np.stack([(loss(X + h * e) - loss(X - h * e)) / (2 * h) for e in np.eye(5)], axis=1)
    np.testing.assert_allclose(network.loss_gradient(X), slope, rtol=1e-2, atol=1e-3)


def test_margin_gradient_points_the_other_way_and_does_not_vanish(weights):
    sharp = Network(dense_network([*weights[:-2], weights[-2] * 1000, weights[-1]]))
    X = np.random.default_rng(0).integers(0, 9, (200, 5))
    gradient = sharp.loss_gradient(X)
    vanished = ~gradient.any(axis=1)
    margin, slope = sharp.margin_gradient(X)
    assert vanished.mean() > 0.5, "the loss of a sharp network is flat in float32"
    assert slope[vanished].any(axis=1).mean() > 0.9
    assert (np.sign(gradient[~vanished]) == -np.sign(slope[~vanished])).all()
    assert (margin >= 0).all()


def test_one_sigmoid_is_two_classes():
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, activation="sigmoid")])
    X = rows(20, 2)
    network = Network(model)
    p = model.predict(X.astype("float32"), verbose=0)[:, 0]
    np.testing.assert_allclose(network.probabilities(X)[:, 1], p, atol=1e-6)
    assert (network.predict(X) == (p > 0.5)).all()


@pytest.mark.parametrize("last", [keras.layers.Softmax, lambda: keras.layers.Activation("softmax")])
def test_a_softmax_may_be_a_layer_of_its_own(last):
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3), last()])
    X = rows(20, 2)
    expected = model.predict(X.astype("float32"), verbose=0)
    np.testing.assert_allclose(Network(model).probabilities(X), expected, atol=1e-6)


def test_what_cannot_be_searched_is_refused(network):
    linear = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="ends with linear, expected a softmax"):
        Network(linear)
    with pytest.raises(ValueError, match="takes 5 columns, was given shape"):
        network.predict(np.zeros((3, 4)))
    with pytest.raises(TypeError, match="expected a Keras model"):
        as_network(lambda X: X)
    with pytest.raises(TypeError, match="expected a function or an object with"):
        as_classifier(3)
    with pytest.raises(ValueError, match=r"returned shape \(2, 2\) for 2 rows"):
        as_classifier(lambda X: np.zeros((2, 2)))(np.zeros((2, 5)))


def test_gradients_that_are_no_numbers_are_counted(weights):
    broken = Network(dense_network([np.full_like(weights[0], np.nan), *weights[1:]]))
    with pytest.raises(ValueError, match="gradient of 4 of 4 inputs is not a number"):
        broken.loss_gradient(np.zeros((4, 5)))


def test_networks_of_one_shape_share_what_is_compiled_but_not_their_weights(network, weights):
    other = Network(dense_network([-part for part in weights]))
    assert other._logits is network._logits
    X = rows(20, 0)
    np.testing.assert_allclose(other.logits(X), logits_by_hand([-part for part in weights], X), atol=1e-3)


def test_the_network_in_numpy_gives_the_same_classes(network, weights):
    X = rows(5000, 0)
    np.testing.assert_array_equal(dense_classifier(weights)(X), network.predict(X))
