"""Fit the copula of a surrogate to a table; its parameters and what it keeps: `fairlab.data.surrogates.copula`."""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from statsmodels.stats.correlation_tools import corr_clipped

from fairlab.data import DataError
from fairlab.data.surrogates.copula import Copula, Counts, Quantiles, Stratum, as_shares

SMALLEST_COUNT = 10  # records behind every published number
SMALLEST_STRATUM = 200  # groups with fewer records share their marginals
MOST_VALUES = 150  # numeric columns with more distinct values are kept as quantiles
MOST_QUANTILES = 101
Marginal = Counts | Quantiles

_STRONGEST = 0.999  # latent correlations stay below it
_SMALLEST_EIGENVALUE = 0.01  # of the latent correlations
_GRID = ndtri((np.arange(1000) + 0.5) / 1000)  # equiprobable points of a standard normal


def fit_copula(table: pd.DataFrame, *, sensitive: list[str], score: pd.Series) -> Copula:
    """Fit strata, marginals and latent correlations to a table.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        Numbers and categories (text or pandas' category type), nothing missing.
    sensitive : list of str
        Columns whose joint values are the groups.
    score : Series of length n_rows
        Categories are put in the order of its mean.

    Returns
    -------
    Copula

    Raises
    ------
    DataError
        If a column has too few records to publish anything about it.
    """
    derived = _derived_columns(table.drop(columns=sensitive))
    free = [name for name in table.columns if name not in derived and name not in sensitive]
    strata, observed = [], []
    for groups in find_groups(table, sensitive):
        members = pd.MultiIndex.from_frame(table[sensitive]).isin([group for group, _ in groups])
        part = table.loc[members, free]
        many = {name: table[name].nunique() > MOST_VALUES for name in free}
        marginals = {name: fit_marginal(part[name], score[members], many=many[name]) for name in free}
        strata.append(Stratum(groups=[[*group, count] for group, count in groups], marginals=marginals))
        ranks = pd.DataFrame({name: record_ranks(part[name], marginal) for name, marginal in marginals.items()})
        observed.append(ranks.corr().fillna(0).to_numpy())
    latent = np.eye(len(free))
    for i, j in combinations(range(len(free)), 2):
        pairs = [(stratum.marginals[free[i]], stratum.marginals[free[j]]) for stratum in strata]
        target = np.array([correlation[i, j] for correlation in observed])
        latent[i, j] = latent[j, i] = _latent_correlation(target, pairs, as_shares([s.rows for s in strata]))
    return Copula(
        columns=list(table.columns),
        sensitive=sensitive,
        derived=derived,
        correlation=below_diagonal(corr_clipped(latent, threshold=_SMALLEST_EIGENVALUE).round(4)),
        strata=strata,
    )


def below_diagonal(correlation: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """Return a correlation matrix as a copula keeps it."""
    return tuple(tuple(row[:i]) for i, row in enumerate(correlation.tolist()))


def _derived_columns(table: pd.DataFrame) -> dict[str, dict]:
    """Return the columns that an earlier one determines one to one, as education does its number of years."""
    derived = {}
    small = [name for name in table.columns if 1 < table[name].nunique() <= MOST_VALUES]
    for parent, name in combinations(small, 2):
        pairs = table.groupby([parent, name], observed=True).size().reset_index(name="records")
        if parent not in derived and len(pairs) == pairs[parent].nunique() == pairs[name].nunique():
            listed = pairs[pairs["records"] >= SMALLEST_COUNT]
            derived[name] = {
                "from": parent,
                "values": dict(zip(listed[parent].tolist(), listed[name].tolist(), strict=True)),
            }
    return derived


def _latent_correlation(spearman: np.ndarray, pairs: list[tuple], shares: np.ndarray) -> float:
    """Return the latent correlation for which the mean over strata of Spearman's correlation is the observed one."""

    def excess(rho):
        return shares @ (np.array([_spearman(rho, *pair) for pair in pairs]) - spearman)

    if excess(-_STRONGEST) >= 0:
        return -_STRONGEST
    if excess(_STRONGEST) <= 0:
        return _STRONGEST
    return brentq(excess, -_STRONGEST, _STRONGEST, xtol=1e-4)


def _spearman(rho: float, first: Marginal, second: Marginal) -> float:
    """Return Spearman's correlation (mid-ranks) of two columns whose latent normals have correlation `rho`.

    The latent variable of the one with more values runs over equiprobable points; given it, the mean rank of the
    other is a sum of normal probabilities. 0 if a column is constant.
    """
    coarse, fine = sorted((first, second), key=lambda marginal: len(marginal.edges))
    if not len(coarse.edges):
        return 0.0
    coarse_ranks, fine_ranks = mid_ranks(coarse), mid_ranks(fine)
    rank = fine_ranks[np.searchsorted(fine.edges, ndtr(_GRID), side="right")]
    above = ndtr((rho * _GRID[:, None] - ndtri(coarse.edges)) / np.sqrt(1 - rho**2))
    conditional = coarse_ranks[0] + above @ np.diff(coarse_ranks)
    return (rank * conditional).mean() / (rank_spread(coarse, coarse_ranks) * rank_spread(fine, fine_ranks))


def find_groups(table: pd.DataFrame, sensitive: list[str]) -> list[list[tuple[tuple[str, ...], int]]]:
    """Return the groups of each stratum: every large group alone, all small ones together."""
    counts = table[sensitive].astype(str).value_counts()
    counts = counts[counts >= SMALLEST_COUNT].sort_index()
    alone = [[(group, int(n))] for group, n in counts.items() if n >= SMALLEST_STRATUM]
    together = [(group, int(n)) for group, n in counts.items() if n < SMALLEST_STRATUM]
    return [*alone, together] if together else alone


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
    return Counts(values=order, counts=counts[order].tolist())


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
    return Counts(values=values.tolist(), counts=merged.size().tolist())


def _fit_quantiles(column: pd.Series) -> Quantiles:
    values = np.sort(column.to_numpy(dtype=float))
    tail = SMALLEST_COUNT / len(values)
    n_inner = min(MOST_QUANTILES, len(values) // SMALLEST_COUNT - 1)
    decimals = next(d for d in range(16) if np.allclose(values, values.round(d), rtol=0, atol=1e-9))
    inner = np.quantile(values, np.linspace(tail, 1 - tail, n_inner))
    low = 2 * values[:SMALLEST_COUNT].mean() - inner[0]
    high = 2 * values[-SMALLEST_COUNT:].mean() - inner[-1]
    quantiles = np.concatenate([[low], inner, [high]]).round(decimals).tolist()
    return Quantiles(quantiles=quantiles, tail=round(tail, 8), decimals=decimals)


def record_ranks(column: pd.Series, marginal: Marginal) -> np.ndarray:
    """Return the mid-rank of every record; NaN for a category that was too rare to list."""
    if isinstance(marginal, Counts) and isinstance(marginal.values[0], str):
        position = pd.Series(pd.Index(marginal.values).get_indexer(column.astype(str)))
        return position.where(position >= 0).rank().to_numpy()
    return column.rank().to_numpy()


def mid_ranks(marginal: Marginal) -> np.ndarray:
    """Return the rank of each value as a share of all records, centred at 0."""
    bounds = np.concatenate([[0], marginal.edges, [1]])
    return (bounds[1:] + bounds[:-1]) / 2 - 0.5


def rank_spread(marginal: Marginal, ranks: np.ndarray) -> float:
    """Return the standard deviation of the mid-ranks."""
    return np.sqrt(np.diff(marginal.edges, prepend=0, append=1) @ ranks**2)
