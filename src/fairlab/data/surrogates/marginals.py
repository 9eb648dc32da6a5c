"""Marginals of a surrogate's columns: counts of few values, quantiles of many; each over enough records."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.data.errors import DataError

SMALLEST_COUNT = 10  # records behind every published number
MOST_VALUES = 150  # numeric columns with more distinct values are kept as quantiles
MOST_QUANTILES = 101


@dataclass(frozen=True)
class Counts:
    """Marginal of a column with few values.

    Attributes
    ----------
    values : tuple
        Distinct values, in the order of the latent variable.
    counts : tuple of int
        Records with each value.
    """

    values: tuple
    counts: tuple[int, ...]

    @property
    def edges(self) -> np.ndarray:
        """Cumulative probabilities that part one value from the next."""
        return np.cumsum(self.counts)[:-1] / sum(self.counts)

    def ppf(self, u: np.ndarray) -> np.ndarray:
        """Return the values at cumulative probabilities `u`."""
        return np.asarray(self.values)[np.searchsorted(self.edges, u, side="right")]

    def ranks(self, column: pd.Series) -> np.ndarray:
        """Return the mid-rank of every record; NaN for a category that was too rare to list."""
        if isinstance(self.values[0], str):
            position = pd.Series(pd.Index(self.values).get_indexer(column.astype(str)))
            return position.where(position >= 0).rank().to_numpy()
        return column.rank().to_numpy()

    def to_dict(self) -> dict:
        """Return plain values."""
        return {"values": list(self.values), "counts": list(self.counts)}

    @classmethod
    def from_dict(cls, content: dict) -> "Counts":
        """Return the marginal that `to_dict` described."""
        return cls(tuple(content["values"]), tuple(content["counts"]))


@dataclass(frozen=True)
class Quantiles:
    """Marginal of a column with many values, rounded as the data is.

    Attributes
    ----------
    quantiles : tuple of float
        The outermost two are set so that the mean of each tail is the observed one; those between are quantiles
        at equally spaced cumulative probabilities from `tail` to 1 - `tail`.
    tail : float
        Share of records in each tail.
    decimals : int
    """

    quantiles: tuple[float, ...]
    tail: float
    decimals: int

    @property
    def edges(self) -> np.ndarray:
        """Cumulative probabilities of the inner quantiles."""
        return np.linspace(self.tail, 1 - self.tail, len(self.quantiles) - 2)

    def ppf(self, u: np.ndarray) -> np.ndarray:
        """Return the values at cumulative probabilities `u`, linear between the quantiles."""
        values = np.interp(u, np.concatenate([[0], self.edges, [1]]), self.quantiles).round(self.decimals)
        return values if self.decimals else values.astype("int64")

    def ranks(self, column: pd.Series) -> np.ndarray:
        """Return the mid-rank of every record."""
        return column.rank().to_numpy()

    def to_dict(self) -> dict:
        """Return plain values."""
        return {"quantiles": list(self.quantiles), "tail": self.tail, "decimals": self.decimals}

    @classmethod
    def from_dict(cls, content: dict) -> "Quantiles":
        """Return the marginal that `to_dict` described."""
        return cls(tuple(content["quantiles"]), content["tail"], content["decimals"])


Marginal = Counts | Quantiles


def read_marginal(entry: dict) -> Marginal:
    """Return the marginal that its `to_dict` described."""
    return Counts.from_dict(entry) if "counts" in entry else Quantiles.from_dict(entry)


def fit_marginal(column: pd.Series, score: pd.Series, *, many: bool) -> Marginal:
    """Fit the marginal of a column within one stratum.

    Parameters
    ----------
    column : Series of length n_rows
    score : Series of length n_rows
        Categories are put in the order of its mean.
    many : bool
        Whether a numeric column is to be kept as quantiles, as those with more than `MOST_VALUES` values are.

    Raises
    ------
    DataError
        If too few records are there to publish anything about them.
    """
    if len(column) < 2 * SMALLEST_COUNT:
        raise DataError(f"column {column.name!r}: {len(column)} records in a stratum, needs {2 * SMALLEST_COUNT}")
    if not pd.api.types.is_numeric_dtype(column):
        return _fit_categories(column.astype(str), score)
    return _fit_quantiles(column) if many else fit_numbers(column)


def _fit_categories(column: pd.Series, score: pd.Series) -> Counts:
    counts = column.value_counts()
    counts = counts[counts >= SMALLEST_COUNT]
    if counts.empty:
        raise DataError(f"column {column.name!r}: no category has {SMALLEST_COUNT} records in a stratum")
    means = score.groupby(column).mean()
    order = sorted(counts.index, key=lambda category: (means[category], category))
    return Counts(tuple(order), tuple(counts[order].tolist()))


def fit_numbers(column: pd.Series) -> Counts:
    """Merge neighbouring values until each merged one, kept as their median, has enough records."""
    ordered = np.sort(column.to_numpy())
    counts = np.unique(ordered, return_counts=True)[1]
    bins, records = [0], counts[0]
    for count in counts[1:]:
        full = records >= SMALLEST_COUNT
        bins.append(bins[-1] + full)
        records = count if full else records + count
    bins = np.array(bins)
    if records < SMALLEST_COUNT and bins[-1] > 0:
        bins[bins == bins[-1]] -= 1
    merged = pd.Series(ordered).groupby(np.repeat(bins, counts))
    values = merged.quantile(0.5, interpolation="lower").astype(column.dtype)
    return Counts(tuple(values.tolist()), tuple(merged.size().tolist()))


def _fit_quantiles(column: pd.Series) -> Quantiles:
    values = np.sort(column.to_numpy(dtype=float))
    tail = SMALLEST_COUNT / len(values)
    n_inner = min(MOST_QUANTILES, len(values) // SMALLEST_COUNT - 1)
    decimals = next(d for d in range(16) if np.allclose(values, values.round(d), rtol=0, atol=1e-9))
    inner = np.quantile(values, np.linspace(tail, 1 - tail, n_inner))
    low = 2 * values[:SMALLEST_COUNT].mean() - inner[0]
    high = 2 * values[-SMALLEST_COUNT:].mean() - inner[-1]
    return Quantiles(tuple(np.concatenate([[low], inner, [high]]).round(decimals).tolist()), round(tail, 8), decimals)


def mid_ranks(marginal: Marginal) -> np.ndarray:
    """Return the rank of each value as a share of all records, centred at 0."""
    bounds = np.concatenate([[0], marginal.edges, [1]])
    return (bounds[1:] + bounds[:-1]) / 2 - 0.5


def rank_spread(marginal: Marginal, ranks: np.ndarray) -> float:
    """Return the standard deviation of the mid-ranks."""
    return np.sqrt(np.diff(marginal.edges, prepend=0, append=1) @ ranks**2)
