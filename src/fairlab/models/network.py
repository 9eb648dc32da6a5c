"""Classifiers that are networks with one hidden layer and two outputs, and the balanced batches they learn from."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_count, check_number, check_seed
from fairlab.models.classifiers import HiddenUnits, LearnedClassifier, like
from fairlab.networks import initial_network, layer_inputs


class NetworkClassifier(LearnedClassifier):
    """Classifier whose `fit` ends with a network; it has the parameters that `_start` needs.

    Attributes
    ----------
    network_ : tuple of ndarray
        Hidden weights (n_features, n_hidden) and biases (n_hidden,), output weights (n_hidden, 2) and biases (2,).
    """

    def log_odds(self, X):
        """Return the log odds of label 1, shape (..., n_points)."""
        check_is_fitted(self)
        network = [like(X, part) for part in self.network_]
        *_, active = layer_inputs(network, X)
        output, bias = network[-2:]
        return (active @ (output[:, 1:] - output[:, :1]))[..., 0] + bias[1] - bias[0]

    @property
    def units(self) -> HiddenUnits:
        """The hidden layer."""
        check_is_fitted(self)
        kernel, bias, output, output_bias = self.network_
        return HiddenUnits(kernel, bias, output[:, 1] - output[:, 0], float(output_bias[1] - output_bias[0]))

    def _start(self, X, y, *, bias: float = 0.0) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
        """Return what training starts from: features and labels, checked, initial network, and rows of each batch.

        Network and batches come from one generator, in this order. The biases start at `bias`.
        """
        check_count(self.n_hidden, "n_hidden")
        check_count(self.n_steps, "n_steps")
        check_count(self.batch_size, "batch_size", least=2)
        check_number(self.learning_rate, "learning_rate", above=0)
        check_seed(self.random_state)
        features, labels = self._training_data(X, y)
        rng = np.random.default_rng(self.random_state)
        network = initial_network(rng, (features.shape[1], self.n_hidden, 2), bias=bias)
        return features, labels, network, balanced_batches(rng, labels, self.n_steps, self.batch_size)

    def _keep(self, network):
        self.network_ = tuple(np.asarray(part) for part in network)
        return self


def balanced_batches(rng: np.random.Generator, y: np.ndarray, n_batches: int, batch_size: int) -> np.ndarray:
    """Return row numbers drawn with replacement, shape (n_batches, batch_size): half negatives, half positives."""
    halves = [
        rows[rng.integers(len(rows), size=(n_batches, batch_size // 2))]
        for rows in (np.flatnonzero(y == label) for label in (0, 1))
    ]
    return np.concatenate(halves, axis=1).astype(np.int32)
