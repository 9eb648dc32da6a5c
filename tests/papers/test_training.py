import numpy as np
from scipy.special import log_softmax

from fairlab.networks import forward, initial_network
from fairlab.papers.training import Training, backpropagate, member, stacked


def losses(networks, X, y):
    """Mean cross-entropies of networks, each on rows of its own."""
    return [
        -log_softmax(forward(network, rows), axis=1)[np.arange(len(rows)), labels].mean()
        for network, rows, labels in zip(networks, X, y, strict=True)
    ]


def test_backpropagated_gradients_are_those_of_finite_differences(rng):
    networks = [initial_network(rng, (3, 5, 4, 3), bias=0.1) for _ in range(2)]
    network = [part.astype(float) for part in stacked(networks)]
    X, y = rng.normal(size=(2, 7, 3)), rng.integers(3, size=(2, 7))
    gradient = [np.full_like(part, np.nan) for part in network]
    backpropagate(network, X, y, out=gradient)
    for part, slopes in zip(network, gradient, strict=True):
        for place in np.ndindex(part.shape):
            at = part[place]
            ends = []
            for part[place] in (at + 1e-6, at - 1e-6):
                ends.append(losses([member(network, k) for k in range(2)], X, y)[place[0]])
            part[place] = at
            np.testing.assert_allclose(slopes[place], (ends[0] - ends[1]) / 2e-6, atol=1e-8)


def test_networks_side_by_side_learn_as_each_alone():
    rng = np.random.default_rng(1)
    start = [initial_network(rng, (3, 5, 2)) for _ in range(3)]
    X, y = rng.normal(size=(40, 3)).astype(np.float32), rng.integers(2, size=40)
    rows = rng.integers(40, size=(6, 3, 8))
    together, alone = Training(start, 0.01), [Training([network], 0.01) for network in start]
    for batches in rows:
        together.learn_from(X, y, batches)
        for own, batch in zip(alone, batches, strict=True):
            own.step(X[batch][None], y[batch][None])
    for found, own in zip(together.networks(), alone, strict=True):
        for part, expected in zip(found, own.networks()[0], strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-6)
