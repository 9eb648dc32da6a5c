import keras
import numpy as np
import pytest

from fairlab.models.protocol import as_classifier, as_network, is_keras
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
