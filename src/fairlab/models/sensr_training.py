"""SenSR's training in compiled loops over few points at a time, which stay in the processor's cache.

Inside one pattern of active units a network is linear: a point's log odds are known from its moves and one vector, the
gradient, without asking the network again. The attack in all directions moves so little that hardly a unit changes
sides; those that may are followed one by one. So nothing is left out: this is `fairlab.models.sensr_dense` up to
rounding. Arrays have the points last, so that the compiler handles several at once.
"""

import numpy as np

from fairlab.fair_metric import FairMetric
from fairlab.models.loops import compiled
from fairlab.models.mlp_training import B1, B2, C1, C2, ONE, ZERO, activate, adam_rates, enter, first_moments, learn
from fairlab.models.sensr_recipe import EPSILON, PENALTY_RANGE, RATE_DECAY, Recipe
from fairlab.networks import BETA_1, BETA_2

WIDTH = 64  # points that are moved side by side
SAFETY = 1.01  # units this much farther off than any move can bring them are not followed

FAINT = np.float32(1e-13)  # slopes below it move no point by a rounding; their squares would be denormal, and slow

# The exponential in single precision, as Cephes has it: of twos and of what is left. The library's takes one at a time.
LARGEST, PER_TWO = np.float32(87), np.float32(1.44269504)
TWO_HIGH, TWO_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
POLYNOMIAL = tuple(
    map(np.float32, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5))
)
HALF = np.float32(0.5)


def longest_move(n_steps: int) -> float:
    """Return how far Adam can take a coordinate in so many steps of rate 1, whatever the gradients are."""
    k = np.arange(1, n_steps + 1)
    ratio = BETA_1**2 / BETA_2  # Cauchy and Schwarz on the two moments
    steps = (1 - BETA_1) / np.sqrt(1 - BETA_2) * np.sqrt((1 - ratio**k) / (1 - ratio))
    return float((np.sqrt(1 - BETA_2**k) / (1 - BETA_1**k) * steps).sum())


def train(X, y, batches, network, directions, recipe: Recipe) -> tuple[list[np.ndarray], float, int]:
    """Train one network; see `fairlab.models.sensr.SenSR`.

    Parameters
    ----------
    X : array of float32 of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Classes 0 and 1.
    batches : array of int of shape (n_steps, batch_size)
    network : list of ndarray
        What training starts from; it is left as it is.
    directions : array of shape (n_directions, n_features)
    recipe : Recipe

    Returns
    -------
    network : list of ndarray
    penalty : float
    n_skipped : int
        Batches that the network did not learn from.
    """
    metric = FairMetric.from_directions(directions)
    free = np.linalg.svd(np.eye(metric.n_features) - metric.projection)[2][: metric.n_sensitive]
    network = [np.array(part, np.float32) for part in network]
    two_or_more = np.zeros((max(2, len(directions)), X.shape[1]), np.float32)
    two_or_more[: len(directions)] = directions
    penalty, skipped = _train(
        np.ascontiguousarray(X),
        np.where(y == 1, ONE, -ONE),
        batches,
        *network,
        two_or_more,
        tuple(free.astype(np.float32)),  # so that their number is known when the loops are compiled
        adam_rates(recipe.subspace_rate, recipe.subspace_steps),
        adam_rates(1.0, recipe.full_steps),
        longest_move(recipe.full_steps) * SAFETY,
        recipe.distance_target,
        recipe.learning_rate,
        recipe.full_rate,
        recipe.penalty,
        np.float32(EPSILON),
        *PENALTY_RANGE,
        RATE_DECAY,
    )
    return network, float(penalty), int(skipped)


