"""When sampling stops: at a number fixed beforehand or, by the exact rule, as soon as the error bound is met.

A rule has `count`, which draws until it stops, and `interval`. The paper's own rules, which promise no bound, are in
`fairlab.papers.themis.published`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from fairlab.statistics import exact_interval

SPENT = (1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2)  # of the allowed error probability, at each look of the exact rule
SAMPLES_AT_ONCE = 200_000  # samples drawn at once


def error(count, n_samples, *, alpha, binary: bool = True) -> np.ndarray:
    """Return the largest possible error of the share: the longer side of its `exact_interval`.

    Parameters
    ----------
    count, n_samples, alpha : float or array
    binary : bool
        Whether outcomes are 0 or 1, or anything between.
    """
    low, high = exact_interval(count, n_samples, alpha=alpha, binary=binary)
    share = np.asarray(count) / n_samples
    return np.maximum(share - low, high - share)


@lru_cache(maxsize=256)
def look_sizes(confidence_level: float, error_bound: float, *, binary: bool = True) -> tuple[int, ...]:
    """Return the numbers of samples at which the exact rule checks whether it may stop.

    At the first look a sample without a hit meets the bound, at the last every sample does; the sizes between grow by a
    constant factor. Each look spends its share, `SPENT`, of the allowed error probability, so that together they keep
    the bound (Bonferroni), whatever the truth and wherever sampling stops.

    Parameters
    ----------
    confidence_level, error_bound : float
    binary : bool
    """

    def least(shares, spent: float) -> int:
        """Return the least number of samples from which on all shares meet the bound."""
        alpha, high = spent * (1 - confidence_level), 1

        def is_met(n):
            return (error(shares * n, n, alpha=alpha, binary=binary) <= error_bound).all()

        while not is_met(high):
            high *= 2
        return bisect_left(range(high), True, high // 2 + 1, high, key=is_met)

    first, last = least(np.zeros(1), SPENT[0]), least(np.linspace(0, 0.5, 201), SPENT[-1])
    return tuple(int(size) for size in np.ceil(np.geomspace(min(first, last), last, len(SPENT))))


@dataclass(frozen=True)
class Rule(ABC):
    """Sampling until every proportion is known well enough.

    Attributes
    ----------
    confidence_level, error_bound : float
    min_samples, max_samples : int
        More than `min_samples` are taken, and at most `max_samples`, even if the bound is not reached.
    binary : bool
        Whether outcomes are 0 or 1, or anything between.
    is_sound : bool
        Whether the bound is kept whatever the truth. If so, a group score is corrected for the upward bias from noise,
        and intervals of a search hold simultaneously.
    """

    is_sound: ClassVar[bool] = True
    confidence_level: float
    error_bound: float
    min_samples: int
    max_samples: int
    binary: bool = True

    @abstractmethod
    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether inputs are so few that all are tried instead of a sample.

        Parameters
        ----------
        n_inputs : int
        measure : {"group", "causal"}
        """

    @abstractmethod
    def count(self, n_series: int, outcomes_of: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Sample until the rate of some outcome is known in each of several series.

        Parameters
        ----------
        n_series : int
        outcomes_of : callable
            Takes the number of a series for each new sample, sorted; returns the outcomes, between 0 and 1.

        Returns
        -------
        counts, samples : ndarray of shape (n_series,)
            Sum and number of the counted outcomes.
        """

    @abstractmethod
    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return simultaneous intervals of `n_series` proportions at the confidence level.

        Parameters
        ----------
        counts, samples : array-like of shape (n_series,)
        n_series : int
            Number of simultaneous intervals.
        """


class Exact(Rule):
    """Sampling checks a few times whether the bound is met (see `look_sizes`), and keeps it whatever the truth."""

    @property
    def sizes(self) -> dict[int, float]:
        """Number of samples at each look, and the share of the allowed error probability that the look spends."""
        planned = look_sizes(self.confidence_level, self.error_bound, binary=self.binary)
        return dict(zip(np.clip(planned, self.min_samples + 1, self.max_samples).tolist(), SPENT, strict=True))

    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether inputs are so few that all are tried: no more than the smallest sample; see `Rule`."""
        return n_inputs <= max(self.min_samples, min(self.sizes))

    def count(self, n_series: int, outcomes_of: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Sample all series up to the next look, and go on with those that do not meet the bound; see `Rule`."""
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.intp)
        active, taken = np.arange(n_series), 0
        for size, spent in self.sizes.items():
            block = size - taken
            for some in np.array_split(active, -(-len(active) * block // SAMPLES_AT_ONCE)):
                outcomes = np.asarray(outcomes_of(np.repeat(some, block)), dtype=float)
                counts[some] += outcomes.reshape(len(some), block).sum(axis=1)
            samples[active], taken = size, size
            alpha = spent * (1 - self.confidence_level)
            active = active[error(counts[active], size, alpha=alpha, binary=self.binary) > self.error_bound]
            if len(active) == 0:
                break
        return counts, samples

    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return simultaneous intervals of all proportions, wherever each was stopped; see `Rule`."""
        sizes, spent = (np.array(list(part)) for part in (self.sizes, self.sizes.values()))
        alpha = spent[np.searchsorted(sizes, samples)] * (1 - self.confidence_level) / n_series
        return exact_interval(counts, samples, alpha=alpha, binary=self.binary)


@dataclass(frozen=True)
class Fixed:
    """A number of samples fixed beforehand, such as the number of all inputs.

    Attributes
    ----------
    n_samples : int
    """

    n_samples: int

    def count(self, n_series: int, outcomes_of: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Sample every series once; see `Rule`."""
        outcomes = outcomes_of(np.repeat(np.arange(n_series), self.n_samples))
        return outcomes.reshape(n_series, self.n_samples).sum(axis=1), np.full(n_series, self.n_samples)
