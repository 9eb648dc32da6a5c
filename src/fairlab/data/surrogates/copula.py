"""Surrogates: a stratified Gaussian copula over fitted marginals, kept as a small file of aggregates.

The groups of the sensitive columns are drawn first, from their table of counts. Within a group, every other column is a
monotone function of a latent normal variable, with marginals of the group's own, so that shares and means by group come
out right; small groups share theirs. The latent variables are correlated in the same way in all groups. Categories are
put in an order first, by the mean of a score (the label). The latent correlation of a pair is chosen so that Spearman's
correlation of the generated pair, averaged over groups, equals the observed one.

Nobody's record can be recovered: the parameters are counts of at least `SMALLEST_COUNT` records, quantiles with at
least that many records between them, means over that many, and pairwise correlations. Rarer categories are dropped,
rarer numbers counted with their neighbours.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from fairlab.data.errors import DataError

SMALLEST_COUNT = 10  # records behind every published number
SMALLEST_STRATUM = 200  # groups with fewer records share their marginals
MOST_VALUES = 150  # numeric columns with more distinct values are kept as quantiles
MOST_QUANTILES = 101
_STRONGEST = 0.999  # latent correlations stay below it
_GRID = ndtri((np.arange(1000) + 0.5) / 1000)  # equiprobable points of a standard normal


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


@dataclass(frozen=True)
class Stratum:
    """One group, or several small ones together, and the marginals of the other columns in it.

    Attributes
    ----------
    groups : tuple of (tuple of str, int)
        The values of the sensitive columns, and the number of records with them.
    marginals : dict of str to Counts or Quantiles
    """

    groups: tuple[tuple[tuple[str, ...], int], ...]
    marginals: dict[str, Counts | Quantiles]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(count for _, count in self.groups)


@dataclass(frozen=True, eq=False)
class Copula:
    """Fitted parameters of a surrogate.

    Attributes
    ----------
    columns : tuple of str
        All columns in their order.
    sensitive : tuple of str
        The columns whose joint values are the groups.
    strata : tuple of Stratum
    correlation : ndarray of shape (n_marginals, n_marginals)
        Of the latent normal variables, in the order of the strata's marginals.
    derived : dict of str to (str, dict)
        Columns that another column determines one to one: that column, and the value for each of its values.
    """

    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    strata: tuple[Stratum, ...]
    correlation: np.ndarray
    derived: dict[str, tuple[str, dict]]

    def __post_init__(self):
        names = list(self.strata[0].marginals)
        if any(list(stratum.marginals) != names for stratum in self.strata):
            raise DataError("copula: the strata differ in their marginals")
        if {*names, *self.sensitive, *self.derived} != set(self.columns):
            raise DataError("copula: every column must be sensitive, derived or have marginals")
        if self.correlation.shape != (len(names), len(names)):
            raise DataError(f"copula: {len(names)} marginals, correlation of shape {self.correlation.shape}")
        if not np.allclose(np.diag(self.correlation), 1) or np.linalg.eigvalsh(self.correlation).min() <= 0:
            raise DataError("copula: correlation must be positive definite with ones on its diagonal")

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw a table.

        Parameters
        ----------
        n_rows : int
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
        """
        rng = np.random.default_rng(random_state)
        size = len(self.correlation)
        u = ndtr(rng.standard_normal((n_rows, size)) @ np.linalg.cholesky(self.correlation).T)
        strata = rng.choice(len(self.strata), n_rows, p=_shares([stratum.rows for stratum in self.strata]))
        parts = []
        for number, stratum in enumerate(self.strata):
            rows = np.flatnonzero(strata == number)
            part = {name: m.ppf(u[rows, j]) for j, (name, m) in enumerate(stratum.marginals.items())}
            groups, counts = zip(*stratum.groups, strict=True)
            drawn = np.array(groups)[rng.choice(len(groups), len(rows), p=_shares(counts))]
            parts.append(pd.DataFrame(part | dict(zip(self.sensitive, drawn.T, strict=True)), index=rows))
        table = pd.concat(parts).sort_index()
        for name, (parent, values) in self.derived.items():
            table[name] = table[parent].map(values)
        return table[list(self.columns)]

    def to_dict(self) -> dict:
        """Return plain values for a YAML file; of the correlation, the part below the diagonal."""
        return {
            "columns": list(self.columns),
            "sensitive": list(self.sensitive),
            "derived": {name: {"from": parent, "values": dict(v)} for name, (parent, v) in self.derived.items()},
            "correlation": [[float(r) for r in row[:i]] for i, row in enumerate(self.correlation)],
            "strata": [
                {
                    "groups": [[*group, count] for group, count in stratum.groups],
                    "marginals": {name: marginal.to_dict() for name, marginal in stratum.marginals.items()},
                }
                for stratum in self.strata
            ],
        }

    @classmethod
    def from_dict(cls, content: dict) -> "Copula":
        """Return the copula that `to_dict` described."""
        correlation = np.eye(len(content["correlation"]))
        for i, row in enumerate(content["correlation"]):
            correlation[i, :i] = correlation[:i, i] = row
        return cls(
            columns=tuple(content["columns"]),
            sensitive=tuple(content["sensitive"]),
            strata=tuple(
                Stratum(
                    groups=tuple((tuple(group), count) for *group, count in entry["groups"]),
                    # in the order of the columns, as the correlation is, however the file is sorted
                    marginals={
                        name: _marginal(entry["marginals"][name])
                        for name in content["columns"]
                        if name in entry["marginals"]
                    },
                )
                for entry in content["strata"]
            ),
            correlation=correlation,
            derived={name: (entry["from"], entry["values"]) for name, entry in content["derived"].items()},
        )


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
    for groups in _groups(table, sensitive):
        members = pd.MultiIndex.from_frame(table[sensitive]).isin([group for group, _ in groups])
        part = table.loc[members, free]
        many = {name: table[name].nunique() > MOST_VALUES for name in free}
        marginals = {name: _fit_marginal(part[name], score[members], many=many[name]) for name in free}
        strata.append(Stratum(tuple(groups), marginals))
        ranks = pd.DataFrame({name: marginal.ranks(part[name]) for name, marginal in marginals.items()})
        observed.append(ranks.corr().fillna(0).to_numpy())
    latent = np.eye(len(free))
    for i, j in combinations(range(len(free)), 2):
        pairs = [(stratum.marginals[free[i]], stratum.marginals[free[j]]) for stratum in strata]
        target = np.array([correlation[i, j] for correlation in observed])
        latent[i, j] = latent[j, i] = _latent_correlation(target, pairs, _shares([s.rows for s in strata]))
    return Copula(
        columns=tuple(table.columns),
        sensitive=tuple(sensitive),
        strata=tuple(strata),
        correlation=nearest_correlation(latent).round(4),
        derived=derived,
    )


