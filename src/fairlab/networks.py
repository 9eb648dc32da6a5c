"""Networks: fully connected ones by their weights, Keras models, and the common interface of all networks.

A network: kernels (..., n_in, n_out) and biases (..., n_out) in turn, arrays or tensors; leading axes are members.

Examples
--------
>>> from fairlab.networks import FeedForward
>>> FeedForward([np.eye(2), np.zeros(2)]).predict([[3, 1]])
array([0])
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from fairlab.checks import check_flag, optional
from fairlab.statistics import over_last

keras, tf = optional("keras"), optional("tensorflow")

DENORMAL = np.finfo(np.float32).tiny  # smaller numbers are denormal, which compiled code rounds to 0

CHUNK = 1 << 16  # rows passed through a model at once
SIZES = (1, 64, 256, 1024, 4096, 16384, CHUNK)  # batches are filled up to one of these: each size is compiled anew
_COMPILED = {}

__all__ = ["FeedForward", "Network"]  # the rest is for building networks


def initial_network(rng: np.random.Generator, widths: Sequence[int], *, bias: float = 0.0) -> list[np.ndarray]:
    """Return one network with Glorot-uniform kernels, drawn layer by layer, and constant biases, in float32.

    Parameters
    ----------
    rng : numpy.random.Generator
    widths : sequence of int
        Widths of all layers, input and output included.
    bias : float
    """
    network = []
    for n_in, n_out in pairwise(widths):
        bound = np.sqrt(6 / (n_in + n_out))
        network += [rng.uniform(-bound, bound, (n_in, n_out)), np.full(n_out, bias)]
    return [part.astype(np.float32) for part in network]


def layer_inputs(network, X):
    """Yield the input of each layer: `X`, then the output of every hidden layer.

    Parameters
    ----------
    network : sequence of arrays or tensors
    X : array or tensor of shape (..., n_rows, n_in)
    """
    yield X
    for kernel, bias in zip(network[:-2:2], network[1:-2:2], strict=True):
        X = X @ kernel
        X += bias[..., None, :]
        X = np.maximum(X, 0, out=X) if isinstance(X, np.ndarray) else tf.nn.relu(X)
        yield X


def forward(network, X):
    """Return the outputs of the last layer, without activation.

    Parameters
    ----------
    network : sequence of arrays or tensors
    X : array or tensor of shape (..., n_rows, n_in)
        Leading axes are those of the members, or of the points of one network.

    Returns
    -------
    array or tensor of shape (..., n_rows, n_out)
    """
    for entering in layer_inputs(network, X):  # one after the other: the layers of a large table are large
        X = entering
    return X @ network[-2] + network[-1][..., None, :]


# Slopes, by the logits, of the functions whose gradients are computed; `xp` is NumPy or, for compiled code,
# TensorFlow's version of it. `label` is the number of a class, -1 the predicted one.


def loss_slope(logits, label, xp):
    """Return the slope of the cross-entropy with the predicted class as the label, ties shared; `label` is not used."""
    p = softmax(logits, xp)
    best = xp.where(p == over_last(xp.maximum, p)[:, None], xp.ones_like(p), xp.zeros_like(p))
    return p - best / over_last(xp.add, best)[:, None]


def log_odds_slope(logits, label, xp):
    """Return the slope of the log odds of a class against all others."""
    own = xp.where(label < 0, xp.argmax(logits, axis=1), label)[:, None] == xp.arange(logits.shape[1])
    others = xp.where(own, xp.full_like(logits, -np.inf), logits)
    return xp.where(own, xp.ones_like(logits), -softmax(others, xp))


def softmax(logits, xp=np):
    """Return the softmax over the last axis, as SciPy does, but several times as fast for few classes."""
    powers = xp.exp(logits - over_last(xp.maximum, logits)[..., None])
    return powers / over_last(xp.add, powers)[..., None]


def _log_odds(logits, label: int) -> np.ndarray:
    """Return the log odds of a class, -1 being the predicted one, in double precision, accurate for any confidence."""
    logits = np.asarray(logits, dtype=float)
    own = (logits.argmax(axis=1) if label < 0 else np.full(len(logits), label))[:, None]
    if logits.shape[1] == 2:  # to the same bits, without a call that takes longer than a small network
        return (np.take_along_axis(logits, own, axis=1) - np.take_along_axis(logits, 1 - own, axis=1))[:, 0]
    others = logits.copy()
    np.put_along_axis(others, own, -np.inf, axis=1)
    return np.take_along_axis(logits, own, axis=1)[:, 0] - logsumexp(others, axis=1)


class BaseNetwork:
    """A classifier of rows of numbers, defined by its logits and their gradients by its inputs.

    Everything is computed in float32, as is usual for networks. Subclasses set `n_features` and `n_classes`, and define
    `_answer`, from which all other methods follow.

    Attributes
    ----------
    n_features, n_classes : int
        One sigmoid or logit is two classes.
    """

    n_features: int
    n_classes: int

    def predict(self, X) -> np.ndarray:
        """Return the class of every row, the first of several with the same logit."""
        logits = self.logits(X)
        return (logits[:, 1] > logits[:, 0]).astype(int) if self.n_classes == 2 else logits.argmax(axis=1)

    def probabilities(self, X) -> np.ndarray:
        """Return the probabilities, shape (n_rows, n_classes)."""
        return softmax(self.logits(X))

    def logits(self, X) -> np.ndarray:
        """Return the inputs of the softmax, shape (n_rows, n_classes); for a sigmoid, these are 0 and its input.

        Raises
        ------
        ValueError
            If `X` has other columns, or a logit is not a finite number.
        """
        return self._in_chunks(X)[0]

    def log_odds(self, X, label: int | None = None) -> np.ndarray:
        """Return the log odds of a class, by default of the predicted one, against all others, shape (n_rows,).

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        label : int or None
            Number of the class.
        """
        return _log_odds(self.logits(X), self._class(label))

    def log_odds_gradient(self, X, label: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds of a class against all others, shape (n_rows,), and their input gradient.

        For the predicted class, minus this gradient has the direction of the loss gradient, but never rounds to 0.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        label : int or None
            Number of the class; the predicted one by default.

        Raises
        ------
        ValueError
            If a gradient is not a finite number, as for `logits`, or there is no such class.
        """
        label = self._class(label)
        logits, gradient = self._in_chunks(X, log_odds_slope, label)
        return _log_odds(logits, label), gradient

    def loss_gradient(self, X) -> np.ndarray:
        """Return the input gradient of the cross-entropy with the predicted class as the label, ties shared.

        Exactly 0 where the probability of the other classes rounds to 0.
        """
        return self._in_chunks(X, loss_slope)[1]

    def _class(self, label: int | None) -> int:
        """Return the number of a class, -1 for the predicted one."""
        if label is not None and label not in range(self.n_classes):
            raise ValueError(f"label: expected a class from 0 to {self.n_classes - 1}, found {label!r}")
        return -1 if label is None else label

    def _answer(self, X, slope=None, label=0):
        """Return the logits of rows in float32 and, with `slope`, a function of the logits, the input gradient."""
        raise NotImplementedError

    def _in_chunks(self, X, slope=None, label=0) -> list[np.ndarray]:
        """Return checked logits and, with `slope`, the input gradient of the function with this slope by the logits."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X: the network takes {self.n_features} columns, was given shape {X.shape}")
        X = single_precision(X)
        parts = [self._answer(X[start : start + CHUNK], slope, label) for start in range(0, max(len(X), 1), CHUNK)]
        answers = parts[0] if len(parts) == 1 else [np.concatenate(part) for part in zip(*parts, strict=True)]
        faults = "answers {} of {} inputs with what", "the gradient of {} of {} inputs"
        for values, fault in zip(answers, faults, strict=False):
            # Checking the sum is faster than checking every term, but finite terms may have an infinite sum.
            if not np.isfinite(values.sum()) and (bad := ~np.isfinite(values).all(axis=1)).any():
                raise ValueError(f"model: {fault.format(int(bad.sum()), len(bad))} is not a number")
        return answers


class FeedForward(BaseNetwork):
    """A network given by its weights, ReLU between layers, in NumPy.

    For small networks, or a few rows at a time, it is faster than calls of compiled code.

    Parameters
    ----------
    weights : sequence of ndarray
        Kernels and biases in turn; the last layer has one logit for each of two or more classes.

    Raises
    ------
    ValueError
        If the weights do not fit each other.

    Examples
    --------
    >>> from fairlab.networks import FeedForward
    >>> FeedForward([np.array([[1.0, -1.0]]), np.zeros(2)]).predict([[2.0], [-3.0]]).tolist()
    [0, 1]
    """

    def __init__(self, weights):
        shapes = [np.shape(part) for part in weights] if np.iterable(weights) else []
        kernels, biases = shapes[::2], shapes[1::2]
        fitting = len(kernels) == len(biases) > 0 and all(len(shape) == 2 for shape in kernels)
        fitting = fitting and all(bias == shape[1:] for shape, bias in zip(kernels, biases, strict=True))
        if not fitting or any(one[1] != other[0] for one, other in pairwise(kernels)) or kernels[-1][1] < 2:
            raise ValueError(f"weights: expected kernels and biases in turn that fit each other, found shapes {shapes}")
        self._weights = [np.asarray(part, dtype=np.float32) for part in weights]
        self.n_features, self.n_classes = kernels[0][0], kernels[-1][1]

    def _answer(self, X, slope=None, label=0):
        if slope is None:
            return (forward(self._weights, X),)
        inputs = list(layer_inputs(self._weights, X))
        logits = forward(self._weights[-2:], inputs[-1])
        gradient = slope(logits, label, np)
        for k in reversed(range(len(inputs))):
            gradient *= np.abs(gradient) >= DENORMAL  # ten times as fast as assigning zeros by a mask
            gradient = gradient @ self._weights[2 * k].T
            if k:
                gradient *= inputs[k] > 0
        gradient *= np.abs(gradient) >= DENORMAL
        return logits, gradient


class Network(BaseNetwork):
    """A Keras classifier, compiled, with the model's weights at the time of construction.

    The last layer is split into logits and softmax, since a cross-entropy computed from probabilities has no gradient
    where one of them rounds to 0.

    Parameters
    ----------
    model : keras.Model
        Takes rows of numbers; its last layer is a softmax over classes, or one sigmoid.
    from_logits : bool or None
        Whether the last layer gives logits instead; None to read it from the loss that the model was compiled with.

    Attributes
    ----------
    model : keras.Model
        Another model needs another network, as the functions of this one are compiled.

    Raises
    ------
    ValueError
        If the last layer is neither a softmax nor a sigmoid.

    Examples
    --------
    >>> from fairlab.networks import Network
    >>> import keras
    >>> layers = [keras.Input((2,)), keras.layers.Dense(2, activation="softmax")]
    >>> Network(keras.Sequential(layers)).probabilities([[3.0, 1.0]]).shape
    (1, 2)
    """

    def __init__(self, model, *, from_logits: bool | None = None):
        logits_of = logits_model(model, from_logits)
        self.model = model
        self.n_features = int(model.input_shape[-1])
        self.n_classes = max(int(logits_of.output_shape[-1]), 2)
        parts = (logits_of.trainable_variables, logits_of.non_trainable_variables)
        self._weights = [[tf.convert_to_tensor(part) for part in some] for some in parts]
        self._compiled = _compiled(model, logits_of, self._weights)

    def _answer(self, X, slope=None, label=0):
        answers = self._compiled[slope](*self._weights, _filled_up(X), np.int32(label))
        return tuple(answer.numpy()[: len(X)] for answer in answers)


def _compiled(model, logits_of, weights):
    """Return `_compile`'s functions, shared by networks of one architecture: compiling may outlast a search.

    Sharing requires layers whose whole state is in their weights: a Normalization keeps its statistics elsewhere, and
    user-defined functions are not identified by their names.
    """
    if not all(_is_stateless(layer) for layer in model.layers):
        return _compile(logits_of, weights)
    architecture = model.to_json(), model is logits_of
    if architecture not in _COMPILED:
        _COMPILED[architecture] = _compile(logits_of, weights)
    return _COMPILED[architecture]


def _is_stateless(layer) -> bool:
    plain = ("InputLayer", "Dense", "Activation", "BatchNormalization", "Dropout", "ReLU", "LeakyReLU", "Softmax")
    activation = getattr(layer, "activation", None)
    known = activation is None or activation is getattr(keras.activations, getattr(activation, "__name__", ""), None)
    return known and type(layer) in [getattr(keras.layers, name) for name in plain]


def _compile(logits_of, weights):
    """Return compiled functions of weights, inputs and a class by their slope: logits, then the input gradient."""
    specs = [[tf.TensorSpec(part.shape, part.dtype) for part in some] for some in weights]
    specs += [tf.TensorSpec([None, logits_of.input_shape[-1]], tf.float32), tf.TensorSpec([], tf.int32)]

    def logits(trainable, fixed, X):
        answer, _ = logits_of.stateless_call(trainable, fixed, X, training=False)
        return tf.concat([tf.zeros_like(answer), answer], axis=1) if answer.shape[1] == 1 else answer

    def answers(slope, trainable, fixed, X, label):
        if slope is None:
            return (logits(trainable, fixed, X),)
        with tf.GradientTape() as tape:
            tape.watch(X)
            answer = logits(trainable, fixed, X)
        return answer, tape.gradient(answer, X, output_gradients=slope(answer, label, tf.experimental.numpy))

    slopes = (None, loss_slope, log_odds_slope)
    return {each: tf.function(partial(answers, each), input_signature=specs, jit_compile=True) for each in slopes}


def logits_model(model, from_logits: bool | None = None):
    """Return a Keras model up to the inputs of its softmax or sigmoid; both go on to share their weights.

    Parameters
    ----------
    model : keras.Model
    from_logits : bool or None
        Whether `model` gives logits itself; None to read it from the loss that it was compiled with.

    Raises
    ------
    TypeError, ValueError
        If it is no Keras model of one input and one output, or ends with something else.
    """
    if not isinstance(model, keras.Model):
        raise TypeError(f"model: expected a Keras model, found {type(model).__name__}")
    if len(model.inputs) != 1 or len(model.input_shape) != 2 or len(model.output_shape) != 2:
        shapes = f"{model.input_shape} and {model.output_shape}"
        raise ValueError(f"model: expected one input and one output of shape (n_rows, n), found {shapes}")
    if from_logits is None:
        from_logits = getattr(getattr(model, "loss", None), "from_logits", False)
    # The operation that gives the output: ``1 - outputs`` is no layer, and a layer may occur several times.
    last, node, _ = model.outputs[0]._keras_history
    entering, n_outputs = last._inbound_nodes[node].input_tensors[0], model.output_shape[-1]
    activation = keras.activations.softmax if isinstance(last, keras.layers.Softmax) else None
    activation = getattr(last, "activation", activation)
    if check_flag(from_logits, "from_logits") and activation not in (
        keras.activations.softmax,
        keras.activations.sigmoid,
    ):
        return model
    expected = keras.activations.sigmoid if n_outputs == 1 else keras.activations.softmax
    if activation is not expected:
        found = getattr(activation, "__name__", type(last).__name__)
        raise ValueError(
            f"model: ends with {found}, expected {expected.__name__} for {n_outputs} outputs; if the outputs are "
            "logits, say from_logits=True"
        )
    if type(last).call is keras.layers.Dense.call:
        return keras.Model(model.inputs[0], _linear(last)(entering), name="logits")
    if isinstance(last, keras.layers.Activation | keras.layers.Softmax):
        return keras.Model(model.inputs[0], entering, name="logits")
    raise ValueError(f"model: ends with {type(last).__name__}, expected a Dense, Activation or Softmax layer")


def _linear(dense):
    """Return a layer that shares the weights of a Dense one and leaves out its activation."""

    class Linear(keras.layers.Layer):
        def __init__(self):
            super().__init__(dtype=dense.dtype_policy)
            self.dense = dense
            self.built = True

        def call(self, X):
            answer = keras.ops.matmul(X, self.dense.kernel)
            return answer if self.dense.bias is None else answer + self.dense.bias

    return Linear()


def _filled_up(X):
    """Return rows padded with zeros to one of the sizes for which there is compiled code."""
    filled = np.zeros((min(size for size in SIZES if size >= len(X)), X.shape[1]), dtype=X.dtype)
    filled[: len(X)] = X
    return filled


def single_precision(X, name: str = "X") -> np.ndarray:
    """Return a table of numbers in float32, the precision of networks.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    name : str
        What to call `X` in an error.

    Raises
    ------
    ValueError
        If one is no number, or would become infinite.
    """
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected numbers, found {X.dtype}")
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if X.dtype.kind == "f" and not (finite := np.isfinite(single)).all():  # every whole number fits
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{name}: column {column} holds {X[row, column]} in row {row}, expected numbers within float32"
        )
    return single
