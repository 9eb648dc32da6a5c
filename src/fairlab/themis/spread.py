"""How far shares lie apart: noise alone makes the largest of many exceed the smallest."""

import numpy as np

REPETITIONS = 200
CELLS = 2_000_000  # shares drawn in one go


def corrected_spread(counts, samples, rng: np.random.Generator) -> float:
    """Return the highest less the lowest true share, corrected for the noise that makes it look larger.

    The noise's part is what sampling adds to the spread of shares that are shrunk to their mean as far as noise
    explains their variance (parametric bootstrap).

    Parameters
    ----------
    counts, samples : ndarray of shape (n_groups,)
        How often out of how many.
    rng : Generator

    Returns
    -------
    float
        Between 0 and the spread of the observed shares.
    """
    counts, samples = np.asarray(counts), np.asarray(samples)
    shares, mean = counts / samples, counts.sum() / samples.sum()
    variance, noise = shares.var(ddof=1), (mean * (1 - mean) / samples).mean()
    likely = mean + (shares - mean) * (max(0.0, 1 - noise / variance) if variance > 0 else 0.0)
    repetitions = np.clip(CELLS // len(shares), 1, REPETITIONS)
    drawn = rng.binomial(samples, np.clip(likely, 0, 1), size=(repetitions, len(shares))) / samples
    added = np.ptp(drawn, axis=1).mean() - np.ptp(likely)
    return float(np.clip(np.ptp(shares) - added, 0, np.ptp(shares)))


def spread_interval(low, high) -> tuple[float, float]:
    """Return the interval of the highest less the lowest share that the shares' intervals together allow."""
    return float(max(0.0, low.max() - high.min())), float(high.max() - low.min())
