"""Networks with one hidden layer of ReLUs and a softmax over two classes, and Adam: what trained learners share.

A network is a tuple (hidden weights, hidden biases, output weights, output biases) with shapes (n_features, n_hidden),
(n_hidden,), (n_hidden, 2) and (2,).
"""

import numpy as np
import tensorflow as tf
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_features
from fairlab.models.classifiers import StoredClassifier

BETA_1, BETA_2 = 0.9, 0.999


class NetworkClassifier(StoredClassifier):
    """Classifier whose `fit` ends with a network.

    Attributes
    ----------
    network_ : tuple of ndarray
        Weights and biases.
    classes_ : ndarray of shape (2,)
        0 and 1.
    """

    def log_odds(self, X):
        """Return the log odds of label 1: a tensor of shape (..., n_points)."""
        check_is_fitted(self)
        return log_odds(self.network_, X)

    def _keep(self, network):
        self.network_ = tuple(layer.numpy() for layer in network)
        self.classes_ = np.array([0, 1])
        return self


def initial_network(rng: np.random.Generator, n_features: int, n_hidden: int, *, bias: float = 0.0) -> tuple:
    """Return Glorot-uniform weights and constant biases."""
    layers = []
    for n_in, n_out in ((n_features, n_hidden), (n_hidden, 2)):
        bound = np.sqrt(6 / (n_in + n_out))
        layers += [rng.uniform(-bound, bound, (n_in, n_out)), np.full(n_out, bias)]
    return tuple(layer.astype(np.float32) for layer in layers)


def logits(network, X):
    """Return the outputs before the softmax, shape (..., n_points, 2)."""
    hidden, hidden_bias, output, output_bias = network
    return tf.nn.relu(X @ hidden + hidden_bias) @ output + output_bias


def log_odds(network, X):
    """Return the log odds of class 1, shape (..., n_points)."""
    hidden, hidden_bias, output, output_bias = (tf.cast(layer, X.dtype) for layer in network)
    active = tf.nn.relu(X @ hidden + hidden_bias)
    return tf.linalg.matvec(active, output[:, 1] - output[:, 0]) + output_bias[1] - output_bias[0]


def mean_loss_gradient(network, X, y):
    """Return the gradient of the mean cross-entropy by every part of the network."""
    with tf.GradientTape() as tape:
        tape.watch(network)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(network, X))
        loss = tf.reduce_mean(losses)
    return tape.gradient(loss, network)


def adam_start(parameters) -> tuple:
    """Return Adam's state before its first step: mean gradients, mean squared gradients, number of steps."""
    zeros = tuple(tf.zeros_like(parameter) for parameter in parameters)
    return zeros, zeros, tf.constant(0.0)


def adam(parameters, gradients, state, learning_rate, *, epsilon=1e-7):
    """Return parameters and state after one step downhill (Kingma and Ba 2015; epsilon outside the root)."""
    means, squares, step = state
    step += 1
    means = tuple(BETA_1 * m + (1 - BETA_1) * g for m, g in zip(means, gradients, strict=True))
    squares = tuple(BETA_2 * s + (1 - BETA_2) * g * g for s, g in zip(squares, gradients, strict=True))
    rate = learning_rate * tf.sqrt(1 - BETA_2**step) / (1 - BETA_1**step)
    moved = zip(parameters, means, squares, strict=True)
    return tuple(p - rate * m / (tf.sqrt(s) + epsilon) for p, m, s in moved), (means, squares, step)


def balanced_batches(rng: np.random.Generator, y: np.ndarray, n_batches: int, batch_size: int) -> np.ndarray:
    """Return row numbers drawn with replacement, shape (n_batches, batch_size): half negatives, half positives."""
    halves = [
        rows[rng.integers(len(rows), size=(n_batches, batch_size // 2))]
        for rows in (np.flatnonzero(y == label) for label in (0, 1))
    ]
    return np.concatenate(halves, axis=1).astype(np.int32)


def check_training(X, y) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return features in single precision, labels and the names of the features.

    Raises
    ------
    ValueError
        For features that are not finite numbers, labels other than 0 and 1, or one class only.
    """
    values, names = check_features(X, "X", min_rows=2)
    labels = np.asarray(y)
    if labels.shape != (len(values),):
        raise ValueError(f"y has shape {labels.shape}, expected ({len(values)},)")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"y: expected labels 0 and 1, found {labels[~np.isin(labels, (0, 1))][0]}")
    if labels.min() == labels.max():
        raise ValueError(f"y: every label is {labels[0]}, expected both classes")
    return values.astype(np.float32), labels.astype(np.int32), names
