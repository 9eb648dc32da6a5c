"""Calibration by group: how often the true label is favourable in each group at equal scores.

The estimate is the Mantel-Haenszel difference: within each score, or bin of scores, the share of favourable labels in
one group minus that in the other, averaged with weights ``a b / (a + b)`` of the groups' sizes. Its variance is the
larger of two. The first is linearised around the shares of both groups, with people, or persons with several decisions,
as units. The second assumes that labels do not depend on the group, and follows from the pooled share and the
correlation of a person's labels; it is valid even where one label is so rare that a group has none by chance.

Where one label is rare, no variance shows how many more of it there may be. Bounds are therefore at least as wide as
those from exact intervals for the rarer label, in either group and at scores with mostly favourable and mostly
unfavourable labels, added in squares (Zou and Donner 2008).

Within a bin, groups differ in their scores, and so in their labels: the share expected at each score, interpolated
between the bins, is subtracted. The remaining bias falls with the square of the number of bins, the error with the root
of the number of people; the number of bins makes the bias a small part of the error. Bins are quantiles of both groups
together, each weighted one half, so that a small group at one end of the scores has more than a few bins.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fairlab.cases import Case
from fairlab.fairtest.rates import Gap
from fairlab.statistics import exact_interval, level_beyond

CALIBRATION = "calibration"
LEAST_BINS = 20  # of scores


@dataclass(frozen=True)
class CalibrationGap(Gap):
    """A difference at equal scores, with bounds that hold where labels are rare.

    Attributes
    ----------
    weights, shares, people : ndarray of shape (2, 2)
        Rows are people inside and outside the group, columns are scores with mostly unfavourable and mostly favourable
        labels. The weight of each cell in the rate, its share of the rarer label, and its effective number of people.
    """

    weights: np.ndarray = field(kw_only=True, compare=False)
    shares: np.ndarray = field(kw_only=True, compare=False)
    people: np.ndarray = field(kw_only=True, compare=False)

    def bounds(self, confidence_level: float) -> tuple[float, float]:
        """Return the confidence interval."""
        least, most = exact_interval(self.shares * self.people, self.people, alpha=1 - confidence_level)
        more, less = self.weights * (most - self.shares), self.weights * (self.shares - least)
        rise, fall = np.stack([more[:, 0], less[:, 1]]), np.stack([less[:, 0], more[:, 1]])
        low, high = super().bounds(confidence_level)
        below, above = (np.linalg.norm([one[:, 0], other[:, 1]]) for one, other in ((fall, rise), (rise, fall)))
        return min(low, float(self.estimate - below)), max(high, float(self.estimate + above))

    def p_value(self, margin: float = 0.0) -> float:
        """Return the p-value of "the difference is at most `margin` in size": the alpha at which bounds reach it."""
        return level_beyond(self.bounds, margin)


def calibration_gap(case: Case, inside: np.ndarray, fewest: int = 1) -> CalibrationGap | None:
    """Return how much more often the true label is favourable at equal scores inside a group than outside of it.

    Parameters
    ----------
    case : Case
        With scores and true labels.
    inside : ndarray of bool of shape (n_rows,)
    fewest : int
        Least number of people in either group with a score that occurs in both; with fewer, or if all labels are equal,
        None is returned.
    """
    cells = _Cells.of(case, inside)
    people = cells.people()
    is_in_both = (people > 1).all(axis=1)
    compared, (w, hits) = is_in_both[cells.bin], (cells.sums(cells.weight), cells.sums(cells.weight * cells.truth))
    sizes = [len(np.unique(cells.person[compared & (cells.side == which)])) for which in (0, 1)]
    if min(sizes) < fewest or not 0 < hits[is_in_both].sum() < w[is_in_both].sum():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        shares, pooled = hits / w, hits.sum(axis=1) / w.sum(axis=1)
        differences = (shares - cells.sums(cells.weight * cells.by_score) / w) @ [1, -1]
        strata = np.where(is_in_both, w.prod(axis=1) / w.sum(axis=1), 0.0)
        strata /= strata.sum()
        small = people / np.maximum(people - 1, 1)  # corrects the variance in a cell
        per_weight = strata[:, None] / w * np.array([1, -1]) * np.sqrt(small)
    estimate = float((strata * np.where(is_in_both, differences, 0.0)).sum())

    # For each label: its weight in the estimate, and the pooled share of favourable labels at its score.
    scale = np.where(compared, cells.weight * per_weight[cells.bin, cells.side], 0.0)
    expected = pooled[cells.bin]
    correlation = cells.correlation(expected, compared)
    around = np.bincount(cells.person, scale * (cells.truth - shares[cells.bin, cells.side])) ** 2
    variance = max(around.sum(), *cells.variances(scale * np.sqrt(expected * (1 - expected)), correlation))
    of_person = np.bincount(cells.person[compared], cells.weight[compared])
    freedom = of_person.sum() ** 2 / (of_person**2).sum() - 2 * is_in_both.sum()
    part = np.where(compared, cells.weight * strata[cells.bin] / w[cells.bin, cells.side], 0.0)
    return CalibrationGap(
        estimate,
        float(np.sqrt(variance)),
        int(compared.sum()),
        max(float(freedom), 1.0),
        **cells.rare(part, expected > 0.5, correlation),
    )


@dataclass(frozen=True)
class _Cells:
    """People with true labels, each in the cell of a group and of a score or bin of scores.

    Attributes
    ----------
    truth, weight, person : ndarray of shape (n_rows,)
    side : ndarray of int of shape (n_rows,)
        0 inside of the group, 1 outside.
    bin : ndarray of int of shape (n_rows,)
    by_score : ndarray of shape (n_rows,)
        The share of favourable labels that is expected at the score itself.
    """

    truth: np.ndarray
    weight: np.ndarray
    person: np.ndarray
    side: np.ndarray
    bin: np.ndarray
    by_score: np.ndarray

    @classmethod
    def of(cls, case: Case, inside: np.ndarray) -> "_Cells":
        """Return the cells of a case; the number of bins grows with the size of the smaller group."""
        rows = np.flatnonzero(case.labelled)
        truth, side, scores = case.y_true[rows].astype(float), (~inside[rows]).astype(np.int64), case.score()[rows]
        weight = np.ones(len(rows)) if case.weights is None else case.weights[rows]
        person = np.arange(len(rows)) if case.person is None else case.person[rows]
        n_smaller = min(len(np.unique(person[side == which])) for which in (0, 1))
        bins = _bins(scores, side, max(LEAST_BINS, int(np.sqrt(2 * n_smaller))))
        of_bins = (np.bincount(bins, of) for of in (weight, weight * scores, weight * truth))
        return cls(truth, weight, person, side, bins, _expected(scores, *of_bins))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return sums over each bin and side, shape (n_bins, 2)."""
        return np.bincount(2 * self.bin + self.side, values, minlength=2 * int(self.bin.max() + 1)).reshape(-1, 2)

    def people(self) -> np.ndarray:
        """Return how many persons are in each cell, shape (n_bins, 2)."""
        cell = np.unique(np.stack([2 * self.bin + self.side, self.person]), axis=1)[0]
        return np.bincount(cell, minlength=2 * int(self.bin.max() + 1)).reshape(-1, 2)

    def correlation(self, expected: np.ndarray, compared: np.ndarray) -> float:
        """Return the correlation, from 0 to 1, of a person's labels around their expected values."""
        spread = np.sqrt(expected * (1 - expected))
        varied = compared & (spread > 0)
        z = np.divide(self.truth - expected, spread, out=np.zeros(len(spread)), where=varied)
        n_pairs = (np.bincount(self.person[varied]) ** 2).sum() - varied.sum()
        of_pairs = (np.bincount(self.person, z) ** 2).sum() - (z * z).sum()
        return float(np.clip(of_pairs / max(n_pairs, 1), 0, 1))

    def variances(self, errors: np.ndarray, correlation: float, part: np.ndarray | int = 0, n: int = 1) -> np.ndarray:
        """Return the variance of the sum of labels with standard errors `errors`, in each of `n` parts."""
        part = np.broadcast_to(part, errors.shape)
        alone = np.bincount(part, errors**2, minlength=n)
        of_persons = np.bincount(n * self.person + part, errors, minlength=n * int(self.person.max() + 1))
        return alone + correlation * ((of_persons.reshape(-1, n) ** 2).sum(axis=0) - alone)

    def rare(self, part: np.ndarray, usual: np.ndarray, correlation: float) -> dict[str, np.ndarray]:
        """Return the array attributes of a `CalibrationGap`: by side, and by which label is the usual one at a score.

        Parameters
        ----------
        part : ndarray of shape (n_rows,)
            Weight of each label in the rate of its side.
        usual : ndarray of bool of shape (n_rows,)
            Whether most labels at the score are favourable.
        """
        kind = 2 * self.side + usual
        total, rare = (np.bincount(kind, x, minlength=4) for x in (part, part * (self.truth != usual)))
        known = total > 0
        squares = np.where(known, self.variances(part, correlation, kind, 4), 1.0)
        found = {
            "weights": total,
            "shares": np.divide(rare, total, out=np.zeros(4), where=known),
            "people": np.where(known, total**2 / squares, 1.0),
        }
        return {name: values.reshape(2, 2) for name, values in found.items()}


def _bins(scores: np.ndarray, side: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the number of each row's score or, with more than `n_bins` scores, of its bin: quantiles of the groups.

    Each group counts half, so that bins are narrow where the smaller group's scores are. Equal scores have their middle
    rank, so that a score with as many people as two bins shares its bin with no other.
    """
    codes, values = pd.factorize(scores, sort=True)
    if len(values) <= n_bins:
        return codes
    parts = np.bincount(codes, 0.5 / np.bincount(side)[side], minlength=len(values))
    return np.minimum((parts.cumsum() - parts / 2) * n_bins, n_bins - 1).astype(int)[codes]


def _expected(scores: np.ndarray, weights: np.ndarray, sums: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return the share of favourable labels expected at each score, linear between the means of the bins."""
    known = weights > 0
    return np.interp(scores, sums[known] / weights[known], hits[known] / weights[known])
