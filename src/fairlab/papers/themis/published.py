"""Published stopping rule of Themis (section 4.1): ``Themis(model, schema, stop=Normal)``.

Themis' own rule and Wilson's are checked after every sample and guarantee no error bound, and scores are not corrected
for chance. The library's default, `fairlab.themis.stopping.Exact`, keeps its error bound.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.stats import norm

from fairlab.statistics import wilson_interval
from fairlab.themis.stopping import Rule


@lru_cache(maxsize=256)
def z_value(confidence_level: float) -> float:
    """Return the two-sided quantile of the standard normal distribution, 2.58 for 99%."""
    return float(norm.ppf((1 + confidence_level) / 2))


class Normal(Rule):
    """Sampling stops after the first sample at which the normal interval of the proportion is narrow enough.

    That interval, z sqrt(p (1 - p) / r), has no width if all outcomes are alike, so sampling then ends at the minimum.
    """

    is_sound = False

    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether there are so few inputs that all are tried, for group scores only; see `Rule`."""
        return measure == "group" and n_inputs <= self.min_samples

    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return Wilson's intervals, as if the numbers of samples had been fixed; see `Rule`."""
        return wilson_interval(counts, samples, alpha=(1 - self.confidence_level) / n_series)

    @staticmethod
    def half_width(count, n_samples, z: float):
        """Return half the width of the interval of a proportion: `count` out of `n_samples`.

        Parameters
        ----------
        count, n_samples : float or array
        z : float
            See `z_value`.
        """
        share = count / np.asarray(n_samples, dtype=float)
        return z * np.sqrt(share * (1 - share) / n_samples)

    def samples_needed(self, count, n_samples, z: float) -> np.ndarray:
        """Return how many samples bring the half-width to the bound if the proportion stays as it is.

        Parameters
        ----------
        count, n_samples : float or array
        z : float
            See `z_value`.
        """
        share = count / np.asarray(n_samples, dtype=float)
        return np.ceil(z**2 * (share * (1 - share)) / self.error_bound**2)

    def count(self, n_series: int, outcomes_of: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Sample until every proportion is known well enough; see `Rule`.

        Samples are drawn in blocks, and those beyond the end of a series are not used. The result for each series is
        that of this loop::

            while samples <= min_samples or half_width(count, samples, z) >= error_bound:
                count, samples = count + outcome of a new sample, samples + 1
                if samples >= max_samples: break

        Parameters
        ----------
        n_series : int
        outcomes_of : callable
        """
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.intp)
        active, block = np.arange(n_series), np.full(n_series, self.min_samples + 1)
        z = z_value(self.confidence_level)
        while len(active):
            series = np.repeat(active, block)
            outcomes = np.asarray(outcomes_of(series), dtype=float)
            first = np.cumsum(block) - block
            total = np.cumsum(outcomes)
            total += np.repeat(counts[active] - total[first] + outcomes[first], block)
            number = np.arange(len(series)) - np.repeat(first, block) + np.repeat(samples[active], block) + 1
            is_known = self.half_width(total, number, z) < self.error_bound
            ends = (number > self.min_samples) & is_known | (number >= self.max_samples)
            # The first end of each series, or else its last sample.
            place = np.where(ends, np.arange(len(series)), len(series))
            end = np.minimum.reduceat(place, first)
            ended = end < len(series)
            last = np.where(ended, end, first + block - 1)
            counts[active], samples[active] = total[last], number[last]
            active = active[~ended]
            taken = samples[active]
            needed = self.samples_needed(counts[active], taken, z) - taken
            # At least a few, or the last come one by one; at most as many again, since a smaller share needs fewer.
            block = np.clip(needed, np.maximum(taken // 20, 1), taken)
            block = np.minimum(block, self.max_samples - taken).astype(np.intp)
        return counts, samples


class Wilson(Normal):
    """The rule of `Normal` with Wilson's interval, whose width is never zero."""

    @staticmethod
    def half_width(count, n_samples, z: float):
        """Return half the width of Wilson's interval of a proportion; see `Normal`."""
        n_samples = np.asarray(n_samples, dtype=float)
        share = count / n_samples
        spread = share * (1 - share) / n_samples + z**2 / (4 * n_samples**2)
        return z * np.sqrt(spread) / (1 + z**2 / n_samples)

    def samples_needed(self, count, n_samples, z: float) -> np.ndarray:
        """Return how many samples bring the half-width to the bound, as `Normal` does."""
        share = count / np.asarray(n_samples, dtype=float)
        # The half-width equals the bound where a quadratic in 1 / n is zero.
        a = z**4 * (self.error_bound**2 - 0.25)
        b = z**2 * (2 * self.error_bound**2 - share * (1 - share))
        return np.ceil(2 * a / (-b - np.sqrt(b**2 - 4 * a * self.error_bound**2)))
