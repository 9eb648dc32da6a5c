"""What an association metric is to the tree and to the tests (section 4.2); derive your own from `Metric`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fairlab.fairtest.sample import Column, Sample

SOUND, AS_PUBLISHED = READINGS = ("sound", "as_published")


@dataclass(frozen=True)
class Interval:
    """A confidence interval of an association, and the p-value of having none; numbers, or arrays of one shape.

    Examples
    --------
    >>> from fairlab.fairtest import Interval
    >>> Interval(low=0.1, high=0.3, p_value=0.001).low
    0.1
    """

    low: float | np.ndarray
    high: float | np.ndarray
    p_value: float | np.ndarray


@dataclass(frozen=True, eq=False)
class Children:
    """The subpopulations that a split would make, as arrays of one shape.

    Attributes
    ----------
    effect : ndarray
        Strength of the association in each.
    size : ndarray of int
        Number of people in each.
    smallest_stratum : ndarray of int
        Number of people in the smallest stratum that occurs in each; the size, for a metric without strata.
    """

    effect: np.ndarray
    size: np.ndarray
    smallest_stratum: np.ndarray


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """That there is no association among some people.

    Attributes
    ----------
    part : str
        Empty for a whole context; else a label of a `Discovery`, or a stratum such as ``department: A``.
    metric : Metric
    sample : Sample
    """

    part: str
    metric: "Metric"
    sample: Sample


class Metric(ABC):
    """Strength of the association between a protected attribute and an output.

    A metric of your own needs a `name` and `approximate`; `exact` if it has better methods for small samples, `effect`
    if no association is not 0, and `check` if it is not for every kind of column.

    Examples
    --------
    >>> from fairlab.fairtest import Correlation, Metric, NMI
    >>> issubclass(NMI, Metric), issubclass(Correlation, Metric)
    (True, True)
    """

    name: str

    @abstractmethod
    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the interval at confidence `conf` and the p-value by a method that is fast enough for training."""

    def exact(self, sample: Sample, *, conf: float, rng: np.random.Generator) -> Interval:
        """Return the interval at confidence `conf` and the p-value for testing, by resampling where that is better."""
        return self.approximate(sample, conf=conf)

    def effect(self, interval: Interval):
        """Return the strength that an interval proves: its distance from 0, which is 0 if it holds 0."""
        return np.maximum(np.maximum(interval.low, -np.asarray(interval.high)), 0.0)

    def check(self, sample: Sample) -> None:  # noqa: B027 - most metrics of a user's own suit any column
        """Raise a ValueError, naming the column, if the metric is not for such columns."""

    def conditional(self) -> "Metric":
        """Return the version of the metric that holds an explanatory attribute fixed (section 4.6).

        Raises
        ------
        ValueError
            If it has none.
        """
        raise ValueError(f"metric {self.name} has no conditional version; define its method `conditional`")

    def labels(self, sample: Sample, *, conf: float) -> tuple[str, ...]:
        """Return the labels to test in a context, from its people in training; none but for a `Discovery`."""
        return ()

    def hypotheses(self, sample: Sample, labels: tuple[str, ...]) -> "list[Hypothesis]":
        """Return what is to be tested among a context's people in a test set; the context itself comes first."""
        return [Hypothesis("", self, sample)]

    def children(self, sample: Sample, groups: np.ndarray, n_groups: int, *, ordered: bool, conf: float) -> Children:
        """Return all subpopulations that splits of a sample by one attribute would make.

        Parameters
        ----------
        groups : ndarray of shape (n_rows,)
            Number of the group that each row is in, from 0.
        ordered : bool
            Whether the groups are intervals of a continuous attribute. Then each of the ``n_groups - 1`` cuts makes two
            children and arrays have shape (n_groups - 1, 2); else each group is a child, and they have shape
            (n_groups,).
        """
        if ordered:
            members = [side for cut in range(n_groups - 1) for side in (groups <= cut, groups > cut)]
        else:
            members = [groups == group for group in range(n_groups)]
        size = np.array([mask.sum() for mask in members], dtype=int)
        effect = np.array(
            [self.effect(self.approximate(sample.take(mask), conf=conf)) if mask.any() else 0.0 for mask in members]
        )
        shape = (n_groups - 1, 2) if ordered else (n_groups,)
        size = size.reshape(shape)
        return Children(effect.reshape(shape), size, size)


class AdditiveMetric(Metric):
    """A metric of counts or sums: those of a union are the sum of its parts', so that all children come at once."""

    @abstractmethod
    def statistics(self, sample: Sample, groups: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the statistics of every group, an array of shape (n_groups, ...)."""

    @abstractmethod
    def interval(self, statistics: np.ndarray, *, conf: float) -> Interval:
        """Return the intervals that trees are grown by, and p-values, over the leading axes of `statistics`."""

    def training_effect(self, statistics: np.ndarray, *, conf: float) -> np.ndarray:
        """Return the strengths that the intervals prove, over the leading axes of `statistics`."""
        return self.effect(self.interval(statistics, conf=conf))

    @abstractmethod
    def size(self, statistics: np.ndarray) -> np.ndarray:
        """Return numbers of people, over the leading axes of `statistics`."""

    def smallest_stratum(self, statistics: np.ndarray) -> np.ndarray:
        """Return sizes of the smallest stratum, over the leading axes of `statistics`."""
        return self.size(statistics)

    def of_all(self, sample: Sample) -> np.ndarray:
        """Return the statistics of the whole sample."""
        return self.statistics(sample, np.zeros(len(sample), dtype=np.intp), 1)[0]

    def approximate(self, sample: Sample, *, conf: float) -> Interval:
        """Return the approximate interval and p-value of one sample."""
        return self.interval(self.of_all(sample), conf=conf)

    def children(self, sample: Sample, groups: np.ndarray, n_groups: int, *, ordered: bool, conf: float) -> Children:
        """Return all subpopulations that splits of a sample by one attribute would make; see `Metric.children`."""
        statistics = self.statistics(sample, groups, n_groups)
        if ordered:
            left = statistics.cumsum(axis=0)
            statistics = np.stack([left[:-1], left[-1] - left[:-1]], axis=1)
        effect = self.training_effect(statistics, conf=conf)
        return Children(effect, self.size(statistics), self.smallest_stratum(statistics))


def require_categorical(column: Column, metric: str, *, binary: bool = False) -> None:
    """Raise a ValueError unless a column is categorical, with two categories if `binary`."""
    if not column.is_categorical:
        raise ValueError(f"metric {metric} needs categories; column {column.name!r} holds numbers")
    if binary and not column.is_binary:
        raise ValueError(
            f"metric {metric} needs two categories; column {column.name!r} has {len(column.categories)}: "
            f"{', '.join(column.categories[:5])}{', ...' * (len(column.categories) > 5)}"
        )


def check_reading(reading: str) -> str:
    """Return a reading; raise a ValueError if there is no such one."""
    if not isinstance(reading, str) or reading not in READINGS:
        raise ValueError(f"reading: expected one of {', '.join(READINGS)}, found {reading!r}")
    return reading
