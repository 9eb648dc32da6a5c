"""The gradient flow attack: points move to where a model does worst among similar points (section 2)."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairlab.checks import (
    POSITIVE,
    VARIANT,
    ZERO_OR_MORE,
    align,
    check_array,
    check_binary,
    check_count,
    check_features,
    check_flag,
    check_same_columns,
    checked,
    one_of,
)
from fairlab.fair_metric import FairMetric, check_over_metric

SCHEDULES = {"constant": 0.0, "decaying": 2 / 3}  # powers of 1/k in the size of step k

# Largest fall of the objective that is put down to rounding, relative to the loss and absolutely.
_ROUNDING = {"float32": 1e-4, "float64": 1e-10}

_MODEL, _METRIC = ("loss", "loss_gradient", "predict"), ("squared_distance", "gradient")

_HALVINGS = 4  # of a point's steps, before the point is given up


class StepSizeWarning(UserWarning):
    """At some points the objective of the attack fell, or is not finite, however small the steps.

    Examples
    --------
    >>> from fairlab.individual_fairness import StepSizeWarning
    >>> issubclass(StepSizeWarning, UserWarning)
    True
    """


@dataclass(frozen=True, eq=False)
class Attack:
    """Points after the attack, and a model's losses and errors before and after.

    Attributes
    ----------
    X : ndarray of shape (..., n_points, n_features)
        Images Phi(x, y) of the points (equation 2.7).
    loss, attacked_loss : ndarray of shape (..., n_points)
        Before and after.
    wrong, attacked_wrong : bool ndarray of shape (..., n_points)
        Where the prediction is not the label.
    squared_distance : ndarray of shape (..., n_points)
        d_x^2 of each point to its image.
    diverged : bool ndarray of shape (..., n_points)
        Where the objective, the loss minus the penalty, ended below its start or not finite, which is impossible for an
        exact flow (equation 3.1). Sound: such a point is left at its start.
    stopping_time : float
        T, the sum of all step sizes.
    loss_trajectory : ndarray of shape (n_steps + 1, ..., n_points) or None
        Loss at the start and after every step.

    Examples
    --------
    >>> from fairlab.individual_fairness import gradient_flow_attack
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([1.0, 1.0], 0.0)
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 0])
    >>> attack = gradient_flow_attack(model, metric, X, y, regularizer=50, step_size=0.01, n_steps=20)
    >>> bool((attack.attacked_loss >= attack.loss).all()), attack.X.shape
    (True, (2, 2))
    """

    X: np.ndarray
    loss: np.ndarray
    attacked_loss: np.ndarray
    wrong: np.ndarray
    attacked_wrong: np.ndarray
    squared_distance: np.ndarray
    diverged: np.ndarray
    stopping_time: float
    loss_trajectory: np.ndarray | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point, with columns of the attributes above that have one number per point."""
        columns = ("loss", "attacked_loss", "wrong", "attacked_wrong", "squared_distance", "diverged")
        return pd.DataFrame({name: getattr(self, name).ravel() for name in columns})


