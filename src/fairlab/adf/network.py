"""Neural networks as the searches see them: classes, probabilities and gradients of whole batches, compiled once."""

import sys

import numpy as np

CHUNK = 1 << 16  # rows that go through a network at once
SIZES = [4**k for k in range(9)]  # batches are filled up to one of these, since every size is compiled anew


class Network:
    """A Keras classifier with compiled, batched access to its classes and input gradients.

    Everything is computed in float32, as networks are used. The last layer is split into logits and softmax, since the
    gradient of a cross-entropy that only sees probabilities is lost where one of them rounds to 0.

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
        rows = tf.TensorSpec([None, self.n_features], tf.float32)

        @tf.function(input_signature=[rows], jit_compile=True)
        def logits(X):
            answer = logits_of(X, training=False)
            return tf.concat([tf.zeros_like(answer), answer], axis=1) if answer.shape[1] == 1 else answer

        @tf.function(input_signature=[rows], jit_compile=True)
        def loss_gradient(X):
            with tf.GradientTape() as tape:
                tape.watch(X)
                answer = logits(X)
                p = tf.stop_gradient(tf.nn.softmax(answer))
                label = tf.cast(p == tf.reduce_max(p, axis=1, keepdims=True), tf.float32)
                label /= tf.reduce_sum(label, axis=1, keepdims=True)
                loss = tf.nn.softmax_cross_entropy_with_logits(label, answer)
            return tape.gradient(loss, X)

        @tf.function(input_signature=[rows], jit_compile=True)
        def margin_gradient(X):
            with tf.GradientTape() as tape:
                tape.watch(X)
                best, second = tf.unstack(tf.math.top_k(logits(X), 2).values, axis=1)
                margin = best - second
            return margin, tape.gradient(margin, X)

        self._logits, self._loss_gradient, self._margin_gradient = logits, loss_gradient, margin_gradient

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
        parts = [function(_filled_up(X[start : start + CHUNK])) for start in range(0, max(len(X), 1), CHUNK)]
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate([part[k].numpy() for part in parts])[: len(X)] for k in range(len(parts[0])))
        return np.concatenate([part.numpy() for part in parts])[: len(X)]


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


def _logits(model):
    """Return the model up to the inputs of its softmax or sigmoid."""
    import keras

    last = model.layers[-1]
    if isinstance(last, keras.layers.Softmax):
        return keras.Model(model.inputs, last.input)
    activation = getattr(last, "activation", None)
    if activation not in (keras.activations.softmax, keras.activations.sigmoid):
        found = getattr(activation, "__name__", type(last).__name__)
        raise ValueError(f"model: ends with {found}, expected a softmax, or a sigmoid over two classes")
    if isinstance(last, keras.layers.Activation):
        return keras.Model(model.inputs, last.input)
    linear = type(last).from_config(last.get_config() | {"activation": "linear", "name": f"{last.name}_logits"})
    answer = linear(last.input)
    linear.set_weights(last.get_weights())
    return keras.Model(model.inputs, answer)


def _filled_up(X):
    filled = np.zeros((min(size for size in SIZES if size >= len(X)), X.shape[1]), dtype=X.dtype)
    filled[: len(X)] = X
    return filled


def _finite(gradient):
    bad = ~np.isfinite(gradient).all(axis=1)
    if bad.any():
        raise ValueError(f"model: the gradient of {int(bad.sum())} of {len(bad)} inputs is not a number")
    return gradient
