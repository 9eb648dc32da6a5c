"""Adaptive sampling of many proportions at once (section 4.1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairlab.themis.stopping import half_width, samples_needed


@dataclass(frozen=True)
class Sampling:
    """When sampling stops.

    Attributes
    ----------
    z : float
        Quantile of the confidence level.
    error_bound : float
    rule : {"normal", "wilson"}
    min_samples, max_samples : int
    """

    z: float
    error_bound: float
    rule: str
    min_samples: int
    max_samples: int

    def proportions(self, draw: Callable[[np.ndarray], np.ndarray], n_series: int) -> tuple[np.ndarray, np.ndarray]:
        """Sample until every proportion is known well enough.

        Samples come in blocks, but each series ends at the very sample at which one-by-one sampling would have
        stopped; what was drawn beyond it is not used.

        Parameters
        ----------
        draw : callable
            ``draw(series)`` takes the number of a series for each new sample, sorted, and returns outcomes between 0
            and 1.
        n_series : int

        Returns
        -------
        counts, samples : ndarray of shape (n_series,)
            Sum of the outcomes that count, and how many these are.
        """
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.int64)
        active, block = np.arange(n_series), np.full(n_series, self.min_samples + 1)
        while len(active):
            series = np.repeat(active, block)
            outcomes = np.asarray(draw(series), dtype=float)
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
