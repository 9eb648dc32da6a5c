"""Frequency distribution metrics (table 1): of contingency tables with a row per group, a column per output value."""

from abc import abstractmethod
from numbers import Real

import numpy as np
from scipy.special import chndtrinc, ndtr, ndtri
from scipy.stats import fisher_exact

from fairlab.fairtest.conditional import ConditionalTableMetric
from fairlab.fairtest.intervals import difference_bounds, entropies, g_test, information_bounds, ratio_bounds
from fairlab.fairtest.metric import AS_PUBLISHED, SOUND, AdditiveMetric, Interval, check_reading, require_categorical
from fairlab.fairtest.resampling import EXACT_LIMIT, bootstrap_tables, percentile_interval, table_p_value
from fairlab.fairtest.sample import Sample

LATER_SMOOTHING = 5  # of the authors' later code


class TableMetric(AdditiveMetric):
    """A metric of contingency tables of shape (..., n_protected, n_output).

    Attributes
    ----------
    reading : {"sound", "as_published"}
    """

    reading: str

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

    @abstractmethod
    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals that hold the truth at their rate, and p-values, over the leading axes of `statistics`."""

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the interval and p-value of one sample; as published, those that trees are grown by."""
        return (self.sound if self.reading == SOUND else self.interval)(self.of_all(sample), conf=conf)

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test up to 1,000 people by Monte Carlo with both margins fixed and a bootstrap, more by normal theory."""
        table = self.of_all(sample)
        if table.sum() > EXACT_LIMIT:
            return self.interval(table, conf=conf)
        p_value = table_p_value(table, rng)
        return Interval(*percentile_interval(bootstrap_tables(table, rng, self.estimate), conf), p_value)


class NMI(TableMetric):
    """Mutual information of two categorical attributes over the smaller of their entropies, from 0 to 1.

    Parameters
    ----------
    reading : {"sound", "as_published"}
        Whose intervals. "sound": see `fairlab.fairtest.intervals.information_bounds`; the lower bound is 0 where the
        data cannot tell an association from none. "as_published": the authors' code adds one to every cell, takes
        intervals in training from the non-centrality of the G statistic, and bootstraps those of tests, which never
        hold 0.

    Notes
    -----
    P-values are from Monte Carlo tables up to 1,000 people, from the G test above.

    Examples
    --------
    >>> from fairlab.fairtest import Column, NMI, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 1], 50), ("no", "yes"))
    >>> bool(NMI().approximate(Sample(sex, offer), conf=0.95).p_value < 0.05)
    True
    """

    name = "NMI"

    def __init__(self, *, reading: str = SOUND):
        self.reading = check_reading(reading)

    def check(self, sample: Sample) -> None:
        """Raise a ValueError unless both attributes are categorical."""
        for column in (sample.protected, sample.output):
            require_categorical(column, self.name)

    def conditional(self):
        """Return `ConditionalNMI` of the same reading."""
        return ConditionalNMI(reading=self.reading)

    def effect(self, interval: Interval):
        """Return the lower bound; mutual information is never below 0."""
        return interval.low

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the normalised mutual information, from 0 to 1.

        It is that of the table less what chance alone adds; as published, that of the table with one added to every
        cell.
        """
        added = self.reading == AS_PUBLISHED
        rows, columns, joint = entropies(tables + added)
        information, smaller = rows + columns - joint, np.minimum(rows, columns)
        if added:
            return np.maximum(information, 0) / smaller
        _, df, _ = g_test(tables)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (information - df / (2 * tables.sum(axis=(-2, -1)))) / smaller
        return np.where(df > 0, np.clip(share, 0, 1), 0.0)

    def strength(self, estimate: np.ndarray) -> np.ndarray:
        """Return the estimates."""
        return estimate

    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals that hold 0 where chance explains the table, and p-values of the G test."""
        return Interval(*information_bounds(statistics, conf=conf))

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals from the non-central chi-square distribution of the G statistic, p-values of the G test."""
        g, df, p_value = g_test(statistics)
        low = self._lower_bound(statistics, g, df, p_value, conf)
        high = np.clip((chndtrinc(g, np.maximum(df, 1), (1 - conf) / 2) + df) / _scale(statistics), 0, 1)
        return Interval(low, np.where(df > 0, high, 1.0), p_value)

    def training_effect(self, statistics: np.ndarray, *, conf: float) -> np.ndarray:
        """Return the lower bounds of `interval` alone."""
        return self._lower_bound(statistics, *g_test(statistics), conf)

    def _lower_bound(self, tables, g, df, p_value, conf) -> np.ndarray:
        """Return the lower bound, from the G test; 0 where it is not significant, without a search for one."""
        g, significant = np.asarray(g), p_value <= 1 - conf
        low = np.zeros(g.shape)
        freedom = np.maximum(df, 1)[significant]
        noncentral = chndtrinc(g[significant], freedom, (1 + conf) / 2) + df[significant]
        low[significant] = np.clip(noncentral / _scale(tables[significant]), 0, 1)
        return low

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test up to 1,000 people by Monte Carlo, more by the G test; as published, bootstrap at every size."""
        return self.exact_of(self.of_all(sample), conf=conf, rng=rng)

    def exact_of(self, table: np.ndarray, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test the people of a contingency table as `exact` does."""
        theory = (self.sound if self.reading == SOUND else self.interval)(table, conf=conf)
        p_value = table_p_value(table, rng) if table.sum() <= EXACT_LIMIT else float(theory.p_value)
        if self.reading == SOUND:
            return Interval(float(theory.low) * (p_value <= 1 - conf), float(theory.high), p_value)
        return Interval(*percentile_interval(bootstrap_tables(table, rng, self.estimate), conf), p_value)


