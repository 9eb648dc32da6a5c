from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hypergeom, multinomial, random_table

from fairlab.fairtest import resampling
from fairlab.fairtest.resampling import (
    bootstrap_tables,
    percentile_interval,
    permute_correlation,
    permute_tables,
    table_p_value,
    two_by_two_p_value,
)


def rng():
    return np.random.default_rng(3)


def enumerated_p_value(groups, outputs):
    """Return the share of all permutations whose chi-square statistic is at least the observed one."""

    def statistic(o):
        table = np.zeros((max(groups) + 1, max(outputs) + 1))
        np.add.at(table, (list(groups), list(o)), 1)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        return ((table - expected) ** 2 / expected).sum()

    observed = statistic(outputs)
    return np.mean([statistic(o) >= observed - 1e-9 for o in permutations(outputs)])


@pytest.mark.parametrize(
    ("groups", "outputs"),
    [([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0]), ([0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 2, 2, 2, 0])],
)
def test_monte_carlo_p_value_against_all_permutations(groups, outputs):
    table = np.zeros((max(groups) + 1, max(outputs) + 1), dtype=int)
    np.add.at(table, (groups, outputs), 1)
    expected = enumerated_p_value(groups, outputs)
    error = 4 * np.sqrt(expected * (1 - expected) / resampling.TABLES)
    assert table_p_value(table, rng()) == pytest.approx(expected, abs=error + 1e-5)


@pytest.mark.parametrize("table", [[[12, 4], [9, 17]], [[3, 40], [9, 31]], [[5, 5], [5, 5]], [[200, 240], [260, 200]]])
def test_two_by_two_p_value_is_distributed_as_that_of_random_tables(table):
    table, n_tables = np.array(table), 400
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows, columns) / table.sum()
    tables = random_table(rows, columns).rvs(n_tables * 300, random_state=rng())
    statistic = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    hits = (statistic >= ((table - expected) ** 2 / expected).sum() * (1 - 1e-9)).reshape(-1, n_tables).sum(axis=1)
    generator = rng()
    ours = [two_by_two_p_value(table, generator, n_tables=n_tables) for _ in range(300)]
    drawn = (1 + hits) / (1 + n_tables)
    assert np.mean(ours) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(150) + 1e-12)
    assert np.std(ours) == pytest.approx(drawn.std(), rel=0.25)


def test_smallest_p_value_and_tables_without_two_lines():
    assert table_p_value(np.array([[50, 0], [0, 50]]), rng()) == 1 / 100_001
    assert table_p_value(np.array([[50, 3], [0, 0]]), rng()) == 1


def test_memory_is_bounded_by_portions(monkeypatch):
    table = np.array([[5, 9], [8, 3]])
    whole = table_p_value(table, rng(), n_tables=5_000)
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1_000)
    assert table_p_value(table, rng(), n_tables=5_000) == pytest.approx(whole, abs=0.04)
    assert bootstrap_tables(table, rng(), lambda t: t[:, 0, 0], n_resamples=777).shape == (777,)


def test_bootstrap_draws_the_filled_table():
    table = np.array([[0, 3], [6, 7]])
    drawn = bootstrap_tables(table, rng(), lambda t: t.reshape(len(t), -1)[:, 0], n_resamples=50_000)
    assert drawn.mean() == pytest.approx(multinomial.mean(20, np.array([1, 4, 7, 8]) / 20)[0], abs=0.03)


def test_permuted_tables_keep_the_margins_of_every_stratum():
    tables = np.array([[[3, 2], [1, 4]], [[9, 0], [5, 6]]])
    kept = []
    permute_tables(tables, rng(), lambda t: kept.append(t) or t[:, 0, 0, 0], n_resamples=100)
    for axis in (2, 3):
        np.testing.assert_array_equal(kept[0].sum(axis=axis), np.broadcast_to(tables.sum(axis=axis - 1), (100, 2, 2)))
    corner = permute_tables(tables, rng(), lambda t: t[:, 0, 0, 0], n_resamples=50_000)
    assert (corner == 3).mean() == pytest.approx(hypergeom.pmf(3, 10, 5, 4), abs=0.01)


def test_permuted_correlations_have_mean_zero_and_the_known_variance():
    x, y = rng().normal(size=(2, 20))
    drawn = permute_correlation(x, y, rng())
    assert drawn.shape == (10_000,)
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.var() == pytest.approx(1 / 19, rel=0.05)  # holds exactly, whatever x and y


def test_percentile_interval_ignores_undefined_draws():
    assert percentile_interval(np.append(np.arange(101.0), np.nan), 0.9) == pytest.approx((5, 95))
