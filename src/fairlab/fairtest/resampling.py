"""Monte Carlo tests and bootstraps of contingency tables, pairs and sums, as array operations in bounded memory.

`scipy.stats.bootstrap` and `permutation_test` resample people one by one. Here tables are drawn by cell, so that the
cost does not grow with the number of people. Bootstraps first add one to every cell, as the authors' code does. Random
tables with given margins are SciPy's.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import gammaln
from scipy.stats import random_table

TABLES = 100_000  # Monte Carlo tables of a test
RESAMPLES = 10_000  # of a bootstrap or a permutation test
SUMMED = 30_000_000  # numbers in all draws of a group together
EXACT_LIMIT = 1_000  # largest sample for which resampling replaces large-sample theory
LEAST_EXPECTED = 5  # expected people in a cell for which large-sample theory holds
LEAST_OF_TWO = 100  # the same for two rows and two columns, where the exact p-value needs no draws
RESAMPLED = 3_000_000  # people in all bootstrap samples of a group together
MOST_RESAMPLED = 3_000  # largest group for which there would be enough samples
_NUMBERS_AT_ONCE = 4_000_000


def is_sparse(table: np.ndarray) -> bool:
    """Return whether a cell of non-empty rows and columns has too small an expected count for large-sample theory."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    least = LEAST_OF_TWO if expected.shape == (2, 2) else LEAST_EXPECTED
    return bool((expected < least * table.sum()).any())


def table_p_value(table: np.ndarray, rng: np.random.Generator, *, n_tables: int = TABLES, exact: bool = False) -> float:
    """Return the Monte Carlo p-value of Pearson's chi-square statistic among tables with the same two margins.

    Parameters
    ----------
    table : ndarray of shape (n_protected, n_output)
        Counts.
    rng : numpy.random.Generator
    n_tables : int
        Number of tables to draw.
    exact : bool
        Whether to compute the exact p-value for two groups and two outputs, without drawing tables.
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 1.0
    if exact and table.shape == (2, 2):
        return exact_p_value(table)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows, columns)
    drawn = random_table(rows, columns)
    # Up to constants of the margins, chi-square is the sum of squared counts over expected ones.
    least = (table**2 / expected).sum() * (1 - 1e-9)
    hits = 0
    for n in _portions(n_tables, table.size):
        tables = drawn.rvs(n, method="patefield", random_state=rng).reshape(n, -1).astype(float)
        hits += int((tables**2 @ (1 / expected).ravel() >= least).sum())
    return (1 + hits) / (1 + n_tables)


def exact_p_value(table: np.ndarray) -> float:
    """Return the p-value of Pearson's chi-square statistic among all tables with the same two margins.

    Parameters
    ----------
    table : ndarray of shape (2, 2)
        Counts. The upper left one follows the hypergeometric distribution.
    """
    [first, second], [left, _] = table.sum(axis=1).tolist(), table.sum(axis=0).tolist()
    corner = np.arange(max(0, left - second), min(first, left) + 1)
    weight = -gammaln([corner + 1, first - corner + 1, left - corner + 1, second - left + corner + 1]).sum(axis=0)
    probability = np.exp(weight - weight.max())
    # The statistic grows with the distance of a cell from its expectation, here times the number of people.
    distance = np.abs(corner * (first + second) - first * left)
    observed = abs(int(table[0, 0]) * (first + second) - first * left)
    return float(min(probability[distance >= observed].sum() / probability.sum(), 1))


def bootstrap_tables(
    tables: np.ndarray, rng: np.random.Generator, estimate: Callable, *, n_resamples: int = RESAMPLES
) -> np.ndarray:
    """Return estimates on multinomial draws from contingency tables with one added to every cell.

    Parameters
    ----------
    tables : ndarray of shape (..., n_protected, n_output)
        One table, or one for each stratum; each is drawn from by itself.
    rng : numpy.random.Generator
    estimate : callable
        Maps counts of shape (n, ..., n_protected, n_output) to estimates of shape (n,).
    n_resamples : int

    Returns
    -------
    ndarray of shape (n_resamples,)
    """
    filled = tables.reshape(-1, tables.shape[-2] * tables.shape[-1]) + 1
    totals = filled.sum(axis=1)
    shares = filled / totals[:, None]
    return np.concatenate(
        [
            estimate(rng.multinomial(totals, shares, size=(n, len(filled))).reshape(n, *tables.shape))
            for n in _portions(n_resamples, tables.size)
        ]
    )


def permute_tables(
    tables: np.ndarray, rng: np.random.Generator, estimate: Callable, *, n_resamples: int = RESAMPLES
) -> np.ndarray:
    """Return estimates after shuffling the output within every stratum, which keeps the margins of each table.

    Parameters and returned value are those of `bootstrap_tables`, with `tables` of shape (n_strata, ...) and without
    empty ones.
    """
    drawn = [random_table(table.sum(axis=1), table.sum(axis=0)) for table in tables]
    return np.concatenate(
        [
            estimate(np.stack([d.rvs(n, method="patefield", random_state=rng) for d in drawn], axis=1))
            for n in _portions(n_resamples, tables.size)
        ]
    )


def permute_correlation(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the correlations of `x` with shuffled `y`."""
    x, y = ((v - v.mean()) / (v.std() * np.sqrt(len(v))) for v in (x, y))
    return np.concatenate(
        [rng.permuted(np.broadcast_to(y, (n, len(y))), axis=1) @ x for n in _portions(RESAMPLES, len(x))]
    )


