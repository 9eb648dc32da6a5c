"""Frequency distribution metrics (table 1): of contingency tables with a row per group, a column per output value."""

from abc import abstractmethod

import numpy as np
from scipy.special import chndtrinc, ndtr, ndtri, xlogy
from scipy.stats import chi2

from fairlab.fairtest.conditional import ConditionalTableMetric
from fairlab.fairtest.metric import AdditiveMetric, Interval, require_categorical
from fairlab.fairtest.resampling import EXACT_LIMIT, bootstrap_tables, percentile_interval, table_p_value
from fairlab.fairtest.sample import Sample


class TableMetric(AdditiveMetric):
    """A metric of contingency tables of shape (..., n_protected, n_output)."""

    @abstractmethod
    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the metric itself, over the leading axes of `tables`."""

    @abstractmethod
    def strength(self, estimate: np.ndarray) -> np.ndarray:
        """Return how far estimates are from no association, for a permutation test."""

    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the contingency table of every group."""
        return contingency_tables(sample, groups, n_groups)

    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return the totals of the tables."""
        return statistics.sum(axis=(-2, -1))

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test up to 1,000 people by Monte Carlo with both margins fixed and a bootstrap, more by normal theory."""
        table = self.of_all(sample)
        if table.sum() > EXACT_LIMIT:
            return self.interval(table, conf=conf)
        p_value = table_p_value(table, rng)
        return Interval(*percentile_interval(bootstrap_tables(table, rng, self.estimate), conf), p_value)


class NMI(TableMetric):
    """Mutual information of two categorical attributes over the smaller of their entropies, from 0 to 1.

    One is added to every cell of the table. Intervals in training come from the non-centrality of the G statistic's
    chi-square distribution, in tests from a bootstrap at every size; p-values from Monte Carlo tables up to 1,000
    people, from the G test above.
    """

    name = "NMI"

    def check(self, sample: Sample) -> None:
        """Raise a ValueError unless both attributes are categorical."""
        for column in (sample.protected, sample.output):
            require_categorical(column, self.name)

    def conditional(self):
        """Return `ConditionalNMI`."""
        return ConditionalNMI()

    def effect(self, interval: Interval):
        """Return the lower bound; mutual information is never below 0."""
        return interval.low

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the normalised mutual information of tables with one added to every cell."""
        rows, columns, joint = _entropies(tables + 1)
        return np.maximum(rows + columns - joint, 0) / np.minimum(rows, columns)

    def strength(self, estimate: np.ndarray) -> np.ndarray:
        """Return the estimates."""
        return estimate

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals from the non-central chi-square distribution of the G statistic, p-values of the G test."""
        g, df, p_value = _g_test(statistics)
        smoothed = statistics + 1
        rows, columns, _ = _entropies(smoothed)
        scale = 2 * smoothed.sum(axis=(-2, -1)) * np.minimum(rows, columns)

        def bound(level):
            return np.clip((chndtrinc(g, np.maximum(df, 1), level) + df) / scale, 0, 1)

        low = np.where(p_value <= 1 - conf, bound((1 + conf) / 2), 0.0)
        return Interval(low, np.where(df > 0, bound((1 - conf) / 2), 1.0), p_value)

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test up to 1,000 people by Monte Carlo, more by the G test; bootstrap the interval at every size."""
        table = self.of_all(sample)
        p_value = table_p_value(table, rng) if table.sum() <= EXACT_LIMIT else float(_g_test(table)[2])
        return Interval(*percentile_interval(bootstrap_tables(table, rng, self.estimate), conf), p_value)


class RateMetric(TableMetric):
    """A comparison of the rates of the second output value in two groups.

    Parameters
    ----------
    smoothing : float
        What is added to every cell: 5 in the authors' later code, 0 behind the paper's figures 4 and 9.
    """

    def __init__(self, *, smoothing: float = 5):
        if not smoothing >= 0:
            raise ValueError(f"smoothing: expected a number from 0, found {smoothing}")
        self.smoothing = smoothing

    def check(self, sample: Sample) -> None:
        """Raise a ValueError unless both attributes have two categories."""
        for column in (sample.protected, sample.output):
            require_categorical(column, self.name, binary=True)

    def counts(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return smoothed numbers of people with the second output value, and of all, in each group."""
        smoothed = tables + self.smoothing
        return smoothed[..., 1], smoothed.sum(axis=-1)


