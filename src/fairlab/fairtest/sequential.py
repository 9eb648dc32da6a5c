"""Statistics for FairTest's continuous mode (section 5): levels of repeated looks, and bounds valid at every moment."""

import numpy as np
from numpy.typing import ArrayLike

from fairlab.checks import FRACTION, check_array, check_count, checked
from fairlab.statistics import bonferroni_level

# Sizes of bets on a rate, in log odds: the best one after n decisions is about sqrt(log(1 / alpha) / n), so that these
# cover a few decisions up to tens of millions.
BETS = np.geomspace(1e-3, 8, 32) * np.array([[-1], [1]])  # on few hits, on many
ODDS = np.expm1(BETS)
STAKES = np.log(BETS.size)
MAX_STEPS, HALVINGS = 40, 24  # of searches for an end
MOMENTS_AT_ONCE = 2_000
ROUNDING = 1e-9  # of sums of numbers, relative to the number of decisions
SPARED = 0.25  # A look whose p-values are all at most this spends no level.


@checked(number=check_count, alpha=FRACTION)
def look_level(number: int, alpha: float) -> float:
    """Return the level of a look, such that all looks together, however many, have at most `alpha`.

    Parameters
    ----------
    number : int
        Number of the look, from 1.
    alpha : float

    Returns
    -------
    float
        ``alpha * 6 / (pi * number)**2``: the sum over all numbers is `alpha` (spending by a convergent series).

    Raises
    ------
    ValueError
        If `number` is no positive integer or `alpha` is not between 0 and 1.

    Examples
    --------
    >>> from fairlab.fairtest import look_level
    >>> [round(look_level(number, 0.05), 4) for number in (1, 2, 50)]
    [0.0304, 0.0076, 0.0]
    >>> sum(look_level(number, 0.05) for number in range(1, 100_000)) < 0.05
    True
    """
    return alpha * 6 / (np.pi * number) ** 2


def adaptive_level(largest_p_values: ArrayLike, alpha: float) -> float:
    """Return the level of the next look, such that all looks together have at most `alpha`; some looks spend nothing.

    Parameters
    ----------
    largest_p_values : array-like of float
        Largest p-value of each earlier look, before correction. Empty before the first look.
    alpha : float

    Returns
    -------
    float
        ``0.75 * look_level(1 + n, alpha)``, where n counts the earlier looks with a p-value above 0.25.

    Raises
    ------
    ValueError
        If a p-value is not from 0 to 1 or `alpha` is not between 0 and 1.

    Notes
    -----
    While all null hypotheses of a look are false, as for a model that treats groups differently everywhere, the next
    look has the same level; `look_level` would go on falling. If each look has one true hypothesis, the levels are
    larger in the long run, too, and never below 0.75 of those of `look_level`.

    A look may err only if at least one of its null hypotheses is true. Given the past, which determines the hypotheses
    and the level a, the p-value of that one is above c = 0.25 with a probability of at least 1 - c, and so is the
    largest. Holm's method errs in the look with a probability of at most a, however its p-values depend on each
    other. Hence the probability of any error is at most the expected sum of a over looks with a true hypothesis, which
    is at most the expected sum of a / (1 - c) over looks whose largest p-value is above c. These have different n, and
    the sum of ``look_level(1 + n, alpha)`` over all n is `alpha`. This is the adaptive spending of Tian and Ramdas,
    with a family of hypotheses in the place of each single one. P-values must be valid given the past: a look tests
    rows that no earlier look and no training has used, and its timing does not depend on the values in these rows.

    References
    ----------
    Tian, Ramdas: Online control of the familywise error rate. Statistical Methods in Medical Research 30 (2021).

    Examples
    --------
    >>> from fairlab.fairtest import adaptive_level
    >>> [round(adaptive_level(largest, 0.05), 4) for largest in ([], [0.01, 0.2], [0.01, 0.9])]
    [0.0228, 0.0228, 0.0057]
    """
    largest = check_array(largest_p_values, "largest_p_values")
    if ((largest < 0) | (largest > 1)).any():
        raise ValueError("largest_p_values: expected numbers from 0 to 1")
    return (1 - SPARED) * look_level(1 + int((largest > SPARED).sum()), alpha)


