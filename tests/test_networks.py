import keras
import numpy as np
import pytest
import small_network
import tensorflow as tf
from scipy.special import logsumexp

from fairlab.benchmarks.adf import dense_network
from fairlab.cases import wrap_model
from fairlab.networks import (
    FeedForward,
    Network,
    forward,
    initial_network,
)
from fairlab.papers.training import Training, member, stacked

schema, weights = small_network.schema, small_network.weights  # fixtures


def test_a_network_starts_as_glorot_uniform_with_constant_biases():
    network = initial_network(np.random.default_rng(1), (200, 50, 2), bias=0.1)
    assert [(*part.shape, part.dtype) for part in network] == [
        (*of, "float32") for of in ((200, 50), (50,), (50, 2), (2,))
    ]
    for kernel, bound in ((network[0], np.sqrt(6 / 250)), (network[2], np.sqrt(6 / 52))):
        assert bound * 0.9 < np.abs(kernel).max() <= bound
    assert network[0].std() == pytest.approx(np.sqrt(6 / 250 / 3), rel=0.02)
    assert (network[1] == np.float32(0.1)).all()


def test_members_and_leading_axes_are_computed_apart():
    X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    networks = [initial_network(np.random.default_rng(k), (5, 6, 6, 2), bias=0.3) for k in range(3)]
    together = stacked(networks)
    own = np.stack([forward(network, x) for network, x in zip(networks, X, strict=True)])
    np.testing.assert_allclose(forward(together, X), own, atol=1e-6)
    np.testing.assert_array_equal(forward(member(together, slice(1, 3)), X[1:]), forward(together, X)[1:])
    np.testing.assert_allclose(forward([tf.constant(part) for part in together], tf.constant(X)), own, atol=1e-6)
    shared = np.stack([forward(networks[0], x) for x in X])
    np.testing.assert_allclose(forward(networks[0], X), shared, atol=1e-6)


def test_training_is_that_of_keras_for_each_network():
    X = np.random.default_rng(0).normal(size=(2, 20, 3)).astype(np.float32)
    y = np.stack([np.arange(20) % 2, np.arange(20) % 3 % 2])
    start = [initial_network(np.random.default_rng(k), (3, 4, 2)) for k in range(2)]
    training = Training(start, 0.01)
    for _ in range(5):
        training.step(X, y)
    for k, ours in enumerate(training.networks()):
        model = dense_network(start[k])
        model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
        model.fit(X[k], y[k], batch_size=20, epochs=5, verbose=0)
        for part, theirs in zip(ours, model.get_weights(), strict=True):
            np.testing.assert_allclose(part, theirs, atol=1e-5)


# One network of three classes, of two columns, made in three ways.
KERNEL, BIAS = np.array([[1.0, 0, 2], [0, 3, -1]]), np.array([0.5, 0, -0.5])


def of_keras():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, activation="softmax")])
    model.set_weights([KERNEL, BIAS])
    return Network(model)


def of_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    from fairlab.models.torch_network import TorchNetwork

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Softmax(1))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor(KERNEL.T))
        model[0].bias.copy_(torch.tensor(BIAS))
    return TorchNetwork(model)


@pytest.mark.parametrize("make", [lambda: FeedForward([KERNEL, BIAS]), of_keras, of_torch])
def test_networks_of_all_kinds_have_the_logits_and_slopes_of_their_weights(make):
    network, X = make(), np.array([[0.3, -0.2], [1.0, 0.4], [40.0, 40.0], [1.0, 0.5]])  # the last one a tie
    shifted = network.logits(X) - network.logits(X)[:, :1]
    np.testing.assert_allclose(shifted, X @ (KERNEL - KERNEL[:, :1]) + BIAS - BIAS[0], rtol=1e-4, atol=1e-5)
    assert (network.n_features, network.n_classes, network.predict(X).tolist()) == (2, 3, [0, 0, 1, 0])

    def odds(X, labels):
        own, logits = np.eye(3, dtype=bool)[labels], X @ KERNEL + BIAS
        return logits[own] - logsumexp(np.where(own, -np.inf, logits), axis=1)

    def loss(X, labels):
        return np.logaddexp(0, -odds(X, labels))

    def slope(of, labels):
        return np.stack([of(X + step, labels) - of(X - step, labels) for step in 1e-5 * np.eye(2)], axis=1) / 2e-5

    for label, labels in ((0, [0] * 4), (1, [1] * 4), (2, [2] * 4), (None, [0, 0, 1, 0])):
        np.testing.assert_allclose(network.log_odds(X, label), odds(X, labels), rtol=1e-4, atol=1e-5)
        found, gradient = network.log_odds_gradient(X, label)
        np.testing.assert_allclose(found, odds(X, labels), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gradient, slope(odds, labels), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network.loss_gradient(X)[:3], slope(loss, [0, 0, 1, 0])[:3], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="label: expected a class from 0 to 2, found 3"):
        network.log_odds_gradient(X, 3)


