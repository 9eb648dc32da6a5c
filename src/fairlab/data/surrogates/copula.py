"""Surrogates: a stratified Gaussian copula over fitted marginals, stored as a small file of aggregates.

The groups of the sensitive columns are drawn first, from their table of counts. Within a group, every other column is a
monotone function of a latent normal variable. Each group has its own marginals, so that shares and means by group are
right; small groups share theirs. The latent variables are correlated in the same way in all groups. Categories are
first ordered by the mean of a score (the label). The latent correlation of a pair is chosen so that Spearman's
correlation of the generated pair, averaged over groups, equals the observed one.

Nobody's record can be recovered: the parameters are counts of at least ten records, quantiles with at least that many
records between them, means over that many, and pairwise correlations. Rarer categories are dropped, rarer numbers
counted with their neighbours.
"""

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.special import ndtr

from fairlab.data.documents import Entry, Several


class Counts(Entry):
    """Marginal of a column with few values.

    Attributes
    ----------
    values : tuple
        Distinct values, in the order of the latent variable.
    counts : tuple of int
        Records with each value.
    """

    values: Several[int | float | str]
    counts: Several[int]

    @property
    def edges(self) -> np.ndarray:
        """Cumulative probabilities that separate one value from the next."""
        return np.cumsum(self.counts)[:-1] / sum(self.counts)

    def ppf(self, u: np.ndarray) -> np.ndarray:
        """Return the values at cumulative probabilities `u`."""
        return np.asarray(self.values)[np.searchsorted(self.edges, u, side="right")]


class Quantiles(Entry):
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

    quantiles: Several[float]
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


class Stratum(Entry):
    """One group, or several small ones together, and the marginals of the other columns in it.

    Attributes
    ----------
    groups : tuple of (str, ..., int)
        The values of the sensitive columns, and the number of records with them.
    marginals : dict of str to Counts or Quantiles
    """

    groups: Several[Several[str | int]]
    marginals: dict[str, Counts | Quantiles]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(count for *_, count in self.groups)


class Derived(Entry):
    """A column that another one determines one to one: the other column, and a value for each of its values."""

    parent: str = Field(alias="from")
    values: dict[str | int | float, str | int | float]


class Copula(Entry):
    """Fitted parameters of a surrogate.

    Attributes
    ----------
    columns : tuple of str
        All columns in their order.
    sensitive : tuple of str
        The columns whose joint values are the groups.
    derived : dict of str to Derived
    correlation : tuple of tuple of float
        Correlations below the diagonal of the latent normal variables, in the order of the strata's marginals.
    strata : tuple of Stratum
    """

    columns: Several[str]
    sensitive: Several[str]
    derived: dict[str, Derived]
    correlation: Several[Several[float]]
    strata: Several[Stratum]

    def matrix(self) -> np.ndarray:
        """Return the whole correlation matrix."""
        matrix = np.eye(len(self.correlation))
        for i, row in enumerate(self.correlation):
            matrix[i, :i] = matrix[:i, i] = row
        return matrix

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
        correlation = self.matrix()
        u = ndtr(rng.standard_normal((n_rows, len(correlation))) @ np.linalg.cholesky(correlation).T)
        strata = rng.choice(len(self.strata), n_rows, p=as_shares([stratum.rows for stratum in self.strata]))
        parts = []
        for number, stratum in enumerate(self.strata):
            rows = np.flatnonzero(strata == number)
            part = {name: m.ppf(u[rows, j]) for j, (name, m) in enumerate(stratum.marginals.items())}
            groups = np.array([group for *group, _ in stratum.groups])
            counts = [count for *_, count in stratum.groups]
            drawn = groups[rng.choice(len(groups), len(rows), p=as_shares(counts))]
            parts.append(pd.DataFrame(part | dict(zip(self.sensitive, drawn.T, strict=True)), index=rows))
        table = pd.concat(parts).sort_index()
        for name, derived in self.derived.items():
            table[name] = table[derived.parent].map(derived.values)
        return table[list(self.columns)]


def as_shares(counts) -> np.ndarray:
    """Return counts as shares of their sum."""
    return np.asarray(counts) / np.sum(counts)
