"""Fully connected networks, one or many side by side: initial weights, answers, gradients, optimisers, Keras models.

A network: kernels (..., n_in, n_out) and biases (..., n_out) in turn, arrays or tensors; leading axes are members.

Examples
--------
>>> from fairlab.networks import FeedForward
>>> FeedForward([np.eye(2), np.zeros(2)]).predict([[3, 1]])
array([0])
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import softmax

from fairlab.checks import check_flag, optional

keras, tf = optional("keras"), optional("tensorflow")

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7  # of Adam, as Keras has it
DENORMAL = np.finfo(np.float32).tiny  # below it numbers are denormal, which compiled code rounds to 0

CHUNK = 1 << 16  # rows that go through a Keras model at once
SIZES = (1, 64, 256, 1024, 4096, 16384, CHUNK)  # batches are filled up to one of these: each size is compiled anew
_COMPILED = {}

__all__ = ["FeedForward", "Network"]  # the rest is what methods build networks of


def initial_network(rng: np.random.Generator, widths: Sequence[int], *, bias: float = 0.0) -> list[np.ndarray]:
    """Return one network with Glorot-uniform kernels, drawn layer by layer, and constant biases, in float32.

    Parameters
    ----------
    rng : numpy.random.Generator
    widths : sequence of int
        Of every layer, input and output included.
    bias : float
    """
    network = []
    for n_in, n_out in pairwise(widths):
        bound = np.sqrt(6 / (n_in + n_out))
        network += [rng.uniform(-bound, bound, (n_in, n_out)), np.full(n_out, bias)]
    return [part.astype(np.float32) for part in network]


def stacked(networks) -> list[np.ndarray]:
    """Return networks of one shape as the members of one, on a leading axis."""
    return [np.stack(parts) for parts in zip(*networks, strict=True)]


def member(network, k) -> list:
    """Return one member of a stacked network; those of a slice, still stacked."""
    return [part[k] for part in network]


def layer_inputs(network, X):
    """Yield what enters each layer: `X`, then the output of every hidden layer."""
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
    error = softmax(forward(network[-2:], inputs[-1]), axis=-1)
    error -= y[..., None] == np.arange(error.shape[-1])
    error /= y.shape[-1]
    for k in reversed(range(len(inputs))):
        np.matmul(inputs[k].swapaxes(-1, -2), error, out=out[2 * k])
        np.sum(error, axis=-2, out=out[2 * k + 1])
        error = (error @ network[2 * k].swapaxes(-1, -2)) * (inputs[k] > 0)


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
        What each starts from; left as it is.
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

    def networks(self) -> list[list[np.ndarray]]:
        """Return copies of the networks."""
        return [[part.copy() for part in member(self.network, k)] for k in range(len(self._flat))]


def _views(flat, shapes) -> list[np.ndarray]:
    """Return the kernels and biases of all members as views of one array."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    return [flat[:, low:high].reshape(-1, *shape) for (low, high), shape in zip(pairwise(ends), shapes, strict=True)]


