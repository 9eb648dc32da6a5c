"""Tests whether an attack raises a model's loss, or its error rate, by too much (section 3, Appendix C)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from scipy.stats import norm

from fairlab.checks import align
from fairlab.individual_fairness.paired_ratio import PairedErrors

READINGS = ("as_described", "as_published")
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
    errors : PairedErrors or None
        Of error rates as described: what limits and p-value come from. Those of all other tests are of the normal
        distribution.

    Examples
    --------
    >>> from fairlab.individual_fairness import RatioTest
    >>> test = RatioTest(statistic=1.5, standard_error=0.1, n=100, n_dropped=0, threshold=1.25, level=0.05)
    >>> round(float(test.lower_bound), 2), bool(test.p_value < 0.05)
    (1.34, True)
    """

    statistic: float | np.ndarray
    standard_error: float | np.ndarray
    n: int | np.ndarray
    n_dropped: int | np.ndarray
    threshold: float
    level: float
    errors: PairedErrors | None = None

    @property
    def lower_bound(self):
        """One-sided lower confidence limit, which the paper's tables call T_n (equations 3.8 and 3.10)."""
        return self._limits(self.level)[0]

    @property
    def interval(self):
        """Lower and upper end of the two-sided confidence interval, on the last axis (equation 3.6)."""
        return np.stack(self._limits(self.level / 2), axis=-1)

    @property
    def p_value(self):
        """Of the hypothesis that the true ratio is at most the threshold."""
        if self.errors is not None:
            return self.errors.p_value(self.threshold)
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

    def _limits(self, chance):
        """Return the limits, each of which is passed with so small a chance."""
        if self.errors is not None:
            return self.errors.limits(chance)
        half = norm.ppf(1 - chance) * self.standard_error
        return self.statistic - half, self.statistic + half


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

    Examples
    --------
    >>> from fairlab.individual_fairness import loss_ratio_test
    >>> loss = np.linspace(0.5, 1.5, 100)
    >>> test = loss_ratio_test(loss, 1.1 * loss)
    >>> round(float(test.statistic), 2), bool(test.p_value < 0.05)
    (1.1, False)
    """
    _check_reading(reading)
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


def error_rate_ratio_test(
    wrong, attacked_wrong, *, threshold: float = FOUR_FIFTHS, level: float = 0.05, reading: str = "as_described"
) -> RatioTest:
    """Test whether an attack raises the error rate by too large a factor (equations 3.11 to 3.13, Appendix C).

    Parameters
    ----------
    wrong, attacked_wrong : array-like of shape (..., n_points)
        Where the model errs before and after the attack: booleans, or zeros and ones. Two Series are matched by their
        index.
    threshold, level : float
        As in `loss_ratio_test`.
    reading : {"as_described", "as_published"}
        Where limits and p-value come from. As published: the delta method of Appendix C, which takes a few errors for
        certain (an attack that changes none has the interval from 1 to 1) and has no answer for a model that does not
        err before the attack, all NaN and not rejected. As described: limits that hold for few errors too, and are
        exact for a model that errs only after the attack; see `PairedErrors`.

    Returns
    -------
    RatioTest
        Its standard error is by the delta method. The ratio is infinite for a model that errs only after the attack,
        and NaN, not rejected, for one that never errs.

    Raises
    ------
    ValueError
        For values other than 0 and 1, unequal shapes, or options out of range.

    Examples
    --------
    >>> from fairlab.individual_fairness import error_rate_ratio_test
    >>> wrong = np.arange(200) < 20
    >>> test = error_rate_ratio_test(wrong, np.arange(200) < 60)
    >>> round(float(test.statistic), 2), bool(test.p_value < 0.05)
    (3.0, True)
    """
    _check_reading(reading)
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
    if reading == "as_published":
        return RatioTest(np.where(b > 0, ratio, np.nan)[()], error, n, 0, threshold, level)
    numbers = ((after * before), (1 - before) * after, before * (1 - after))
    return RatioTest(ratio, error, n, 0, threshold, level, PairedErrors(*(part.sum(axis=-1) for part in numbers)))


def _check_reading(reading):
    if reading not in READINGS:
        raise ValueError(f"reading: expected one of {', '.join(READINGS)}, found {reading!r}")


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