@checked(regularizer=ZERO_OR_MORE, trajectory=check_flag, dtype=one_of(*_ROUNDING), variant=VARIANT)
def gradient_flow_attack(
    model: Any,
    metric: FairMetric,
    X: Any,
    y: ArrayLike,
    *,
    regularizer: float,
    step_size: float,
    n_steps: int,
    schedule: str = "constant",
    trajectory: bool = False,
    dtype: str = "float32",
    variant: str = "sound",
) -> Attack:
    r"""Move every point up its loss, with a fair metric as penalty, by Euler's method (equations 2.6 to 2.8).

    .. math::

        x_k = x_{k-1} + \eta_k \nabla_x \{ \ell(f(x), y) - \lambda d_x^2(x, x_0) \} |_{x = x_{k-1}},
        \qquad k = 1, \dots, N

    All points move at once, by `euler`, or by the model's own ``follow``, with the same parameters and result, if it
    has one. Points at which the steps were too large, so that the objective fell, start again with half the step size
    and twice the steps, up to four times.

    Parameters
    ----------
    model : object with ``loss``, ``loss_gradient`` and ``predict``
        See `fairlab.models.classifiers`. Where it has ``feature_names_in_``, a table `X` must have these columns.
    metric : FairMetric
        Or any object with its ``squared_distance`` and ``gradient``.
    X : DataFrame or array of shape (n_points, n_features), or array of shape (..., n_points, n_features)
        More axes attack several models at once.
    y : array-like of shape (n_points,) or (..., n_points)
        Labels 0 and 1; the attack does not change them. A Series is matched to a table by its index.
    regularizer : float
        lambda, zero or more. With a constant step the penalty alone diverges if ``step_size * regularizer > 1``.
    step_size : float
        eta.
    n_steps : int
        N.
    schedule : {"constant", "decaying"}
        Step k has the size eta, or eta / k^(2/3).
    trajectory : bool
        Whether to keep the loss at every step.
    dtype : {"float32", "float64"}
        Precision; the paper's numbers are in single precision.
    variant : {"sound", "published"}
        Published: no step is halved, and images that are not finite numbers are kept; their prediction counts as 0.

    Returns
    -------
    Attack

    Raises
    ------
    ValueError
        For features that are not finite numbers, labels, classes or predictions of the model other than 0 and 1, a
        table with other columns than those of the model or the metric, a loss that is not finite before the attack
        (sound), or an option out of its range.

    Warns
    -----
    StepSizeWarning
        If at some points the steps were too large.

    Examples
    --------
    >>> from fairlab.individual_fairness import gradient_flow_attack
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([1.0, 0.0], 0.0)
    >>> X, y = np.array([[0.5, 1.0]]), np.array([1])
    >>> attack = gradient_flow_attack(model, metric, X, y, regularizer=50, step_size=0.1, n_steps=20)
    >>> bool(attack.X[0, 0] < -0.4), float(attack.X[0, 1])
    (True, 1.0)
    """
    points, labels = _check_points(X, y, dtype)
    for name, given, methods in (("model", model, _MODEL), ("metric", metric, _METRIC)):
        if lacking := [method for method in methods if not callable(getattr(given, method, None))]:
            raise TypeError(f"{name}: expected an object with {', '.join(methods)}, found one without {lacking[0]}")
    _check_model(model, X)
    check_over_metric(metric, X, points.shape[-1])
    sizes = step_sizes(step_size, n_steps, schedule=schedule)
    wrong = _wrong(model, points, labels)
    options = {"regularizer": regularizer, "trajectory": trajectory, "dtype": dtype}
    X_attacked, loss, attacked_loss, losses, distance, diverged = _flow(model, metric, points, labels, sizes, **options)
    if variant == "sound":
        if not np.isfinite(loss).all():
            raise ValueError(
                f"model: its loss is not finite at {int((~np.isfinite(loss)).sum())} of {loss.size} points before the "
                "attack; take losses from logits"
            )
        for halving in range(1, _HALVINGS + 1):
            again = diverged.any(axis=tuple(range(diverged.ndim - 1)))
            if not again.any():
                break
            smaller = np.repeat(sizes / 2**halving, 2**halving)
            some = points[..., again, :], labels[..., again], smaller
            *found, still = _flow(model, metric, *some, **options)
            better = diverged[..., again] & ~still
            X_attacked[..., again, :] = np.where(better[..., None], found[0], X_attacked[..., again, :])
            attacked_loss[..., again] = np.where(better, found[2], attacked_loss[..., again])
            distance[..., again] = np.where(better, found[4], distance[..., again])
            losses[..., again] = np.where(better, found[3][:: 2**halving], losses[..., again])
            diverged[..., again] &= still
        X_attacked = np.where(diverged[..., None], points, X_attacked)
        attacked_loss, losses = (np.where(diverged, loss, values) for values in (attacked_loss, losses))
        distance = np.where(diverged, 0, distance)
    if diverged.any():
        warnings.warn(
            f"the attack overshot at {diverged.sum():,} of {diverged.size:,} points, where its objective fell or is "
            f"not finite; steps of {sizes[0]:.3g} are too large for regularizer {regularizer:.4g}",
            StepSizeWarning,
            stacklevel=2,
        )
    return Attack(
        X=X_attacked,
        loss=loss,
        attacked_loss=attacked_loss,
        wrong=wrong,
        attacked_wrong=_wrong(model, X_attacked, labels),
        squared_distance=distance,
        diverged=diverged,
        stopping_time=float(sizes.sum()),
        loss_trajectory=np.concatenate([losses, attacked_loss[None]]) if trajectory else None,
    )


