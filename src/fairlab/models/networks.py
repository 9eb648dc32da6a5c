"""Models of all kinds as networks: what knows its logits and their gradients, whatever it was made with."""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from fairlab.networks import BaseNetwork, FeedForward, Network


def as_network(model) -> BaseNetwork | None:
    """Return a model as a network, with `logits` and `log_odds_gradient`; None where there is none.

    That is a Keras or PyTorch classifier, a logistic regression or a ReLU network of scikit-learn's, fitted, or a
    network already. Classes are numbered in their order.

    Parameters
    ----------
    model : object

    Raises
    ------
    ValueError
        If a Keras or PyTorch model is no classifier of rows of numbers.

    Examples
    --------
    >>> from fairlab.models import as_network
    >>> from sklearn.linear_model import LogisticRegression
    >>> line = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> as_network(line).predict([[0.0], [3.0]]).tolist()
    [0, 1]
    """
    if isinstance(model, BaseNetwork):
        return model
    # Neither package is imported for models of the other kinds.
    keras, torch = sys.modules.get("keras"), sys.modules.get("torch")
    if keras is not None and isinstance(model, keras.Model):
        return Network(model)
    if torch is not None and isinstance(model, torch.nn.Module):
        from fairlab.models.torch_network import TorchNetwork

        return TorchNetwork(model)
    layers = _layers(model)
    return None if layers is None else FeedForward(layers)


def _layers(model) -> list[np.ndarray] | None:
    """Return kernels and biases of a model of scikit-learn's, the last ones of two or more logits."""
    if isinstance(model, LogisticRegression) and hasattr(model, "coef_"):
        kernels, biases = [model.coef_.T], [model.intercept_]
        is_softmax = len(model.classes_) == 2 or model.solver != "liblinear"  # which takes class after class
    elif isinstance(model, MLPClassifier) and hasattr(model, "coefs_"):
        kernels, biases = [*model.coefs_], [*model.intercepts_]
        is_softmax = model.activation == "relu" and (model.n_outputs_ == 1 or model.out_activation_ == "softmax")
    else:
        return None
    if kernels[-1].shape[1] == 1:
        kernels[-1], biases[-1] = (np.concatenate([0 * part, part], axis=-1) for part in (kernels[-1], biases[-1]))
    return [part for layer in zip(kernels, biases, strict=True) for part in layer] if is_softmax else None
