"""The attack's steps for networks with one hidden layer, in a compiled loop; see `HiddenUnits`."""

import numpy as np

from fairlab.models.loops import compiled


@compiled
def follow_network(entering, weight, offset, gram_in, gram_out, signs, sizes, left, push_in, push_out, log_odds):
    """Write how far each unit's coefficients have pushed each point, inside and outside the subspace.

    For each point, with both pushes 0 at the start::

        for k in range(n_steps):
            value = entering[i] + push_in @ gram_in + push_out @ gram_out
            gate = weight * (value > 0)
            log_odds[k, i] = gate @ value + offset
            push = -sizes[k] * signs[i] / (1 + np.exp(signs[i] * log_odds[k, i])) * gate
            push_in, push_out = push_in + push, left[k] * push_out + push

    While no unit changes sides, the push keeps its direction, and a step updates a few numbers instead of products.

    Parameters
    ----------
    entering : ndarray of shape (n_points, n_units)
        Pre-activations of the units; overwritten.
    weight : ndarray of shape (n_units,)
    offset : float
    gram_in, gram_out : ndarray of shape (n_units, n_units)
        Products of the units' coefficients, inside and outside the subspace.
    signs : ndarray of shape (n_points,)
        -1 and 1 for labels 0 and 1.
    sizes, left : ndarray of shape (n_steps,)
        Sizes of the steps, and the share of the push outside the subspace that each step retains.
    push_in, push_out : ndarray of shape (n_points, n_units)
        Written.
    log_odds : ndarray of shape (n_steps or 0, n_points)
        Written: the log odds before each step.
    """
    n_units = len(weight)
    faded, pull_in, pull_out = np.empty(n_units), np.empty(n_units), np.empty(n_units)
    gate, side = np.empty(n_units), np.empty(n_units)
    for i in range(len(entering)):
        # Pre-activations are value + c * faded + a * pull_in + b * pull_out, until a unit changes sides.
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


def follow(entering, weight, offset, gram_in, gram_out, signs, sizes, left, log_odds):
    """Return the pushes of `follow_network` for points with any leading axes; see `follow_votes`.

    Parameters
    ----------
    entering, weight, offset, gram_in, gram_out, signs, sizes, left, log_odds
        As for `follow_network`.
    """
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
