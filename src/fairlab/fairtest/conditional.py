"""What metrics that hold an explanatory attribute fixed have in common (sections 4.2 and 4.6).

They are size-weighted means over its strata. Each metric's own version stands beside the metric.
"""

from dataclasses import replace

import numpy as np

from fairlab.fairtest.metric import SOUND, AdditiveMetric, Hypothesis, Interval
from fairlab.fairtest.resampling import RESAMPLES, bootstrap_tables, percentile_interval, permute_tables
from fairlab.fairtest.sample import Sample


class ConditionalMetric(AdditiveMetric):
    """The mean of a metric over the values of an explanatory attribute, weighted by numbers of people.

    The interval bounds and p-values that trees are grown by are weighted means of the strata's, too.

    Parameters
    ----------
    stratum_metric : AdditiveMetric
        The metric within one stratum.
    """

    def __init__(self, stratum_metric: AdditiveMetric):
        self.stratum_metric = stratum_metric
        self.reading = getattr(stratum_metric, "reading", SOUND)
        self.name = f"COND-{stratum_metric.name}"

    def check(self, sample: Sample) -> None:
        """Raise a ValueError if there is no explanatory attribute, or the columns are not for the stratum's metric."""
        if sample.explanatory is None:
            raise ValueError(f"metric {self.name} needs an explanatory attribute, found none")
        self.stratum_metric.check(sample)

    def conditional(self):
        """Return the metric itself."""
        return self

    def effect(self, interval: Interval):
        """Return the strength that the stratum's metric gives to the interval."""
        return self.stratum_metric.effect(interval)

    def hypotheses(self, sample: Sample, labels: tuple[str, ...]) -> list[Hypothesis]:
        """Return the conditional hypothesis, and one for each stratum, whether it occurs or not."""
        explanatory = sample.explanatory.name
        strata = [Hypothesis(f"{explanatory}: {v}", self.stratum_metric, part) for v, part in sample.strata().items()]
        return [Hypothesis("", self, sample), *strata]

    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return statistics of shape (n_groups, n_strata, ...)."""
        n_strata = len(sample.explanatory.categories)
        stacked = self.stratum_metric.statistics(
            sample, groups * n_strata + sample.explanatory.values, n_groups * n_strata
        )
        return stacked.reshape(n_groups, n_strata, *stacked.shape[1:])

    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return numbers of people over all strata."""
        return self.stratum_metric.size(statistics).sum(axis=-1)

    def smallest_stratum(self, statistics: np.ndarray) -> np.ndarray:
        """Return sizes of the smallest stratum that occurs."""
        sizes = self.stratum_metric.size(statistics)
        return np.where(sizes > 0, sizes, np.iinfo(int).max).min(axis=-1) * (sizes > 0).any(axis=-1)

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return the weighted means of the strata's interval bounds and p-values."""
        return self._mean(self.stratum_metric.interval(statistics, conf=conf), statistics)

    def _mean(self, part, statistics) -> Interval:
        sizes = self.stratum_metric.size(statistics)
        weights = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1)
        with np.errstate(invalid="ignore"):  # a ratio without bound, of nobody
            low, high, p_value = (
                np.where(weights > 0, weights * bound, 0).sum(axis=-1) for bound in (part.low, part.high, part.p_value)
            )
        return Interval(low, high, np.where(sizes.any(axis=-1), p_value, 1.0))


class ConditionalTableMetric(ConditionalMetric):
    """A mean of a table metric over strata, always tested by resampling within the strata."""

    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return the weighted means of the strata's bounds, and twice that of their p-values, which alone is none."""
        means = self._mean(self.stratum_metric.sound(statistics, conf=conf), statistics)
        return replace(means, p_value=np.minimum(2 * means.p_value, 1))

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the interval and p-value of one sample; as published, those that trees are grown by."""
        return (self.sound if self.reading == SOUND else self.interval)(self.of_all(sample), conf=conf)

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the conditional metric of tables of shape (..., n_strata, n_protected, n_output)."""
        sizes = tables.sum(axis=(-2, -1))
        return (self.stratum_metric.estimate(tables) * sizes).sum(axis=-1) / sizes.sum(axis=-1)

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Shuffle the output within strata for the p-value; as published, bootstrap within strata for the interval."""
        tables = self.of_all(sample)
        tables = tables[tables.any(axis=(-2, -1))]
        strength = self.stratum_metric.strength
        drawn, observed = strength(permute_tables(tables, rng, self.estimate)), strength(self.estimate(tables))
        if self.reading == SOUND:
            theory = self.sound(tables, conf=conf)
            p_value = (1 + float((drawn >= observed * (1 - 1e-9)).sum())) / (1 + RESAMPLES)
            return Interval(float(theory.low), float(theory.high), p_value)
        above = drawn > observed
        interval = percentile_interval(bootstrap_tables(tables, rng, self.estimate), conf)
        return Interval(*interval, max(float(above.mean()), 1 / RESAMPLES))
