import numpy as np
import tensorflow as tf

from fairlab.models.mlp import BalancedMLP
from fairlab.models.network import balanced_batches
from fairlab.networks import forward, initial_network

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)).astype(np.float32)
Y = np.arange(20, dtype=np.int32) % 2


def test_log_odds_are_those_of_the_softmax():
    model = BalancedMLP()
    model.network_ = initial_network(RNG, (3, 4, 2))
    probability = tf.nn.softmax(forward(model.network_, X)).numpy()
    np.testing.assert_allclose(model.log_odds(tf.constant(X)), np.log(probability[:, 1] / probability[:, 0]), atol=1e-5)


def test_batches_are_balanced():
    y = np.repeat([0, 1], [90, 10])
    batches = balanced_batches(np.random.default_rng(0), y, 200, 8)
    assert batches.shape == (200, 8)
    assert (y[batches].sum(axis=1) == 4).all()
    assert set(batches.ravel()) == set(range(100))
