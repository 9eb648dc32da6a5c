"""Classifiers that are networks with one hidden layer and two outputs, and the balanced batches they learn from."""

import numpy as np
import tensorflow as tf
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_features
from fairlab.models.classifiers import StoredClassifier
from fairlab.networks import layer_inputs


class NetworkClassifier(StoredClassifier):
    """Classifier whose `fit` ends with a network.

    Attributes
    ----------
    network_ : tuple of ndarray
        Hidden weights (n_features, n_hidden) and biases (n_hidden,), output weights (n_hidden, 2) and biases (2,).
    classes_ : ndarray of shape (2,)
        0 and 1.
    """

    def log_odds(self, X):
        """Return the log odds of label 1: a tensor of shape (..., n_points)."""
        check_is_fitted(self)
        network = [tf.cast(part, X.dtype) for part in self.network_]
        *_, active = layer_inputs(network, X)
        output, bias = network[-2:]
        return tf.linalg.matvec(active, output[:, 1] - output[:, 0]) + bias[1] - bias[0]

    def _keep(self, network):
        self.network_ = tuple(part.numpy() for part in network)
        self.classes_ = np.array([0, 1])
        return self


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
