"""Training of small networks side by side, in NumPy, as the papers on networks do it: Adam on cross-entropies.

Networks have the form of `fairlab.networks`; several are stacked on a leading axis.
"""

from itertools import pairwise

import numpy as np

from fairlab.networks import forward, layer_inputs, softmax

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7  # of Adam, as in Keras


def stacked(networks) -> list[np.ndarray]:
    """Return networks of one shape as the members of one, on a leading axis."""
    return [np.stack(parts) for parts in zip(*networks, strict=True)]


def member(network, k) -> list:
    """Return one member of a stacked network or, for a slice, several that are still stacked."""
    return [part[k] for part in network]


def backpropagate(network, X, y, *, out) -> None:
    """Write the gradient of every member's mean cross-entropy into `out`, which is laid out as `network` is.

    Parameters
    ----------
    network : list of ndarray
        With an axis of members.
    X : ndarray of shape (n_members, n_rows, n_in)
    y : ndarray of int of shape (n_members, n_rows)
    """
    inputs = list(layer_inputs(network, X))
    error = softmax(forward(network[-2:], inputs[-1]))
    error -= y[..., None] == np.arange(error.shape[-1])
    error /= y.shape[-1]
    for k in reversed(range(len(inputs))):
        np.matmul(inputs[k].swapaxes(-1, -2), error, out=out[2 * k])
        np.einsum("mnj->mj", error, out=out[2 * k + 1])  # the sum over rows, to the same bits in a third of the time
        if k > 0:
            error = error @ network[2 * k].swapaxes(-1, -2)
            error *= inputs[k] > 0


def adam(parameters, gradient, mean, square, step: int, learning_rate: float, *, epsilon=EPSILON) -> None:
    """Take the `step`-th step of Adam, counted from 1, on arrays: `parameters`, `mean` and `square` are changed.

    As in Kingma and Ba 2015, with epsilon outside the root.
    """
    mean += (1 - BETA_1) * (gradient - mean)
    square += (1 - BETA_2) * (gradient**2 - square)
    rate = learning_rate * np.sqrt(1 - BETA_2**step) / (1 - BETA_1**step)
    parameters -= rate * mean / (np.sqrt(square) + epsilon)


class Training:
    """Networks of one shape that learn side by side, by Adam on their mean cross-entropies.

    In NumPy: for small networks that is quicker than calls of compiled code.

    Parameters
    ----------
    networks : sequence of lists of ndarray
        Initial weights of each; not modified.
    learning_rate, epsilon : float

    Attributes
    ----------
    network : list of ndarray
        The stacked networks as they are now.
    """

    def __init__(self, networks, learning_rate: float, *, epsilon: float = EPSILON):
        shapes = [np.shape(part) for part in networks[0]]
        flat = [np.concatenate([np.ravel(part) for part in network]) for network in networks]
        self._flat = np.stack(flat).astype(np.float32)
        self._gradient, self._mean, self._square = (np.zeros_like(self._flat) for _ in range(3))
        self.network, self._slopes = (_views(values, shapes) for values in (self._flat, self._gradient))
        self._learning_rate, self._epsilon, self._n_steps = learning_rate, epsilon, 0

    def step(self, X, y) -> None:
        """Learn from a batch of each network, shapes (n_networks, n_rows, n_in) and (n_networks, n_rows)."""
        backpropagate(self.network, X, y, out=self._slopes)
        self._n_steps += 1
        state = self._gradient, self._mean, self._square, self._n_steps, self._learning_rate
        adam(self._flat, *state, epsilon=self._epsilon)

    def learn_from(self, X, y, rows) -> None:
        """Take a step on some rows of a table; `rows` has each network's batch, shape (n_networks, n_rows)."""
        self.step(X.take(rows, axis=0), y[rows])  # much faster than indexing where each row is contiguous

    def networks(self) -> list[list[np.ndarray]]:
        """Return copies of the networks."""
        return [[part.copy() for part in member(self.network, k)] for k in range(len(self._flat))]


def _views(flat, shapes) -> list[np.ndarray]:
    """Return the kernels and biases of all members as views of one array."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    return [flat[:, low:high].reshape(-1, *shape) for (low, high), shape in zip(pairwise(ends), shapes, strict=True)]
