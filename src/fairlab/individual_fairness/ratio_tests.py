"""Tests whether an attack raises a model's loss, or its error rate, by too much (section 3, Appendix C)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from scipy.stats import norm

from fairlab.checks import align

READINGS = ("as_described", "as_published")
FOUR_FIFTHS = 5 / 4  # the four-fifths rule of US labour law, as a ratio of losses (section 3.2)


@dataclass(frozen=True, eq=False)
class RatioTest:
    """One-sided test of a ratio against a threshold; arrays if many tests were made at once.

    The limits are those of the normal distribution, but for a model that errs only after the attack: its ratio of
    error rates is infinite, and the limits are exact. If each of k errors is new, the chance of that is at most
    ``(threshold / (1 + threshold)) ** k``.

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
    n_new_errors : float or ndarray
        Errors after the attack of a model that made none before; NaN where the model erred before, or for losses.
    """

    statistic: float | np.ndarray
    standard_error: float | np.ndarray
    n: int | np.ndarray
    n_dropped: int | np.ndarray
    threshold: float
    level: float
    n_new_errors: float | np.ndarray = np.nan

    @property
    def lower_bound(self):
        """One-sided lower confidence limit, which the paper's tables call T_n (equations 3.8 and 3.10)."""
        normal = self.statistic - norm.ppf(1 - self.level) * self.standard_error
        return self._or_exact(normal, self._ratio_of_new_errors(self.level))

    @property
    def interval(self):
        """Lower and upper end of the two-sided confidence interval, on the last axis (equation 3.6)."""
        half = norm.ppf(1 - self.level / 2) * self.standard_error
        low = self._or_exact(self.statistic - half, self._ratio_of_new_errors(self.level / 2))
        return np.stack([low, self._or_exact(self.statistic + half, np.inf)], axis=-1)

    @property
    def p_value(self):
        """Of the hypothesis that the true ratio is at most the threshold."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (self.statistic - self.threshold) / self.standard_error
        # Without spread, 0/0 at the threshold itself.
        normal = norm.sf(np.where((self.standard_error == 0) & (self.statistic <= self.threshold), -np.inf, z))
        return self._or_exact(normal, (self.threshold / (1 + self.threshold)) ** np.asarray(self.n_new_errors))

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

    def _or_exact(self, normal, exact):
        """Return what is exact where only new errors were made, elsewhere what is normal."""
        return np.where(np.isnan(self.n_new_errors), normal, exact)[()]

    def _ratio_of_new_errors(self, level):
        """Return the ratio at which errors are all new with a chance of `level` at most; 0 without an error."""
        with np.errstate(divide="ignore"):
            share = level ** (1 / np.asarray(self.n_new_errors, dtype=float))
        return share / (1 - share)


def loss_ratio_test(
    loss, attacked_loss, *, threshold: float = FOUR_FIFTHS, level: float = 0.05, reading: str = "as_described"
) -> RatioTest:
    """Test whether an attack raises the loss by too large a factor on average (equations 3.2 to 3.10).

    Parameters
    ----------
    loss, attacked_loss : array-like of shape (..., n_points)
        Before and after the attack; leading axes hold tests of their own. Two Series are matched by their index. The
        ratio of a point without any loss, before and after, is 1.
    threshold : float
        delta.
    level : float
        alpha, between 0 and 1.
    reading : {"as_described", "as_published"}
        What becomes of points whose ratio is not finite: an error, or, as behind the printed numbers, they are left
        out and counted.

    Returns
    -------
    RatioTest

    Raises
    ------
    ValueError
        For negative losses or such that are not numbers, ratios that are not finite, unequal shapes, options out of
        range, or fewer than two finite ratios in a test.
    """
    if reading not in READINGS:
        raise ValueError(f"reading: expected one of {', '.join(READINGS)}, found {reading!r}")
    before, after = _check_pairs(loss, attacked_loss, ("loss", "attacked_loss"), threshold, level)
    for name, values in (("loss", before), ("attacked_loss", after)):
        if (values < 0).any():
            raise ValueError(f"{name}: expected zero or more, found {values[values < 0][0]}")
        if reading == "as_described" and np.isnan(values).any():
            raise ValueError(f"{name}: {int(np.isnan(values).sum())} of {values.size} are not a number")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = after / before
    if reading == "as_described":
        ratio = np.where((before == 0) & (after == 0), 1.0, ratio)
    finite = np.isfinite(ratio)
    if reading == "as_described" and not finite.all():
        raise ValueError(
            f"loss: {int((~finite).sum())} of {ratio.size} points have no finite ratio of losses, "
            f"{int((before == 0)[~finite].sum())} of them since there is no loss before the attack; "
            "take losses from logits, or leave such points out by reading='as_published'"
        )
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
        Where the model errs before and after the attack: booleans, or zeros and ones. Two Series are matched by their
        index.
    threshold, level : float
        As in `loss_ratio_test`.

    Returns
    -------
    RatioTest
        Its standard error is by the delta method. For a model that errs only after the attack the ratio is infinite
        and the test exact; for one that never errs it is NaN, and not rejected.

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
        ratio = a / b
        # The delta method's variance, with a (1 - a) and b (1 - b) the variances of the two indicators.
        variance = (a * (1 - a) + ratio**2 * b * (1 - b) - 2 * ratio * covariance) / b**2
    error = np.sqrt(np.maximum(variance, 0) / n)
    new = np.where(b > 0, np.nan, after.sum(axis=-1))[()]
    return RatioTest(ratio, error, n, 0, threshold, level, new)


def _check_pairs(before, after, names, threshold, level):
    if isinstance(before, pd.Series) and isinstance(after, pd.Series):
        after = align(after, before.index, names[1])
    before, after = (_numbers(values, name) for values, name in zip((before, after), names, strict=True))
    if before.shape != after.shape or before.ndim == 0 or before.shape[-1] < 2:
        raise ValueError(
            f"{names[0]} has shape {before.shape}, {names[1]} {after.shape}; expected the same, with 2 points or more"
        )
    if not isinstance(threshold, Real) or not 0 < threshold < np.inf:
        raise ValueError(f"threshold: expected a number above 0, found {threshold!r}")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, found {level!r}")
    return before, after


def _numbers(values, name):
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected numbers, found {array.dtype}")
    return array.astype(float)
