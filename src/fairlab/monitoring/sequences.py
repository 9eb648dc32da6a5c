"""Confidence sequences of rates, valid at every moment at once, and levels of repeated looks."""

import numpy as np
from scipy.special import logsumexp

from fairlab.checks import check_array, check_count, check_number

# Of a bet on a rate, in log odds: the best one after n decisions is about sqrt(log(1 / alpha) / n), so that these
# serve from some decisions up to tens of millions.
BETS = np.geomspace(1e-3, 8, 32)
HALVINGS, THIRDS, TOLERANCE = 26, 30, 1e-5  # of searches for an end
ENTRIES_AT_ONCE = 4_000_000


def look_level(number: int, alpha: float) -> float:
    """Return the level of a look, such that all looks together, however many, have at most `alpha`.

    Parameters
    ----------
    number : int
        Of the look, from 1.
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
    >>> from fairlab.monitoring import look_level
    >>> [round(look_level(number, 0.05), 4) for number in (1, 2, 50)]
    [0.0304, 0.0076, 0.0]
    >>> sum(look_level(number, 0.05) for number in range(1, 100_000)) < 0.05
    True
    """
    check_count(number, "number")
    check_number(alpha, "alpha", above=0, below=1)
    return alpha * 6 / (np.pi * number) ** 2


def rate_sequence(hits, totals, *, confidence_level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds that hold the mean rate so far at all moments at once, with the stated probability.

    Decisions may depend on earlier ones and their rate may change: what is bounded is the mean, so far, of the chances
    of all decisions, each given what was before it. Bounds may be read after every decision, and one may stop at any
    time.

    Parameters
    ----------
    hits, totals : array-like of int, of one shape
        Favourable and all decisions up to each moment.
    confidence_level : float

    Returns
    -------
    low, high : ndarray
        0 and 1 before the first decision.

    Raises
    ------
    ValueError
        If there are more hits than decisions, or less than none.

    Notes
    -----
    A rate is excluded when a mixture of bets against it would have multiplied its stake by 1 / alpha, which by Ville's
    inequality happens, ever, with a probability of at most alpha (Howard et al. 2020; Chugg et al. 2023). A bet at
    log odds b multiplies by exp(b * hit) / (1 - p + p * exp(b)). Its logarithm is concave in p, so that for the mean of
    changing chances it is a bound, too; the sizes of bets are fixed beforehand and have equal parts of the stake.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon: Time-uniform Chernoff bounds via nonnegative supermartingales. Probability
    Surveys 17 (2020). Chugg, Cortes-Gomez, Wilder, Ramdas: Auditing fairness by betting. NeurIPS (2023).

    Examples
    --------
    >>> from fairlab.monitoring import rate_sequence
    >>> low, high = rate_sequence([0, 7, 300], [0, 10, 1_000])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.193, 0.251], [1.0, 0.984, 0.352])
    """
    hits, totals = _checked(hits, totals, confidence_level)
    limit = -np.log1p(-confidence_level)
    rates = np.divide(hits, totals, out=np.full(hits.shape, 0.5), where=totals > 0)
    low, high = (
        _in_parts(lambda h, n, p, end=end: _end(h, n, p, end, limit), hits.ravel(), totals.ravel(), rates.ravel())
        for end in (0.0, 1.0)
    )
    return low.reshape(hits.shape), high.reshape(hits.shape)


def _checked(hits, totals, confidence_level, n_groups=None) -> tuple[np.ndarray, np.ndarray]:
    check_number(confidence_level, "confidence_level", above=0, below=1)
    hits, totals = check_array(hits, "hits"), check_array(totals, "totals")
    if hits.shape != totals.shape:
        raise ValueError(f"totals: expected the shape of hits, {hits.shape}, found {totals.shape}")
    if n_groups and hits.shape[-1:] != (n_groups,):
        raise ValueError(f"hits and totals: expected counts of two groups, shape (..., 2), found {hits.shape}")
    if (hits < 0).any() or (hits > totals).any():
        raise ValueError("hits: expected from 0 up to the number of decisions, totals")
    return hits, totals


def _in_parts(bounds, *arrays) -> np.ndarray:
    """Return bounds of some moments at a time."""
    at_once = ENTRIES_AT_ONCE // len(BETS)
    parts = [bounds(*(each[k : k + at_once] for each in arrays)) for k in range(0, len(arrays[0]), at_once)]
    return np.concatenate(parts) if parts else np.empty(0)


def log_evidence(hits, totals, rate) -> np.ndarray:
    """Return the logarithm of what the bets against a rate made of a stake of 1; arrays broadcast."""
    hits, totals, rate = (np.asarray(each, dtype=float)[..., None] for each in (hits, totals, rate))
    bets = np.concatenate([-BETS, BETS])
    return logsumexp(bets * hits - totals * np.log1p(rate * np.expm1(bets)), axis=-1) - np.log(len(bets))


def _end(hits, totals, rate, end: float, limit) -> np.ndarray:
    """Return the last rate from the observed one to `end` that is not excluded; evidence is convex, at most 1 there."""
    inside, outside = rate.copy(), np.full(rate.shape, end)
    inside[log_evidence(hits, totals, outside) < limit] = end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_in = log_evidence(hits, totals, middle) < limit
        inside, outside = np.where(is_in, middle, inside), np.where(is_in, outside, middle)
    return outside


def difference_sequence(hits, totals, *, confidence_level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the mean rate of a first group so far less that of a second one, at all moments at once.

    Parameters
    ----------
    hits, totals : array-like of int of shape (..., 2)
        Favourable and all decisions of both groups up to each moment.
    confidence_level : float

    Returns
    -------
    low, high : ndarray of shape (...)

    Notes
    -----
    Two rates are excluded together when the product of what bets against each made exceeds 1 / alpha, and a difference
    when all rates that differ by it are: the product of evidence on separate decisions is evidence, too. Evidence is
    convex, so that the ends are found by nested searches.

    Examples
    --------
    >>> from fairlab.monitoring import difference_sequence
    >>> low, high = difference_sequence([[3, 5], [300, 450]], [[10, 10], [1_000, 1_000]])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-0.86, -0.24], [0.62, -0.06])
    """
    hits, totals = _checked(hits, totals, confidence_level, n_groups=2)
    flat_hits, flat_totals, limit = hits.reshape(-1, 2), totals.reshape(-1, 2), -np.log1p(-confidence_level)
    low, high = (
        _in_parts(
            lambda h, n, turn=turn: turn * _largest_difference(h[:, ::turn], n[:, ::turn], limit),
            flat_hits,
            flat_totals,
        )
        for turn in (-1, 1)
    )
    return low.reshape(hits.shape[:-1]), high.reshape(hits.shape[:-1])


def _largest_difference(hits, totals, limit: float) -> np.ndarray:
    """Return how much the first rate may be above the second, by ternary search over the first one."""
    rates = np.divide(hits, totals, out=np.full(hits.shape, 0.5), where=totals > 0)
    left, right = rates[:, 0].copy(), _end(hits[:, 0], totals[:, 0], rates[:, 0], 1.0, limit)

    def above(first):
        left_over = limit - log_evidence(hits[:, 0], totals[:, 0], first)
        return first - _end(hits[:, 1], totals[:, 1], rates[:, 1], 0.0, left_over)

    for _ in range(THIRDS):
        third = (right - left) / 3
        is_left = above(left + third) > above(right - third)
        left, right = np.where(is_left, left, left + third), np.where(is_left, right - third, right)
    return np.clip(above((left + right) / 2) + TOLERANCE, -1, 1)
