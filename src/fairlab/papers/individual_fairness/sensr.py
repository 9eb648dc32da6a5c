"""Training of SenSR, with attacks in compiled loops over few points at a time, which stay in the processor's cache.

Within one pattern of active units a network is linear: a point's log odds follow from its moves and one vector, the
gradient, without evaluating the network again. The attack in all directions moves points so little that hardly a unit
changes sides; those that may are tracked one by one, so nothing is left out. In the loops, points are the last axis of
arrays, so that the compiler handles several at once.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from fairlab.checks import required
from fairlab.fair_metric import FairMetric
from fairlab.models.loops import compiled
from fairlab.papers.training import BETA_1, BETA_2, Training

EPSILON = 1e-8  # of Adam, in the authors' TensorFlow
PENALTY_RANGE = (1e-5, 10.0)
RATE_DECAY = 0.999  # factor of the full attack's rate after a failed attack

B1, C1, B2, C2 = np.float32(BETA_1), np.float32(1 - BETA_1), np.float32(BETA_2), np.float32(1 - BETA_2)
ONE, ZERO = np.float32(1), np.float32(0)
WIDTH = 64  # points that are moved side by side
SAFETY = 1.01  # factor on the longest possible move; units beyond it are not tracked

FAINT = np.float32(1e-13)  # smaller slopes move no point by even a rounding; their squares would be denormal, and slow

# The exponential in single precision, as in Cephes: a power of two times a polynomial. The library's is not vectorised.
LARGEST, PER_TWO = np.float32(87), np.float32(1.44269504)
TWO_HIGH, TWO_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
POLYNOMIAL = tuple(
    map(np.float32, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5))
)
HALF = np.float32(0.5)


def longest_move(n_steps: int) -> float:
    """Return how far Adam can move a coordinate at most in `n_steps` steps of rate 1, whatever the gradients are."""
    k = np.arange(1, n_steps + 1)
    ratio = BETA_1**2 / BETA_2  # Cauchy and Schwarz on the two moments
    steps = (1 - BETA_1) / np.sqrt(1 - BETA_2) * np.sqrt((1 - ratio**k) / (1 - ratio))
    return float((np.sqrt(1 - BETA_2**k) / (1 - BETA_1**k) * steps).sum())


def adam_rates(rate: float, n_steps: int) -> np.ndarray:
    """Return Adam's rate in each step, corrected for moments that start at zero, shape (n_steps,).

    Parameters
    ----------
    rate : float
    n_steps : int
    """
    k = np.arange(1, n_steps + 1)
    return (rate * np.sqrt(1 - BETA_2**k) / (1 - BETA_1**k)).astype(np.float32)


def train(X, y, network, batches, directions, settings) -> tuple[list[np.ndarray], float, int]:
    """Train one network; return it, the final penalty and the number of skipped batches.

    Parameters
    ----------
    X : array of float32 of shape (n_rows, n_features)
    y : array of int of shape (n_rows,)
    network : list of ndarray
        Initial weights; not modified.
    batches : array of int of shape (n_steps, batch_size)
    directions : array of shape (n_directions, n_features)
    settings : SenSR

    Raises
    ------
    MissingExtraError
        If numba is not installed, without which the loops would take days.
    """
    required("numba")
    training, X = Training([network], settings.learning_rate, epsilon=EPSILON), np.ascontiguousarray(X)
    attack = compiled_attack(directions, settings)
    rate, penalty, skipped = settings.full_rate, settings.penalty, 0
    with threadpool_limits(1, "blas"):  # threads of NumPy and of the compiled loops would wait for each other
        for k, rows in enumerate(batches):
            points, labels = X.take(rows, axis=0), y[rows]
            if k > 0:  # the authors' first step is without attack
                now = [part[0] for part in training.network]
                points, distance, has_risen = attack(now, points, labels, rate, penalty)
                if not has_risen:
                    rate *= RATE_DECAY
                    skipped += 1
                    continue
                penalty = moved_penalty(penalty, distance, settings.distance_target)
            training.step(points[None], labels[None])
    return training.networks()[0], float(penalty), skipped


def moved_penalty(penalty: float, distance: float, target: float) -> float:
    """Return lambda after a batch: larger if the attack went farther than the target, smaller if less far.

    Parameters
    ----------
    penalty : float
    distance, target : float
        Mean squared fair distance of the attack, and its target.
    """
    factor = max(distance, target) / min(distance, target) if distance > 0 else np.inf
    return min(max(penalty + factor * (distance - target), PENALTY_RANGE[0]), PENALTY_RANGE[1])


def compiled_attack(directions, settings):
    """Return the attack that `settings` describe, as a function of (network, X, y, rate, penalty).

    It returns the attacked batch, its mean squared fair distance, and whether the full attack raised its objective.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, n_features)
    settings : SenSR
    """
    metric = FairMetric.from_directions(directions)
    free = np.linalg.svd(np.eye(metric.n_features) - metric.projection)[2][: metric.n_sensitive]
    free = tuple(free.astype(np.float32))  # a tuple, so that their number is known when the loops are compiled
    two_or_more = np.zeros((max(2, len(directions)), metric.n_features), np.float32)
    two_or_more[: len(directions)] = directions
    inside_rates = adam_rates(settings.subspace_rate, settings.subspace_steps)
    away_rates, farthest = adam_rates(1.0, settings.full_steps), longest_move(settings.full_steps) * SAFETY

    def attack(network, X, y, rate, penalty):
        points, signs = X.T.copy(), np.where(y == 1, ONE, -ONE)
        rates = inside_rates, (away_rates * rate).astype(np.float32), farthest * rate, penalty, np.float32(EPSILON)
        distance, has_risen = _attack(points, signs, *network, two_or_more, free, *rates)
        return points.T, distance, has_risen

    return attack


@compiled
def _attack(
    points, signs, hidden, hidden_bias, output, output_bias, directions, free, inside_rates, away_rates, farthest,
    penalty, epsilon,
):  # fmt: skip
    """Move the points of a batch; return how far they went, and whether the full attack raised its objective."""
    n_features, n_points = points.shape
    weight, bias = output[:, 1] - output[:, 0], output_bias[1] - output_bias[0]
    entering = np.dot(hidden.T, points)
    for j in range(len(entering)):
        entering[j] += hidden_bias[j]
    active, odds = np.empty_like(entering), np.empty(n_points, np.float32)
    _attack_inside(entering, signs, weight, bias, directions, hidden, inside_rates, epsilon, points)
    _activate(entering, weight, bias, active, odds)
    before = _mean_loss(odds, signs)
    away = np.zeros((n_features, n_points), np.float32)
    push = np.float32(2 * penalty / n_points)
    uphill = np.dot(hidden, active)
    _attack_away(entering, odds, signs, uphill, hidden, weight, free, push, away_rates, epsilon, farthest, away)
    distance = _mean_square_distance(away, free)
    points += away
    return distance, _mean_loss(odds, signs) - penalty * distance >= before


@compiled
def _activate(entering, weight, bias, active, odds):
    """Write the output weights of the units that are active, zero for the others, and the log odds."""
    odds[:] = bias
    for j in range(len(entering)):
        for i in range(len(odds)):
            active[j, i] = weight[j] if entering[j, i] > ZERO else ZERO
            odds[i] += weight[j] * max(entering[j, i], ZERO)


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
    """Move points and pre-activations up the loss inside the subspace, unless the mean loss falls."""
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
                start = shifted  # not `value`: loops that also write the array they read are compiled to slower code
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
    """Add moves along one direction to values that change by `along` per unit move."""
    for i in range(len(values)):
        values[i] += moves[i] * along


@compiled
def _climb(gradient, value, uphill):
    """Add a hidden unit to the gradient along one direction, where it is active."""
    for i in range(len(gradient)):
        gradient[i] += uphill if value[i] > ZERO else ZERO


@compiled
def _look(start, moves, along, along_second, weight, value, odds, gradient):
    """Add a hidden unit to the log odds and to the gradient along the first two directions, in one pass."""
    first, second, uphill, uphill_second = moves[0], moves[1], gradient[0], gradient[1]
    part, part_second = weight * along, weight * along_second
    for i in range(len(odds)):
        entering = start[i] + first[i] * along + second[i] * along_second
        value[i] = entering
        odds[i] += weight * max(entering, ZERO)
        uphill[i] += part if entering > ZERO else ZERO
        uphill_second[i] += part_second if entering > ZERO else ZERO


@compiled
def _attack_away(entering, odds, signs, uphill, hidden, weight, axes, push, rates, epsilon, farthest, away):
    """Move points in all directions; write their moves and their log odds.

    The log odds of a point follow from one vector, which changes when a unit within reach changes sides.
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


@compiled
def _within_reach(entering, hidden, farthest):
    """Return the pairs of a point and a unit whose side the moves may change, and whether the unit is active."""
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
