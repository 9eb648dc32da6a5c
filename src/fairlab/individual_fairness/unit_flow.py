"""The attack's Euler scheme for models that see a few linear functions of the features, in compiled loops.

Such a model (`fairlab.models.classifiers.HiddenUnits` or `Votes`) pushes every point along the coefficients of its
units. In a fair metric with projection P the push inside the sensitive subspace adds up, and the one outside is taken
back by a fixed share in every step. So it is enough to follow, point by point, what enters the units. While no hidden
unit of a network changes sides, its push keeps its direction, and a step takes a few numbers.

These are the steps of `fairlab.individual_fairness.attack` up to rounding, in double precision.
"""

import numpy as np

from fairlab.models.classifiers import Votes
from fairlab.models.loops import compiled


def follow(units, metric, points, labels, sizes, *, regularizer: float, trajectory: bool):
    """Move points by Euler's method.

    Parameters
    ----------
    units : HiddenUnits or Votes
        Leading axes are those of the points before ``n_points``.
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
    X, n_kept = np.empty(points.shape), len(sizes) if trajectory else 0
    log_odds = np.empty((n_kept, *points.shape[:-1]))
    labels = np.broadcast_to(labels, points.shape[:-1])
    unit = 1.0 if metric.scale is None else metric.scale
    inside = np.eye(metric.n_features) - metric.projection
    left = 1 - 2 * regularizer * sizes
    for index in np.ndindex(points.shape[:-2]):
        own = units.at(index)
        kernel = unit[:, None] * own.kernel if np.ndim(unit) else own.kernel
        entering = points[index].astype(float) @ own.kernel + own.bias
        signs = np.where(labels[index] == 1, 1.0, -1.0)
        kept = np.empty((n_kept, len(signs)))
        push_in, push_out = np.empty_like(entering), np.empty_like(entering)
        grams = kernel.T @ inside @ kernel, kernel.T @ metric.projection @ kernel
        steps = _follow_votes if isinstance(own, Votes) else _follow_network
        steps(entering, own.weight, float(own.offset), *grams, signs, sizes, left, push_in, push_out, kept)
        moved = push_in @ (kernel.T @ inside) + push_out @ (kernel.T @ metric.projection)
        X[index], log_odds[(slice(None), *index)] = points[index] + unit * moved, kept
    return X, log_odds


@compiled
def _follow_network(entering, weight, offset, gram_in, gram_out, signs, sizes, left, push_in, push_out, log_odds):
    """Write how far each unit's coefficients have pushed each point, inside and outside the subspace."""
    n_units = len(weight)
    faded, pull_in, pull_out = np.empty(n_units), np.empty(n_units), np.empty(n_units)
    gate, side = np.empty(n_units), np.empty(n_units)
    for i in range(len(entering)):
        # Now: what enters is value + c * faded + a * pull_in + b * pull_out, until a unit changes sides.
        value, sum_in, sum_out = entering[i], push_in[i], push_out[i]
        faded[:] = pull_in[:] = pull_out[:] = sum_in[:] = sum_out[:] = 0.0
        gate[:] = 0.0
        start, start_faded, by_in, by_out = 0.0, 0.0, 0.0, 0.0
        a, b, c, has_turned = 0.0, 0.0, 1.0, True
        for k in range(len(sizes) + 1):
            if has_turned:
                for j in range(n_units):
                    value[j] += a * pull_in[j]
                    faded[j] = c * faded[j] + b * pull_out[j]
                    sum_in[j] += a * gate[j]
                    sum_out[j] = c * sum_out[j] + b * gate[j]
                for j in range(n_units):
                    side[j] = 1.0 if value[j] + faded[j] > 0 else -1.0
                    turned = (weight[j] if side[j] > 0 else 0.0) - gate[j]
                    if turned != 0:
                        gate[j] += turned
                        for m in range(n_units):
                            pull_in[m] += turned * gram_in[j, m]
                            pull_out[m] += turned * gram_out[j, m]
                start, start_faded, by_in, by_out = offset, 0.0, 0.0, 0.0
                for j in range(n_units):
                    start += gate[j] * value[j]
                    start_faded += gate[j] * faded[j]
                    by_in += gate[j] * pull_in[j]
                    by_out += gate[j] * pull_out[j]
                a, b, c = 0.0, 0.0, 1.0
            if k == len(sizes):
                break
            odds = start + c * start_faded + a * by_in + b * by_out
            if len(log_odds) > 0:
                log_odds[k, i] = odds
            slope = -signs[i] / (1 + np.exp(signs[i] * odds))
            a += sizes[k] * slope
            b = left[k] * b + sizes[k] * slope
            c *= left[k]
            n_turned = 0
            for j in range(n_units):
                n_turned += (value[j] + c * faded[j] + a * pull_in[j] + b * pull_out[j]) * side[j] < 0
            has_turned = n_turned > 0 or k == len(sizes) - 1


@compiled
def _follow_votes(entering, weight, offset, gram_in, gram_out, signs, sizes, left, push_in, push_out, log_odds):
    """As `_follow_network`, for logistic models that are mixed."""
    n_votes = len(weight)
    value, share, other = np.empty(n_votes), np.empty(n_votes), np.empty(n_votes)
    for i in range(len(entering)):
        sum_in, sum_out, sign = push_in[i], push_out[i], signs[i]
        sum_in[:] = sum_out[:] = 0.0
        value[:] = entering[i]
        for k in range(len(sizes)):
            # Probabilities of the label and of the other one, over a factor that keeps them off zero.
            top, low = -np.inf, -np.inf
            for j in range(n_votes):
                top = max(top, sign * value[j])
                low = max(low, -sign * value[j])
            top, low = min(top, 0.0), min(low, 0.0)
            total, total_other = 0.0, 0.0
            for j in range(n_votes):
                margin = sign * value[j]
                ratio = np.exp(-abs(margin))
                high = 1 / (1 + ratio)
                share[j] = weight[j] * (high if margin > 0 else np.exp(margin - top) * high)
                other[j] = ratio * high if margin > 0 else high
                total += share[j]
                if len(log_odds) > 0:
                    total_other += weight[j] * (high if margin < 0 else np.exp(-margin - low) * high)
            if len(log_odds) > 0:
                log_odds[k, i] = sign * (np.log(total) + top - np.log(total_other) - low)
            for j in range(n_votes):
                step = -sign * sizes[k] * share[j] * other[j] / total
                sum_in[j] += step
                sum_out[j] = left[k] * sum_out[j] + step
            for j in range(n_votes):
                moved = entering[i, j]
                for m in range(n_votes):
                    moved += gram_in[m, j] * sum_in[m] + gram_out[m, j] * sum_out[m]
                value[j] = moved
