import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency, entropy, ncx2
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from fairlab.fairtest.intervals import (
    correlation_bounds,
    difference_bounds,
    entropies,
    g_test,
    information_bounds,
    rate_bounds,
    ratio_bounds,
)

TABLE = np.array([[30, 10], [20, 40]])


def coverage(bounds, rates, sizes, truth, *, conf):
    """Return how often bounds hold the truth, by enumeration of all that two groups can show."""
    hits = [np.arange(n + 1) for n in sizes]
    chance = np.multiply.outer(*(binom.pmf(h, n, p) for h, n, p in zip(hits, sizes, rates, strict=True)))
    shown = np.stack(np.meshgrid(*hits, indexing="ij"), axis=-1)
    low, high = bounds(np.stack([np.array(sizes) - shown, shown], axis=-1), conf=conf)
    return chance[(low <= truth + 1e-12) & (truth <= high + 1e-12)].sum()


def test_bounds_of_rates_are_those_of_clopper_and_pearson():
    tables = np.array([[[30, 10], [20, 0]], [[0, 7], [0, 0]]])
    rate, low, high = rate_bounds(tables, conf=0.9)
    assert rate.tolist() == [[0.25, 0], [1, 0]]
    for place in ((0, 0), (0, 1), (1, 0)):
        expected = proportion_confint(tables[place][1], tables[place].sum(), alpha=0.1, method="beta")
        assert (low[place], high[place]) == pytest.approx(expected)
    assert (low[1, 1], high[1, 1]) == (0, 1)


@pytest.mark.parametrize("conf", [0.95, 0.999])
@pytest.mark.parametrize("sizes", [(50, 50), (10, 90), (20, 20)])
@pytest.mark.parametrize("rates", [(0.02, 0.5), (0.5, 0.5), (0.1, 0.3), (0.95, 0.9)])
def test_differences_and_ratios_are_held_at_the_stated_rate(rates, sizes, conf):
    allowed = 0.002 if conf == 0.95 else 0.006
    assert coverage(difference_bounds, rates, sizes, rates[0] - rates[1], conf=conf) >= conf - allowed
    assert coverage(ratio_bounds, rates, sizes, rates[0] / rates[1], conf=conf) >= conf - allowed


def test_in_large_groups_bounds_are_those_of_other_good_methods():
    hits, totals = np.array([3_000, 2_500]), np.array([9_000, 10_000])
    table = np.stack([totals - hits, hits], axis=-1)
    for bounds, options in (
        (difference_bounds, {"compare": "diff", "method": "newcomb"}),
        (ratio_bounds, {"compare": "ratio", "method": "score"}),
    ):
        expected = confint_proportions_2indep(hits[0], totals[0], hits[1], totals[1], **options)
        assert bounds(table, conf=0.95) == pytest.approx(expected, rel=0.02)


def test_a_ratio_is_unbounded_where_the_second_group_has_no_hit():
    low, high = ratio_bounds(np.array([[9, 1], [10, 0]]), conf=0.95)
    assert 0 < low < high == np.inf
    low, high = ratio_bounds(np.array([[10, 0], [9, 1]]), conf=0.95)
    assert low == 0 < high < np.inf


def test_the_g_statistic_is_that_of_scipy():
    g, df, p_value = g_test(np.stack([TABLE, [[3, 0], [5, 0]]]))
    expected = chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    assert (g[0], df[0], p_value[0]) == pytest.approx((expected.statistic, expected.dof, expected.pvalue))
    assert (df[1], p_value[1]) == (0, 1)


def test_information_holds_at_least_where_the_noncentral_distribution_puts_it():
    g, df, _ = g_test(TABLE)
    smaller = min(entropy(TABLE.sum(axis=axis)) for axis in (0, 1))
    low, high, _ = information_bounds(TABLE, conf=0.9)
    for level, bound in ((0.95, low), (0.05, high)):
        tail = ncx2.cdf(g, df, bound * 2 * TABLE.sum() * smaller)
        assert (tail >= level - 1e-9) if bound == low else (tail <= level + 1e-9)


def nmi(shares):
    rows, columns, joint = entropy(shares.sum(axis=1)), entropy(shares.sum(axis=0)), entropy(shares.ravel())
    return (rows + columns - joint) / min(rows, columns)


@pytest.mark.parametrize("n", [60, 400, 5_000])
@pytest.mark.parametrize(
    "shares",
    [
        np.outer([0.5, 0.5], [0.7, 0.3]),
        np.outer([0.9, 0.06, 0.04], [0.9, 0.1]),
        np.array([[0.33, 0.17], [0.30, 0.20]]),
        np.array([[0.49, 0.01], [0.25, 0.25]]),
        np.array([[0.3, 0.1], [0.2, 0.2], [0.05, 0.15]]),
    ],
    ids=["fair", "fair and rare", "weak", "strong", "three groups"],
)
def test_information_is_held_at_the_stated_rate_and_zero_where_there_is_none(shares, n):
    runs = 2_000
    tables = np.random.default_rng(0).multinomial(n, shares.ravel(), size=runs).reshape(runs, *shares.shape)
    low, high, p_value = information_bounds(tables, conf=0.95)
    truth = max(nmi(shares), 0)
    assert ((low <= truth + 1e-12) & (truth <= high)).mean() >= binom.ppf(0.001, runs, 0.95) / runs
    assert (low[p_value > 0.05] == 0).all()


def test_correlation_of_perfect_lines_and_of_nothing():
    x = np.arange(20.0)
    low, high, p_value = correlation_bounds(x, 3 - x, conf=0.95)
    assert -1 <= low <= high < -0.999
    assert p_value < 1e-6
    assert correlation_bounds(x, np.ones(20), conf=0.95) == (-1, 1, 1)
    assert correlation_bounds(x[:3], x[:3], conf=0.95) == (-1, 1, 1)


def test_correlation_with_a_rare_group_is_held_at_the_stated_rate():
    rng, held, runs = np.random.default_rng(0), 0, 400
    truth = 0.5 * np.sqrt(0.0475) / np.sqrt(1 + 0.25 * 0.0475)
    for _ in range(runs):
        rare = (rng.random(300) < 0.05).astype(float)
        low, high, _ = correlation_bounds(rare, 0.5 * rare + rng.exponential(size=300), conf=0.95)
        held += low <= truth <= high
    assert held >= binom.ppf(0.001, runs, 0.95)


def test_entropies_do_not_depend_on_how_many_tables_there_are():
    tables = np.random.default_rng(0).integers(0, 40, (500, 3, 4))
    together = np.array(entropies(tables))  # looks logarithms up
    alone = np.array([entropies(table.astype(float)) for table in tables]).T
    assert (together == alone).all()
