"""Classifiers that can be attacked: their loss and its gradient at every point.

The attack takes any object with three methods, each over points of shape (..., n_points, n_features):
``loss(X, y)``, the loss of every point; ``loss_gradient(X, y)``, the gradient of every point's own loss, in the shape
of `X`; both take and return tensors, for the attack compiles them; and ``predict(X)``, labels 0 and 1 for an array.
The classifiers here answer arrays with arrays and tensors with tensors. Those that are ``in_numpy`` are attacked
without TensorFlow.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin

from fairlab.checks import check_array, check_flag, checked, optional
from fairlab.networks import logits_model

tf = optional("tensorflow")


class WhiteBoxClassifier(ClassifierMixin, BaseEstimator):
    """Binary classifier of scikit-learn known by its log odds; subclasses define `log_odds`, and `fit` if they learn.

    Attributes
    ----------
    rounded_loss : bool
        Whether the cross-entropy is ``-log(p_y)`` of a rounded probability, as behind the paper's numbers: zero where
        p_y rounds to 1, infinite where it rounds to 0. Ratios of such losses are not finite, and the tests drop them.
        Otherwise it is taken from the log odds, accurate however sure the model is.
    classes_ : ndarray
        The labels 0 and 1.
    in_numpy : bool
        Whether ``log_odds_gradient(X)`` returns the gradient of the log odds at every point of an array,
        in its shape and precision. Otherwise TensorFlow differentiates `log_odds`.

    Examples
    --------
    >>> from fairlab.models import LinearClassifier, WhiteBoxClassifier
    >>> issubclass(LinearClassifier, WhiteBoxClassifier)
    True
    """

    rounded_loss = False
    in_numpy = False
    classes_ = np.array([0, 1])

    def log_odds(self, X: Any) -> Any:
        """Return log(p / (1 - p)) with p the probability of label 1, shape (..., n_points)."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass that defines log_odds, found none")

    def loss(self, X: Any, y: ArrayLike) -> Any:
        """Return the cross-entropy of every point, shape (..., n_points).

        Parameters
        ----------
        X : array or tensor of shape (..., n_points, n_features)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        X = _points(X)
        return self.loss_at(self.log_odds(X), _labels(y, X))

    def loss_at(self, log_odds: Any, y: ArrayLike) -> Any:
        """Return the cross-entropy of every point whose log odds are known.

        Parameters
        ----------
        log_odds : array or tensor of shape (..., n_points)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        margin = _signs(y, log_odds) * log_odds
        if _is_tensor(margin):
            return -tf.math.log(tf.sigmoid(margin)) if self.rounded_loss else tf.nn.softplus(-margin)
        with np.errstate(divide="ignore"):
            return -np.log(expit(margin)) if self.rounded_loss else -log_expit(margin)

    def loss_gradient(self, X: Any, y: ArrayLike) -> Any:
        """Return the gradient of every point's cross-entropy by its features, in the shape of `X`.

        Parameters
        ----------
        X : array or tensor of shape (..., n_points, n_features)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        X = _points(X)
        if self.in_numpy and not _is_tensor(X):
            sign = _signs(_labels(y, X), X)
            return (-sign * expit(-sign * self.log_odds(X)))[..., None] * self.log_odds_gradient(X)
        points = tf.convert_to_tensor(X)
        with tf.GradientTape() as tape:
            tape.watch(points)
            # A sum, since each point's loss depends on its own features only; a mean would shrink every step.
            total = tf.reduce_sum(tf.nn.softplus(-_signs(_labels(y, X), points) * self.log_odds(points)))
        gradient = tape.gradient(total, points)
        return gradient if _is_tensor(X) else gradient.numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Return label 1 where the log odds are above 0, else label 0, shape (..., n_points)."""
        return self.classes_[(np.asarray(self.log_odds(_points(X))) > 0).astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of labels 0 and 1, shape (..., n_points, 2)."""
        log_odds = np.asarray(self.log_odds(_points(X)))
        return np.stack([expit(-log_odds), expit(log_odds)], axis=-1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearClassifier(WhiteBoxClassifier):
    """Logistic model, or several at once: log odds ``coef @ x + intercept``.

    Parameters
    ----------
    coef : array-like of shape (..., n_features)
        Leading axes are those of the points before ``n_points``: with weights of shape (n_models, n_features) and
        points of shape (n_models, n_points, n_features) each model has its own points.
    intercept : array-like of shape (...)
    rounded_loss : bool
        See `WhiteBoxClassifier`.

    Examples
    --------
    >>> from fairlab.models import LinearClassifier
    >>> model = LinearClassifier([2.0, -1.0], 0.5)
    >>> (
    ...     model.log_odds(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist(),
    ...     model.predict(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist(),
    ... )
    ([1.5, -0.5], [1, 0])
    """

    in_numpy = True

    @checked(coef=check_array, intercept=check_array, rounded_loss=check_flag)
    def __init__(self, coef: ArrayLike, intercept: ArrayLike, *, rounded_loss: bool = False):
        self.coef, self.intercept, self.rounded_loss = coef, intercept, rounded_loss
        if self.coef.shape[:-1] != self.intercept.shape:
            raise ValueError(f"coef has shape {self.coef.shape}, intercept {self.intercept.shape}")

    def log_odds(self, X: Any) -> Any:
        """Return the linear function of the features."""
        X = _points(X)
        if tuple(X.shape)[-1:] != self.coef.shape[-1:]:
            expected = f"expected {self.coef.shape[-1]} columns, one for each coefficient"
            raise ValueError(f"X: {expected}, found shape {tuple(X.shape)}")
        return (X @ like(X, self.coef[..., None]))[..., 0] + like(X, self.intercept[..., None])

    def log_odds_gradient(self, X: np.ndarray) -> np.ndarray:
        """Return the coefficients, at every point."""
        return np.broadcast_to(like(_points(X), self.coef[..., None, :]), X.shape)


class KerasClassifier(WhiteBoxClassifier):
    """Keras model of two classes; its losses are taken from logits, whatever it ends with.

    Parameters
    ----------
    model : keras.Model
        Gives one output (label 1) or two (labels 0 and 1) per point: logits, or a sigmoid or softmax of them.
    from_logits : bool or None
        Whether the outputs are logits; None to read it from the loss that the model was compiled with.

    Raises
    ------
    ValueError
        If the model has other outputs, or gives probabilities whose logits cannot be had.

    Examples
    --------
    >>> from fairlab.models import KerasClassifier
    >>> import keras
    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
    >>> KerasClassifier(model, from_logits=True).log_odds(np.array([[1.0, 2.0]], dtype="float32")).tolist()
    [3.0]
    """

    def __init__(self, model: Any, *, from_logits: bool | None = None):
        self._logits = logits_model(model, from_logits)
        self.model, self.from_logits = model, from_logits
        if model.output_shape[-1] not in (1, 2):
            raise ValueError(f"model: expected one or two outputs per point, found {model.output_shape[-1]}")

    def log_odds(self, X: Any) -> Any:
        """Return the log odds, which are finite however sure the model is."""
        X = _points(X)
        outputs = tf.cast(self._logits(X), X.dtype)
        log_odds = outputs[..., -1] - (outputs[..., 0] if outputs.shape[-1] == 2 else 0)
        return log_odds if _is_tensor(X) else log_odds.numpy()


def like(X, values: np.ndarray):
    """Return an array in the precision of `X`, as a tensor where it is one.

    Parameters
    ----------
    X : array or tensor
    values : ndarray
    """
    return tf.cast(values, X.dtype) if _is_tensor(X) else values.astype(X.dtype)


def _labels(y, X):
    """Return labels, one for each point."""
    y = y if _is_tensor(y) else np.asarray(y)
    if len(y.shape) and y.shape[-1] not in (X.shape[-2], None):
        raise ValueError(f"y: expected one label for each of {X.shape[-2]} points, found shape {tuple(y.shape)}")
    return y


def _signs(y, like_these):
    """Return -1 and 1 for labels 0 and 1."""
    if not _is_tensor(y):
        known = np.isin(y, (0, 1))  # on a line of its own: TensorFlow warns of code that it cannot compile
        if not known.all():
            raise ValueError(f"y: expected labels 0 and 1, found {np.asarray(y)[~known][0]}")
    return 2 * (tf.cast(y, like_these.dtype) if _is_tensor(like_these) else np.asarray(y, like_these.dtype)) - 1


def _is_tensor(X) -> bool:
    return hasattr(getattr(X, "dtype", None), "as_numpy_dtype")


def _points(X):
    """Return features as floats, whatever numbers they are: a tensor as one, all else as an array."""
    if _is_tensor(X):
        return X if X.dtype.is_floating else tf.cast(X, tf.float32)
    X = np.asarray(X)
    try:
        X = X.astype(float) if X.dtype.kind == "O" else X
    except (TypeError, ValueError) as error:
        raise ValueError(f"X: expected numbers ({error})") from error
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X: expected numbers, found {X.dtype}")
    return X if X.dtype.kind == "f" else X.astype(np.float32)
