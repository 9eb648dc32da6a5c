"""Association metrics (table 1): mutual information, difference, ratio, correlation, and the regression of labels.

Given an explanatory attribute, every metric is the mean over its strata, weighted by numbers of people (sections 4.2
and 4.6). Rates are compared only in strata with people of both groups; published variants include the other strata.
Derive your own metric from `Metric`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import pinvh
from scipy.special import chndtrinc, ndtr, ndtri
from scipy.stats import fisher_exact
from sklearn.linear_model import LogisticRegression

from fairlab.cases.tables import Key, Split, Table
from fairlab.cases.tables.keys import Influences, Products, Sums
from fairlab.checks import VARIANT, check_count, check_kind, checked
from fairlab.fairtest.resampling import (
    EXACT_LIMIT,
    RESAMPLES,
    bootstrap_correlation,
    bootstrap_tables,
    is_sparse,
    percentile_interval,
    permute_correlation,
    permute_tables,
    table_p_value,
)
from fairlab.fairtest.sample import PUBLISHED, SOUND, Column, Sample, tabulate
from fairlab.statistics import (
    correlation_bounds,
    correlation_bounds_by_sums,
    difference_bounds,
    entropies,
    g_test,
    information_bounds,
    information_share,
    ratio_bounds,
)

LATER_SMOOTHING = 5  # of the authors' later code
# Whether a column suits a metric, by what the metric needs.
SUITS = {
    "categories": lambda column: column.is_categorical,
    "two categories": lambda column: column.is_binary,
    "numbers or two categories": lambda column: column.is_binary or not column.is_categorical,
}


@dataclass(frozen=True)
class Interval:
    """A confidence interval of an association, and the p-value of no association; numbers, or arrays of one shape.

    Examples
    --------
    >>> from fairlab.fairtest import Interval
    >>> Interval(low=0.1, high=0.3, p_value=0.001).low
    0.1
    """

    low: float | np.ndarray
    high: float | np.ndarray
    p_value: float | np.ndarray


class Metric(ABC):
    """Strength of the association between a sensitive feature and an output.

    A metric of your own needs a `name` and `approximate`. Define `exact` for better methods in small samples, `effect`
    if no association is not at 0, and `needs` if the metric does not suit every kind of column. Only metrics derived
    from `AdditiveMetric` can hold an explanatory attribute fixed.

    Examples
    --------
    >>> from fairlab.fairtest import Correlation, Metric, NMI
    >>> issubclass(NMI, Metric), issubclass(Correlation, Metric)
    (True, True)
    """

    name: str
    needs = ""  # a key of `SUITS`, or nothing for any columns
    by_sums = False  # whether counts and sums are enough for trees and tests

    def name_given(self, explanatory: str | None) -> str:
        """Return the name, which says whether an explanatory attribute is held fixed."""
        return self.name if explanatory is None else f"COND-{self.name}"

    @abstractmethod
    def approximate(self, sample: Sample, *, confidence_level: float) -> Interval:
        """Return the interval at `confidence_level` and the p-value by a method that is fast enough for training."""

    def exact(self, sample: Sample, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Return the interval at `confidence_level` and the p-value for testing, by resampling where that is better."""
        return self.approximate(sample, confidence_level=confidence_level)

    def effect(self, interval: Interval) -> Any:
        """Return the strength that an interval proves: its distance from 0, which is 0 if the interval contains 0."""
        return np.maximum(np.maximum(interval.low, -np.asarray(interval.high)), 0.0)

    def check(self, sample: Sample) -> None:
        """Raise a ValueError, naming the column, if the metric is not for such columns."""
        outputs = sample.output if isinstance(sample.output, tuple) else (sample.output,)
        for column in (sample.sensitive_features, *outputs):
            if self.needs and not SUITS[self.needs](column):
                found = "holds numbers"
                if column.is_categorical:
                    more = ", ..." * (len(column.categories) > 5)
                    found = f"has {len(column.categories)}: {', '.join(column.categories[:5])}{more}"
                raise ValueError(f"metric {self.name} needs {self.needs}; column {column.name!r} {found}")

    def children(
        self, sample: Sample, groups: np.ndarray, n_groups: int, *, ordered: bool, confidence_level: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return effects and sizes of all subpopulations that splits of a sample by one attribute would make.

        Parameters
        ----------
        sample : Sample
        groups : ndarray of shape (n_rows,)
            Number of each row's group, from 0.
        n_groups : int
        ordered : bool
            Whether the groups are intervals of a continuous attribute. Then each of the ``n_groups - 1`` cuts makes two
            children and arrays have shape (n_groups - 1, 2); else each group is a child, and they have shape
            (n_groups,).
        confidence_level : float
            Level of the intervals from which effects are taken.

        Returns
        -------
        effect : ndarray
            Strength of the association in each child.
        size : ndarray of int
            Number of people in each.
        smallest_stratum : ndarray of int
            Number of people in the smallest non-empty stratum of each; the size, for a metric without strata.
        """
        if ordered:
            members = [side for cut in range(n_groups - 1) for side in (groups <= cut, groups > cut)]
        else:
            members = [groups == group for group in range(n_groups)]
        effect = [
            self.effect(self.approximate(sample.take(mask), confidence_level=confidence_level)) if mask.any() else 0.0
            for mask in members
        ]
        shape = (n_groups - 1, 2) if ordered else (n_groups,)
        size = np.array([mask.sum() for mask in members], dtype=int).reshape(shape)
        return np.array(effect, dtype=float).reshape(shape), size, size


class AdditiveMetric(Metric):
    """A metric of counts or sums, which add up over parts, so that all children are computed at once.

    Statistics have an axis of strata before their own axes: the explanatory attribute's categories, or one stratum.

    Attributes
    ----------
    variant : {"sound", "published"}
    """

    @checked(variant=VARIANT)
    def __init__(self, *, variant: str = SOUND):
        self.variant = variant

    @abstractmethod
    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the statistics of every group, an array of shape (n_groups, n_strata, ...)."""

    @abstractmethod
    def interval(self, statistics: np.ndarray, *, confidence_level: float) -> Interval:
        """Return the intervals and p-values of each stratum that are used to grow trees."""

    @abstractmethod
    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return the number of people in each stratum."""

    def weight(self, statistics: np.ndarray) -> np.ndarray:
        """Return the weight of each stratum in the mean: its number of people."""
        return self.size(statistics)

    def training_effect(self, statistics: np.ndarray, *, confidence_level: float) -> np.ndarray:
        """Return the strengths that the means of the strata's intervals prove."""
        return self.effect(self.over_strata(self.interval(statistics, confidence_level=confidence_level), statistics))

    def over_strata(self, parts: Interval, statistics: np.ndarray) -> Interval:
        """Return the means of the strata's interval bounds and p-values, weighted by numbers of people."""
        sizes = self.weight(statistics)
        p_value = np.where(sizes.any(axis=-1), _mean(parts.p_value, sizes), 1.0)
        return Interval(_mean(parts.low, sizes), _mean(parts.high, sizes), p_value)

    def keys(self, sample: Sample, table: Table) -> tuple[Key | Sums, ...]:
        """Return the keys by which a table counts the people of a sample, and the sums it takes, if there are any."""
        sides = (sample.explanatory, sample.sensitive_features, sample.output)
        return tuple(each.key for each in sides if each is not None)

    def from_counts(self, counted: np.ndarray) -> np.ndarray:
        """Return statistics, of shape (..., n_strata, ...), from the counts or sums by `keys`."""
        return counted

    def completed(self, sample: Sample, table: Table, keys: tuple, parts: list, counted: list) -> list[np.ndarray]:
        """Return the statistics that a test needs of each part, from the counts or sums of its people by keys."""
        return counted

    def of_all(self, sample: Sample) -> np.ndarray:
        """Return the statistics of the whole sample, of shape (n_strata, ...)."""
        return self.statistics(sample, np.zeros(len(sample), dtype=np.intp), 1)[0]

    def approximate(self, sample: Sample, *, confidence_level: float) -> Interval:
        """Return the interval and p-value that are used to grow trees."""
        statistics = self.of_all(sample)
        return self.over_strata(self.interval(statistics, confidence_level=confidence_level), statistics)

    def children(self, sample: Sample, groups: np.ndarray, n_groups: int, *, ordered: bool, confidence_level: float):
        """Return all subpopulations that splits of a sample by one attribute would make; see `Metric.children`."""
        statistics = self.statistics(sample, groups, n_groups)
        return self.children_of(statistics, ordered=ordered, confidence_level=confidence_level)

    def children_of(self, statistics: np.ndarray, *, ordered: bool, confidence_level: float) -> tuple:
        """Return the result of `children` from statistics of groups, of shape (n_groups, n_strata, ...)."""
        if ordered:
            left = statistics.cumsum(axis=0)
            statistics = np.stack([left[:-1], left[-1] - left[:-1]], axis=1)
        sizes = self.size(statistics)
        smallest = np.where(sizes > 0, sizes, np.iinfo(int).max).min(axis=-1) * (sizes > 0).any(axis=-1)
        return self.training_effect(statistics, confidence_level=confidence_level), sizes.sum(axis=-1), smallest


class TableMetric(AdditiveMetric):
    """A metric of contingency tables of shape (..., n_strata, n_groups, n_outputs)."""

    by_sums = True

    @abstractmethod
    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the metric itself, over the leading axes of `tables`."""

    @abstractmethod
    def sound(self, tables: np.ndarray, *, confidence_level: float) -> Interval:
        """Return intervals with the stated coverage, and p-values, over the leading axes of `tables`."""

    @abstractmethod
    def exact_table(self, table: np.ndarray, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Return the interval and p-value of a test without explanatory attribute, from one table."""

    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the contingency tables of every group."""
        sides = (sample.explanatory, sample.sensitive_features, sample.output)
        columns = {place: column for place, column in enumerate(sides) if column is not None}
        sizes = {place: len(column.categories) for place, column in columns.items()}
        codes = {"group": groups} | {place: column.values for place, column in columns.items()}
        return tabulate(codes, {"group": n_groups} | sizes).reshape(n_groups, -1, sizes[1], sizes[2])

    def of_all(self, sample: Sample) -> np.ndarray:
        """Return the tables of the whole sample, of shape (n_strata, n_groups, n_outputs)."""
        return super().of_all(sample) if sample.tables is None else sample.tables

    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return the totals of the tables."""
        return statistics.sum(axis=(-2, -1))

    def estimate_given(self, tables: np.ndarray) -> np.ndarray:
        """Return the mean of the strata's estimates, from tables of shape (..., n_strata, n_groups, n_outputs)."""
        sizes = self.weight(tables)
        return (self.estimate(tables) * sizes).sum(axis=-1) / np.maximum(sizes.sum(axis=-1), 1)

    def estimate_of(self, sample: Sample) -> float:
        """Return the metric of a sample's own people, given its explanatory attribute if it has one."""
        tables = self.of_all(sample)
        return float(self.estimate_given(tables[tables.any(axis=(-2, -1))]))

    def sound_given(self, tables: np.ndarray, *, confidence_level: float) -> Interval:
        """Return the means of the strata's bounds, and twice their mean p-value, as the mean alone is not a p-value."""
        means = self.over_strata(self.sound(tables, confidence_level=confidence_level), tables)
        return means if tables.shape[-3] == 1 else replace(means, p_value=np.minimum(2 * means.p_value, 1))

    def approximate(self, sample: Sample, *, confidence_level: float) -> Interval:
        """Return the interval and p-value of one sample; as published, those used to grow trees."""
        if self.variant == PUBLISHED:
            return super().approximate(sample, confidence_level=confidence_level)
        means = self.sound_given(self.of_all(sample), confidence_level=confidence_level)
        return self.as_tested(means, confidence_level=confidence_level)

    def as_tested(self, interval: Interval, *, confidence_level: float) -> Interval:
        """Return the interval, changed to agree with its p-value if the metric needs that."""
        return interval

    def exact(self, sample: Sample, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Test as described in the notes of each metric.

        Given an explanatory attribute, shuffle the output within strata for the p-value; as published, bootstrap
        within strata for the interval.
        """
        tables = self.of_all(sample)
        if sample.explanatory is None:
            return self.exact_table(tables[0], confidence_level=confidence_level, rng=rng)
        occurring = tables[tables.any(axis=(-2, -1))]
        drawn = self._strength(permute_tables(occurring, rng, self.estimate_given))
        observed = self._strength(self.estimate_given(occurring))
        if self.variant == SOUND:
            p_value = (1 + float((drawn >= observed * (1 - 1e-9)).sum())) / (1 + RESAMPLES)
            means = replace(self.sound_given(tables, confidence_level=confidence_level), p_value=p_value)
            return self.as_tested(means, confidence_level=confidence_level)
        p_value = max(float((drawn > observed).mean()), 1 / RESAMPLES)
        return Interval(*_bootstrapped(occurring, rng, self.estimate_given, confidence_level), p_value)

    def _strength(self, estimate) -> np.ndarray:
        """Return how far estimates are from no association."""
        return self.effect(Interval(estimate, estimate, np.nan))


class NMI(TableMetric):
    """Mutual information of two categorical attributes over the smaller of their entropies, from 0 to 1.

    Parameters
    ----------
    variant : {"sound", "published"}
        Which intervals to use. "sound": see `fairlab.statistics.information_bounds`; the lower bound is 0 where the
        data cannot distinguish an association from none. "published": the authors' code adds one to every cell, takes
        training intervals from the non-centrality of the G statistic, and bootstraps test intervals, which never
        contain 0.

    Notes
    -----
    Up to 1,000 people, p-values are from Monte Carlo tables; "sound" ones of two groups and two outputs are exact. With
    more people, published p-values are from the G test. "sound" ones are from Pearson's test if every cell has an
    expected count of 5 (of 100, for two groups and two outputs), else as with fewer people.

    Examples
    --------
    >>> from fairlab.fairtest import Column, NMI, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 1], 50), ("no", "yes"))
    >>> bool(NMI().approximate(Sample(sex, offer), confidence_level=0.95).p_value < 0.05)
    True
    """

    name = "NMI"
    needs = "categories"

    def effect(self, interval: Interval) -> Any:
        """Return the lower bound; mutual information is never below 0."""
        return interval.low

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the normalised mutual information, from 0 to 1.

        The contribution of chance alone is subtracted; as published, one is added to every cell instead.
        """
        if self.variant == SOUND:
            return information_share(tables)
        rows, columns, joint = entropies(tables + 1)
        return np.maximum(rows + columns - joint, 0) / np.minimum(rows, columns)

    def sound(self, statistics: np.ndarray, *, confidence_level: float) -> Interval:
        """Return intervals that contain 0 where chance explains the table, and p-values of Pearson's test."""
        return Interval(*information_bounds(statistics, confidence_level=confidence_level))

    def as_tested(self, interval: Interval, *, confidence_level: float) -> Interval:
        """Return the interval with a lower bound of 0 unless the p-value is small.

        The mean of the strata's lower bounds is above 0 as soon as one of them is, which happens by chance more often
        the more strata there are.
        """
        return replace(interval, low=interval.low * (interval.p_value <= 1 - confidence_level))

    def interval(self, statistics: np.ndarray, *, confidence_level: float) -> Interval:
        """Return intervals from the non-central chi-square distribution of the G statistic, p-values of the G test."""
        g, df, p_value = g_test(statistics)
        low = self._lower_bound(statistics, g, df, p_value, confidence_level)
        high = np.clip((chndtrinc(g, np.maximum(df, 1), (1 - confidence_level) / 2) + df) / _scale(statistics), 0, 1)
        return Interval(low, np.where(df > 0, high, 1.0), p_value)

    def training_effect(self, statistics: np.ndarray, *, confidence_level: float) -> np.ndarray:
        """Return the means of the lower bounds alone."""
        return _mean(self._lower_bound(statistics, *g_test(statistics), confidence_level), self.size(statistics))

    def _lower_bound(self, tables, g, df, p_value, confidence_level) -> np.ndarray:
        """Return the lower bound from the G test; where the test is not significant, 0, without computing the bound."""
        g, significant = np.asarray(g), p_value <= 1 - confidence_level
        low = np.zeros(g.shape)
        freedom = np.maximum(df, 1)[significant]
        noncentral = chndtrinc(g[significant], freedom, (1 + confidence_level) / 2) + df[significant]
        low[significant] = np.clip(noncentral / _scale(tables[significant]), 0, 1)
        return low

    def exact_table(self, table: np.ndarray, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Test as the notes say; as published, bootstrap the interval at every size."""
        theory = (self.sound if self.variant == SOUND else self.interval)(table, confidence_level=confidence_level)
        p_value = float(theory.p_value)
        if table.sum() <= EXACT_LIMIT or (self.variant == SOUND and is_sparse(table)):
            p_value = table_p_value(table, rng, exact=self.variant == SOUND)
        if self.variant == SOUND:
            return self.as_tested(replace(theory, p_value=p_value), confidence_level=confidence_level)
        return Interval(*_bootstrapped(table, rng, self.estimate, confidence_level), p_value)


class RateMetric(TableMetric):
    """A comparison of the rates of the second output value in two groups; see `Difference` for the parameters.

    Attributes
    ----------
    no_association, least, most : float
        The value of no association, and the ends of the range.
    unknown : pair of float
        The authors' interval of a table with an empty row or column.
    compare : callable
        Compares the rates of the first group with those of the second.
    bounds : callable
        Sound interval bounds from hits and totals.
    normal : callable
        The comparison on the scale where it is nearly normal, and its standard error there, from hits and totals.
    from_normal : callable
        Brings values back from that scale.
    """

    needs = "two categories"

    @checked(variant=VARIANT)
    def __init__(self, *, smoothing: float | None = None, variant: str = SOUND):
        if variant == PUBLISHED and smoothing is None:
            smoothing = LATER_SMOOTHING
        if smoothing is not None and not (isinstance(smoothing, Real) and 0 <= smoothing < np.inf):
            raise ValueError(f"smoothing: expected None or a number from 0, found {smoothing!r}")
        self.smoothing = smoothing
        self.variant = SOUND if smoothing is None else PUBLISHED

    def estimate(self, tables: np.ndarray) -> np.ndarray:
        """Return the comparisons of rates; where undefined, the value of no association."""
        hits, totals = self._counts(tables, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = hits / totals
            value = self.compare(rates[..., 0], rates[..., 1])
        return np.where(np.isnan(value), self.no_association, value)

    def weight(self, statistics: np.ndarray) -> np.ndarray:
        """Return numbers of people; unless as published, 0 for strata that lack a group, as they compare nothing.

        Counted as no association, such strata would bias the mean towards it.
        """
        sizes = self.size(statistics)
        return sizes if self.variant == PUBLISHED else sizes * statistics.any(axis=-1).all(axis=-1)

    def estimate_given(self, tables: np.ndarray) -> np.ndarray:
        """Return the mean of the strata's estimates, no association where no stratum has both groups."""
        return np.where(self.weight(tables).any(axis=-1), super().estimate_given(tables), self.no_association)

    def sound_given(self, tables: np.ndarray, *, confidence_level: float) -> Interval:
        """Return the means of the strata's bounds; the whole range where no stratum has both groups."""
        means, known = super().sound_given(tables, confidence_level=confidence_level), self.weight(tables).any(axis=-1)
        return replace(means, low=np.where(known, means.low, self.least), high=np.where(known, means.high, self.most))

    def sound(self, tables: np.ndarray, *, confidence_level: float) -> Interval:
        """Return intervals that are valid in small groups, too, and p-values of the two-sided z-test of equal rates."""
        hits, totals = self._counts(tables, 0)
        return Interval(*self.bounds(hits, totals, confidence_level=confidence_level), _pooled_test(tables))

    def interval(self, statistics: np.ndarray, *, confidence_level: float) -> Interval:
        """Return normal intervals, cut to the range, and p-values of the two-sided z-test with the same error."""
        hits, totals = self._counts(statistics, LATER_SMOOTHING)
        with np.errstate(invalid="ignore", divide="ignore"):
            value, error = self.normal(hits, totals)
            p_value = _two_sided(value / error)
            margin = _quantile(confidence_level) * error
            ends = [np.clip(self.from_normal(end), self.least, self.most) for end in (value - margin, value + margin)]
        empty = _has_empty_line(statistics)
        unbounded = ~np.isfinite(error)  # a ratio without smoothing, if a group has no hits
        low, high = (
            np.where(empty, unknown, np.where(unbounded, limit, end))
            for unknown, limit, end in zip(self.unknown, (self.least, self.most), ends, strict=True)
        )
        return Interval(low, high, np.where(empty | unbounded, 1.0, p_value))

    def exact_table(self, table: np.ndarray, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Test by Fisher's exact test; as published, by Monte Carlo and bootstrap, or above 1,000 people by theory."""
        if self.variant == SOUND:
            theory = self.sound(table, confidence_level=confidence_level)
            return replace(theory, p_value=float(fisher_exact(table).pvalue))
        if table.sum() > EXACT_LIMIT:
            return self.interval(table, confidence_level=confidence_level)
        p_value = table_p_value(table, rng)
        return Interval(*_bootstrapped(table, rng, self.estimate, confidence_level), p_value)

    def _counts(self, tables, smoothing):
        """Return the numbers of people with the second output value, and of all people, in each group.

        `smoothing` is added to every cell unless the metric has its own. In training the default is 5, so that small
        groups do not split off by chance.
        """
        smoothed = tables + (smoothing if self.smoothing is None else self.smoothing)
        return smoothed[..., 1], smoothed.sum(axis=-1)


class Difference(RateMetric):
    """Rate of the second output value in the first group minus that in the second, from -1 to 1.

    Parameters
    ----------
    smoothing : float or None
        None: nothing is added to the counts of tests, and intervals have the stated coverage in small groups, too;
        see `fairlab.statistics.difference_bounds`. A number is added to every cell, and intervals are the authors'
        normal ones and bootstraps: they add 5 in their later code, 0 for the paper's figures 4 and 9.
    variant : {"sound", "published"}
        "published" is short for a smoothing of 5.

    Notes
    -----
    As published, the interval is normal with unpooled standard error, and a table with an empty row or column has the
    interval [0, 1] and p-value 1.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Difference, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 1], 50), ("no", "yes"))
    >>> bool(Difference().approximate(Sample(sex, offer), confidence_level=0.95).p_value < 0.05)
    True
    """

    name = "DIFF"
    no_association, least, most = 0.0, -1.0, 1.0
    unknown = (0.0, 1.0)
    compare = staticmethod(np.subtract)
    bounds = staticmethod(difference_bounds)
    from_normal = staticmethod(np.asarray)

    @staticmethod
    def normal(hits: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the differences, and their unpooled standard errors."""
        rates = hits / totals
        return rates[..., 0] - rates[..., 1], np.sqrt((rates * (1 - rates) / totals).sum(axis=-1))

    def sound_given(self, tables: np.ndarray, *, confidence_level: float) -> Interval:
        """Return the weighted mean of the strata's differences, with the root of their summed squared margins.

        With many strata of a few people each, margins may be one-sided by chance, so they are at least the normal ones.
        """
        means = super().sound_given(tables, confidence_level=confidence_level)
        sizes, middle = self.weight(tables), self.estimate(tables)
        if tables.shape[-3] == 1:
            return means
        part, mean = self.sound(tables, confidence_level=confidence_level), _mean(middle, sizes)
        weights = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1)
        least = _quantile(confidence_level) * np.sqrt(self._variance(tables, weights))
        below, above = (
            np.maximum(np.sqrt(((weights * (bound - middle)) ** 2).sum(axis=-1)), least)
            for bound in (part.low, part.high)
        )
        known, (low, high) = sizes.any(axis=-1), (np.maximum(mean - below, -1), np.minimum(mean + above, 1))
        return Interval(np.where(known, low, means.low), np.where(known, high, means.high), means.p_value)

    def _variance(self, tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the estimated variance of the weighted mean; groups of one person get their mean rate.

        A single outcome gives no estimate of its variance. The variance is concave in the rate, so that its value at
        the mean rate is an upper bound of the mean variance.
        """
        hits, totals = self._counts(tables, 0)
        squares, rates, alone = weights[..., None] ** 2, hits / np.maximum(totals, 1), totals == 1
        of_alone = squares * alone
        mean = (of_alone * rates).sum(axis=-2, keepdims=True)
        mean = mean / np.maximum(of_alone.sum(axis=-2, keepdims=True), np.finfo(float).tiny)
        spread = np.where(alone, mean * (1 - mean), rates * (1 - rates) / np.maximum(totals - 1, 1))
        return (squares * spread).sum(axis=(-2, -1))


class Ratio(RateMetric):
    """Rate of the second output value in the first group over that in the second; 1 if there is no association.

    Parameters
    ----------
    smoothing : float or None
        None: nothing is added to the counts of tests, and intervals have the stated coverage in small groups, too;
        see `fairlab.statistics.ratio_bounds`. A number is added to every cell, and intervals are the authors'
        normal ones and bootstraps: they add 5 in their later code, 0 for the paper's figures 4 and 9.
    variant : {"sound", "published"}
        "published" is short for a smoothing of 5.

    Notes
    -----
    The strength of an association is measured on the log scale. As published, the interval is normal there, and a
    table with an empty row or column has the interval [1, 1] and p-value 1.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Ratio, Sample
    >>> sex = Column("sex", np.tile([0, 1], 50), ("f", "m"))
    >>> offer = Column("offer", np.tile([0, 0, 0, 1], 25), ("no", "yes"))
    >>> bool(Ratio().approximate(Sample(sex, offer), confidence_level=0.95).p_value < 0.05)
    True
    """

    name = "RATIO"
    no_association, least, most = 1.0, 0.0, np.inf
    unknown = (1.0, 1.0)
    compare = staticmethod(np.divide)
    bounds = staticmethod(ratio_bounds)
    from_normal = staticmethod(np.exp)

    def effect(self, interval: Interval) -> Any:
        """Return the distance of the interval from 1 on the log scale."""
        with np.errstate(divide="ignore"):
            return super().effect(Interval(np.log(interval.low), np.log(interval.high), interval.p_value))

    @staticmethod
    def normal(hits: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of the ratios, and their standard errors."""
        return np.diff(np.log(hits / totals), axis=-1)[..., 0] * -1, np.sqrt((1 / hits - 1 / totals).sum(axis=-1))


class Correlation(AdditiveMetric):
    """Pearson's correlation, from -1 to 1; a categorical attribute with two categories counts as 0 and 1.

    Data without variance, or of three people or fewer, has the interval [-1, 1] and p-value 1.

    Given an explanatory attribute, interval bounds are weighted means of the strata's. The p-value is that of
    Stouffer's weighted sum of the strata's normal scores; as published, it is the weighted mean of the strata's, too.

    Parameters
    ----------
    variant : {"sound", "published"}
        Which intervals and p-values to use. "sound": those of `fairlab.statistics.correlation_bounds`, which assume no
        normal distribution; Fisher's z only compares splits in training. "published": Fisher's z above 1,000 people; up
        to 1,000, tests shuffle the output and bootstrap pairs.

    Examples
    --------
    >>> from fairlab.fairtest import Column, Correlation, Sample
    >>> age = Column("age", np.arange(40.0))
    >>> price = Column("price", 2 * np.arange(40.0) + np.tile([-5.0, 5.0], 20))
    >>> interval = Correlation().approximate(Sample(age, price), confidence_level=0.95)
    >>> bool(0.9 < interval.low < interval.high < 1)
    True
    """

    name = "CORR"
    needs = "numbers or two categories"

    @property
    def by_sums(self) -> bool:
        """Whether sums are enough: published tests of up to 1,000 people draw pairs."""
        return self.variant == SOUND

    def keys(self, sample: Sample, table: Table) -> tuple[Key | Sums, ...]:
        """Return the keys to count by if both attributes have two categories, else the sums to take."""
        sides = (sample.sensitive_features, sample.output)
        if all(side.is_categorical for side in sides):
            return super().keys(sample, table)
        standards = [number for side in sides for number in _middle(side, table)]
        given = () if sample.explanatory is None else (sample.explanatory.key,)
        return (*given, Products(*(side.key for side in sides), tuple(standards)))

    def from_counts(self, counted: np.ndarray) -> np.ndarray:
        """Return numbers of people and the five sums."""
        if counted.shape[-1] == Products.size:
            return Products.joined(counted)
        n, x, y = counted.sum(axis=(-2, -1)), counted[..., 1, :].sum(axis=-1), counted[..., 1].sum(axis=-1)
        return np.stack([n, x, y, x, y, counted[..., 1, 1]], axis=-1).astype(float)

    def completed(self, sample: Sample, table: Table, keys: tuple, parts: list, counted: list) -> list[np.ndarray]:
        """Return, for numbers, statistics with means of squared influences and of their squares, from a second pass."""
        products, given = keys[-1], sample.explanatory
        if not isinstance(products, Products):
            return counted
        statistics, lists = [self.from_counts(each) for each in counted], []
        for part, each in zip(parts, statistics, strict=True):
            cell = part if given is None or part is None else _crossed(part, given.key)
            cell = given.key if part is None and given is not None else cell
            standards = [some.ravel().tolist() for some in _standards(each, products.standards)]
            standards = [tuple(some) if cell else some[0] for some in standards]
            lists.append((*([cell] if cell else []), Influences(products.x, products.y, tuple(standards), cell)))
        found = []
        for each, sums in zip(statistics, table.tabulate(lists), strict=True):
            sums = sums.reshape(*each.shape[:-1], Influences.size) / np.maximum(each[..., :1], 1)
            found.append(np.concatenate([each, sums[..., 1:]], axis=-1))
        return found

    def estimate(self, sample: Sample) -> float:
        """Return the correlation, 0 where one attribute has a single value."""
        x, y = _centred(sample)
        return float(np.corrcoef(x, y)[0, 1]) if len(x) and np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0

    def approximate(self, sample: Sample, *, confidence_level: float) -> Interval:
        """Return the interval and the p-value of one sample; as published, by Fisher's z."""
        if self.variant == PUBLISHED:
            return super().approximate(sample, confidence_level=confidence_level)
        return self.exact(sample, confidence_level=confidence_level, rng=None)

    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return numbers of people and the sums of x, y, x², y² and xy, both centred."""
        (x, y), given = _centred(sample), sample.explanatory
        strata, n_strata = (0, 1) if given is None else (given.values, len(given.categories))
        cells, n_cells = groups * n_strata + strata, n_groups * n_strata
        sums = [np.bincount(cells, weights, n_cells) for weights in (None, x, y, x * x, y * y, x * y)]
        return np.stack(sums, axis=-1).reshape(n_groups, n_strata, -1)

    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return numbers of people."""
        return statistics[..., 0].astype(int)

    def interval(self, statistics: np.ndarray, *, confidence_level: float) -> Interval:
        """Return intervals and p-values by Fisher's z transformation."""
        n, known, r = statistics[..., 0], *_correlation(statistics)[:2]
        z = np.arctanh(np.clip(r, -1 + 1e-6, 1 - 1e-6))
        error = 1 / np.sqrt(np.maximum(n - 3, 1))
        margin = _quantile(confidence_level) * error
        return Interval(
            np.where(known, np.tanh(z - margin), -1.0),
            np.where(known, np.tanh(z + margin), 1.0),
            np.where(known, _two_sided(z / error), 1.0),
        )

    def exact(self, sample: Sample, *, confidence_level: float, rng: np.random.Generator) -> Interval:
        """Test as `approximate` does; as published, up to 1,000 people by a permutation test and a bootstrap of pairs.

        The authors' code shuffles the values of both attributes together, which tests something else.
        """
        if sample.explanatory is not None:
            return self._exact_given(sample, confidence_level, rng)
        if sample.tables is not None:
            known = _moments(self, sample.tables[0])
            return Interval(*correlation_bounds_by_sums(*known, confidence_level=confidence_level))
        x, y = _centred(sample)
        if self.variant == SOUND:
            return Interval(*correlation_bounds(x, y, confidence_level=confidence_level))
        if len(sample) > EXACT_LIMIT or len(sample) <= 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return self.approximate(sample, confidence_level=confidence_level)
        observed = abs(np.corrcoef(x, y)[0, 1])
        hits = (np.abs(permute_correlation(x, y, rng)) >= observed * (1 - 1e-9)).sum()
        interval = percentile_interval(bootstrap_correlation(x, y, rng), confidence_level)
        return Interval(*interval, float(1 + hits) / (1 + RESAMPLES))

    def _exact_given(self, sample, confidence_level, rng) -> Interval:
        """Return the weighted means of the strata's exact interval bounds, and the p-value."""
        strata = [stratum for stratum in sample.strata().values() if len(stratum)]
        parts = [self.exact(stratum, confidence_level=confidence_level, rng=rng) for stratum in strata]
        weights = [len(stratum) for stratum in strata]
        bounds = ([getattr(part, name) for part in parts] for name in ("low", "high", "p_value"))
        means = Interval(*(float(np.average(bound, weights=weights)) for bound in bounds))
        return means if self.variant == PUBLISHED else replace(means, p_value=_stouffer(parts, np.sqrt(weights)))


class Regression(Metric):
    """Logistic regression of a binary sensitive feature on many labels, each with two values.

    It finds contexts and labels in training; a test compares each of these labels by `label_metric`.

    Parameters
    ----------
    top_k : int
        How many labels to keep in each context; the association is the mean of their effects.
    label_metric : Metric or None
        Metric of one label in the test; None for `Difference`.

    Notes
    -----
    Penalised by C = 1 with liblinear, intercept included. The standard error of a coefficient is
    ``sqrt(MSE * diag(pinv(X'X)))`` with the share of misclassified people as MSE and no intercept in X.

    Examples
    --------
    >>> from fairlab.fairtest import Regression
    >>> Regression(top_k=5).top_k
    5
    """

    name = "REG"
    needs = "two categories"

    @checked(top_k=check_count, label_metric=partial(check_kind, kind=Metric, advice="; such as Difference()"))
    def __init__(self, *, top_k: int = 35, label_metric: Metric | None = None):
        self.top_k = top_k
        self.label_metric = label_metric or Difference()

    def approximate(self, sample: Sample, *, confidence_level: float) -> Interval:
        """Return one interval for each label's coefficient; there are no p-values."""
        labels = np.column_stack([column.values for column in sample.output]).astype(float)
        nothing = np.zeros(labels.shape[1])
        if np.ptp(sample.sensitive_features.values) == 0:
            return Interval(nothing, nothing, np.ones_like(nothing))
        model = LogisticRegression(solver="liblinear").fit(labels, sample.sensitive_features.values)
        error_share = (model.predict(labels) != sample.sensitive_features.values).mean()
        with np.errstate(invalid="ignore"):
            error = np.sqrt(error_share * np.diag(pinvh(labels.T @ labels)))
        margin = _quantile(confidence_level) * error
        [coefficient] = model.coef_
        return Interval(
            np.nan_to_num(coefficient - margin), np.nan_to_num(coefficient + margin), np.ones_like(coefficient)
        )

    def effect(self, interval: Interval) -> Any:
        """Return the mean effect of the `top_k` strongest labels."""
        effects = super().effect(interval)
        return np.sort(effects)[-self.top_k :].mean()

    def labels(self, sample: Sample, *, confidence_level: float) -> tuple[str, ...]:
        """Return the names of the `top_k` labels with the largest effects, in that order."""
        effects = super().effect(self.approximate(sample, confidence_level=confidence_level))
        return tuple(sample.output[i].name for i in np.argsort(-effects, kind="stable")[: self.top_k])


def _mean(values, sizes):
    """Return means over strata, the last axis, weighted by their sizes; for a single stratum, its values."""
    if sizes.shape[-1] == 1:
        return values[..., 0]
    weights = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1)
    with np.errstate(invalid="ignore"):  # the infinite bound of a ratio without people
        return np.where(weights > 0, weights * values, 0).sum(axis=-1)


def _bootstrapped(tables, rng, estimate, confidence_level) -> tuple[float, float]:
    return percentile_interval(bootstrap_tables(tables, rng, estimate), confidence_level)


def _scale(tables):
    """Return the divisor that turns the G statistic of tables into NMI, with one added to every cell."""
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


def _quantile(confidence_level):
    return ndtri((1 + confidence_level) / 2)


def _two_sided(z):
    return 2 * ndtr(-np.abs(z))


def _stouffer(parts, weights):
    """Return the p-value of the weighted sum of two-sided tests' normal scores, each with the sign of its interval."""
    sign = np.array([np.sign(part.low + part.high) for part in parts])
    score = sign * -ndtri(np.clip([part.p_value for part in parts], 1e-300, 1) / 2)
    return float(2 * ndtr(-abs((weights * score).sum()) / np.sqrt((weights**2).sum())))


def _correlation(statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return whether correlations are defined, their values or 0, and sums of squares around the means of x and y."""
    n, x, y, xx, yy, xy = np.moveaxis(statistics[..., :6], -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_x, of_y = xx - x * x / n, yy - y * y / n
        # Sums of squares leave a rounding error where a group has a single value.
        known = (n > 3) & (of_x > 1e-12 * xx) & (of_y > 1e-12 * yy)
        r = np.where(known, (xy - x * y / n) / np.sqrt(np.where(known, of_x * of_y, 1)), 0)
    return known, r, of_x, of_y


def _middle(column: Column, table: Table) -> tuple[float, float]:
    """Return a middle of the numbers, and a power of 2 that scales their distances from it to at most 1."""
    if column.is_categorical:
        return 0.5, 2.0
    low, high = table.span(column.key)
    middle = next(iter(table.thresholds([column.key], 1)[0].tolist()), low)
    return middle, float(np.ldexp(1.0, -np.frexp(max(high - middle, middle - low))[1]))


def _standards(statistics: np.ndarray, middles: tuple[float, ...]) -> list[np.ndarray]:
    """Return the means and inverse standard deviations of x and y, and correlations; only defined ones matter."""
    known, r, *squares = _correlation(statistics)
    n, x, y = np.moveaxis(statistics[..., :3], -1, 0)
    found = []
    for total, square, middle, scale in zip((x, y), squares, middles[::2], middles[1::2], strict=True):
        found.append(middle + total / np.maximum(n, 1) / scale)
        found.append(scale * np.sqrt(np.maximum(n, 1) / np.where(known, square, 1)))
    return [*found, np.clip(r, 1e-9 - 1, 1 - 1e-9)]


def _moments(metric: Correlation, table: np.ndarray) -> tuple[int, float, float, float]:
    """Return the arguments of `correlation_bounds_by_sums`, from sums or from a 2 x 2 table of counts."""
    statistics = table
    if table.ndim == 2:
        statistics = metric.from_counts(table)
        standards = [float(each) for each in _standards(statistics, (0.0, 1.0, 0.0, 1.0))]
        terms = Influences(0, 1, ()).terms(*np.indices((2, 2)), standards)
        sums = [(table * term).sum() / max(table.sum(), 1) for term in terms]
        statistics = np.array([*statistics, *sums])
    known, r, *_ = _correlation(statistics)
    mean, squared = statistics[6:].tolist()
    n = int(statistics[0]) if known else 0
    return n, float(np.clip(r, 1e-9 - 1, 1 - 1e-9)), mean, max(squared - mean * mean, 0.0)


def _crossed(part: Key, given: Key) -> Split:
    """Return the key of the combinations of two keys."""
    branches = ((given, tuple(range(code * given.size, (code + 1) * given.size))) for code in range(part.size))
    return Split(part, tuple(branches), part.size * given.size)


def _centred(sample):
    return (column.values - column.values.mean() for column in (sample.sensitive_features, sample.output))
