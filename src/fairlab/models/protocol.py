"""The protocol by which any model comes in: its labels, its scores, and for a network its gradients."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from fairlab.networks import Network


@dataclass(frozen=True)
class Form:
    """How a model can be asked; every question takes a DataFrame with the model's features.

    Attributes
    ----------
    name : str
        Of the model's type.
    answer : callable or None
        What the model gives of its own: labels, or, of a function, whatever it returns.
    score : callable or None
        Takes rows and the number of a class, returns a float each: how much speaks for this class.
    unit : {"probability", "log odds", "score"} or None
        Of the score.
    classes : tuple or None
        The labels, where the model knows them; the numbers 0, 1, ... of a network.
    columns : tuple of str or None
        The features that the model was fitted to, where it knows them.
    gradient : callable or None
        Takes a matrix of the features and the number of a class, returns log odds and their input gradient.
    """

    name: str
    answer: Callable | None = None
    score: Callable | None = None
    unit: str | None = None
    classes: tuple | None = None
    columns: tuple[str, ...] | None = None
    gradient: Callable | None = None


def as_form(model) -> Form:
    """Return how a model can be asked.

    Parameters
    ----------
    model : object with ``predict`` or ``predict_proba``, Keras model, `Network`, PyTorch module, or callable
        A callable takes a DataFrame, as does a `CommandSoftware`.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if is_torch(model):
        from fairlab.models.torch_network import TorchNetwork

        return _network_form(TorchNetwork(model))
    if isinstance(model, Network):
        return _network_form(model)
    if is_keras(model):
        return _keras_form(model)
    if not isinstance(model, type) and (hasattr(model, "predict") or hasattr(model, "predict_proba")):
        return _estimator_form(model)
    if callable(model) and not isinstance(model, type):
        return Form(getattr(model, "__name__", type(model).__name__), answer=model)
    expected = "an object with .predict or .predict_proba, a Keras or PyTorch network, or a function of a DataFrame"
    hint = "; a program comes in as CommandSoftware([...])" if isinstance(model, str | list | tuple) else ""
    found = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
    raise TypeError(f"model: expected {expected}, found {found}{hint}")


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

    Examples
    --------
    >>> from fairlab.models import as_classifier
    >>> as_classifier(lambda rows: rows[:, 0] > 1)(np.array([[0], [2]])).tolist()
    [False, True]
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

    Examples
    --------
    >>> from fairlab.models import as_network
    >>> as_network("a model")
    Traceback (most recent call last):
    ...
    TypeError: model: expected a Keras model, whose gradients can be had, found str
    """
    if isinstance(model, Network):
        return model
    if not is_keras(model):
        raise TypeError(f"model: expected a Keras model, whose gradients can be had, found {type(model).__name__}")
    return Network(model)


def is_keras(model) -> bool:
    """Return whether `model` is a Keras model, without importing Keras.

    Examples
    --------
    >>> from fairlab.models import LinearClassifier, is_keras
    >>> is_keras(LinearClassifier([1.0], 0.0))
    False
    """
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def is_torch(model) -> bool:
    """Return whether `model` is a PyTorch module, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def as_matrix(rows: pd.DataFrame, n_features: int) -> np.ndarray:
    """Return rows of numbers and truth values as a network takes them, in float32.

    Raises
    ------
    ValueError
        If there are other columns than the network takes, a column is not numeric, or a value is missing.
    """
    if rows.shape[1] != n_features:
        found = ", ".join(rows.columns)
        raise ValueError(f"features: the network takes {n_features} columns, found {rows.shape[1]}: {found}")
    for name, dtype in rows.dtypes.items():
        if not pd.api.types.is_numeric_dtype(dtype):
            advice = "put its encoding and the network into a function of a DataFrame"
            raise ValueError(f"model: a network takes numbers, column {name!r} has type {dtype}; {advice}")
        if rows[name].isna().any():
            raise ValueError(f"model: a network takes no missing values, column {name!r} has some")
    with np.errstate(over="ignore"):
        return rows.to_numpy(dtype=np.float64).astype(np.float32)


def _keras_form(model) -> Form:
    inputs = getattr(model, "inputs", None)
    if inputs is not None and len(inputs) > 1:
        raise TypeError(f"model: expected a Keras model with one input, found {len(inputs)}; wrap it in a function")
    try:
        return _network_form(Network(model))
    except (AttributeError, ValueError):
        # An end without softmax or sigmoid, layers within layers, a class of its own: the model is asked as it is.
        shape = getattr(model, "input_shape", None)
        n_features = shape[-1] if isinstance(shape, tuple) else None

        def answer(rows):
            return model.predict(as_matrix(rows, n_features or rows.shape[1]), verbose=0)

        return Form(type(model).__name__, answer=answer)


def _network_form(network) -> Form:
    def odds_of(logits, label):
        logits = logits.astype(float)
        return logits[:, label] - logsumexp(np.delete(logits, label, axis=1), axis=1)

    def odds(rows, label):
        return odds_of(network.logits(as_matrix(rows, network.n_features)), label)

    def gradient(matrix, label):
        return odds_of(network.logits(matrix), label), network.log_odds_gradient(matrix, label)

    def best(rows):
        return network.logits(as_matrix(rows, network.n_features)).argmax(axis=1)

    classes, answer = tuple(range(network.n_classes)), best if network.n_classes > 2 else None
    return Form(type(network.model).__name__, answer, odds, "log odds", classes, None, gradient)


def _estimator_form(model) -> Form:
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise TypeError("model: expected one output, found several; hand them in one by one")
    if classes is not None:
        classes = tuple(np.asarray(classes).tolist())
    columns = _fitted_columns(model)
    # What was fitted to a plain array is given one: many libraries refuse, or warn of, names that they have not seen.
    given = _as_array if columns is None and hasattr(model, "n_features_in_") else lambda rows: rows
    answer = score = unit = None
    if hasattr(model, "predict"):

        def answer(rows):
            return model.predict(given(rows))

    if hasattr(model, "predict_proba"):
        n_classes, unit = 2 if classes is None else len(classes), "probability"

        def score(rows, label):
            return _shaped(model.predict_proba(given(rows)), (len(rows), n_classes), "predict_proba")[:, label]

    elif hasattr(model, "decision_function") and classes is not None and len(classes) == 2:
        unit = "score"

        def score(rows, label):
            values = _shaped(model.decision_function(given(rows)), (len(rows),), "decision_function")
            return values if label == 1 else -values

    if answer is None and classes is None:
        classes = (0, 1)
    return Form(type(model).__name__, answer, score, unit, classes, columns)


def _fitted_columns(model) -> tuple[str, ...] | None:
    names = getattr(model, "feature_names_in_", None)
    if names is None or all(re.fullmatch(r"Column_\d+", str(name)) for name in names):  # LightGBM's for an array
        return None
    return tuple(map(str, names))


def _as_array(rows: pd.DataFrame) -> np.ndarray:
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in rows.dtypes):
        return rows.to_numpy(dtype=float, na_value=np.nan)
    return rows.to_numpy()


def _shaped(values, shape: tuple[int, ...], what: str) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.shape != shape:
        raise ValueError(f"model: {what} returned shape {values.shape}, expected {shape}")
    return values