def _marginal(entry: dict) -> Counts | Quantiles:
    if "counts" in entry:
        return Counts(tuple(entry["values"]), tuple(entry["counts"]))
    return Quantiles(tuple(entry["quantiles"]), entry["tail"], entry["decimals"])


def _groups(table: pd.DataFrame, sensitive: list[str]) -> list[list[tuple[tuple[str, ...], int]]]:
    """Return the groups of each stratum: every large group alone, all small ones together."""
    counts = table[sensitive].astype(str).value_counts()
    counts = counts[counts >= SMALLEST_COUNT].sort_index()
    alone = [[(group, int(n))] for group, n in counts.items() if n >= SMALLEST_STRATUM]
    together = [(group, int(n)) for group, n in counts.items() if n < SMALLEST_STRATUM]
    return [*alone, together] if together else alone


def _fit_marginal(column: pd.Series, score: pd.Series, *, many: bool) -> Counts | Quantiles:
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


def _derived_columns(table: pd.DataFrame) -> dict[str, tuple[str, dict]]:
    """Return the columns that an earlier one determines one to one, as education does its number of years."""
    derived = {}
    small = [name for name in table.columns if 1 < table[name].nunique() <= MOST_VALUES]
    for parent, name in combinations(small, 2):
        pairs = table.groupby([parent, name], observed=True).size().reset_index(name="records")
        if parent not in derived and len(pairs) == pairs[parent].nunique() == pairs[name].nunique():
            listed = pairs[pairs["records"] >= SMALLEST_COUNT]
            derived[name] = (parent, dict(zip(listed[parent].tolist(), listed[name].tolist(), strict=True)))
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


def _spearman(rho: float, first: Counts | Quantiles, second: Counts | Quantiles) -> float:
    """Return Spearman's correlation (mid-ranks) of two columns whose latent normals have correlation `rho`.

    The latent variable of the one with more values runs over equiprobable points; given it, the mean rank of the
    other is a sum of normal probabilities. 0 if a column is constant.
    """
    coarse, fine = sorted((first, second), key=lambda marginal: len(marginal.edges))
    if not len(coarse.edges):
        return 0.0
    coarse_ranks, fine_ranks = _mid_ranks(coarse), _mid_ranks(fine)
    rank = fine_ranks[np.searchsorted(fine.edges, ndtr(_GRID), side="right")]
    above = ndtr((rho * _GRID[:, None] - ndtri(coarse.edges)) / np.sqrt(1 - rho**2))
    conditional = coarse_ranks[0] + above @ np.diff(coarse_ranks)
    return (rank * conditional).mean() / (_spread(coarse, coarse_ranks) * _spread(fine, fine_ranks))


def _mid_ranks(marginal: Counts | Quantiles) -> np.ndarray:
    """Return the rank of each value as a share of all records, centred at 0."""
    bounds = np.concatenate([[0], marginal.edges, [1]])
    return (bounds[1:] + bounds[:-1]) / 2 - 0.5


def _spread(marginal: Counts | Quantiles, ranks: np.ndarray) -> float:
    return np.sqrt(np.diff(marginal.edges, prepend=0, append=1) @ ranks**2)


def nearest_correlation(matrix: np.ndarray, smallest: float = 1e-2) -> np.ndarray:
    """Return a positive definite correlation matrix near `matrix`: small eigenvalues are raised, the diagonal reset."""
    values, vectors = np.linalg.eigh(matrix)
    if values.min() >= smallest:
        return matrix
    raised = (vectors * np.maximum(values, smallest)) @ vectors.T
    scale = 1 / np.sqrt(np.diag(raised))
    return raised * np.outer(scale, scale)


def _shares(counts) -> np.ndarray:
    return np.asarray(counts) / np.sum(counts)
