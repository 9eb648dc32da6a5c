import keras
import numpy as np
import pytest
import tensorflow as tf

from fairlab.models.network import (
    adam,
    adam_start,
    balanced_batches,
    check_training,
    initial_network,
    log_odds,
    logits,
    mean_loss_gradient,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)).astype(np.float32)
Y = np.arange(20, dtype=np.int32) % 2


def test_initial_network():
    network = initial_network(np.random.default_rng(1), 30, 50, bias=0.1)
    assert [part.shape for part in network] == [(30, 50), (50,), (50, 2), (2,)]
    for weights, bound in ((network[0], np.sqrt(6 / 80)), (network[2], np.sqrt(6 / 52))):
        assert bound * 0.9 < np.abs(weights).max() <= bound
    assert (network[1] == np.float32(0.1)).all()


def test_log_odds_are_those_of_the_softmax():
    network = initial_network(RNG, 3, 4)
    probability = tf.nn.softmax(logits(network, X)).numpy()
    np.testing.assert_allclose(
        log_odds(network, tf.constant(X)), np.log(probability[:, 1] / probability[:, 0]), atol=1e-5
    )


def test_training_is_that_of_keras():
    network = tuple(tf.constant(part) for part in initial_network(RNG, 3, 4))
    state = adam_start(network)
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(2, activation="softmax")]
    )
    model.set_weights([part.numpy() for part in network])
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    for _ in range(5):
        network, state = adam(network, mean_loss_gradient(network, X, Y), state, 0.01)
        model.train_on_batch(X, Y)
    for ours, theirs in zip(network, model.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_batches_are_balanced():
    y = np.repeat([0, 1], [90, 10])
    batches = balanced_batches(np.random.default_rng(0), y, 200, 8)
    assert batches.shape == (200, 8)
    assert (y[batches].sum(axis=1) == 4).all()
    assert set(batches.ravel()) == set(range(100))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(20), "every label is 0.0, expected both classes"),
        (Y + 1, "expected labels 0 and 1, found 2"),
        (Y[:5], r"y has shape \(5,\), expected \(20,\)"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_training(X, y)