class RateMetric(TableMetric):
    """A comparison of the rates of the second output value in two groups; `smoothing` and `reading` as below."""

    def __init__(self, *, smoothing: float | None = None, reading: str = SOUND):
        if check_reading(reading) == AS_PUBLISHED and smoothing is None:
            smoothing = LATER_SMOOTHING
        if smoothing is not None and not (isinstance(smoothing, Real) and 0 <= smoothing < np.inf):
            raise ValueError(f"smoothing: expected None or a number from 0, found {smoothing!r}")
        self.smoothing = smoothing
        self.reading = SOUND if smoothing is None else AS_PUBLISHED

    def check(self, sample: Sample) -> None:
        """Raise a ValueError unless both attributes have two categories."""
        for column in (sample.protected, sample.output):
            require_categorical(column, self.name, binary=True)

    def counts(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return smoothed numbers of people with the second output value, and of all, in each group."""
        return self._smoothed_counts(tables, self.smoothing or 0)

    def training_counts(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts that trees are grown by: always with something added, so that chance splits off no few."""
        return self._smoothed_counts(tables, LATER_SMOOTHING if self.smoothing is None else self.smoothing)

    def _smoothed_counts(self, tables, smoothing):
        smoothed = tables + smoothing
        return smoothed[..., 1], smoothed.sum(axis=-1)

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Test by Fisher's exact test; as published, up to 1,000 people by Monte Carlo and bootstrap."""
        if self.reading == AS_PUBLISHED:
            return super().exact(sample, conf=conf, rng=rng)
        theory = self.approximate(sample, conf=conf)
        p_value = fisher_exact(self.of_all(sample)).pvalue
        return Interval(float(theory.low), float(theory.high), float(p_value))


class Difference(RateMetric):
    """Difference of the rates of the second output value: in the first group minus in the second, from -1 to 1.

    Parameters
    ----------
    smoothing : float or None
        None: nothing is added to the counts, and intervals hold the truth at their rate in small groups, too; see
        `fairlab.fairtest.intervals.difference_bounds`. A number is added to every cell, and intervals are the authors'
        normal ones and bootstraps: 5 in their later code, 0 behind the paper's figures 4 and 9.
    reading : {"sound", "as_published"}
        "as_published" is short for a smoothing of 5.

    Notes
    -----
    As published, the interval is normal with unpooled standard error, and a table with an empty row or column has the
    interval [0, 1] and p-value 1.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Difference, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 1], 50), ("no", "yes"))
    >>> bool(Difference().approximate(Sample(sex, offer), conf=0.95).p_value < 0.05)
    True
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

    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return square-and-add intervals, and p-values of the two-sided z-test of equal rates."""
        return Interval(*difference_bounds(statistics, conf=conf), _pooled_test(statistics))

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return normal intervals, cut to [-1, 1], and p-values of the two-sided z-test with the same error."""
        hits, totals = self.training_counts(statistics)
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
    smoothing : float or None
        None: nothing is added to the counts, and intervals hold the truth at their rate in small groups, too; see
        `fairlab.fairtest.intervals.ratio_bounds`. A number is added to every cell, and intervals are the authors'
        normal ones and bootstraps: 5 in their later code, 0 behind the paper's figures 4 and 9.
    reading : {"sound", "as_published"}
        "as_published" is short for a smoothing of 5.

    Notes
    -----
    The strength of an association is measured on the log scale. As published, the interval is normal there, and a
    table with an empty row or column has the interval [1, 1] and p-value 1.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Ratio, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 0, 0, 1], 25), ("no", "yes"))
    >>> bool(Ratio().approximate(Sample(sex, offer), conf=0.95).p_value < 0.05)
    True
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

    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return intervals from exact ones of both rates, and p-values of the two-sided z-test of equal rates."""
        return Interval(*ratio_bounds(statistics, conf=conf), _pooled_test(statistics))

    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return normal intervals on the log scale, and p-values of the two-sided z-test with the same error."""
        hits, totals = self.training_counts(statistics)
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
    """`NMI` given an explanatory attribute; the reading is that of `NMI`."""

    def __init__(self, *, reading: str = SOUND):
        super().__init__(NMI(reading=reading))


class ConditionalDifference(ConditionalTableMetric):
    """`Difference` given an explanatory attribute; parameters are those of `Difference`, for every stratum's table."""

    def __init__(self, *, smoothing: float | None = None, reading: str = SOUND):
        super().__init__(Difference(smoothing=smoothing, reading=reading))

    def sound(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return the weighted mean of the strata's differences with the root of their squared margins added."""
        means = super().sound(statistics, conf=conf)
        sizes = self.stratum_metric.size(statistics)
        weights = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1)
        part, middle = self.stratum_metric.sound(statistics, conf=conf), self.stratum_metric.estimate(statistics)
        below, above = (np.sqrt(((weights * (bound - middle)) ** 2).sum(axis=-1)) for bound in (part.low, part.high))
        mean = (weights * middle).sum(axis=-1)
        return Interval(np.maximum(mean - below, -1), np.minimum(mean + above, 1), means.p_value)


class ConditionalRatio(ConditionalTableMetric):
    """`Ratio` given an explanatory attribute; parameters are those of `Ratio`, for every stratum's table."""

    def __init__(self, *, smoothing: float | None = None, reading: str = SOUND):
        super().__init__(Ratio(smoothing=smoothing, reading=reading))


def contingency_tables(sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
    """Return counts of shape (n_groups, n_protected, n_output)."""
    n_protected, n_output = len(sample.protected.categories), len(sample.output.categories)
    cell = (groups * n_protected + sample.protected.values) * n_output + sample.output.values
    counts = np.bincount(cell, minlength=n_groups * n_protected * n_output)
    return counts.reshape(n_groups, n_protected, n_output)


def _scale(tables):
    """Return what the G statistic of tables is divided by for NMI, with one added to every cell."""
    smoothed = tables + 1
    rows, columns, _ = entropies(smoothed)
    return 2 * smoothed.sum(axis=(-2, -1)) * np.minimum(rows, columns)


def _pooled_test(tables):
    """Return p-values of equal rates, 1 where one group or one output value is missing."""
    totals = tables.sum(axis=-1)
    rates = tables[..., 1] / np.maximum(totals, 1)
    pooled = tables[..., 1].sum(axis=-1) / np.maximum(totals.sum(axis=-1), 1)
    error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(totals, 1)).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        p_value = _two_sided((rates[..., 0] - rates[..., 1]) / error)
    return np.where(_has_empty_line(tables), 1.0, p_value)


def _has_empty_line(tables):
    return (tables.sum(axis=-1) == 0).any(axis=-1) | (tables.sum(axis=-2) == 0).any(axis=-1)


def _quantile(conf):
    return ndtri((1 + conf) / 2)


def _two_sided(z):
    return 2 * ndtr(-np.abs(z))