@checked(confidence_level=FRACTION)
def rate_sequence(
    hits: ArrayLike, totals: ArrayLike, *, confidence_level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds that contain the mean rate so far at all moments at once, with the stated probability.

    Decisions may depend on earlier ones and their rate may change: the bounds are for the mean, so far, of the
    probabilities of all decisions, each given the past. Bounds may be read after every decision, and one may stop at
    any time.

    Parameters
    ----------
    hits, totals : array-like of float, of one shape
        Favourable and all decisions up to each moment, with moments along the first axis; or the sum and the count of
        numbers from 0 to 1, whose mean is then bounded.
    confidence_level : float

    Returns
    -------
    low, high : ndarray
        0 and 1 before the first decision.

    Raises
    ------
    ValueError
        If there are more hits than decisions, or negative counts, or if counts are no running totals.

    Notes
    -----
    A rate is excluded when a mixture of bets against it would have multiplied its stake by 1 / alpha, which by Ville's
    inequality happens, ever, with a probability of at most alpha (Howard et al. 2020; Chugg et al. 2023). A bet at
    log odds b multiplies by exp(b * hit) / (1 - p + p * exp(b)), which has a mean of 1, and of numbers from 0 to 1 with
    a mean of p of at most 1, as exp is convex. The logarithm of the divisor is concave in p, so that bounds hold for
    the mean of changing probabilities, too. The sizes of bets are fixed beforehand and have equal parts of the stake.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon: Time-uniform Chernoff bounds via nonnegative supermartingales. Probability
    Surveys 17 (2020). Chugg, Cortes-Gomez, Wilder, Ramdas: Auditing fairness by betting. NeurIPS (2023).

    Examples
    --------
    >>> from fairlab.fairtest import rate_sequence
    >>> low, high = rate_sequence([0, 7, 300], [0, 10, 1_000])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.193, 0.251], [1.0, 0.984, 0.352])
    """
    hits, totals = _checked(hits, totals, n_axes=0)
    limit = -np.log1p(-confidence_level)
    flat = hits.ravel(), totals.ravel()
    low, high = (_in_parts(lambda h, n, end=end: _end(h, n, end, limit), *flat) for end in (0, 1))
    return low.reshape(hits.shape), high.reshape(hits.shape)


def _checked(hits, totals, *, n_axes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return checked counts: running totals along the first axis, unless it is one of the last `n_axes`."""
    hits, totals = check_array(hits, "hits"), check_array(totals, "totals")
    if hits.shape != totals.shape:
        raise ValueError(f"totals: expected the shape of hits, {hits.shape}, found {totals.shape}")
    if (hits < 0).any() or (hits > totals).any():
        raise ValueError("hits: expected from 0 up to the number of decisions, totals")
    if hits.ndim > n_axes and hits.size:
        new, more = np.diff(hits, axis=0), np.diff(totals, axis=0)
        slack = ROUNDING * totals.max()
        if ((new < -slack) | (more < -slack)).any() or (new > more + slack).any():
            found = "a count that falls" if min(new.min(), more.min()) < -slack else "more new hits than new decisions"
            raise ValueError(
                f"hits and totals: expected running totals along the first axis, found {found}; cumsum makes them"
            )
    return hits, totals


def _in_parts(bounds, *arrays) -> np.ndarray:
    """Return bounds, computed for some moments at a time."""
    starts = range(0, max(len(arrays[0]), 1), MOMENTS_AT_ONCE)
    parts = [bounds(*(each[k : k + MOMENTS_AT_ONCE] for each in arrays)) for k in starts]
    return np.concatenate(parts)


def evidence(hits, totals, rate) -> tuple[np.ndarray, np.ndarray]:
    """Return the log wealth of bets against a rate, from a stake of 1, and its slope; arrays broadcast."""
    hits, totals, rate = (np.asarray(each, dtype=float)[..., None] for each in (hits, totals, rate))
    bets, odds = BETS.ravel(), ODDS.ravel()
    gains = 1 + rate * odds
    logarithms = bets * hits - totals * np.log(gains)
    largest = logarithms.max(axis=-1)
    stakes = np.exp(logarithms - largest[..., None])
    total = stakes.sum(axis=-1)
    slope = -totals[..., 0] * (stakes / gains @ odds) / total
    return largest + np.log(total) - STAKES, slope


