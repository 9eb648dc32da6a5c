import numpy as np
import pytest

from fairlab.adf.feed_forward import FeedForward


@pytest.fixture(scope="module")
def sharp(weights):
    """The same network with logits forty times as large: certain in float32 of most inputs."""
    return [*weights[:-2], 40 * weights[-2], 40 * weights[-1]]


@pytest.mark.parametrize("factor", [1, 40])
def test_answers_and_gradients_are_those_of_compiled_code(weights, schema, factor):
    from fairlab.networks import Network, dense_network

    scaled = [*weights[:-2], factor * weights[-2], factor * weights[-1]]
    ours, compiled = FeedForward(scaled), Network(dense_network(scaled))
    X = schema.sample(3000, random_state=1)
    np.testing.assert_allclose(ours.logits(X), compiled.logits(X), rtol=1e-4, atol=1e-3)
    assert (ours.predict(X) == compiled.predict(X)).mean() > 0.999
    gradient, theirs = ours.loss_gradient(X), compiled.loss_gradient(X)
    # Gradients that round to 0 decide the published reading: they have to be the same ones.
    assert abs(int((~gradient.any(axis=1)).sum()) - int((~theirs.any(axis=1)).sum())) <= 3
    assert (np.sign(gradient) == np.sign(theirs)).all(axis=1).mean() > 0.995
    margin, slope = ours.margin_gradient(X)
    np.testing.assert_allclose(margin, compiled.margin_gradient(X)[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(slope, compiled.margin_gradient(X)[1], rtol=1e-3, atol=1e-3)


def test_gradients_of_a_sharp_network_vanish_and_those_of_its_margin_do_not(sharp, schema):
    X = schema.sample(500, random_state=2)
    network = FeedForward(sharp)
    assert (~network.loss_gradient(X).any(axis=1)).sum() > 50
    assert network.margin_gradient(X)[1].any(axis=1).all()


def test_gradient_against_differences(weights, schema):
    network, X, step = FeedForward(weights), schema.sample(20, random_state=3).astype(float), 1e-2
    _, gradient = network.margin_gradient(X)
    for column in range(X.shape[1]):
        ahead, behind = X.copy(), X.copy()
        ahead[:, column] += step
        behind[:, column] -= step
        sides = [network.logits(side) for side in (ahead, behind)]
        leads = [np.abs(side[:, 1] - side[:, 0]) for side in sides]
        slope = (leads[0] - leads[1]) / (2 * step)
        assert np.isclose(slope, gradient[:, column], atol=0.02).mean() > 0.8, "but for kinks"


def test_ties_share_the_label():
    network = FeedForward([np.zeros((2, 3)), np.zeros(3)])
    assert (network.loss_gradient([[1, 2]]) == 0).all()
    assert network.predict([[1, 2], [3, 4]]).tolist() == [0, 0]
    np.testing.assert_allclose(network.probabilities([[1, 2]]), 1 / 3, rtol=1e-6)


def test_bad_input(weights):
    with pytest.raises(ValueError, match="weights: expected kernels and biases"):
        FeedForward(weights[:-1])
    with pytest.raises(ValueError, match="weights: expected kernels and biases"):
        FeedForward([np.zeros((2, 1)), np.zeros(1)])
    with pytest.raises(ValueError, match="takes 5 columns"):
        FeedForward(weights).predict(np.zeros((2, 4)))