class FeedForward:
    """Classes and input gradients of one network given by its weights, ReLU between layers, in NumPy and float32.

    For small networks, or few rows at a time, it is quicker than calls of compiled code.

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
            slope[np.abs(slope) < DENORMAL] = 0
            slope = slope @ self._weights[2 * k].T
            if k:
                slope *= inputs[k] > 0
        slope[np.abs(slope) < DENORMAL] = 0
        return slope

    def _layers(self, X) -> list[np.ndarray]:
        """Return what enters each layer, and the logits."""
        X = np.asarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X: the network takes {self.n_features} columns, was given shape {X.shape}")
        inputs = list(layer_inputs(self._weights, X))
        return [*inputs, forward(self._weights[-2:], inputs[-1])]


class Network:
    """A Keras classifier with compiled, batched access to its classes and input gradients.

    Everything is computed in float32, as networks are used, with the weights that the model has when it is given. The
    last layer is split into logits and softmax, since the gradient of a cross-entropy that only sees probabilities is
    lost where one of them rounds to 0.

    Parameters
    ----------
    model : keras.Model
        Takes rows of numbers; its last layer is a softmax over classes, or one sigmoid.
    from_logits : bool or None
        Whether the last layer gives logits instead; None to read it from the loss that the model was compiled with.

    Attributes
    ----------
    n_features, n_classes : int
        One sigmoid or logit is two classes.

    Raises
    ------
    ValueError
        If the last layer is neither.

    Examples
    --------
    >>> from fairlab.networks import Network
    >>> import keras
    >>> layers = [keras.Input((2,)), keras.layers.Dense(2, activation="softmax")]
    >>> Network(keras.Sequential(layers)).probabilities([[3.0, 1.0]]).shape
    (1, 2)
    """

    def __init__(self, model, *, from_logits: bool | None = None):
        logits_of = _logits(model, from_logits)
        self._model = model
        self.n_features = int(model.input_shape[-1])
        parts = (logits_of.trainable_variables, logits_of.non_trainable_variables)
        self._weights = [[tf.convert_to_tensor(part) for part in some] for some in parts]
        self.n_classes = max(int(logits_of.output_shape[-1]), 2)
        compiled = _compiled(logits_of, self._weights)
        self._logits, self._loss_gradient, self._margin_gradient, self._log_odds_gradient = compiled

    @property
    def model(self):
        """The Keras model; another one needs another network, as functions of this one are compiled."""
        return self._model

    def predict(self, X) -> np.ndarray:
        """Return the class of every row, the first of several with the same probability."""
        return self.probabilities(X).argmax(axis=1)

    def probabilities(self, X) -> np.ndarray:
        """Return the probabilities in float32, shape (n_rows, n_classes)."""
        return softmax(self.logits(X), axis=-1)

    def logits(self, X) -> np.ndarray:
        """Return the inputs of the softmax in float32, shape (n_rows, n_classes); a sigmoid's are 0 and its own.

        Raises
        ------
        ValueError
            If one is not a finite number.
        """
        return _finite(self._in_chunks(self._logits, X), "answers {} of {} inputs with what is not a number")

    def log_odds_gradient(self, X, label: int) -> np.ndarray:
        """Return the input gradient of the log odds of a class, by number, against all others; as `loss_gradient`."""
        if label not in range(self.n_classes):
            raise ValueError(f"label: expected a class from 0 to {self.n_classes - 1}, found {label!r}")
        return _finite(self._in_chunks(self._log_odds_gradient, X, np.int32(label)))

    def loss_gradient(self, X) -> np.ndarray:
        """Return the input gradient of the cross-entropy with the predicted class as the label, ties shared.

        Exactly 0 where the probability of the other classes rounds to 0.

        Raises
        ------
        ValueError
            If a gradient is not a number.
        """
        return _finite(self._in_chunks(self._loss_gradient, X))

    def margin_gradient(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the lead of the highest logit over the second, shape (n_rows,), and its input gradient.

        Minus this gradient has the direction of the loss's for two classes, and never rounds to 0.

        Raises
        ------
        ValueError
            If a gradient is not a number.
        """
        margin, gradient = self._in_chunks(self._margin_gradient, X)
        return margin, _finite(gradient)

    def _in_chunks(self, function, X, *options):
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X: the model takes {self.n_features} columns, was given shape {X.shape}")
        X = _as_float32(X)
        chunks = [_filled_up(X[start : start + CHUNK]) for start in range(0, max(len(X), 1), CHUNK)]
        parts = [function(*self._weights, chunk, *options) for chunk in chunks]
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate([part[k].numpy() for part in parts])[: len(X)] for k in range(len(parts[0])))
        return np.concatenate([part.numpy() for part in parts])[: len(X)]


def _compiled(logits_of, weights):
    """Return `_compile`'s functions, which networks of one architecture share: they take longer than many a search.

    That is so only of layers whose state is all in their weights: a Normalization keeps its statistics elsewhere, and
    functions of a user's own have names that say nothing.
    """
    if not all(_is_stateless(layer) for layer in logits_of.layers):
        return _compile(logits_of, weights)
    architecture = logits_of.to_json()
    if architecture not in _COMPILED:
        _COMPILED[architecture] = _compile(logits_of, weights)
    return _COMPILED[architecture]


def _is_stateless(layer) -> bool:
    plain = ("InputLayer", "Dense", "Activation", "BatchNormalization", "Dropout", "ReLU", "LeakyReLU")
    activation = getattr(layer, "activation", None)
    known = activation is None or activation is getattr(keras.activations, activation.__name__, None)
    return known and type(layer) in [getattr(keras.layers, name) for name in plain]