def _end(hits, totals, end: int, limit, beyond=0) -> np.ndarray:
    """Return the rate nearest to `end`, 0 or 1, that is not excluded, or less than a billionth beyond.

    Newton's steps begin where one bet alone excludes or, for the lower end, at `beyond`, a rate not above the solution,
    if that is nearer. They never pass the solution, as evidence is convex.
    """
    bets, odds = BETS[1 - end], ODDS[1 - end]
    gain = (bets * hits[:, None] - (STAKES + np.asarray(limit))[..., None]) / np.maximum(totals, 1)[:, None]
    alone = np.expm1(gain) / odds
    alone = np.maximum(alone.max(axis=-1), beyond) if end == 0 else alone.min(axis=-1)
    found = np.where(totals > 0, np.clip(alone, 0, 1), end)
    for _ in range(MAX_STEPS):
        log, slope = evidence(hits, totals, found)
        is_beyond = (log > limit) & (slope < 0 if end == 0 else slope > 0)
        step = np.divide(log - limit, slope, out=np.zeros(found.shape), where=is_beyond)
        found = np.clip(found - step, 0, 1)
        if (np.abs(step) < 1e-10).all():
            break
    return found


def _best_rate(hits, totals) -> np.ndarray:
    """Return the rate with the least evidence against it."""
    left, right = np.zeros(hits.shape), np.ones(hits.shape)
    for _ in range(MAX_STEPS):
        middle = (left + right) / 2
        is_left = evidence(hits, totals, middle)[1] < 0
        left, right = np.where(is_left, middle, left), np.where(is_left, right, middle)
    return (left + right) / 2


