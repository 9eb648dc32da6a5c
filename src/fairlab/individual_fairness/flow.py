"""The attack's Euler scheme for models that see a few linear functions of the features.

Such a model (`fairlab.models.classifiers.HiddenUnits` or `Votes`) pushes every point along the coefficients of its
units. In a fair metric with projection P the push inside the sensitive subspace adds up, and the one outside is taken
back by a fixed share in every step. So it is enough to follow what enters the units.

These are the steps of `fairlab.individual_fairness.attack` up to rounding, in double precision.
"""

import numpy as np

from fairlab.models.classifiers import Votes
from fairlab.models.loops import IS_COMPILED, compiled


def can_follow(units) -> bool:
    """Return whether units can be followed: hidden ones in compiled loops only."""
    return IS_COMPILED or isinstance(units, Votes)


def follow(units, metric, points, labels, sizes, *, regularizer: float, trajectory: bool):
    """Move points by Euler's method.

    Parameters
    ----------
    units : HiddenUnits or Votes
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
    follow_units = follow_votes if isinstance(units, Votes) else _follow_network
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


@compiled
def follow_network(entering, weight, offset, gram_in, gram_out, signs, sizes, left, push_in, push_out, log_odds):
    """Write how far each unit's coefficients have pushed each point, inside and outside the subspace.

    While no unit changes sides, the push keeps its direction, and a step takes a few numbers.

    Parameters
    ----------
    entering : ndarray of shape (n_points, n_units)
        What enters the units; it is used up.
    weight : ndarray of shape (n_units,)
    offset : float
    gram_in, gram_out : ndarray of shape (n_units, n_units)
        Products of the units' coefficients, inside and outside the subspace.
    signs : ndarray of shape (n_points,)
        -1 and 1 for labels 0 and 1.
    sizes, left : ndarray of shape (n_steps,)
        Sizes of the steps, and the share of what is outside that each leaves.
    push_in, push_out : ndarray of shape (n_points, n_units)
        Written.
    log_odds : ndarray of shape (n_steps or 0, n_points)
        Written: those before each step.
    """
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


def _follow_network(entering, weight, offset, gram_in, gram_out, signs, sizes, left, log_odds):
    pushes = np.empty((2, *entering.shape))
    for index in np.ndindex(entering.shape[:-2]):
        push_in, push_out = pushes[(slice(None), *index)]
        kept = np.empty((len(log_odds), entering.shape[-2]))
        follow_network(
            entering[index], weight, float(offset), gram_in, gram_out, signs[index].copy(), sizes, left,
            push_in, push_out, kept,
        )  # fmt: skip
        log_odds[(slice(None), *index)] = kept
    return pushes


def _times(push, gram):
    return push @ gram if gram.shape[-1] > 1 else push * gram
