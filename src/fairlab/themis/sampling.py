"""Adaptive sampling of many proportions at once (section 4.1)."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from fairlab.themis.stopping import (
    SPENT,
    error,
    exact_interval,
    half_width,
    look_sizes,
    samples_needed,
    wilson_interval,
    z_value,
)

CELLS = 200_000  # samples drawn in one go
# Asks for the outcomes of series, and returns the count and the number of samples of each.
Rounds = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Looks:
    """Sampling by the exact rule: it looks a few times, and may stop there (`fairlab.themis.stopping.look_sizes`).

    Attributes
    ----------
    confidence, error_bound : float
    min_samples, max_samples : int
        More samples than the one are taken, and no more than the other, even if the bound is not reached.
    binary : bool
        Whether outcomes are 0 or 1, or anything between.
    """

    confidence: float
    error_bound: float
    min_samples: int
    max_samples: int
    binary: bool = True

    @property
    def sizes(self) -> dict[int, float]:
        """After how many samples it looks, and the share of the allowed error probability that each look spends."""
        planned = look_sizes(self.confidence, self.error_bound, binary=self.binary)
        return dict(zip(np.clip(planned, self.min_samples + 1, self.max_samples).tolist(), SPENT, strict=True))

    @property
    def most_enumerated(self) -> int:
        """Inputs that are all tried rather than sampled: as many as are sampled at least."""
        return max(self.min_samples, min(self.sizes))

    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether there are so few inputs that all are tried."""
        return n_inputs <= self.most_enumerated

    def rounds(self, n_series: int) -> Rounds:
        """Sample until every proportion is known well enough; see `Sampling.rounds`."""
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.int64)
        active, taken = np.arange(n_series), 0
        for size, spent in self.sizes.items():
            block = size - taken
            for some in np.array_split(active, -(-len(active) * block // CELLS)):
                outcomes = np.asarray((yield np.repeat(some, block)), dtype=float)
                counts[some] += outcomes.reshape(len(some), block).sum(axis=1)
            samples[active], taken = size, size
            alpha = spent * (1 - self.confidence)
            active = active[error(counts[active], size, alpha=alpha, binary=self.binary) > self.error_bound]
            if len(active) == 0:
                break
        return counts, samples

    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals that hold all proportions together at the confidence, wherever each was stopped."""
        sizes, spent = (np.array(list(part)) for part in (self.sizes, self.sizes.values()))
        alpha = spent[np.searchsorted(sizes, samples)] * (1 - self.confidence) / n_series
        return exact_interval(counts, samples, alpha=alpha, binary=self.binary)


@dataclass(frozen=True)
class Sampling:
    """Sampling that may stop after any sample, as the paper's.

    Attributes
    ----------
    confidence, error_bound : float
    rule : {"normal", "wilson"}
    min_samples, max_samples : int
    """

    confidence: float
    error_bound: float
    rule: str
    min_samples: int
    max_samples: int

    @property
    def z(self) -> float:
        """Quantile of the confidence."""
        return z_value(self.confidence)

    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether there are so few inputs that all are tried: of groups only."""
        return measure == "group" and n_inputs <= self.min_samples

    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return Wilson's intervals of all proportions together, as if the numbers of samples had been fixed."""
        return wilson_interval(counts, samples, alpha=(1 - self.confidence) / n_series)

    def rounds(self, n_series: int) -> Rounds:
        """Sample until every proportion is known well enough.

        Samples come in blocks, but each series ends at the very sample at which one-by-one sampling would have
        stopped; what was drawn beyond it is not used.

        Parameters
        ----------
        n_series : int

        Yields
        ------
        series : ndarray of int
            The number of a series for each new sample, sorted. What is sent back are the outcomes, between 0 and 1.

        Returns
        -------
        counts, samples : ndarray of shape (n_series,)
            Sum of the outcomes that count, and how many these are.
        """
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.int64)
        active, block = np.arange(n_series), np.full(n_series, self.min_samples + 1)
        while len(active):
            series = np.repeat(active, block)
            outcomes = np.asarray((yield series), dtype=float)
            first = np.cumsum(block) - block
            total = np.cumsum(outcomes)
            total += np.repeat(counts[active] - total[first] + outcomes[first], block)
            number = np.arange(len(series)) - np.repeat(first, block) + np.repeat(samples[active], block) + 1
            ends = (number > self.min_samples) & self._exact_enough(total, number) | (number >= self.max_samples)
            # The first end of each series, or else its last sample.
            place = np.where(ends, np.arange(len(series)), len(series))
            end = np.minimum.reduceat(place, first)
            ended = end < len(series)
            last = np.where(ended, end, first + block - 1)
            counts[active], samples[active] = total[last], number[last]
            active = active[~ended]
            block = self._next_block(counts[active], samples[active])
        return counts, samples

    def _exact_enough(self, counts, samples) -> np.ndarray:
        return half_width(counts, samples, self.z, rule=self.rule) < self.error_bound

    def _next_block(self, counts, samples) -> np.ndarray:
        needed = samples_needed(counts, samples, self.z, self.error_bound, rule=self.rule) - samples
        # At least a few, or the last would come one by one; at most as many again, since needs fall with the share.
        block = np.clip(needed, np.maximum(samples // 20, 1), samples)
        return np.minimum(block, self.max_samples - samples).astype(np.int64)