@checked(confidence_level=FRACTION)
def difference_sequence(
    hits: ArrayLike, totals: ArrayLike, *, confidence_level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the mean rate of a first group so far minus that of a second one, at all moments at once.

    Parameters
    ----------
    hits, totals : array-like of float of shape (..., 2)
        Favourable and all decisions of both groups up to each moment, or sums and numbers as for `rate_sequence`; with
        moments along the first axis, if there is one beside that of the groups.
    confidence_level : float

    Returns
    -------
    low, high : ndarray of shape (...)

    Raises
    ------
    ValueError
        If there are more hits than decisions, or negative counts, or not two groups, or if counts are no running
        totals.

    Notes
    -----
    A pair of rates is excluded when the product of the wealth of bets against each exceeds 1 / alpha, and a difference
    when all pairs that differ by it are: the product of evidence on separate decisions is evidence, too. It is convex,
    so that a plane below it at any pair of rates bounds the difference; the pair is found by nested searches.

    Examples
    --------
    >>> from fairlab.fairtest import difference_sequence
    >>> low, high = difference_sequence([[3, 5], [300, 450]], [[10, 10], [1_000, 1_000]])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-0.86, -0.24], [0.62, -0.06])
    """
    hits, totals = _checked(hits, totals, n_axes=1)
    if hits.shape[-1:] != (2,):
        raise ValueError(f"hits and totals: expected counts of two groups, shape (..., 2), found {hits.shape}")
    flat, limit = (hits.reshape(-1, 2), totals.reshape(-1, 2)), -np.log1p(-confidence_level)
    both = _in_parts(lambda *each: _ends_of_difference(*each, limit), *flat)
    return both[:, 0].reshape(hits.shape[:-1]), both[:, 1].reshape(hits.shape[:-1])


def _ends_of_difference(hits, totals, limit: float) -> np.ndarray:
    counts = [(hits[:, k], totals[:, k], _best_rate(hits[:, k], totals[:, k])) for k in (0, 1)]
    return np.stack([-_largest_difference(*counts[::-1], limit), _largest_difference(*counts, limit)], axis=-1)


def _largest_difference(first_counts, second_counts, limit: float) -> np.ndarray:
    """Return how much the first rate may be above the second."""
    return _bound_by_plane(*_farthest_pair(first_counts, second_counts, limit), limit)


def _farthest_pair(first_counts, second_counts, limit: float):
    """Return rates p, q with the largest p - q among those not excluded, e1(p) + e2(q) <= limit, by halving.

    For each p, the smallest q is where the sum of evidence reaches the limit. While p rises by dp, that q rises by
    e1'(p) / -e2'(q) dp. As e1 and e2 are convex, p - q is concave in p, and it grows as long as e1'(p) < -e2'(q).

    Returns
    -------
    pair, evidence, slopes, ends
        p and q; e1(p) + e2(q); e1'(p) and -e2'(q); the lowest and the highest rate that p, and that q, may have.
    """
    *first_counts, left = first_counts
    *second_counts, most = second_counts

    def pair(first, beyond):
        log, slope = evidence(*first_counts, first)
        second = np.minimum(_end(*second_counts, 0, limit - log, beyond), most)
        second_log, second_slope = evidence(*second_counts, second)
        return second, log + second_log, slope, -second_slope

    least, right = pair(left, 0)[0], _end(*first_counts, 1, limit - evidence(*second_counts, most)[0])
    ends, beyond = ((left, right), (least, most)), least
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        second, _, slope, second_slope = pair(middle, beyond)
        goes_on = (slope < second_slope) | (second == 0)
        beyond = np.where(goes_on, second, beyond)
        left, right = np.where(goes_on, middle, left), np.where(goes_on, right, middle)
    second, log, *slopes = pair(right, beyond)
    return (right, second), log, slopes, ends


def _bound_by_plane(pair, log, slopes, ends, limit: float) -> np.ndarray:
    """Return a bound of r - s for all rates r, s that are not excluded, by the plane of evidence at one pair p, q.

    Convex evidence lies above its plane: log + a (r - p) - b (s - q) <= limit, with slopes a = e1'(p), b = -e2'(q).
    Hence c (r - s) <= c (p - q) + limit - log + (c - a) (r - p) + (b - c) (s - q) for every c > 0. At the farthest pair
    a and b are nearly equal; c is either of them, and r and s are at those of their ends where the rest is largest.
    """
    (first, second), (a, b) = pair, slopes
    bounds = [np.ones(len(second))]
    for slope in slopes:
        room = limit - log
        for rate, (low, high), grows in zip(pair, ends, (slope - a, b - slope), strict=True):
            room = room + np.maximum(grows * (high - rate), grows * (low - rate))
        bounds.append(np.divide(room, slope, out=np.full(len(slope), 2.0), where=slope > 0) + first - second)
    return np.min(bounds, axis=0)


@checked(confidence_level=FRACTION)
def group_sequences(
    hits: ArrayLike, totals: ArrayLike, *, confidence_level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of each group's mean rate so far minus that of everyone else, for all groups and moments at once.

    Parameters
    ----------
    hits, totals : array-like of float of shape (n_moments, ..., n_groups)
        Favourable and all decisions of each group up to each moment, or sums and numbers as for `rate_sequence`. Axes
        between are for several outputs, such as labels.
    confidence_level : float
        Level of all bounds together, by Bonferroni's correction over outputs and groups; two groups are one comparison.

    Returns
    -------
    low, high : ndarray of shape (n_moments, ..., n_groups)

    Raises
    ------
    ValueError
        If there are more hits than decisions, or negative counts, or fewer than two groups, or if counts are no running
        totals.

    Examples
    --------
    >>> from fairlab.fairtest import group_sequences
    >>> low, high = group_sequences([[3, 5, 4], [300, 450, 380]], [[10, 10, 10], [1_000, 1_000, 1_000]])
    >>> low[-1].round(2).tolist(), high[-1].round(2).tolist()
    ([-0.19, 0.03, -0.08], [-0.03, 0.19, 0.09])
    """
    hits, totals = _checked(hits, totals, n_axes=1)
    if hits.ndim < 2 or hits.shape[-1] < 2:
        raise ValueError(f"hits and totals: expected shape (n_moments, ..., n_groups), found {hits.shape}")
    n_groups = hits.shape[-1]
    own = slice(0, 1) if n_groups == 2 else slice(None)
    n_comparisons = np.prod(hits[:1, ..., own].shape) if len(hits) else 1
    hits, totals = (
        np.stack([each, each.sum(axis=-1, keepdims=True) - each], axis=-1)[..., own, :] for each in (hits, totals)
    )
    hits = np.clip(hits, 0, totals)  # a sum less one of its parts may be a rounding error below 0
    low, high = difference_sequence(hits, totals, confidence_level=bonferroni_level(confidence_level, n_comparisons))
    if n_groups == 2:
        return np.concatenate([low, -high], axis=-1), np.concatenate([high, -low], axis=-1)
    return low, high
