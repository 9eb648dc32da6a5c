"""Tests whether an attack raises a model's loss, or its error rate, by too much (section 3, Appendices C and D)."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm

from fairlab.checks import FRACTION, POSITIVE, VARIANT, align, check_array, check_binary, checked
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness.attack import Attack, StepSizeWarning, gradient_flow_attack
from fairlab.statistics import PairedErrors, SampleMean

FOUR_FIFTHS = 5 / 4  # the four-fifths rule of US labour law, as a ratio of losses (section 3.2)


@dataclass(frozen=True, eq=False)
class RatioTest:
    """One-sided test of a ratio against the largest fair one; arrays if many tests were made at once.

    Attributes
    ----------
    statistic : float or ndarray
        S_n: the mean loss ratio, or the ratio of error rates.
    standard_error : float or ndarray
        Standard error of the statistic.
    n : int or ndarray
        Points used.
    n_dropped : int or ndarray
        Points dropped because their ratio is not finite.
    max_loss_ratio : float
        delta: largest ratio, of losses or of error rates, that counts as fair.
    alpha : float
        Level of the test.
    sample : PairedErrors, SampleMean or None
        Source of limits and p-value in sound tests; published ones use the normal distribution.

    Examples
    --------
    >>> from fairlab.individual_fairness import RatioTest
    >>> test = RatioTest(statistic=1.5, standard_error=0.1, n=100, n_dropped=0, max_loss_ratio=1.25, alpha=0.05)
    >>> round(float(test.lower_bound), 2), bool(test.p_value < 0.05)
    (1.34, True)
    """

    statistic: float | np.ndarray
    standard_error: float | np.ndarray
    n: int | np.ndarray
    n_dropped: int | np.ndarray
    max_loss_ratio: float
    alpha: float
    sample: PairedErrors | SampleMean | None = None

    @property
    def lower_bound(self):
        """One-sided lower confidence limit, which the paper's tables call T_n (equations 3.8 and 3.10)."""
        return self._limits(self.alpha)[0]

    @property
    def interval(self):
        """Lower and upper end of the two-sided confidence interval, on the last axis (equation 3.6)."""
        return np.stack(self._limits(self.alpha / 2), axis=-1)

    @property
    def p_value(self):
        """P-value of the hypothesis that the true ratio is at most `max_loss_ratio`."""
        if self.sample is not None:
            return self.sample.p_value(self.max_loss_ratio)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (self.statistic - self.max_loss_ratio) / self.standard_error
        # Without spread, 0/0 at the limit itself.
        return norm.sf(np.where((self.standard_error == 0) & (self.statistic <= self.max_loss_ratio), -np.inf, z))[()]

    @property
    def rejected(self):
        """Whether the model is found unfair: `lower_bound` above `max_loss_ratio` (equation 3.10)."""
        return self.lower_bound > self.max_loss_ratio

    def to_frame(self) -> pd.DataFrame:
        """Return one row per test, with all attributes and both ends of the interval."""
        names = ("statistic", "standard_error", "n", "n_dropped", "max_loss_ratio", "alpha")
        names += ("lower_bound", "p_value", "rejected")
        shape = np.shape(self.statistic)
        columns = {name: np.broadcast_to(getattr(self, name), shape).ravel() for name in names}
        low, high = np.reshape(self.interval, (-1, 2)).T
        return pd.DataFrame(columns | {"interval_low": low, "interval_high": high})

    def _limits(self, chance):
        """Return the limits, each of which fails with a probability of at most `chance`."""
        if self.sample is not None:
            return self.sample.limits(chance)
        half = norm.ppf(1 - chance) * self.standard_error
        return self.statistic - half, self.statistic + half


