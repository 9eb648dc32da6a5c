"""Tests whether an attack raises a model's loss, or its error rate, by too much (section 3, Appendix C)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

FOUR_FIFTHS = 5 / 4  # the four-fifths rule of US labour law, as a ratio of losses (section 3.2)


@dataclass(frozen=True, eq=False)
class RatioTest:
    """One-sided test of a ratio against a threshold; arrays if many tests were made at once.

    Attributes
    ----------
    statistic : float or ndarray
        S_n: the mean loss ratio, or the ratio of error rates.
    standard_error : float or ndarray
        Of the statistic.
    n : int or ndarray
        Points used.
    n_dropped : int or ndarray
        Points left out since their ratio is not finite.
    threshold : float
        delta: largest ratio that counts as fair.
    level : float
        alpha.
    """

    statistic: float | np.ndarray
    standard_error: float | np.ndarray
    n: int | np.ndarray
    n_dropped: int | np.ndarray
    threshold: float
    level: float

    @property
    def lower_bound(self):
        """One-sided lower confidence limit, which the paper's tables call T_n (equations 3.8 and 3.10)."""
        return self.statistic - norm.ppf(1 - self.level) * self.standard_error

    @property
    def interval(self):
        """Lower and upper end of the two-sided confidence interval, on the last axis (equation 3.6)."""
        half = norm.ppf(1 - self.level / 2) * self.standard_error
        return np.stack([self.statistic - half, self.statistic + half], axis=-1)

    @property
    def p_value(self):
        """Of the hypothesis that the true ratio is at most the threshold."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (self.statistic - self.threshold) / self.standard_error
        # Without spread, 0/0 at the threshold itself.
        return norm.sf(np.where((self.standard_error == 0) & (self.statistic <= self.threshold), -np.inf, z))[()]

    @property
    def rejected(self):
        """Whether the model is found unfair: `lower_bound` above the threshold (equation 3.10)."""
        return self.lower_bound > self.threshold

    def to_frame(self) -> pd.DataFrame:
        """Return one row per test, with all attributes and both ends of the interval."""
        names = ("statistic", "standard_error", "n", "n_dropped", "threshold", "level")
        names += ("lower_bound", "p_value", "rejected")
        shape = np.shape(self.statistic)
        columns = {name: np.broadcast_to(getattr(self, name), shape).ravel() for name in names}
        low, high = np.reshape(self.interval, (-1, 2)).T
        return pd.DataFrame(columns | {"interval_low": low, "interval_high": high})


def loss_ratio_test(loss, attacked_loss, *, threshold: float = FOUR_FIFTHS, level: float = 0.05) -> RatioTest:
    """Test whether an attack raises the loss by too large a factor on average (equations 3.2 to 3.10).

    Parameters
    ----------
    loss, attacked_loss : array-like of shape (..., n_points)
        Before and after the attack; leading axes hold tests of their own. Points whose ratio is not finite, as where
        the loss is zero, are left out and counted.
    threshold : float
        delta.
    level : float
        alpha, between 0 and 1.

    Returns
    -------
    RatioTest

    Raises
    ------
    ValueError
        For negative losses, unequal shapes, options out of range, or fewer than two finite ratios in a test.
    """
    before, after = _check_pairs(loss, attacked_loss, ("loss", "attacked_loss"), threshold, level)
    for name, values in (("loss", before), ("attacked_loss", after)):
        if (values < 0).any():
            raise ValueError(f"{name}: expected zero or more, found {values[values < 0][0]}")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = after / before
    finite = np.isfinite(ratio)
    n = finite.sum(axis=-1)
    if (n < 2).any():
        raise ValueError(f"loss: {int(n.min())} finite ratios among {ratio.shape[-1]} points, expected at least 2")
    mean = ratio.mean(axis=-1, where=finite)
    error = ratio.std(axis=-1, where=finite) / np.sqrt(n)
    return RatioTest(mean, error, n, ratio.shape[-1] - n, threshold, level)


def error_rate_ratio_test(wrong, attacked_wrong, *, threshold: float = FOUR_FIFTHS, level: float = 0.05) -> RatioTest:
    """Test whether an attack raises the error rate by too large a factor (equations 3.11 to 3.13, Appendix C).

    Parameters
    ----------
    wrong, attacked_wrong : array-like of shape (..., n_points)
        Where the model errs before and after the attack: booleans, or zeros and ones.
    threshold, level : float
        As in `loss_ratio_test`.

    Returns
    -------
    RatioTest
        Its standard error is by the delta method. All NaN, and not rejected, for a model that does not err before
        the attack, for then there is no ratio.

    Raises
    ------
    ValueError
        For values other than 0 and 1, unequal shapes, or options out of range.
    """
    before, after = _check_pairs(wrong, attacked_wrong, ("wrong", "attacked_wrong"), threshold, level)
    for name, values in (("wrong", before), ("attacked_wrong", after)):
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{name}: expected 0 and 1, found {values[~np.isin(values, (0, 1))][0]}")
    n = before.shape[-1]
    a, b = after.mean(axis=-1), before.mean(axis=-1)
    covariance = (after * before).mean(axis=-1) - a * b
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(b > 0, a / b, np.nan)[()]
        # The delta method's variance, with a (1 - a) and b (1 - b) the variances of the two indicators.
        variance = (a * (1 - a) + ratio**2 * b * (1 - b) - 2 * ratio * covariance) / b**2
    error = np.sqrt(np.maximum(variance, 0) / n)
    return RatioTest(ratio, error, n, 0, threshold, level)


def _check_pairs(before, after, names, threshold, level):
    before, after = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if before.shape != after.shape or before.ndim == 0 or before.shape[-1] < 2:
        raise ValueError(
            f"{names[0]} has shape {before.shape}, {names[1]} {after.shape}; expected the same, with 2 points or more"
        )
    if not threshold > 0:
        raise ValueError(f"threshold: expected a number above 0, found {threshold}")
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, found {level}")
    return before, after
