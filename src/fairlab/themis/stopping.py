"""When to stop sampling: the estimate of a proportion is exact enough (section 4.1)."""

from functools import lru_cache

import numpy as np
from scipy.special import rel_entr
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

RULES = ("exact", "wilson", "normal")
SPENT = (1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2)  # of the allowed error probability, at each look of the exact rule
HALVINGS = 60


@lru_cache(maxsize=256)
def z_value(confidence: float) -> float:
    """Return the two-sided quantile of the standard normal distribution, 2.58 for 99%."""
    return float(norm.ppf((1 + confidence) / 2))


def half_width(count, n_samples, z: float, *, rule: str):
    """Return half the width of a proportion's confidence interval.

    Parameters
    ----------
    count, n_samples : array-like
        How often out of how many.
    z : float
    rule : {"normal", "wilson"}
        The paper's, z sqrt(p (1 - p) / r), is zero as long as all outcomes are alike, so that sampling ends at once.
        Wilson's is not.
    """
    n_samples = np.asarray(n_samples, dtype=float)
    share = count / n_samples
    if rule == "normal":
        return z * np.sqrt(share * (1 - share) / n_samples)
    spread = share * (1 - share) / n_samples + z**2 / (4 * n_samples**2)
    return z * np.sqrt(spread) / (1 + z**2 / n_samples)


def samples_needed(count, n_samples, z: float, error_bound: float, *, rule: str) -> np.ndarray:
    """Return how many samples bring the half-width to the bound if the proportion stays as it is."""
    share = count / np.asarray(n_samples, dtype=float)
    variance = share * (1 - share)
    if rule == "normal":
        return np.ceil(z**2 * variance / error_bound**2)
    # Wilson's half-width equals the bound where a quadratic in 1 / n is zero.
    a = z**4 * (error_bound**2 - 0.25)
    b = z**2 * (2 * error_bound**2 - variance)
    return np.ceil(2 * a / (-b - np.sqrt(b**2 - 4 * a * error_bound**2)))


def wilson_interval(count, n_samples, *, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's confidence interval of a proportion, at the level 1 - `alpha`."""
    low, high = proportion_confint(np.asarray(count), np.asarray(n_samples), alpha=alpha, method="wilson")
    # Ends at 0 and 1 are so exactly, without the rounding of a sum.
    return np.where(count == 0, 0.0, low), np.where(count == n_samples, 1.0, high)


def exact_interval(count, n_samples, *, alpha, binary: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return a confidence interval that holds the truth with a probability of at least 1 - `alpha`, whatever it is.

    Parameters
    ----------
    count : array-like
        Sum of the outcomes.
    n_samples : array-like
        Fixed beforehand.
    alpha : float or array-like
    binary : bool
        Whether outcomes are 0 or 1: then the interval is Clopper and Pearson's. For any outcomes between 0 and 1 it
        is Chernoff's, which is wider.
    """
    count, n_samples, alpha = map(np.array, np.broadcast_arrays(1.0 * np.asarray(count), n_samples, alpha))
    if binary:
        low, high = proportion_confint(count, n_samples, alpha=alpha, method="beta")
        return np.where(count <= 0, 0.0, low), np.where(count >= n_samples, 1.0, high)
    share, surprise = count / n_samples, np.log(2 / alpha) / n_samples
    return _unlikely(share, np.zeros_like(share), surprise), _unlikely(share, np.ones_like(share), surprise)


def _unlikely(share, end, surprise) -> np.ndarray:
    """Return, between a share and an end, the furthest mean that does not make the share too surprising."""
    near, far = share.copy(), end.copy()
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        likely = rel_entr(share, middle) + rel_entr(1 - share, 1 - middle) <= surprise
        near, far = np.where(likely, middle, near), np.where(likely, far, middle)
    return np.where(share == end, end, far)


def error(count, n_samples, *, alpha, binary: bool = True) -> np.ndarray:
    """Return how far the share can be from the truth: the longer side of its `exact_interval`."""
    low, high = exact_interval(count, n_samples, alpha=alpha, binary=binary)
    share = np.asarray(count) / n_samples
    return np.maximum(share - low, high - share)


@lru_cache(maxsize=256)
def look_sizes(confidence: float, error_bound: float, *, binary: bool = True) -> tuple[int, ...]:
    """Return after how many samples the exact rule looks whether it may stop.

    The first look is where a sample without a hit meets the bound, the last where every sample does; those between
    grow by a constant factor. Each look spends its share, `SPENT`, of the allowed error probability, so that together
    they keep the bound (Bonferroni), however the truth is and wherever sampling stops.
    """

    def least(shares, spent: float) -> int:
        alpha = spent * (1 - confidence)
        return _least(lambda n: (error(shares * n, n, alpha=alpha, binary=binary) <= error_bound).all())

    first, last = least(np.zeros(1), SPENT[0]), least(np.linspace(0, 0.5, 201), SPENT[-1])
    return tuple(int(size) for size in np.ceil(np.geomspace(min(first, last), last, len(SPENT))))


def _least(holds) -> int:
    """Return the least positive number from which on something holds."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
