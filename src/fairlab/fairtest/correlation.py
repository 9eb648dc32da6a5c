"""Pearson's correlation of two scalar attributes (table 1)."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from fairlab.fairtest.conditional import ConditionalMetric
from fairlab.fairtest.intervals import correlation_bounds
from fairlab.fairtest.metric import AS_PUBLISHED, SOUND, AdditiveMetric, Interval, check_reading
from fairlab.fairtest.resampling import (
    EXACT_LIMIT,
    RESAMPLES,
    bootstrap_correlation,
    percentile_interval,
    permute_correlation,
)
from fairlab.fairtest.sample import Sample


class Correlation(AdditiveMetric):
    """Pearson's correlation, from -1 to 1; a categorical attribute with two categories counts as 0 and 1.

    Data without variance, or of three people or fewer, has the interval [-1, 1] and p-value 1.

    Parameters
    ----------
    reading : {"sound", "as_published"}
        Whose intervals and p-values. "sound": those of `fairlab.fairtest.intervals.correlation_bounds`, which need no
        normal distribution; Fisher's z is for comparing splits in training only. "as_published": Fisher's z above
        1,000 people; up to 1,000, tests shuffle the output and bootstrap pairs.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Correlation, Sample
    >>> age = Column("age", np.arange(40.0))
    >>> price = Column("price", 2 * np.arange(40.0) + np.tile([-5.0, 5.0], 20))
    >>> interval = Correlation().approximate(Sample(age, price), conf=0.95)
    >>> bool(0.9 < interval.low < interval.high < 1)
    True
    """

    name = "CORR"

    def __init__(self, *, reading: str = SOUND):
        self.reading = check_reading(reading)

    def check(self, sample: Sample) -> None:
        """Raise a ValueError if an attribute has more than two categories."""
        for column in (sample.protected, sample.output):
            if column.is_categorical and not column.is_binary:
                raise ValueError(
                    f"metric {self.name} needs numbers or two categories; column {column.name!r} has "
                    f"{len(column.categories)} categories"
                )

    def conditional(self):
        """Return `ConditionalCorrelation` of the same reading."""
        return ConditionalCorrelation(reading=self.reading)

    def estimate(self, sample: Sample) -> float:
        """Return the correlation, 0 where one attribute has a single value."""
        x, y = _centred(sample)
        return float(np.corrcoef(x, y)[0, 1]) if len(x) and np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the interval and the p-value of one sample; as published, by Fisher's z."""
        if self.reading == SOUND:
            return Interval(*correlation_bounds(*_centred(sample), conf=conf))
        return super().approximate(sample, conf=conf)

    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return per group the number of people and the sums of x, y, x², y² and xy, both centred."""
        x, y = _centred(sample)
        return np.stack(
            [np.bincount(groups, weights=w, minlength=n_groups) for w in (None, x, y, x * x, y * y, x * y)], axis=-1
        )

    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return numbers of people."""
        return statistics[..., 0].astype(int)

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals and p-values by Fisher's z transformation."""
        n, x, y, xx, yy, xy = np.moveaxis(statistics, -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            variances = (xx - x * x / n) * (yy - y * y / n)
            # Sums of squares leave a rest of rounding where a group holds one value.
            known = (n > 3) & (variances > 1e-12 * xx * yy)
            r = np.where(known, (xy - x * y / n) / np.sqrt(np.where(known, variances, 1)), 0)
        z = np.arctanh(np.clip(r, -1 + 1e-6, 1 - 1e-6))
        error = 1 / np.sqrt(np.maximum(n - 3, 1))
        margin = ndtri((1 + conf) / 2) * error
        return Interval(
            np.where(known, np.tanh(z - margin), -1.0),
            np.where(known, np.tanh(z + margin), 1.0),
            np.where(known, 2 * ndtr(-np.abs(z) / error), 1.0),
        )

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test as `approximate` does; as published, up to 1,000 people by a permutation test and a bootstrap of pairs.

        The authors' code shuffles the values of both attributes together, which tests something else.
        """
        x, y = _centred(sample)
        if self.reading == SOUND or len(sample) > EXACT_LIMIT or len(sample) <= 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return self.approximate(sample, conf=conf)
        observed = abs(np.corrcoef(x, y)[0, 1])
        hits = (np.abs(permute_correlation(x, y, rng)) >= observed * (1 - 1e-9)).sum()
        interval = percentile_interval(bootstrap_correlation(x, y, rng), conf)
        return Interval(*interval, float(1 + hits) / (1 + RESAMPLES))


class ConditionalCorrelation(ConditionalMetric):
    """`Correlation` given an explanatory attribute.

    Interval bounds are weighted means of the strata's. The p-value is that of Stouffer's weighted sum of the strata's
    normal scores; as published, it is the weighted mean of the strata's, too.

    Parameters
    ----------
    reading : {"sound", "as_published"}
        As for `Correlation`.

    Examples
    --------
    >>> from fairlab.fairtest import Column, ConditionalCorrelation, Sample
    >>> age = Column("age", np.arange(40.0))
    >>> price = Column("price", 2 * np.arange(40.0) + np.tile([-5.0, 5.0], 20))
    >>> town = Column("town", np.repeat([0, 1], 20), ("a", "b"))
    >>> bool(ConditionalCorrelation().approximate(Sample(age, price, town), conf=0.95).p_value < 0.05)
    True
    """

    def __init__(self, *, reading: str = SOUND):
        super().__init__(Correlation(reading=reading))

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the weighted means of the strata's bounds; as published, by Fisher's z."""
        if self.reading == SOUND:
            return self.exact(sample, conf=conf, rng=np.random.default_rng(0))
        return super().approximate(sample, conf=conf)

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Return the weighted means of the strata's exact interval bounds, and the p-value."""
        strata = [stratum for stratum in sample.strata().values() if len(stratum)]
        parts = [self.stratum_metric.exact(stratum, conf=conf, rng=rng) for stratum in strata]
        weights = [len(stratum) for stratum in strata]
        bounds = ([getattr(part, name) for part in parts] for name in ("low", "high", "p_value"))
        means = Interval(*(float(np.average(bound, weights=weights)) for bound in bounds))
        return means if self.reading == AS_PUBLISHED else replace(means, p_value=_stouffer(parts, np.sqrt(weights)))


def _stouffer(parts, weights):
    """Return the p-value of the weighted sum of two-sided tests' normal scores, each with the sign of its interval."""
    sign = np.array([np.sign(part.low + part.high) for part in parts])
    score = sign * -ndtri(np.clip([part.p_value for part in parts], 1e-300, 1) / 2)
    return float(2 * ndtr(-abs((weights * score).sum()) / np.sqrt((weights**2).sum())))


def _centred(sample):
    return (column.values - column.values.mean() for column in (sample.protected, sample.output))
