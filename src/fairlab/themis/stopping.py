"""When to stop sampling: the estimate of a proportion is exact enough (section 4.1)."""

import numpy as np
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

RULES = ("normal", "wilson")


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
