"""Limits and p-values of the ratio of two error rates of the same points, which hold where errors are few."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

_HALVINGS = 60
_LARGEST = 38.0  # standard normal quantile, beyond which chances are zero


@dataclass(frozen=True, eq=False)
class PairedErrors:
    """How many points are wrong before and after, and which limits that puts to the ratio of the rates.

    The limits are those of Bonett and Price, hybrids of Wilson's intervals of both rates. Where nothing was wrong
    before, the ratio is infinite and they are exact: an error is then new with a chance of at most
    ``ratio / (1 + ratio)``.

    Attributes
    ----------
    both, new, mended : ndarray of int
        Points wrong before and after, after only, before only.

    References
    ----------
    Bonett, Price. Confidence intervals for a ratio of binomial proportions based on paired data. Statistics in Medicine
    25, 2006.
    """

    both: np.ndarray
    new: np.ndarray
    mended: np.ndarray

    def limits(self, chance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper limit, each of which is passed with so small a chance."""
        low, high = self._hybrid(norm.isf(chance))
        only_new = self.both + self.mended == 0
        with np.errstate(divide="ignore"):
            share = chance ** (1 / self.new.astype(float))
        return np.where(only_new, share / (1 - share), low)[()], np.where(only_new, np.inf, high)[()]

    def p_value(self, threshold: float):
        """Return the chance of as large a ratio, if the true one is at most the threshold: where its limit is."""
        # The limits grow apart with the quantile: halve where the threshold lies among them.
        above = self.after > threshold * self.before
        small, large = np.zeros(above.shape), np.full(above.shape, _LARGEST)
        for _ in range(_HALVINGS):
            middle = (small + large) / 2
            low, high = self._hybrid(middle)
            beyond = np.where(above, low <= threshold, high >= threshold)
            small, large = np.where(beyond, small, middle), np.where(beyond, middle, large)
        hybrid = norm.sf(np.where(above, small, -small))
        exact = (threshold / (1 + threshold)) ** self.new.astype(float)
        return np.where(self.both + self.mended == 0, exact, hybrid)[()]

    @property
    def before(self) -> np.ndarray:
        """Points wrong before."""
        return self.both + self.mended

    @property
    def after(self) -> np.ndarray:
        """Points wrong after."""
        return self.both + self.new

    def _hybrid(self, z):
        m, a, b = self.both + self.new + self.mended, self.after, self.before
        wide = np.sqrt((self.new + self.mended + 2) / ((a + 1) * (b + 1)))
        narrow = sum(np.sqrt((1 - (x + 1) / (m + 2)) / (x + 1)) for x in (a, b))
        z = z * wide / narrow
        (low_a, high_a), (low_b, high_b) = (_wilson(x, m, z) for x in (a, b))
        with np.errstate(divide="ignore", invalid="ignore"):
            return low_a / high_b, high_a / low_b


def _wilson(x, n, z):
    """Return Wilson's interval of a rate; 0 and 1 without any point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = z * np.sqrt(z**2 + 4 * x * (1 - np.where(n > 0, x / np.maximum(n, 1), 0.0)))
        low, high = ((2 * x + z**2 + sign * half) / (2 * (n + z**2)) for sign in (-1, 1))
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
