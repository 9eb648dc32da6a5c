"""Classifiers that can be attacked: their loss and its gradient at every point.

The attack takes any object with three methods, each over an array of points of shape (..., n_points, n_features):
``loss(X, y)``, the loss of every point; ``loss_gradient(X, y)``, the gradient of every point's own loss, in the shape
of `X`; and ``predict(X)``, labels 0 and 1.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin

from fairlab.checks import check_array, check_binary, check_flag, checked, optional
from fairlab.networks import logits_model

tf = optional("tensorflow")


class WhiteBoxClassifier(ClassifierMixin, BaseEstimator):
    """Binary scikit-learn classifier, defined by its log odds.

    Subclasses define `log_odds`, `log_odds_gradient` for attacks, and `fit` if they learn.

    Attributes
    ----------
    rounded_loss : bool
        Whether the cross-entropy is ``-log(p_y)`` of a rounded probability, as in the paper's numbers: zero where p_y
        rounds to 1, infinite where it rounds to 0. Ratios of such losses may not be finite: published tests drop them,
        sound ones raise an error. Otherwise it is computed from the log odds, accurate however confident the model is.
    classes_ : ndarray
        The labels 0 and 1.

    Examples
    --------
    >>> from fairlab.models import LinearClassifier, WhiteBoxClassifier
    >>> issubclass(LinearClassifier, WhiteBoxClassifier)
    True
    """

    rounded_loss = False
    classes_ = np.array([0, 1])

    def log_odds(self, X: ArrayLike) -> np.ndarray:
        """Return log(p / (1 - p)) with p the probability of label 1, shape (..., n_points)."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass that defines log_odds, found none")

    def log_odds_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds, and the gradient of each point's log odds by its features, in the shape of `X`."""
        raise NotImplementedError(f"{type(self).__name__}: expected a subclass that defines log_odds_gradient")

    def loss(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the cross-entropy of every point, shape (..., n_points).

        Parameters
        ----------
        X : array-like of shape (..., n_points, n_features)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        return self.loss_at(self.log_odds(_points(X)), y)

    def loss_at(self, log_odds: np.ndarray, y: ArrayLike) -> np.ndarray:
        """Return the cross-entropy of every point whose log odds are known.

        Parameters
        ----------
        log_odds : ndarray of shape (..., n_points)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        margin = _signs(y, log_odds) * log_odds
        with np.errstate(divide="ignore"):
            return -np.log(expit(margin)) if self.rounded_loss else -log_expit(margin)

    def loss_gradient(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Return the gradient of every point's cross-entropy by its features, in the shape of `X`.

        Parameters
        ----------
        X : array-like of shape (..., n_points, n_features)
        y : array-like of shape (n_points,) or (..., n_points)
            Labels 0 and 1.
        """
        log_odds, gradient = self.log_odds_gradient(_points(X))
        sign = _signs(y, log_odds)
        return (-sign * expit(-sign * log_odds))[..., None] * gradient

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return label 1 where the log odds are above 0, else label 0, shape (..., n_points)."""
        return self.classes_[(self.log_odds(_points(X)) > 0).astype(int)]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probabilities of labels 0 and 1, shape (..., n_points, 2)."""
        log_odds = self.log_odds(_points(X))
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

    @checked(coef=check_array, intercept=check_array, rounded_loss=check_flag)
    def __init__(self, coef: ArrayLike, intercept: ArrayLike, *, rounded_loss: bool = False):
        self.coef, self.intercept, self.rounded_loss = coef, intercept, rounded_loss
        if self.coef.shape[:-1] != self.intercept.shape:
            raise ValueError(f"coef has shape {self.coef.shape}, intercept {self.intercept.shape}")

    def log_odds(self, X: ArrayLike) -> np.ndarray:
        """Return the linear function of the features."""
        X = _points(X)
        if X.shape[-1:] != self.coef.shape[-1:]:
            expected = f"expected {self.coef.shape[-1]} columns, one for each coefficient"
            raise ValueError(f"X: {expected}, found shape {X.shape}")
        return (X @ self.coef[..., None].astype(X.dtype))[..., 0] + self.intercept[..., None].astype(X.dtype)

    def log_odds_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds, and the coefficients at every point."""
        X = _points(X)
        return self.log_odds(X), np.broadcast_to(self.coef[..., None, :].astype(X.dtype), X.shape)


class KerasClassifier(WhiteBoxClassifier):
    """Keras model of two classes; its losses are computed from logits, whatever its last layer is.

    Parameters
    ----------
    model : keras.Model
        Gives one output (label 1) or two (labels 0 and 1) per point: logits, or a sigmoid or softmax of them.
    from_logits : bool or None
        Whether the outputs are logits; None to read it from the loss that the model was compiled with.

    Raises
    ------
    ValueError
        If the model has other outputs, or gives probabilities whose logits are not available.

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

    def log_odds(self, X: ArrayLike) -> np.ndarray:
        """Return the log odds, which are finite however confident the model is."""
        return self._difference(tf.convert_to_tensor(_points(X))).numpy()

    def log_odds_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds, and the gradient of each point's log odds."""
        points = tf.convert_to_tensor(X)
        with tf.GradientTape() as tape:
            tape.watch(points)
            log_odds = self._difference(points)
        return log_odds.numpy(), tape.gradient(log_odds, points).numpy()

    def _difference(self, X):
        """Return the log odds at a tensor of points."""
        outputs = tf.cast(self._logits(X), X.dtype)
        return outputs[..., -1] - (outputs[..., 0] if outputs.shape[-1] == 2 else 0)


def _signs(y, log_odds):
    """Return -1 and 1 for labels 0 and 1, one for each point."""
    y = check_binary(y, "y")
    if y.ndim and y.shape[-1] != log_odds.shape[-1]:
        raise ValueError(f"y: expected one label for each of {log_odds.shape[-1]} points, found shape {y.shape}")
    return 2 * y.astype(log_odds.dtype) - 1


def _points(X):
    """Return features of any numeric type as an array of floats; whole numbers in 32 bits if these represent them."""
    X = np.asarray(X)
    try:
        X = X.astype(float) if X.dtype.kind == "O" else X
    except (TypeError, ValueError) as error:
        raise ValueError(f"X: expected numbers ({error})") from error
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X: expected numbers, found {X.dtype}")
    if X.dtype.kind == "f":
        return X if X.dtype.itemsize > 2 else X.astype(np.float32)
    single = X.astype(np.float32)
    return single if np.array_equal(single, X) else X.astype(float)
