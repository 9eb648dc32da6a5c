"""Counterfactual flips of a model whose answers to the same row vary: repeated paired queries.

The model is applied to each person twice as they are (decisions a and b) and twice with other values (c and d), in one
batch of rows in random order. (a - c)(b - d) is 1 where both pairs differ in the same direction, -1 where they differ
in opposite ones, and 0 otherwise. If the model favours the person with probability p and their counterpart with q, its
mean is (p - q)². So the mean over people is 0 if and only if the values change nobody's probability, however noisy the
model is; for a deterministic model it is the share of people whose decision the drawn values change, with two values
the counterfactual flip rate.
"""

from functools import partial

import numpy as np
import pandas as pd

from fairlab.cases.case import Case
from fairlab.cases.finding import beside
from fairlab.statistics import difference_bounds, difference_p_value, exclusive_correlation, smallest_excess

QUERIES_EACH = 4


class RepeatedPairs:
    """Decisions of a noisy model on people, and on the same people with other values of some features.

    Parameters
    ----------
    case : Case
    names : tuple of str
        Features that take another combination of values, drawn at random for each person among all others.
    people : ndarray of int of shape (n,)
        Their positions in the table.
    rng : Generator
    alpha : float
        One minus the level of the interval.

    Attributes
    ----------
    own, signs : ndarray of shape (n,)
        One decision on each person as they are; (a - c)(b - d) as in the module's docstring.
    estimate, low, high : float
        Mean of (p - q)² over people, not below 0, and its interval.
    smallest : callable
        Takes a level and a margin, returns the smallest effect that the test would detect with a power of 80%.
    """

    def __init__(self, case: Case, names: tuple[str, ...], people: np.ndarray, rng: np.random.Generator, alpha: float):
        self.people, self._rows = people, case.table[list(case.features)].iloc[people]
        positions = case.schema.positions(names)
        codes = case.schema.combinations(positions)
        own = (case.schema.encode(self._rows)[:, None, positions] == codes[:, positions]).all(axis=2)
        others = own.argmax(axis=1) + rng.integers(1, len(codes), len(people))
        self._values = case.values(names).iloc[others % len(codes)]
        changed = self._rows.assign(**{name: column.array for name, column in self._values.items()})
        self.own, b, c, d = _in_random_order(case, [self._rows, self._rows, changed, changed], rng)
        self.signs = (self.own.astype(int) - c) * (b.astype(int) - d)
        self.estimate = max(0.0, float(self.signs.mean()))
        counts = [int((self.signs == sign).sum()) for sign in (1, -1)]
        self._counts, n = (counts, [len(people)] * 2), len(people)
        self._options = {"correlation": exclusive_correlation(counts[0], counts[1], n)}
        self.low, self.high = self.bounds(1 - alpha)
        self.smallest = partial(smallest_excess, counts, n)

    @property
    def hits(self) -> np.ndarray:
        """The people whose pairs both differ in the same direction, ndarray of bool of shape (n,)."""
        return self.signs == 1

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the interval at a level."""
        low, high = map(float, difference_bounds(*self._counts, confidence_level=confidence_level, **self._options))
        return max(0.0, low), min(max(high, self.estimate), 1.0)

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the mean is at most `margin`", which is below `alpha` where the interval is above."""
        return difference_p_value(*self._counts, margin, **self._options) if self.signs.mean() > margin else 1.0

    def evidence(self, most: int) -> pd.DataFrame:
        """Return people whose pairs both differ in the same direction, those who lose first, beside the values.

        Empty if the interval contains 0: such pairs may be chance alone.
        """
        shown = np.flatnonzero(self.hits & (self.low > 0))
        shown = shown[np.argsort(self.own[shown], kind="stable")][:most]
        return beside(self._rows.iloc[shown], self._values.iloc[shown], self.own[shown], generated=False)


def _in_random_order(case: Case, parts: list, rng: np.random.Generator) -> list[np.ndarray]:
    """Return new decisions on each of some frames of the same rows, queried as one frame in random order.

    The order prevents noise that depends on a row's place in its batch from being the same within a pair.
    """
    n = len(parts[0])
    order = rng.permutation(len(parts) * n)
    rows = pd.concat(parts, ignore_index=True)
    decisions = np.empty(len(rows), dtype=bool)
    decisions[order] = case.decide(rows.iloc[order], anew=True)
    return np.split(decisions, len(parts))