@compiled
def _train(
    X, sign, batches, hidden, hidden_bias, output, output_bias, directions, free, inside_rates, away_rates, farthest,
    target, learning_rate, full_rate, penalty, epsilon, least, most, decay,
):  # fmt: skip
    """Change the network in place; return the penalty and the number of batches that were skipped."""
    n_features, n_hidden = hidden.shape
    n_points = batches.shape[1]
    moments = first_moments(n_features, n_hidden)
    learned, skipped = 0, 0
    for k in range(len(batches)):
        points, signs = X[batches[k]].T.copy(), sign[batches[k]]
        weight, bias = output[:, 1] - output[:, 0], output_bias[1] - output_bias[0]
        entering = enter(points, hidden, hidden_bias)
        active = np.empty_like(entering)
        odds = np.empty(n_points, np.float32)
        if k == 0:  # the authors' first step is a plain one
            activate(entering, weight, bias, active, odds)
        else:
            _attack_inside(entering, signs, weight, bias, directions, hidden, inside_rates, epsilon, points)
            activate(entering, weight, bias, active, odds)
            before = _mean_loss(odds, signs)
            away = np.zeros((n_features, n_points), np.float32)
            rates = (away_rates * full_rate).astype(np.float32)
            push = np.float32(2 * penalty / n_points)
            uphill = np.dot(hidden, active)
            _attack_away(
                entering, active, odds, signs, uphill, hidden, weight, free, push, rates, epsilon, farthest * full_rate,
                away,
            )  # fmt: skip
            distance = _mean_square_distance(away, free)
            if _mean_loss(odds, signs) - penalty * distance < before:
                full_rate *= decay
                skipped += 1
                continue
            factor = max(distance, target) / min(distance, target) if distance > 0 else np.inf
            penalty = min(max(penalty + factor * (distance - target), least), most)
            points += away
        learn(
            points, signs, odds, active, hidden, hidden_bias, output, output_bias, moments, learned, learning_rate,
            epsilon,
        )  # fmt: skip
        learned += 1
    return penalty, skipped


@compiled
def _mean_loss(odds, signs):
    total = 0.0
    for i in range(len(odds)):
        margin = -signs[i] * odds[i]
        total += max(margin, ZERO) + np.log1p(np.exp(-abs(margin)))
    return total / len(odds)


@compiled
def _mean_square_distance(away, axes):
    total = 0.0
    for f in range(len(away)):
        for i in range(away.shape[1]):
            total += away[f, i] * away[f, i]
    for m in range(len(axes)):
        for inside in np.dot(axes[m], away):
            total -= inside * inside
    return max(total, 0.0) / away.shape[1]


@compiled
def _attack_inside(entering, signs, weight, bias, directions, hidden, rates, epsilon, points):
    """Move points, and what enters the hidden units, up the loss inside the subspace; not if the mean loss falls."""
    n_hidden, n_points = entering.shape
    n_directions = len(directions)
    along = np.dot(directions, hidden)
    moves, gradient = np.zeros((n_directions, n_points), np.float32), np.empty((n_directions, n_points), np.float32)
    means, squares = np.zeros((n_directions, n_points), np.float32), np.zeros((n_directions, n_points), np.float32)
    odds, value, bits = np.empty(n_points, np.float32), np.empty(n_points, np.float32), np.empty(n_points, np.int32)
    shifted = np.empty(n_points, np.float32)
    scale, before = ONE / np.float32(n_points), 0.0
    for k in range(len(rates) + 1):
        odds[:] = bias
        gradient[:] = ZERO
        for j in range(n_hidden):
            start = entering[j]
            if n_directions > 2:
                for i in range(n_points):
                    shifted[i] = entering[j, i]
                for m in range(2, n_directions):
                    _move(shifted, moves[m], along[m, j])
                start = shifted  # not `value`: loops that read what they write elsewhere are not compiled as quick ones
            _look(start, moves, along[0, j], along[1, j], weight[j], value, odds, gradient)
            for m in range(2, n_directions):
                _climb(gradient[m], value, weight[j] * along[m, j])
        if k == 0:
            before = _mean_loss(odds, signs)
        if k == len(rates):
            break
        _slopes(odds, signs, scale, bits)
        rate = rates[k]
        for m in range(n_directions):
            for i in range(n_points):
                g = odds[i] * gradient[m, i]
                means[m, i] = B1 * means[m, i] + C1 * g
                squares[m, i] = B2 * squares[m, i] + C2 * g * g
                moves[m, i] -= rate * means[m, i] / (np.sqrt(squares[m, i]) + epsilon)
    if _mean_loss(odds, signs) < before:
        return
    for m in range(n_directions):
        for j in range(n_hidden):
            _move(entering[j], moves[m], along[m, j])
        for f in range(len(points)):
            _move(points[f], moves[m], directions[m, f])


@compiled
def _move(values, moves, along):
    """Add moves along one direction to what changes by so much."""
    for i in range(len(values)):
        values[i] += moves[i] * along


@compiled
def _climb(gradient, value, uphill):
    """Add a hidden unit to the gradient along one direction, where it is active."""
    for i in range(len(gradient)):
        gradient[i] += uphill if value[i] > ZERO else ZERO


@compiled
def _look(start, moves, along, along_second, weight, value, odds, gradient):
    """Add a hidden unit to the log odds and to the gradient along the first two directions, in one go."""
    first, second, uphill, uphill_second = moves[0], moves[1], gradient[0], gradient[1]
    part, part_second = weight * along, weight * along_second
    for i in range(len(odds)):
        entering = start[i] + first[i] * along + second[i] * along_second
        value[i] = entering
        odds[i] += weight * max(entering, ZERO)
        uphill[i] += part if entering > ZERO else ZERO
        uphill_second[i] += part_second if entering > ZERO else ZERO