@checked(max_loss_ratio=POSITIVE, alpha=FRACTION, variant=VARIANT)
def loss_ratio_test(
    loss: ArrayLike,
    attacked_loss: ArrayLike,
    *,
    max_loss_ratio: float = FOUR_FIFTHS,
    alpha: float = 0.05,
    variant: str = "sound",
) -> RatioTest:
    """Test whether an attack raises the loss by too large a factor on average (equations 3.2 to 3.10).

    Parameters
    ----------
    loss, attacked_loss : array-like of shape (..., n_points)
        Before and after the attack; leading axes hold tests of their own. Two Series are matched by their index. The
        ratio of a point without any loss, before and after, is 1.
    max_loss_ratio : float
        delta.
    alpha : float
        Level of the test, between 0 and 1.
    variant : {"sound", "published"}
        Published: points whose ratio is not finite are left out and counted, and limits and p-value use the normal
        distribution (equation 3.6), which is overconfident for a few points with nearly the same ratio. Sound: ratios
        that are not finite raise an error, and limits and p-value are those of `fairlab.statistics.SampleMean`.

    Returns
    -------
    RatioTest

    Raises
    ------
    ValueError
        For losses that are negative or not numbers, ratios that are not finite, unequal shapes, options out of range,
        or fewer than two finite ratios in a test.

    Examples
    --------
    >>> from fairlab.individual_fairness import loss_ratio_test
    >>> loss = np.linspace(0.5, 1.5, 100)
    >>> test = loss_ratio_test(loss, 1.1 * loss)
    >>> round(float(test.statistic), 2), bool(test.p_value < 0.05)
    (1.1, False)
    """
    before, after = _check_pairs(loss, attacked_loss, ("loss", "attacked_loss"))
    for name, values in (("loss", before), ("attacked_loss", after)):
        if (values < 0).any():
            raise ValueError(f"{name}: expected zero or more, found {values[values < 0][0]}")
        if variant == "sound" and np.isnan(values).any():
            raise ValueError(f"{name}: {int(np.isnan(values).sum())} of {values.size} are not a number")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = after / before
    if variant == "sound":
        ratio = np.where((before == 0) & (after == 0), 1.0, ratio)
    finite = np.isfinite(ratio)
    if variant == "sound" and not finite.all():
        raise ValueError(
            f"loss: {int((~finite).sum())} of {ratio.size} points have no finite ratio of losses, "
            f"{int((before == 0)[~finite].sum())} of them since there is no loss before the attack; "
            "take losses from logits, or leave such points out by variant='published'"
        )
    n = finite.sum(axis=-1)
    if (n < 2).any():
        raise ValueError(f"loss: {int(n.min())} finite ratios among {ratio.shape[-1]} points, expected at least 2")
    mean = ratio.mean(axis=-1, where=finite)
    error = ratio.std(axis=-1, where=finite, ddof=int(variant == "sound")) / np.sqrt(n)
    sample = SampleMean(mean, error, n, np.minimum(ratio.min(axis=-1), 1)) if variant == "sound" else None
    return RatioTest(mean, error, n, ratio.shape[-1] - n, max_loss_ratio, alpha, sample)


