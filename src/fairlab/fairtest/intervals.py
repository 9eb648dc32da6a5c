"""Intervals that hold the truth at their stated rate, also in small groups, of rare outputs, and of no effect at all.

Each works on many tables at once, of shape (..., n_protected, n_output), or on one sample of pairs.
"""

import numpy as np
from scipy.special import betaincinv, chndtrinc, xlogy
from scipy.stats import chi2
from scipy.stats import t as student

ADDED = 0.5  # to every cell where the spread of mutual information is estimated, or an empty cell would have none


def rate_bounds(tables: np.ndarray, *, conf: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rate of the second output value in each group, with the exact bounds of Clopper and Pearson.

    Returns
    -------
    rate, low, high : ndarray of shape (..., n_protected)
        In an empty group the rate is 0 and the bounds are 0 and 1.
    """
    hits, totals = tables[..., 1], tables.sum(axis=-1)
    misses, tail = totals - hits, (1 - conf) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1), 1 - tail), 1.0)
    return hits / np.maximum(totals, 1), low, np.where(totals > 0, high, 1.0)


def difference_bounds(tables: np.ndarray, *, conf: float) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the difference of two groups' rates, the first minus the second.

    Notes
    -----
    Newcombe's square-and-add method with exact bounds in place of Wilson's, which miss rare outputs of small groups at
    the high confidence that a correction for many tests asks for.
    """
    rate, low, high = rate_bounds(tables, conf=conf)
    difference = rate[..., 0] - rate[..., 1]
    below = np.hypot(rate[..., 0] - low[..., 0], high[..., 1] - rate[..., 1])
    above = np.hypot(high[..., 0] - rate[..., 0], rate[..., 1] - low[..., 1])
    known = tables.sum(axis=-1).all(axis=-1)
    return np.where(known, difference - below, -1.0), np.where(known, difference + above, 1.0)


def ratio_bounds(tables: np.ndarray, *, conf: float) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the ratio of two groups' rates, the first over the second; infinite where nothing bounds it.

    Notes
    -----
    Donner and Zou's bounds of a ratio (2012, "Closed-form confidence intervals for functions of the normal mean and
    standard deviation"), from exact bounds of both rates.
    """
    rate, low, high = rate_bounds(tables, conf=conf)

    def bound(first, second, sign):
        """Return the bound that a bound of the first and the opposite one of the second rate make."""
        product = rate[..., 0] * rate[..., 1]
        rest = first * second * (2 * rate[..., 0] - first) * (2 * rate[..., 1] - second)
        root = np.sqrt(np.maximum(product**2 - rest, 0))
        return (product + sign * root) / (second * (2 * rate[..., 1] - second))

    with np.errstate(invalid="ignore", divide="ignore"):
        lowest, highest = bound(low[..., 0], high[..., 1], -1), bound(high[..., 0], low[..., 1], 1)
    known = tables.sum(axis=-1).all(axis=-1)
    return (
        np.where(known & (rate[..., 0] > 0), lowest, 0.0),
        np.where(known & (rate[..., 1] > 0), highest, np.inf),
    )


def information_bounds(tables: np.ndarray, *, conf: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bounds of the mutual information over the smaller entropy, and the p-value of the G test.

    Returns
    -------
    low, high, p_value : ndarray of shape (...)
        `low` is 0 wherever the p-value is above ``1 - conf``; a single row or column is known nothing of.

    Notes
    -----
    The G statistic of few or weakly associated people follows a noncentral chi-square distribution, which gives the
    bounds. Where the estimate varies more than under that distribution, by the delta method, they are as much wider.
    """
    rows, columns, _ = entropies(tables)
    smaller = np.minimum(rows, columns)
    g, df, p_value = g_test(tables)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale, freedom, excess = 2 * tables.sum(axis=(-2, -1)) * smaller, np.maximum(df, 1), np.maximum(g - df, 0)
        low = excess - chndtrinc(g, freedom, (1 + conf) / 2)
        high = chndtrinc(np.maximum(g, freedom), freedom, (1 - conf) / 2) - excess
        wider = np.maximum(_information_error(tables + ADDED) * scale / np.sqrt(2 * freedom + 4 * excess), 1)
        low, high = (excess - wider * low) / scale, (excess + wider * high) / scale
    known = (df > 0) & (smaller > 0)
    low = np.where(known & (p_value <= 1 - conf), np.clip(low, 0, 1), 0.0)
    return low, np.where(known, np.clip(high, 0, 1), 1.0), p_value


def _information_error(tables):
    """Return the standard error of normalised mutual information, by the delta method."""
    share = tables / tables.sum(axis=(-2, -1), keepdims=True)
    of_rows, of_columns = share.sum(axis=-1, keepdims=True), share.sum(axis=-2, keepdims=True)
    rows, columns, joint = entropies(tables)
    smaller = np.minimum(rows, columns)
    information = ((rows + columns - joint) / smaller)[..., None, None]
    surprise = np.where((rows <= columns)[..., None, None], -np.log(of_rows), -np.log(of_columns))
    influence = np.log(share / of_rows / of_columns) - information * surprise
    mean = (share * influence).sum(axis=(-2, -1), keepdims=True)
    variance = (share * (influence - mean) ** 2).sum(axis=(-2, -1))
    return np.sqrt(variance / tables.sum(axis=(-2, -1))) / smaller


def correlation_bounds(x: np.ndarray, y: np.ndarray, *, conf: float) -> tuple[float, float, float]:
    """Return bounds of Pearson's correlation, and the p-value of there being none.

    Notes
    -----
    The wider of two intervals on Fisher's scale, and the larger of their p-values: with the error ``1 / sqrt(n - 3)``,
    which holds of independent or normal pairs, and with the error that the pairs' influences on the correlation show,
    which holds of any others once they are many. Student's t of the latter has the degrees of freedom that the spread
    of the squared influences leaves.
    """
    n = len(x)
    if n <= 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return -1.0, 1.0, 1.0
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float(np.clip((u * v).mean(), 1e-9 - 1, 1 - 1e-9))
    influence = (u * v - r * (u * u + v * v) / 2) ** 2
    mean, spread = influence.mean(), influence.var()
    freedom = n - 2 if spread == 0 else max(1.0, min(n - 2, 2 * n * mean**2 / spread))
    errors = np.array([1 / np.sqrt(n - 3), np.sqrt(mean / (n - 2)) / (1 - r * r)])
    freedoms = np.array([np.inf, freedom])
    z = np.arctanh(r)
    margin = (student.ppf((1 + conf) / 2, freedoms) * errors).max()
    p_value = (2 * student.sf(abs(z) / np.maximum(errors, np.finfo(float).tiny), freedoms)).max()
    return float(np.tanh(z - margin)), float(np.tanh(z + margin)), float(p_value)


def entropies(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entropies of rows, of columns, and of both together, in nats; nan where a table is empty."""
    total = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    joint = tables.reshape(*tables.shape[:-2], tables.shape[-2] * tables.shape[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        return tuple(np.log(total) - _n_log_n(counts).sum(axis=-1) / total for counts in (rows, columns, joint))


def _n_log_n(counts: np.ndarray) -> np.ndarray:
    """Return n log n of counts, looked up where there are more of them than numbers up to the largest."""
    if counts.dtype.kind not in "iu" or counts.size == 0 or (largest := counts.max()) >= counts.size:
        return xlogy(counts, counts)
    numbers = np.arange(largest + 1)
    return xlogy(numbers, numbers)[counts]


def g_test(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the G statistic, its degrees of freedom and the p-value, empty rows and columns left out."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    total = rows.sum(axis=-1)
    parts = xlogy(rows, rows).sum(axis=-1) + xlogy(columns, columns).sum(axis=-1)
    g = np.maximum(2 * (xlogy(tables, tables).sum(axis=(-2, -1)) + xlogy(total, total) - parts), 0)
    df = ((rows > 0).sum(axis=-1) - 1) * ((columns > 0).sum(axis=-1) - 1)
    df = np.where(total > 0, df, 0)
    return g, df, np.where(df > 0, chi2.sf(g, np.maximum(df, 1)), 1.0)