@checked(step_size=POSITIVE, n_steps=check_count, schedule=one_of(*SCHEDULES))
def step_sizes(step_size: float, n_steps: int, *, schedule: str = "constant") -> np.ndarray:
    """Return the sizes of all steps, shape (n_steps,); their sum is the stopping time.

    Parameters
    ----------
    step_size, n_steps, schedule
        As for `gradient_flow_attack`.
    """
    return step_size / np.arange(1, n_steps + 1) ** SCHEDULES[schedule]


def _flow(model, metric, points, labels, sizes, *, regularizer, trajectory, dtype):
    """Return images, losses before, after and on the way, squared distances, and where the flow diverged."""
    follow = getattr(model, "follow", None) if isinstance(metric, FairMetric) else None
    move = follow or partial(euler, model)
    with np.errstate(over="ignore", invalid="ignore"):  # for points that diverge
        moved = move(metric, points, labels, sizes, regularizer=regularizer, trajectory=trajectory)
        X_attacked, losses = (part.astype(dtype) for part in moved)
    loss, attacked_loss = model.loss(points, labels), model.loss(X_attacked, labels)
    losses[:1] = loss
    with np.errstate(invalid="ignore"):  # an infinite loss minus an infinite penalty
        distance = metric.squared_distance(X_attacked, points)
        risen = attacked_loss - regularizer * distance - loss >= -_ROUNDING[dtype] * (1 + loss)
    # If the loss is infinite at the start, the model is certain of the wrong label; the step is not too large.
    return X_attacked, loss, attacked_loss, losses, distance, ~risen & np.isfinite(loss)


def euler(model, metric, points, labels, sizes, *, regularizer, trajectory=False) -> tuple[np.ndarray, np.ndarray]:
    """Return images and the losses before each step, by Euler's method (equation 2.8), one step after the other.

    If a metric has units, points move in these: the gradient by x / scale is scale times that by x, as is the step.

    Parameters
    ----------
    model : object with ``loss`` and ``loss_gradient``
    metric : FairMetric
    points : ndarray of shape (..., n_points, n_features)
    labels : ndarray of shape (n_points,) or (..., n_points)
    sizes : ndarray of shape (n_steps,)
        Size of each step.
    regularizer : float
    trajectory : bool
        Whether losses are kept.
    """
    unit = 1.0 if getattr(metric, "scale", None) is None else np.square(metric.scale)
    X, losses = np.array(points, dtype=float), []
    for size in sizes:
        if trajectory:
            losses.append(model.loss(X.astype(points.dtype), labels))
        X = X + size * unit * (model.loss_gradient(X, labels) - regularizer * metric.gradient(X, points))
    return X, np.array(losses).reshape(-1, *points.shape[:-1])


def _check_points(X, y, dtype):
    points = check_array(X, "X") if np.ndim(X) > 2 else check_features(X, "X")[0]
    are_indexed = isinstance(X, pd.DataFrame) and isinstance(y, pd.Series)
    labels = check_binary(align(y, X.index, "y") if are_indexed else y, "y")
    if labels.shape not in ((points.shape[-2],), points.shape[:-1]):
        raise ValueError(f"y: expected one label for each of {points.shape[-2]} points, found shape {labels.shape}")
    return points.astype(dtype), labels.astype(int)


def _wrong(model, X, labels):
    """Return where the prediction is not the label; at points that are not finite, it counts as 0."""
    finite = np.isfinite(X).all(axis=-1)
    predicted = np.asarray(model.predict(np.where(finite[..., None], X, 0)))
    if predicted.shape != finite.shape:
        raise ValueError(
            f"model: predict returned shape {predicted.shape}, expected one label per point, {finite.shape}"
        )
    predicted = check_binary(predicted, "model: answers of predict", advice=", no probabilities or other labels")
    return np.where(finite, predicted, 0) != labels


def _check_model(model, X):
    classes = getattr(model, "classes_", (0, 1))
    if not np.array_equal(classes, (0, 1)):
        raise ValueError(f"model: its classes are {list(classes)}, expected 0 and 1; fit it to such labels")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and isinstance(X, pd.DataFrame):
        check_same_columns([str(name) for name in X.columns], [str(name) for name in names], "X", "the model's fit")