def _compile(logits_of, weights):
    """Return functions of weights and inputs: logits, gradients of loss, margin (with it) and log odds of a class."""
    specs = [[tf.TensorSpec(part.shape, part.dtype) for part in some] for some in weights]
    signature = [*specs, tf.TensorSpec([None, logits_of.input_shape[-1]], tf.float32)]

    def compiled(function):
        return tf.function(function, input_signature=signature, jit_compile=True)

    @compiled
    def logits(trainable, fixed, X):
        answer, _ = logits_of.stateless_call(trainable, fixed, X, training=False)
        return tf.concat([tf.zeros_like(answer), answer], axis=1) if answer.shape[1] == 1 else answer

    @compiled
    def loss_gradient(trainable, fixed, X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            answer = logits(trainable, fixed, X)
            p = tf.stop_gradient(tf.nn.softmax(answer))
            label = tf.cast(p == tf.reduce_max(p, axis=1, keepdims=True), tf.float32)
            label /= tf.reduce_sum(label, axis=1, keepdims=True)
            loss = tf.nn.softmax_cross_entropy_with_logits(label, answer)
        return tape.gradient(loss, X)

    @compiled
    def margin_gradient(trainable, fixed, X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            best, second = tf.unstack(tf.math.top_k(logits(trainable, fixed, X), 2).values, axis=1)
            margin = best - second
        return margin, tape.gradient(margin, X)

    @tf.function(input_signature=[*signature, tf.TensorSpec([], tf.int32)], jit_compile=True)
    def log_odds_gradient(trainable, fixed, X, label):
        with tf.GradientTape() as tape:
            tape.watch(X)
            answer = logits(trainable, fixed, X)
            own = tf.one_hot(label, answer.shape[1], on_value=True, off_value=False)
            odds = tf.reduce_sum(tf.where(own, answer, 0.0), axis=1)
            odds -= tf.reduce_logsumexp(tf.where(own, -1e30, answer), axis=1)
        return tape.gradient(odds, X)

    return logits, loss_gradient, margin_gradient, log_odds_gradient


def _logits(model, from_logits):
    """Return the model up to the inputs of its softmax or sigmoid."""
    if not isinstance(model, keras.Model):
        raise TypeError(f"model: expected a Keras model, found {type(model).__name__}")
    if len(model.inputs) != 1 or len(model.input_shape) != 2 or len(model.output_shape) != 2:
        shapes = f"{model.input_shape} and {model.output_shape}"
        raise ValueError(f"model: expected one input and one output of shape (n_rows, n), found {shapes}")
    if from_logits is not None:
        check_flag(from_logits, "from_logits")
    last = model.layers[-1]
    if from_logits is None:
        from_logits = getattr(getattr(model, "loss", None), "from_logits", False)
    if from_logits and getattr(last, "activation", None) is keras.activations.linear:
        return model
    if isinstance(last, keras.layers.Softmax):
        return keras.Model(model.inputs, last.input, name="logits")
    activation = getattr(last, "activation", None)
    if activation not in (keras.activations.softmax, keras.activations.sigmoid):
        found = getattr(activation, "__name__", type(last).__name__)
        raise ValueError(f"model: ends with {found}, expected a softmax, or a sigmoid over two classes")
    if isinstance(last, keras.layers.Activation):
        return keras.Model(model.inputs, last.input, name="logits")
    linear = type(last).from_config(last.get_config() | {"activation": "linear", "name": f"{last.name}_logits"})
    answer = linear(last.input)
    linear.set_weights(last.get_weights())
    return keras.Model(model.inputs, answer, name="logits")


def _filled_up(X):
    filled = np.zeros((min(size for size in SIZES if size >= len(X)), X.shape[1]), dtype=X.dtype)
    filled[: len(X)] = X
    return filled


def _as_float32(X):
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X: expected numbers, found {X.dtype}")
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    if not (finite := np.isfinite(single)).all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(f"X: column {column} holds {X[row, column]} in row {row}, expected numbers within float32")
    return single


def _finite(answer, message="the gradient of {} of {} inputs is not a number"):
    bad = ~np.isfinite(answer).all(axis=1)
    if bad.any():
        raise ValueError("model: " + message.format(int(bad.sum()), len(bad)))
    return answer
