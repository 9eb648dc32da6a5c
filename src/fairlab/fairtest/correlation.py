"""Pearson's correlation of two scalar attributes (table 1)."""

import numpy as np
from scipy.special import ndtr, ndtri

from fairlab.fairtest.conditional import ConditionalMetric
from fairlab.fairtest.metric import AdditiveMetric, Interval
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

    Fisher's z gives intervals and p-values above 1,000 people; up to 1,000, tests shuffle the output and bootstrap
    pairs. Data without variance, or of three people or fewer, has the interval [-1, 1] and p-value 1.
    """

    name = "CORR"

    def check(self, sample: Sample) -> None:
        """Raise a ValueError if an attribute has more than two categories."""
        for column in (sample.protected, sample.output):
            if column.is_categorical and not column.is_binary:
                raise ValueError(
                    f"metric {self.name} needs numbers or two categories; column {column.name!r} has "
                    f"{len(column.categories)} categories"
                )

    def conditional(self):
        """Return `ConditionalCorrelation`."""
        return ConditionalCorrelation()

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
        """Test up to 1,000 people by a permutation test of the output and a bootstrap of pairs, more by Fisher's z.

        The authors' code shuffles the values of both attributes together, which tests something else.
        """
        x, y = _centred(sample)
        if len(sample) > EXACT_LIMIT or len(sample) <= 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return self.approximate(sample, conf=conf)
        observed = abs(np.corrcoef(x, y)[0, 1])
        hits = (np.abs(permute_correlation(x, y, rng)) >= observed * (1 - 1e-9)).sum()
        interval = percentile_interval(bootstrap_correlation(x, y, rng), conf)
        return Interval(*interval, float(1 + hits) / (1 + RESAMPLES))


class ConditionalCorrelation(ConditionalMetric):
    """`Correlation` given an explanatory attribute.

    It has no test of its own: interval bounds and p-value are weighted means of the strata's.
    """

    def __init__(self):
        super().__init__(Correlation())

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Return the weighted means of the strata's exact interval bounds and p-values."""
        strata = [stratum for stratum in sample.strata().values() if len(stratum)]
        parts = [self.stratum_metric.exact(stratum, conf=conf, rng=rng) for stratum in strata]
        weights = [len(stratum) for stratum in strata]
        bounds = ([getattr(part, name) for part in parts] for name in ("low", "high", "p_value"))
        return Interval(*(float(np.average(bound, weights=weights)) for bound in bounds))


def _centred(sample):
    return (column.values - column.values.mean() for column in (sample.protected, sample.output))
