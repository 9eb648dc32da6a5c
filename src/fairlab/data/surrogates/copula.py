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
from fairlab.data.surrogates.marginals import (
    MOST_VALUES,
    SMALLEST_COUNT,
    Marginal,
    fit_marginal,
    mid_ranks,
    rank_spread,
)
from fairlab.data.surrogates.strata import Stratum, as_shares, find_groups

_STRONGEST = 0.999  # latent correlations stay below it
_SMALLEST_EIGENVALUE = 0.01  # of the latent correlations
_GRID = ndtri((np.arange(1000) + 0.5) / 1000)  # equiprobable points of a standard normal


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
        strata = rng.choice(len(self.strata), n_rows, p=as_shares([stratum.rows for stratum in self.strata]))
        parts = []
        for number, stratum in enumerate(self.strata):
            rows = np.flatnonzero(strata == number)
            part = {name: m.ppf(u[rows, j]) for j, (name, m) in enumerate(stratum.marginals.items())}
            groups, counts = zip(*stratum.groups, strict=True)
            drawn = np.array(groups)[rng.choice(len(groups), len(rows), p=as_shares(counts))]
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
            "strata": [stratum.to_dict() for stratum in self.strata],
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
            strata=tuple(Stratum.from_dict(entry, content["columns"]) for entry in content["strata"]),
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
    from statsmodels.stats.correlation_tools import corr_clipped  # slow to import, and only fitting needs it

    derived = _derived_columns(table.drop(columns=sensitive))
    free = [name for name in table.columns if name not in derived and name not in sensitive]
    strata, observed = [], []
    for groups in find_groups(table, sensitive):
        members = pd.MultiIndex.from_frame(table[sensitive]).isin([group for group, _ in groups])
        part = table.loc[members, free]
        many = {name: table[name].nunique() > MOST_VALUES for name in free}
        marginals = {name: fit_marginal(part[name], score[members], many=many[name]) for name in free}
        strata.append(Stratum(tuple(groups), marginals))
        ranks = pd.DataFrame({name: marginal.ranks(part[name]) for name, marginal in marginals.items()})
        observed.append(ranks.corr().fillna(0).to_numpy())
    latent = np.eye(len(free))
    for i, j in combinations(range(len(free)), 2):
        pairs = [(stratum.marginals[free[i]], stratum.marginals[free[j]]) for stratum in strata]
        target = np.array([correlation[i, j] for correlation in observed])
        latent[i, j] = latent[j, i] = _latent_correlation(target, pairs, as_shares([s.rows for s in strata]))
    return Copula(
        columns=tuple(table.columns),
        sensitive=tuple(sensitive),
        strata=tuple(strata),
        correlation=corr_clipped(latent, threshold=_SMALLEST_EIGENVALUE).round(4),
        derived=derived,
    )


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
