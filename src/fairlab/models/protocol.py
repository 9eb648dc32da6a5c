"""The protocol by which any model comes in: what it predicts, and for a network its gradients."""

import sys

import numpy as np

from fairlab.networks import Network


def as_classifier(model):
    """Return a function from rows to one class each, for anything that predicts.

    Parameters
    ----------
    model : Network, Keras model, object with a ``predict`` method, or callable
        Keras models give probabilities, all others must give one class per row.

    Raises
    ------
    TypeError
        If `model` cannot be called.
    ValueError
        If a call of the function returned has another answer than one class per row.
    """
    if is_keras(model):
        return Network(model).predict
    call = getattr(model, "predict", model)
    if not callable(call):
        raise TypeError(f"model: expected a function or an object with .predict, found {type(model).__name__}")

    def classify(X):
        answer = np.asarray(call(X))
        if answer.shape != (len(X),):
            raise ValueError(f"model: returned shape {answer.shape} for {len(X)} rows, expected one class per row")
        return answer

    return classify


def as_network(model) -> Network:
    """Return a Keras model with batched gradients; a `Network` as it is.

    Raises
    ------
    TypeError
        If `model` is neither.
    """
    if isinstance(model, Network):
        return model
    if not is_keras(model):
        raise TypeError(f"model: expected a Keras model, whose gradients can be had, found {type(model).__name__}")
    return Network(model)


def is_keras(model) -> bool:
    """Return whether `model` is a Keras model, without importing Keras."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)