class Difference(RateMetric):
    """Difference of the rates of the second output value: in the first group minus in the second, from -1 to 1.

    Parameters
    ----------
    smoothing : float
        What is added to every cell: 5 in the authors' later code, 0 behind the paper's figures 4 and 9.

    Notes
    -----
    Normal interval with unpooled standard error. A table with an empty row or column shows nothing: it has the
    interval [0, 1] and p-value 1, as in the authors' code.
    """

    name = "DIFF"

    def conditional(self):
        """Return `ConditionalDifference` with the same smoothing."""
        return ConditionalDifference(smoothing=self.smoothing)

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the differences of rates; 0 where a group is empty."""
        hits, totals = self.counts(tables)
        with np.errstate(invalid="ignore"):
            rates = hits / totals
        return np.nan_to_num(rates[..., 0] - rates[..., 1])

    def strength(self, estimate: np.ndarray) -> np.ndarray:
        """Return absolute estimates."""
        return np.abs(estimate)

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return normal intervals, cut to [-1, 1], and p-values of the two-sided z-test with the same error."""
        hits, totals = self.counts(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = hits / totals
            difference = rates[..., 0] - rates[..., 1]
            error = np.sqrt((rates * (1 - rates) / totals).sum(axis=-1))
            p_value = _two_sided(difference / error)
        margin = _quantile(conf) * error
        unknown = _has_empty_line(statistics)
        return Interval(
            np.where(unknown, 0.0, np.clip(difference - margin, -1, 1)),
            np.where(unknown, 1.0, np.clip(difference + margin, -1, 1)),
            np.where(unknown, 1.0, p_value),
        )


class Ratio(RateMetric):
    """Rate of the second output value in the first group over that in the second; 1 if there is no association.

    Parameters
    ----------
    smoothing : float
        What is added to every cell.

    Notes
    -----
    Normal interval on the log scale, where the strength of an association is measured, too. A table with an empty row
    or column has the interval [1, 1] and p-value 1.
    """

    name = "RATIO"

    def conditional(self):
        """Return `ConditionalRatio` with the same smoothing."""
        return ConditionalRatio(smoothing=self.smoothing)

    def effect(self, interval: Interval):
        """Return the distance of the interval from 1 on the log scale."""
        with np.errstate(divide="ignore"):
            return super().effect(Interval(np.log(interval.low), np.log(interval.high), interval.p_value))

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the ratios of rates; 1 where they are undefined."""
        hits, totals = self.counts(tables)
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = hits / totals
            ratio = rates[..., 0] / rates[..., 1]
        return np.where(np.isnan(ratio), 1.0, ratio)

    def strength(self, estimate: np.ndarray) -> np.ndarray:
        """Return absolute logarithms of estimates."""
        with np.errstate(divide="ignore"):
            return np.abs(np.log(estimate))

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return normal intervals on the log scale, and p-values of the two-sided z-test with the same error."""
        hits, totals = self.counts(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.diff(np.log(hits / totals), axis=-1)[..., 0] * -1
            error = np.sqrt((1 / hits - 1 / totals).sum(axis=-1))
            p_value = _two_sided(ratio / error)
            margin = _quantile(conf) * error
            low, high = np.exp(ratio - margin), np.exp(ratio + margin)
        unknown = _has_empty_line(statistics)
        unbounded = ~np.isfinite(error)  # without smoothing, a group without a single hit
        return Interval(
            np.where(unknown, 1.0, np.where(unbounded, 0.0, low)),
            np.where(unknown, 1.0, np.where(unbounded, np.inf, high)),
            np.where(unknown | unbounded, 1.0, p_value),
        )


class ConditionalNMI(ConditionalTableMetric):
    """`NMI` given an explanatory attribute."""

    def __init__(self):
        super().__init__(NMI())


class ConditionalDifference(ConditionalTableMetric):
    """`Difference` given an explanatory attribute.

    Parameters
    ----------
    smoothing : float
        What is added to every cell of every stratum's table.
    """

    def __init__(self, *, smoothing: float = 5):
        super().__init__(Difference(smoothing=smoothing))


class ConditionalRatio(ConditionalTableMetric):
    """`Ratio` given an explanatory attribute.

    Parameters
    ----------
    smoothing : float
        What is added to every cell of every stratum's table.
    """

    def __init__(self, *, smoothing: float = 5):
        super().__init__(Ratio(smoothing=smoothing))


def contingency_tables(sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
    """Return counts of shape (n_groups, n_protected, n_output)."""
    n_protected, n_output = len(sample.protected.categories), len(sample.output.categories)
    cell = (groups * n_protected + sample.protected.values) * n_output + sample.output.values
    counts = np.bincount(cell, minlength=n_groups * n_protected * n_output)
    return counts.reshape(n_groups, n_protected, n_output)


def _entropies(tables):
    """Return the entropies of rows, of columns, and of both together, in nats."""
    total = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    joint = tables.reshape(*tables.shape[:-2], -1)
    return tuple(np.log(total) - xlogy(counts, counts).sum(axis=-1) / total for counts in (rows, columns, joint))


def _g_test(tables):
    """Return the G statistic, its degrees of freedom and the p-value, empty rows and columns left out."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    total = rows.sum(axis=-1)
    parts = xlogy(rows, rows).sum(axis=-1) + xlogy(columns, columns).sum(axis=-1)
    g = np.maximum(2 * (xlogy(tables, tables).sum(axis=(-2, -1)) + xlogy(total, total) - parts), 0)
    df = ((rows > 0).sum(axis=-1) - 1) * ((columns > 0).sum(axis=-1) - 1)
    df = np.where(total > 0, df, 0)
    return g, df, np.where(df > 0, chi2.sf(g, np.maximum(df, 1)), 1.0)


def _has_empty_line(tables):
    return (tables.sum(axis=-1) == 0).any(axis=-1) | (tables.sum(axis=-2) == 0).any(axis=-1)


def _quantile(conf):
    return ndtri((1 + conf) / 2)


def _two_sided(z):
    return 2 * ndtr(-np.abs(z))
