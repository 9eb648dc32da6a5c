"""Networks of fully connected layers in NumPy: what ADF asks of a `Network`, without a compiler.

The networks of the paper are so small that a call of compiled code takes longer than the numbers it returns.
"""

from itertools import pairwise

import numpy as np
from scipy.special import softmax

LEAST = np.finfo(np.float32).tiny  # below it numbers are denormal, which compiled code rounds to 0


class FeedForward:
    """Classes and input gradients of a network given by its weights, ReLU between layers, in float32.

    Parameters
    ----------
    weights : sequence of ndarray
        Kernels and biases in turn; the last layer has one logit for each of two or more classes.

    Attributes
    ----------
    n_features, n_classes : int

    Raises
    ------
    ValueError
        If the weights do not fit each other.
    """

    def __init__(self, weights):
        shapes = [np.shape(part) for part in weights]
        kernels, biases = shapes[::2], shapes[1::2]
        fitting = len(kernels) == len(biases) > 0 and all(len(shape) == 2 for shape in kernels)
        fitting = fitting and all(bias == shape[1:] for shape, bias in zip(kernels, biases, strict=True))
        if not fitting or any(one[1] != other[0] for one, other in pairwise(kernels)) or kernels[-1][1] < 2:
            raise ValueError(f"weights: expected kernels and biases in turn that fit each other, found shapes {shapes}")
        self._weights = [np.asarray(part, dtype=np.float32) for part in weights]
        self.n_features, self.n_classes = kernels[0][0], kernels[-1][1]

    def predict(self, X) -> np.ndarray:
        """Return the class of every row, the first of several with the same logit."""
        logits = self.logits(X)
        return (logits[:, 1] > logits[:, 0]).astype(int) if self.n_classes == 2 else logits.argmax(axis=1)

    def probabilities(self, X) -> np.ndarray:
        """Return the probabilities in float32, shape (n_rows, n_classes)."""
        return softmax(self.logits(X), axis=-1)

    def logits(self, X) -> np.ndarray:
        """Return the inputs of the softmax in float32, shape (n_rows, n_classes)."""
        return self._layers(X)[-1]

    def loss_gradient(self, X) -> np.ndarray:
        """Return the input gradient of the cross-entropy with the predicted class as the label, ties shared.

        Exactly 0 where the probability of the other classes rounds to 0.
        """
        *inputs, logits = self._layers(X)
        p = softmax(logits, axis=1)
        label = (p == p.max(axis=1, keepdims=True)).astype(np.float32)
        return self._backwards(inputs, p - label / label.sum(axis=1, keepdims=True))

    def margin_gradient(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the lead of the highest logit over the second, shape (n_rows,), and its input gradient."""
        *inputs, logits = self._layers(X)
        each, order = np.arange(len(logits)), np.argsort(-logits, axis=1, kind="stable")
        slope = np.zeros_like(logits)
        slope[each, order[:, 0]], slope[each, order[:, 1]] = 1, -1
        return logits[each, order[:, 0]] - logits[each, order[:, 1]], self._backwards(inputs, slope)

    def _backwards(self, inputs, slope) -> np.ndarray:
        """Return the slope by the inputs of a network from that by its logits."""
        for k in reversed(range(len(inputs))):
            slope[np.abs(slope) < LEAST] = 0
            slope = slope @ self._weights[2 * k].T
            if k:
                slope *= inputs[k] > 0
        slope[np.abs(slope) < LEAST] = 0
        return slope

    def _layers(self, X) -> list[np.ndarray]:
        """Return what enters each layer, and the logits."""
        layers = [np.asarray(X, dtype=np.float32)]
        if layers[0].ndim != 2 or layers[0].shape[1] != self.n_features:
            raise ValueError(f"X: the network takes {self.n_features} columns, was given shape {layers[0].shape}")
        for number in range(0, len(self._weights), 2):
            if number:
                np.maximum(layers[-1], 0, out=layers[-1])
            layers.append(layers[-1] @ self._weights[number])
            layers[-1] += self._weights[number + 1]
        return layers
