"""Training of a network with one hidden layer and two outputs in compiled loops, step by step of Adam.

Arrays have the points last. The loss goes by the log odds of label 1, so both outputs move against each other.
"""

import numpy as np

from fairlab.models.loops import compiled
from fairlab.networks import BETA_1, BETA_2, EPSILON

B1, C1, B2, C2 = np.float32(BETA_1), np.float32(1 - BETA_1), np.float32(BETA_2), np.float32(1 - BETA_2)
ONE, ZERO = np.float32(1), np.float32(0)


def train(X, y, batches, network, learning_rate: float) -> list[np.ndarray]:
    """Train one network; see `fairlab.models.mlp.BalancedMLP`.

    Parameters
    ----------
    X : array of float32 of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Classes 0 and 1.
    batches : array of int of shape (n_steps, batch_size)
    network : list of ndarray
        What training starts from; it is left as it is.
    learning_rate : float
    """
    network = [np.array(part, np.float32) for part in network]
    sign = np.where(y == 1, ONE, -ONE)
    _train(np.ascontiguousarray(X), sign, batches, *network, learning_rate, np.float32(EPSILON))
    return network


def adam_rates(rate: float, n_steps: int) -> np.ndarray:
    """Return Adam's rate in each of its steps, which makes up for moments that start at zero, shape (n_steps,)."""
    k = np.arange(1, n_steps + 1)
    return (rate * np.sqrt(1 - BETA_2**k) / (1 - BETA_1**k)).astype(np.float32)


@compiled
def _train(X, sign, batches, hidden, hidden_bias, output, output_bias, learning_rate, epsilon):
    moments = first_moments(*hidden.shape)
    odds = np.empty(batches.shape[1], np.float32)
    for k in range(len(batches)):
        points, signs = X[batches[k]].T.copy(), sign[batches[k]]
        weight, bias = output[:, 1] - output[:, 0], output_bias[1] - output_bias[0]
        entering = enter(points, hidden, hidden_bias)
        active = np.empty_like(entering)
        activate(entering, weight, bias, active, odds)
        learn(points, signs, odds, active, hidden, hidden_bias, output, output_bias, moments, k, learning_rate, epsilon)


@compiled
def first_moments(n_features, n_hidden):
    """Return both moments, zero, of hidden weights, hidden biases, output weights and output bias."""
    return (
        np.zeros((2, n_features * n_hidden), np.float32),
        np.zeros((2, n_hidden), np.float32),
        np.zeros((2, n_hidden), np.float32),
        np.zeros((2, 1), np.float32),
    )


@compiled
def enter(points, hidden, hidden_bias):
    """Return what enters the hidden units, shape (n_hidden, n_points)."""
    entering = np.dot(hidden.T, points)
    for j in range(len(entering)):
        entering[j] += hidden_bias[j]
    return entering


@compiled
def activate(entering, weight, bias, active, odds):
    """Write the output weights of the units that are active, zero for the others, and the log odds."""
    odds[:] = bias
    for j in range(len(entering)):
        for i in range(len(odds)):
            active[j, i] = weight[j] if entering[j, i] > ZERO else ZERO
            odds[i] += weight[j] * max(entering[j, i], ZERO)


@compiled
def learn(
    points, signs, odds, active, hidden, hidden_bias, output, output_bias, moments, n_before, learning_rate, epsilon
):
    """Change the network by one step of Adam after `n_before` others; `points` and `signs` are used up."""
    n_features, n_hidden = hidden.shape
    weight = output[:, 1] - output[:, 0]
    total = ZERO
    for i in range(len(odds)):
        signs[i] *= -ONE / (ONE + np.exp(signs[i] * odds[i])) / np.float32(len(odds))
        total += signs[i]
    for f in range(n_features):
        points[f] *= signs
    by_hidden, by_bias = np.dot(points, active.T), np.dot(active, signs)
    by_output = hidden_bias * by_bias
    for f in range(n_features):
        by_output += hidden[f] * by_hidden[f]
    for j in range(n_hidden):
        by_output[j] = by_output[j] / weight[j] if weight[j] != ZERO else ZERO
    rate = np.float32(learning_rate * np.sqrt(1 - BETA_2 ** (n_before + 1)) / (1 - BETA_1 ** (n_before + 1)))
    adam_step(hidden.ravel(), by_hidden.ravel(), moments[0], rate, epsilon)
    adam_step(hidden_bias, by_bias, moments[1], rate, epsilon)
    step = np.zeros(n_hidden, np.float32)
    adam_step(step, by_output, moments[2], rate, epsilon)
    output[:, 1] += step
    output[:, 0] -= step
    step = np.zeros(1, np.float32)
    adam_step(step, np.full(1, total, np.float32), moments[3], rate, epsilon)
    output_bias[1] += step[0]
    output_bias[0] -= step[0]


@compiled
def adam_step(values, gradient, moments, rate, epsilon):
    """Move values one step downhill; `rate` makes up for moments that start at zero."""
    for i in range(len(values)):
        moments[0, i] = B1 * moments[0, i] + C1 * gradient[i]
        moments[1, i] = B2 * moments[1, i] + C2 * gradient[i] * gradient[i]
        values[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) + epsilon)