@compiled
def _attack_away(entering, active, odds, signs, uphill, hidden, weight, axes, push, rates, epsilon, farthest, away):
    """Move points in all directions; write their moves, their log odds and which units are active then.

    Log odds go by one vector per point, which changes when a unit does that the moves can reach.
    """
    n_features, n_points = away.shape
    points, units, on = _within_reach(entering, hidden, farthest)
    scale, low_pair = ONE / np.float32(n_points), 0
    for low in range(0, n_points, WIDTH):
        n = min(WIDTH, n_points - low)
        pairs = range(low_pair, low_pair + np.searchsorted(points[low_pair:], low + n))
        low_pair = pairs.stop
        means, squares = np.zeros((n_features, n), np.float32), np.zeros((n_features, n), np.float32)
        moves, toward = np.zeros((n_features, n), np.float32), np.empty((n_features, n), np.float32)
        toward[:] = uphill[:, low : low + n]
        inside, summed = np.empty((len(axes), n), np.float32), np.zeros((len(axes), n), np.float32)
        sign, start, now = signs[low : low + n], odds[low : low + n].copy(), odds[low : low + n]
        slope, bits = np.empty(n, np.float32), np.empty(n, np.int32)
        for k in range(len(rates)):
            slope[:] = now
            _slopes(slope, sign, scale, bits)
            now[:] = start
            inside[:] = summed
            inside *= push
            summed[:] = ZERO
            rate = rates[k]
            for f in range(n_features):
                for i in range(n):
                    move = moves[f, i]
                    g = push * move + slope[i] * toward[f, i]
                    for m in range(len(axes)):
                        g -= inside[m, i] * axes[m][f]
                    means[f, i] = B1 * means[f, i] + C1 * g
                    squares[f, i] = B2 * squares[f, i] + C2 * g * g
                    move -= rate * means[f, i] / (np.sqrt(squares[f, i]) + epsilon)
                    moves[f, i] = move
                    now[i] += move * toward[f, i]
                    for m in range(len(axes)):
                        summed[m, i] += move * axes[m][f]
            for p in pairs:
                i, j = points[p] - low, units[p]
                value = entering[j, low + i]
                for f in range(n_features):
                    value += moves[f, i] * hidden[f, j]
                if (value > ZERO) != on[p]:
                    on[p] = value > ZERO
                    turned = weight[j] if on[p] else -weight[j]
                    now[i] += turned * value
                    start[i] += turned * entering[j, low + i]
                    for f in range(n_features):
                        toward[f, i] += turned * hidden[f, j]
        away[:, low : low + n] = moves
    for p in range(len(points)):
        active[units[p], points[p]] = weight[units[p]] if on[p] else ZERO


@compiled
def _within_reach(entering, hidden, farthest):
    """Return points and units, pair by pair, where the moves may change the unit's side, and whether it is active."""
    n_hidden, n_points = entering.shape
    reach = np.zeros(n_hidden, np.float32)
    for f in range(len(hidden)):
        for j in range(n_hidden):
            reach[j] += abs(hidden[f, j]) * np.float32(farthest)
    near = np.zeros(n_points, np.int32)
    for j in range(n_hidden):
        for i in range(n_points):
            near[i] += abs(entering[j, i]) <= reach[j]
    n_pairs = near.sum()
    points, units, on = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32), np.empty(n_pairs, np.bool_)
    p = 0
    for i in range(n_points):
        if near[i] == 0:
            continue
        for j in range(n_hidden):
            if abs(entering[j, i]) <= reach[j]:
                points[p], units[p], on[p] = i, j, entering[j, i] > ZERO
                p += 1
    return points, units, on


@compiled
def _slopes(odds, signs, scale, bits):
    """Replace log odds by minus the slope of the loss, times `scale`."""
    a, b, c, d, e, f = POLYNOMIAL
    for i in range(len(odds)):
        x = min(max(signs[i] * odds[i], -LARGEST), LARGEST)
        twos = np.floor(x * PER_TWO + HALF)
        x = x - twos * TWO_HIGH - twos * TWO_LOW
        odds[i] = (((((a * x + b) * x + c) * x + d) * x + e) * x + f) * x * x + x + ONE
        bits[i] = (np.int32(twos) + 127) << 23
    powers = bits.view(np.float32)
    for i in range(len(odds)):
        slope = signs[i] / (ONE + odds[i] * powers[i]) * scale
        odds[i] = slope if abs(slope) > FAINT else ZERO