def bootstrap_correlation(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the correlations of resampled pairs; nan where a resample holds a single value."""
    drawn = []
    for n in _portions(RESAMPLES, len(x)):
        rows = rng.integers(len(x), size=(n, len(x)))
        u, v = ((w[rows] - w[rows].mean(axis=1, keepdims=True)) for w in (x, y))
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn.append((u * v).sum(axis=1) / np.sqrt((u**2).sum(axis=1) * (v**2).sum(axis=1)))
    return np.concatenate(drawn)


def permute_sums(values: np.ndarray, n_own: int, rng: np.random.Generator) -> np.ndarray:
    """Return sums over groups of people that are drawn without replacement.

    Parameters
    ----------
    values : ndarray of shape (n_sums, n_people)
    n_own : int
        Number of people in a group.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_sums, n_draws)
        `RESAMPLES` draws, fewer for groups of more than 3,000 people.
    """
    n_people, n_draws = values.shape[1], min(RESAMPLES, SUMMED // n_own)
    n_groups = n_people // n_own
    groups, drawn = np.arange(n_people) // n_own, []  # the remainder forms one more group
    for _ in range(-(-n_draws // n_groups)):
        order = rng.permutation(groups)
        drawn.append([np.bincount(order, of_one)[:n_groups] for of_one in values])
    return np.concatenate(drawn, axis=1)[:, :n_draws]


def resamples_of(n_people: int) -> int:
    """Return the number of bootstrap samples of a group: `RESAMPLES`, or fewer for more than 300 people."""
    return min(RESAMPLES, RESAMPLED // n_people)


def resample_sums(values: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return sums over bootstrap samples of the people, shape (n_sums, n_draws).

    Parameters
    ----------
    values : ndarray of shape (n_sums, n_people)
    n_draws : int
    rng : numpy.random.Generator
    """
    n_people = values.shape[1]
    shares = np.full(n_people, 1 / n_people)
    return np.concatenate(
        [values @ rng.multinomial(n_people, shares, n).T for n in _portions(n_draws, n_people)], axis=1
    )


def percentile_interval(draws: np.ndarray, confidence_level: float) -> tuple[float, float]:
    """Return the percentile interval of bootstrap draws."""
    low, high = np.nanquantile(draws, [(1 - confidence_level) / 2, (1 + confidence_level) / 2])
    return float(low), float(high)


def _portions(n_draws: int, n_numbers: int) -> Iterator[int]:
    """Yield numbers of draws that add up to `n_draws`, each small enough to bound memory."""
    portion = max(1, _NUMBERS_AT_ONCE // n_numbers)
    for start in range(0, n_draws, portion):
        yield min(portion, n_draws - start)