def normalized(mean, *, adapted):
    layer = keras.layers.Normalization(mean=[mean] * 5, variance=[1.0] * 5, name="scale")
    if adapted:
        layer = keras.layers.Normalization(name="scale")
        layer.adapt(np.array([[mean] * 5, [mean + 2] * 5]) - 1.0)
    dense = keras.layers.Dense(2, activation="softmax", name="out")
    model = keras.Sequential([keras.Input((5,), name="columns"), layer, dense], name="normalized")
    dense.set_weights([np.stack([np.zeros(5), np.ones(5)], axis=1), np.zeros(2)])
    return model


@pytest.mark.parametrize("adapted", [True, False])
def test_networks_that_differ_in_their_normalisation_do_not_share_it(adapted):
    X = np.full((4, 5), 5.0)
    for mean in (0.0, 10.0):
        model = normalized(mean, adapted=adapted)
        network = Network(model)
        np.testing.assert_allclose(network.probabilities(X), model(X.astype(np.float32)), atol=1e-6)
        assert (network.predict(X) == (mean == 0)).all() and (network.log_odds_gradient(X)[1] > 0).all() == (mean == 0)


def subtracted():
    """Return a model with an operation after its last layer, so that it ends with no sigmoid."""
    inputs = keras.Input((2,))
    return keras.Model(inputs, 1 - keras.layers.Dense(1, "sigmoid")(inputs))


def ending_with(layer, *sequence):
    return keras.Sequential([keras.Input((*sequence, 2)), layer])


WITHOUT_NUMBERS = [np.full((5, 2), np.nan, np.float32), np.zeros(2, np.float32)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Network(ending_with(keras.layers.Dense(2, "softmax"), 4)),
            r"expected one input and one output of shape \(n_rows, n\), found",
        ),
        (lambda: Network(subtracted()), "ends with Subtract, expected sigmoid for 1 outputs"),
        (
            lambda: Network(ending_with(keras.layers.EinsumDense("ab,bc->ac", 2, activation="softmax"))),
            "ends with EinsumDense, expected a Dense, Activation or Softmax layer",
        ),
        *(
            (
                lambda name=name: getattr(Network(dense_network(WITHOUT_NUMBERS)), name)(np.zeros((4, 5))),
                "model: answers 4 of 4 inputs with what is not a number",
            )
            for name in ("predict", "probabilities", "logits")
        ),
    ],
)
def test_models_that_are_no_such_networks_and_answers_that_are_no_numbers_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


POINTS = np.array([[1.0, 2.0], [-1.0, 0.5]], dtype=np.float32)


def test_an_operation_after_the_last_layer_is_part_of_a_model_that_is_wrapped():
    model = subtracted()
    np.testing.assert_allclose(wrap_model(model).scores_of(POINTS), model(POINTS)[:, 0], rtol=1e-6)


def test_a_last_layer_that_occurs_twice_is_taken_where_it_is_last():
    inputs, layer = keras.Input((2,)), keras.layers.Dense(2, "softmax")
    model = keras.Model(inputs, layer(layer(inputs)))
    np.testing.assert_allclose(Network(model).probabilities(POINTS), model(POINTS), rtol=1e-5)


@pytest.mark.parametrize("factor", [1, 40])
def test_answers_and_gradients_are_those_of_compiled_code(weights, factor):
    scaled = [*weights[:-2], factor * weights[-2], factor * weights[-1]]
    ours, compiled = FeedForward(scaled), Network(dense_network(scaled))
    X = np.random.default_rng(1).integers(0, 10, (3000, 5))
    np.testing.assert_allclose(ours.logits(X), compiled.logits(X), rtol=1e-4, atol=1e-3)
    assert (ours.predict(X) == compiled.predict(X)).mean() > 0.999
    gradient, theirs = ours.loss_gradient(X), compiled.loss_gradient(X)
    # Gradients that round to 0 decide the published reading: they have to be the same ones.
    assert abs(int((~gradient.any(axis=1)).sum()) - int((~theirs.any(axis=1)).sum())) <= 3
    assert (np.sign(gradient) == np.sign(theirs)).all(axis=1).mean() > 0.995
    for own, other in zip(ours.log_odds_gradient(X), compiled.log_odds_gradient(X), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_share_the_label(n_classes):
    network = FeedForward([np.zeros((2, n_classes)), np.zeros(n_classes)])
    assert (network.loss_gradient([[1, 2]]) == 0).all()
    assert network.predict([[1, 2], [3, 4]]).tolist() == [0, 0]
    np.testing.assert_allclose(network.probabilities([[1, 2]]), 1 / n_classes, rtol=1e-6)


def test_an_activation_may_be_a_layer():
    layer = keras.layers.Dense(4, activation=keras.layers.LeakyReLU(0.3))
    model = keras.Sequential([keras.Input((2,)), layer, keras.layers.Dense(2, activation="softmax")])
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert Network(model).predict(X).tolist() == np.asarray(model(X)).argmax(axis=1).tolist()
