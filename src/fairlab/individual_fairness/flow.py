"""The attack's Euler scheme for models that see a few linear functions of the features.

Such a model (`fairlab.models.classifiers.Votes`, or units that bring a ``follow`` of their own) pushes every point
along the coefficients of its units. In a fair metric with projection P the push inside the sensitive subspace adds up,
and the one outside is taken back by a fixed share in every step. So it is enough to follow what enters the units.

These are the steps of `fairlab.individual_fairness.attack` up to rounding, in double precision.
"""

import numpy as np

from fairlab.models.classifiers import Votes


def can_follow(units) -> bool:
    """Return whether units can be followed."""
    return isinstance(units, Votes) or callable(getattr(units, "follow", None))


def follow(units, metric, points, labels, sizes, *, regularizer: float, trajectory: bool):
    """Move points by Euler's method.

    Parameters
    ----------
    units : Votes, or HiddenUnits with a function ``follow`` that takes and returns what `follow_votes` does
        Leading axes are those of the points before ``n_points``; of hidden units there are none.
    metric : FairMetric
    points : ndarray of shape (..., n_points, n_features)
    labels : ndarray of shape (n_points,) or (..., n_points)
        Zeros and ones.
    sizes : ndarray of shape (n_steps,)
        Of the steps.
    regularizer : float
    trajectory : bool

    Returns
    -------
    X : ndarray of the shape of `points`
    log_odds : ndarray of shape (n_steps or 0, ..., n_points)
        Before each step.
    """
    unit = np.ones(metric.n_features) if metric.scale is None else metric.scale
    inside, outside = np.eye(metric.n_features) - metric.projection, metric.projection
    kernel, bias, weight = (part.astype(float) for part in (units.kernel, units.bias, units.weight))
    entering = points.astype(float) @ kernel + bias[..., None, :]
    kernel = unit[:, None] * kernel
    back = kernel.swapaxes(-1, -2)
    signs = np.broadcast_to(np.where(labels == 1, 1.0, -1.0), points.shape[:-1])
    log_odds = np.empty((len(sizes) if trajectory else 0, *signs.shape))
    options = signs, sizes, 1 - 2 * regularizer * sizes
    grams = back @ inside @ kernel, back @ outside @ kernel
    follow_units = getattr(units, "follow", follow_votes)
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the finite numbers
        pushes = follow_units(entering, weight, units.offset, *grams, *options, log_odds)
        return points + unit * (pushes[0] @ (back @ inside) + pushes[1] @ (back @ outside)), log_odds


def follow_votes(entering, weight, _, gram_in, gram_out, signs, sizes, left, log_odds):
    """Return how far each vote's coefficients have pushed each point, inside and outside the subspace.

    Parameters
    ----------
    entering : ndarray of shape (..., n_points, n_votes)
    weight : ndarray of shape (n_votes,)
    gram_in, gram_out : ndarray of shape (..., n_votes, n_votes)
        Products of the votes' coefficients, inside and outside the subspace.
    signs : ndarray of shape (..., n_points)
        -1 and 1 for labels 0 and 1.
    sizes, left : ndarray of shape (n_steps,)
        Sizes of the steps, and the share of what is outside that each leaves.
    log_odds : ndarray of shape (n_steps or 0, ..., n_points)
        Written: those before each step.
    """
    signs = signs[..., None]
    push_in, push_out = np.zeros_like(entering), np.zeros_like(entering)
    margin = signs * entering
    for k, size in enumerate(sizes):
        if len(log_odds):
            ends = (np.logaddexp.reduce(np.log(weight) - np.logaddexp(0, -s * margin), axis=-1) for s in (1, -1))
            log_odds[k] = signs[..., 0] * np.subtract(*ends)
        slope = 1 / (1 + np.exp(margin))  # probability of the other label
        if len(weight) > 1:  # each vote has its share in the probability of the label
            top = margin.max(axis=-1, keepdims=True)
            share = weight * np.exp(np.minimum(margin, 0) - np.minimum(top, 0)) / (1 + np.exp(-np.abs(margin)))
            slope *= share / share.sum(axis=-1, keepdims=True)
        slope *= -size * signs
        push_in += slope
        push_out *= left[k]
        push_out += slope
        margin = signs * (entering + _times(push_in, gram_in) + _times(push_out, gram_out))
    return push_in, push_out


def _times(push, gram):
    return push @ gram if gram.shape[-1] > 1 else push * gram
