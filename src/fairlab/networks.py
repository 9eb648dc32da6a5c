"""Neural networks as the searches see them: classes, probabilities and gradients of whole batches, compiled once."""

import sys

import numpy as np

CHUNK = 1 << 16  # rows that go through a network at once
SIZES = (1, 64, 256, 1024, 4096, 16384, CHUNK)  # batches are filled up to one of these: each size is compiled anew
_COMPILED = {}


class Network:
    """A Keras classifier with compiled, batched access to its classes and input gradients.

    Everything is computed in float32, as networks are used, with the weights that the model has when it is given. The
    last layer is split into logits and softmax, since the gradient of a cross-entropy that only sees probabilities is
    lost where one of them rounds to 0.

    Parameters
    ----------
    model : keras.Model
        Takes rows of numbers; its last layer is a softmax over classes, or one sigmoid.

    Raises
    ------
    ValueError
        If the last layer is neither.
    """

    def __init__(self, model):
        import tensorflow as tf

        logits_of = _logits(model)
        self.model = model
        self.n_features = int(model.input_shape[-1])
        parts = (logits_of.trainable_variables, logits_of.non_trainable_variables)
        self._weights = [[tf.convert_to_tensor(part) for part in some] for some in parts]
        # Networks of one architecture share what is compiled, which takes longer than many a search.
        architecture = logits_of.to_json()
        if architecture not in _COMPILED:
            _COMPILED[architecture] = _compile(logits_of, self._weights)
        self._logits, self._loss_gradient, self._margin_gradient = _COMPILED[architecture]

    def predict(self, X) -> np.ndarray:
        """Return the class of every row, the first of several with the same probability."""
        return self.probabilities(X).argmax(axis=1)

    def probabilities(self, X) -> np.ndarray:
        """Return the probabilities in float32, shape (n_rows, n_classes)."""
        return softmax(self.logits(X))

    def logits(self, X) -> np.ndarray:
        """Return the inputs of the softmax in float32, shape (n_rows, n_classes); a sigmoid's are 0 and its own."""
        return self._in_chunks(self._logits, X)

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

    def _in_chunks(self, function, X):
        X = np.asarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"model: takes {self.n_features} columns, was given shape {X.shape}")
        chunks = [_filled_up(X[start : start + CHUNK]) for start in range(0, max(len(X), 1), CHUNK)]
        parts = [function(*self._weights, chunk) for chunk in chunks]
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate([part[k].numpy() for part in parts])[: len(X)] for k in range(len(parts[0])))
        return np.concatenate([part.numpy() for part in parts])[: len(X)]


def dense_network(weights):
    """Return a Keras model of fully connected layers, ReLU between them and a softmax at the end.

    Parameters
    ----------
    weights : list of ndarray
        Kernels and biases in turn.
    """
    import keras

    widths = [bias.size for bias in weights[1::2]]
    # With names of their own making, two networks of one shape would look like two architectures to `Network`.
    activations = ["relu"] * (len(widths) - 1) + ["softmax"]
    layers = [
        keras.layers.Dense(width, activation=activation, name=f"layer_{k}")
        for k, (width, activation) in enumerate(zip(widths, activations, strict=True))
    ]
    model = keras.Sequential([keras.Input((weights[0].shape[0],), name="attributes"), *layers], name="dense_network")
    model.set_weights(weights)
    return model


def dense_classifier(weights):
    """Return a function from rows to classes: the network of `dense_network` in NumPy.

    For a few rows at a time it is quicker than calls of compiled code.

    Parameters
    ----------
    weights : list of ndarray
        Kernels and biases in turn.
    """
    *hidden, (kernel, bias) = zip(weights[::2], weights[1::2], strict=True)

    def classify(X):
        inputs = np.asarray(X, dtype=np.float32)
        for wide, shift in hidden:
            inputs = np.maximum(inputs @ wide + shift, 0)
        return (inputs @ kernel + bias).argmax(axis=1)

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


def as_classifier(model):
    """Return a function from rows of integers to one class each, for anything that predicts.

    Parameters
    ----------
    model : Network, Keras model, object with a ``predict`` method, or callable
        Keras models give probabilities, all others must give one class per row.
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


def is_keras(model) -> bool:
    """Return whether `model` is a Keras model, without importing Keras."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities that belong to `logits`, along the last axis, in their precision."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _compile(logits_of, weights):
    """Return functions of weights and inputs: logits, gradient of the loss, and margin with its gradient."""
    import tensorflow as tf

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

    return logits, loss_gradient, margin_gradient


def _logits(model):
    """Return the model up to the inputs of its softmax or sigmoid."""
    import keras

    last = model.layers[-1]
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


def _finite(gradient):
    bad = ~np.isfinite(gradient).all(axis=1)
    if bad.any():
        raise ValueError(f"model: the gradient of {int(bad.sum())} of {len(bad)} inputs is not a number")
    return gradient