@checked(max_loss_ratio=POSITIVE, alpha=FRACTION, variant=VARIANT)
def error_rate_ratio_test(
    wrong: ArrayLike,
    attacked_wrong: ArrayLike,
    *,
    max_loss_ratio: float = FOUR_FIFTHS,
    alpha: float = 0.05,
    variant: str = "sound",
) -> RatioTest:
    """Test whether an attack raises the error rate by too large a factor (equations 3.11 to 3.13, Appendix C).

    Parameters
    ----------
    wrong, attacked_wrong : array-like of shape (..., n_points)
        Where the model errs before and after the attack: booleans, or zeros and ones. Two Series are matched by their
        index.
    max_loss_ratio, alpha : float
        As in `loss_ratio_test`.
    variant : {"sound", "published"}
        Source of limits and p-value. Published: the delta method of Appendix C, which is overconfident with few errors
        (an attack that changes none has the interval from 1 to 1), and undefined for a model that does not err before
        the attack: all NaN and not rejected. Sound: limits that are valid for few errors too, and exact for a model
        that errs only after the attack; see `PairedErrors`.

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
    before, after = _check_pairs(wrong, attacked_wrong, ("wrong", "attacked_wrong"))
    before, after = check_binary(before, "wrong"), check_binary(after, "attacked_wrong")
    n = before.shape[-1]
    a, b = after.mean(axis=-1), before.mean(axis=-1)
    covariance = (after * before).mean(axis=-1) - a * b
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = a / b
        # The delta method's variance, with a (1 - a) and b (1 - b) the variances of the two indicators.
        variance = (a * (1 - a) + ratio**2 * b * (1 - b) - 2 * ratio * covariance) / b**2
    error = np.sqrt(np.maximum(variance, 0) / n)
    if variant == "published":
        return RatioTest(np.where(b > 0, ratio, np.nan)[()], error, n, 0, max_loss_ratio, alpha)
    numbers = ((after * before), (1 - before) * after, before * (1 - after))
    return RatioTest(ratio, error, n, 0, max_loss_ratio, alpha, PairedErrors(*(part.sum(axis=-1) for part in numbers)))


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit.

    Attributes
    ----------
    attack : Attack
    loss_ratio, error_rate_ratio : RatioTest

    Examples
    --------
    >>> from fairlab.individual_fairness import audit
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([1.0, 1.0], 0.0)
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> found = audit(model, metric, X, (X[:, 1] > 0).astype(int), regularizer=50, step_size=0.1, n_steps=20)
    >>> bool(found.loss_ratio.statistic > 1)
    True
    """

    attack: Attack
    loss_ratio: RatioTest
    error_rate_ratio: RatioTest

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of both tests, with the number of points where the attack diverged."""
        tests = {"loss ratio": self.loss_ratio.to_frame(), "error-rate ratio": self.error_rate_ratio.to_frame()}
        frame = pd.concat(tests, names=["test"]).droplevel(1)
        diverged = self.attack.diverged.sum(axis=-1).ravel()
        return frame.assign(n_diverged=[*diverged, *diverged])


def audit(
    model: Any,
    metric: FairMetric,
    X: Any,
    y: ArrayLike,
    *,
    max_loss_ratio: float = FOUR_FIFTHS,
    alpha: float = 0.05,
    variant: str = "sound",
    **attack: Any,
) -> Audit:
    """Test a model's individual fairness on audit data (Appendix D, algorithm 1).

    Parameters
    ----------
    model, metric, X, y
        As in `gradient_flow_attack`.
    max_loss_ratio : float
        Largest ratio that counts as fair.
    alpha : float
        Level of both tests.
    variant : {"sound", "published"}
        Published: points where the attack diverged or the ratio of losses is not finite do not stop the audit: the
        former count with their final losses, the latter are left out.
    **attack
        Options of `gradient_flow_attack`: ``regularizer``, ``step_size`` and ``n_steps`` are needed.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        As for the attack and the tests, and (sound) if the attack diverged at a point, which would count as immovable.

    Examples
    --------
    >>> from fairlab.individual_fairness import audit
    >>> from fairlab.fair_metric import FairMetric
    >>> from fairlab.models import LinearClassifier
    >>> metric, model = FairMetric.from_directions([[1.0, 0.0]]), LinearClassifier([0.0, 1.0], 0.0)
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = audit(model, metric, X, (X[:, 1] > 0).astype(int), regularizer=50, step_size=0.1, n_steps=20)
    >>> bool(found.loss_ratio.p_value > 0.05)
    True
    """
    with warnings.catch_warnings():
        if variant != "published":
            warnings.simplefilter("ignore", StepSizeWarning)
        found = gradient_flow_attack(model, metric, X, y, variant=variant, **attack)
    if variant == "sound" and found.diverged.any():
        raise ValueError(
            f"step_size: the attack diverged at {found.diverged.sum():,} of {found.diverged.size:,} points, even with "
            "steps 16 times smaller than asked for; take smaller ones, or a metric with units, as "
            "`FairMetric.learned` gives"
        )
    options = {"max_loss_ratio": max_loss_ratio, "alpha": alpha, "variant": variant}
    return Audit(
        attack=found,
        loss_ratio=loss_ratio_test(found.loss, found.attacked_loss, **options),
        error_rate_ratio=error_rate_ratio_test(found.wrong, found.attacked_wrong, **options),
    )


def _check_pairs(before, after, names):
    if isinstance(before, pd.Series) and isinstance(after, pd.Series):
        after = align(after, before.index, names[1])
    before, after = (
        check_array(values, name, finite=False) for values, name in zip((before, after), names, strict=True)
    )
    if before.shape != after.shape or before.ndim == 0 or before.shape[-1] < 2:
        raise ValueError(
            f"{names[0]} has shape {before.shape}, {names[1]} {after.shape}; expected the same, with 2 points or more"
        )
    return before, after
