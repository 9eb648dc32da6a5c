import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2_contingency, entropy, multinomial, ncx2, norm, random_table, t
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from fairlab.statistics import (
    PairedErrors,
    added_by_chance,
    bonferroni_level,
    correlation_bounds,
    correlation_bounds_by_sums,
    correlation_p_value,
    difference_bounds,
    difference_p_value,
    entropies,
    exact_interval,
    exclusive_correlation,
    g_test,
    holm,
    information_bounds,
    information_share,
    ratio_bounds,
    share_p_value,
    smallest_difference,
    smallest_effect,
    smallest_excess,
    smallest_share,
    sum_last,
    wilson_interval,
)

TABLE = np.array([[30, 10], [20, 40]])


def outcomes(sizes):
    """Return all that two groups can show, the hits of the first along the first axis."""
    return np.stack(np.indices(np.add(sizes, 1)), axis=-1)


def chance_of(outcome, sizes, rates):
    """Return how probable some outcomes are, for two rates or two arrays of rates."""
    first, second = (binom.pmf(np.arange(n + 1), n, np.c_[p]) for n, p in zip(sizes, rates, strict=True))
    return np.einsum("pi,pj,ij->p", first, second, outcome)


@pytest.mark.parametrize(
    ("bounds", "options"),
    [
        (difference_bounds, {"compare": "diff", "method": "newcomb"}),
        (ratio_bounds, {"compare": "ratio", "method": "score"}),
    ],
)
def test_in_large_groups_bounds_are_those_of_other_good_methods(bounds, options):
    expected = confint_proportions_2indep(3_000, 9_000, 2_500, 10_000, **options)
    assert bounds([3_000, 2_500], [9_000, 10_000], confidence_level=0.95) == pytest.approx(expected, rel=0.02)


MARGINS = [0, 0.005, 0.05, 0.2, 0.5]
LEVELS = [0.05, 0.002, 0.0001]  # the last two as Holm's method has it of many tests
SIZES = [(30, 30), (30, 200), (200, 30), (3, 100)]


def misses(bounds, sizes, level, rates, truth):
    """Return how often bounds miss the truth, of the pairs of rates with which that is most often, by enumeration."""
    low, high = bounds(outcomes(sizes), np.array(sizes), confidence_level=1 - level)
    return chance_of((low > truth + 1e-12) | (high < truth - 1e-12), sizes, np.clip(rates, 0, 1)).max()


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_difference_at_the_margin_is_missed_no_more_often_than_stated_by_enumeration(sizes, margin, level):
    second = np.linspace(0, 1 - margin, 201)
    assert misses(difference_bounds, sizes, level, (second + margin, second), margin) <= level


@pytest.mark.parametrize("ratio", [1, 1.25, 2])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_ratio_is_missed_no_more_often_than_stated_by_enumeration(sizes, ratio, level):
    second = np.linspace(0.001, 1 / ratio, 201)
    assert misses(ratio_bounds, sizes, level, (second * ratio, second), ratio) <= level


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_difference_has_a_small_p_value_where_its_bounds_are_beyond_the_margin(margin, level):
    for hits in ((20, 100), (29, 3), (4, 180)):
        low, high = difference_bounds(hits, (30, 200), confidence_level=1 - level)
        assert (difference_p_value(hits, (30, 200), margin) <= level) == (low > margin or high < -margin)


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("level", [0.05, 0.002])
@pytest.mark.parametrize("factor", [0.5, 1.0])  # FlipTest's excess; repeated and paired queries
@pytest.mark.parametrize("n", [20, 60])
def test_a_difference_of_kinds_of_people_at_the_margin_is_found_as_seldom(margin, level, factor, n):
    first, second = np.indices((n + 1, n + 1)).reshape(2, -1)
    first, second = (each[first + second <= n] for each in (first, second))
    counts, correlation = np.stack([first, second], axis=-1), exclusive_correlation(first, second, n)
    low, high = difference_bounds(
        counts, np.full(counts.shape, n), confidence_level=1 - level, factor=factor, correlation=correlation
    )
    for rare in np.linspace(0.005, (1 - margin) / (1 + factor), 15):
        shares = margin + factor * rare, rare, max(1 - margin - (1 + factor) * rare, 0)
        chances = multinomial.pmf(np.column_stack([counts, n - counts.sum(axis=1)]), n, np.divide(shares, sum(shares)))
        assert chances @ ((low > margin) | (high < -margin)) <= level


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("n", [20, 500])
def test_a_share_at_the_margin_is_found_as_seldom(n, margin):
    p_values = np.array([share_p_value(hits, n, margin) for hits in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, margin) @ (p_values <= 0.05) <= 0.05


@pytest.mark.parametrize("margin", MARGINS)
def test_a_correlation_at_the_margin_is_found_as_seldom(margin):
    rng, runs, found = np.random.default_rng(1), 400, np.zeros(3)
    for _ in range(runs):
        normal, rare = rng.normal(size=100), (rng.random(100) < 0.2) / 0.4 - 0.5
        noises = rng.normal(size=100), rng.exponential(size=100), rng.standard_t(5, 100) / np.sqrt(5 / 3)
        pairs = zip((normal, rare, rare), noises, strict=True)
        found += [correlation_p_value(x, margin * x + np.sqrt(1 - margin**2) * e, margin) <= 0.05 for x, e in pairs]
    assert (found <= binom.ppf(0.999, runs, 0.05)).all()


def test_the_p_value_of_a_correlation_is_where_its_bounds_reach_the_margin(rng):
    x = rng.normal(size=60)
    y = 0.7 * x + rng.exponential(size=60)
    for margin in (0, 0.1, 0.3):
        p_value = correlation_p_value(x, -y, margin)
        assert correlation_bounds(x, y, confidence_level=1 - p_value)[0] == pytest.approx(margin, abs=1e-9)
    assert (correlation_p_value(x, y, 0.9), correlation_p_value(x, y, 1)) == (1, 1)


@pytest.mark.parametrize("margin", [0, 0.05])
def test_what_is_named_as_the_smallest_is_found_four_times_in_five_by_enumeration(margin):
    found = np.array([share_p_value(hits, 500, margin) <= 0.01 for hits in range(501)])
    assert binom.pmf(np.arange(501), 500, smallest_share(500, 0.01, margin)) @ found == pytest.approx(0.8)
    sizes = np.array([150, 250])
    apart = smallest_difference(0.3 * sizes, sizes, 0.05, margin) * np.array([250, -150]) / 400
    low, high = difference_bounds(outcomes(sizes), sizes, confidence_level=0.95)
    powers = chance_of(low > margin, sizes, 0.3 + apart), chance_of(high < -margin, sizes, 0.3 - apart)
    assert min(powers) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("other", [2, 12])
def test_the_smallest_excess_is_found_in_four_of_five_cases(other, factor):
    n, margin, alpha = 120, 0.005, 0.01
    excess = smallest_excess([0, other], n, alpha, margin, factor=factor)
    hits = np.array([(first, second) for first in range(n + 1) for second in range(n + 1 - first)])
    options = {"factor": factor, "correlation": exclusive_correlation(*hits.T, n)}
    low, _ = difference_bounds(hits, np.full(hits.shape, n), confidence_level=1 - alpha, **options)
    rates = [excess + factor * other / n, other / n]
    chances = multinomial.pmf(np.column_stack([hits, n - hits.sum(axis=1)]), n, [*rates, 1 - sum(rates)])
    assert 0.78 <= chances[low > margin].sum() <= 0.9  # 0.44 to 0.6 by the error where there is no excess


def test_nothing_is_named_where_nothing_would_be_found():
    assert np.isnan(smallest_excess([0, 1], 3, 0.01))
    assert np.isnan(smallest_share(3, 0.01, 0.9)) and np.isnan(smallest_difference([1, 1], [2, 2], 0.01))


def test_effects_levels_and_correlations_by_hand():
    assert smallest_effect(0.1, 0.3, 0.95, 0.01, 0.05) == pytest.approx(0.05 + (2.5758293 + 0.8416212) * 0.1 / 1.959964)
    assert bonferroni_level(0.95, 5) == pytest.approx(0.99)
    assert exclusive_correlation(30, 20, 100) == pytest.approx(-np.sqrt(30.5 * 20.5 / (71 * 81)))


@pytest.mark.parametrize(("hits", "n"), [(17, 201), (17, 69), (20, 118), (14, 62)])
def test_a_level_is_found_also_where_halving_would_be_faster(hits, n):
    options = {"correlation": exclusive_correlation(hits, 0, n)}
    level = difference_p_value([hits, 0], [n, n], 0.005, **options)
    low, _ = difference_bounds([hits, 0], [n, n], confidence_level=1 - level, **options)
    assert 0 < level < 0.05 and low == pytest.approx(0.005)


def test_a_ratio_is_unbounded_where_the_second_group_has_no_hit():
    low, high = ratio_bounds([[1, 0], [0, 1]], [10, 10], confidence_level=0.95)
    assert 0 < low[0] < high[0] == np.inf and low[1] == 0 < high[1] < np.inf


def test_information_holds_at_least_where_the_noncentral_distribution_puts_it():
    g, df, _ = g_test(TABLE)
    smaller = min(entropy(TABLE.sum(axis=axis)) for axis in (0, 1))
    low, high, _ = information_bounds(TABLE, confidence_level=0.9)
    of_low, of_high = (ncx2.cdf(g, df, bound * 2 * TABLE.sum() * smaller) for bound in (low, high))
    assert of_low >= 0.95 - 1e-9 and of_high <= 0.05 + 1e-9


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
        *(share * np.eye(20) / 20 + (1 - share) / 400 for share in (0.3, 0.8, 1)),
        np.repeat([[0.6, *[0.4 / 19] * 19], [0.9, *[0.1 / 19] * 19]], [10, 40], axis=0) / 50,
    ],
    ids=["fair", "fair and rare", "weak", "strong", "three groups", *(f"twenty, {i}" for i in range(3)), "a thousand"],
)
def test_information_is_held_at_the_stated_rate_and_zero_where_there_is_none(shares, n):
    runs = 2_000
    tables = np.random.default_rng(0).multinomial(n, shares.ravel(), size=runs).reshape(runs, *shares.shape)
    low, high, p_value = information_bounds(tables, confidence_level=0.95)
    truth = max(nmi(shares), 0)
    assert ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean() >= binom.ppf(0.001, runs, 0.95) / runs
    assert (low[p_value > 0.05] == 0).all()


def test_information_of_rows_with_a_column_of_their_own_is_complete_however_few_they_are():
    tables = np.eye(40) * np.array([2, 3, 100])[:, None, None]
    assert information_share(tables) == pytest.approx(1)
    low, high, _ = information_bounds(tables, confidence_level=0.95)
    assert (high == 1).all() and 0.05 < low[0] < low[1] < low[2]


@pytest.mark.parametrize("n", [30, 120, 1_000])
def test_chance_adds_to_information_what_tables_with_the_same_margins_have_on_average(n):
    rows, columns = (np.bincount(np.arange(n) ** 2 % k, minlength=k) for k in (31, 17))
    rows, columns = rows[rows > 0], columns[columns > 0]
    drawn = random_table(rows, columns).rvs(2_000, random_state=np.random.default_rng(0))
    assert added_by_chance(drawn[0])[0] == pytest.approx(g_test(drawn)[0].mean(), rel=0.02)


def test_information_about_a_hundred_million_people():
    table = np.array([[30_000_000, 20_000_000], [29_990_000, 20_010_000]])
    small, large = (information_bounds(each, confidence_level=0.95) for each in (table // 1_000, table))
    assert large[2] == pytest.approx(chi2_contingency(table, correction=False).pvalue)
    assert small[2] > 0.05 > large[2] and information_share(table) == pytest.approx(information_share(1.0 * table))


def test_bounds_of_a_correlation_by_hand():
    half = t.ppf(0.975, 2 * 50 * 0.8**2 / 2) * np.sqrt(0.8 / 48) / (1 - 0.3**2)  # the spread leaves 32 degrees
    found = correlation_bounds_by_sums(50, 0.3, 0.8, 2.0, confidence_level=0.95)[:2]
    assert found == pytest.approx(np.tanh(np.arctanh(0.3) + np.array([-half, half])))


def test_influences_on_a_correlation_are_those_of_leaving_one_pair_out(rng):
    x = rng.uniform(-1, 1, size=1_000)
    y = 0.5 * x + x * rng.uniform(-1, 1, size=1_000)  # the spread grows with x: 1 / sqrt(n - 3) is too narrow
    r, without = np.corrcoef(x, y)[0, 1], np.arange(1_000)
    left_out = np.array([np.corrcoef(x[without != i], y[without != i])[0, 1] for i in without])
    squared = (999 * (r - left_out)) ** 2
    found = correlation_bounds(x, y, confidence_level=0.95)
    by_hand = correlation_bounds_by_sums(1_000, r, squared.mean(), squared.var(), confidence_level=0.95)
    assert found[:2] == pytest.approx(by_hand[:2], abs=0.002)
    assert found[1] - np.tanh(np.arctanh(r) + 1.96 / 997**0.5) > 0.002


def test_correlation_of_perfect_lines():
    low, high, p_value = correlation_bounds(np.arange(20.0), -np.arange(20.0), confidence_level=0.95)
    assert -1 <= low <= high < -0.999 and p_value < 1e-6


def test_correlation_with_a_rare_group_is_held_at_the_stated_rate():
    rng, held, runs = np.random.default_rng(0), 0, 400
    truth = 0.5 * np.sqrt(0.0475) / np.sqrt(1 + 0.25 * 0.0475)
    for _ in range(runs):
        rare = (rng.random(300) < 0.05).astype(float)
        low, high, _ = correlation_bounds(rare, 0.5 * rare + rng.exponential(size=300), confidence_level=0.95)
        held += low <= truth <= high
    assert held >= binom.ppf(0.001, runs, 0.95)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_of_few_terms_have_the_bits_of_numpys(n, dtype):
    values = np.random.default_rng(n).normal(0, 1000, (50, 3, n)).astype(dtype)
    np.testing.assert_array_equal(sum_last(values), values.sum(axis=-1))


def test_entropies_do_not_depend_on_how_many_tables_there_are():
    tables = np.random.default_rng(0).integers(0, 40, (500, 3, 4))
    alone = [entropies(table.astype(float)) for table in tables]  # several look logarithms up
    np.testing.assert_array_equal(entropies(tables), np.transpose(alone))


@pytest.mark.parametrize("n", [1, 2, 5, 60, 300])
def test_holm_is_that_of_statsmodels_bit_for_bit_and_leaves_nan_out(n):
    rng = np.random.default_rng(n)
    p_values = rng.random(n) ** rng.integers(1, 50)
    p_values[rng.random(n) < 0.2] = 0.01  # ties
    expected = multipletests(p_values, method="holm")[1]
    np.testing.assert_array_equal(holm(p_values), expected)
    np.testing.assert_array_equal(holm(np.insert(p_values, n // 2, np.nan)), np.insert(expected, n // 2, np.nan))


@pytest.mark.parametrize(("interval", "method"), [(wilson_interval, "wilson"), (exact_interval, "exact")])
@pytest.mark.parametrize(("count", "n_samples"), [(0, 11), (3, 40), (40, 40)])
def test_intervals_of_a_proportion_are_those_of_scipy(count, n_samples, interval, method):
    expected = binomtest(count, n_samples).proportion_ci(0.99, method=method)
    assert interval(count, n_samples, alpha=0.01) == pytest.approx((expected.low, expected.high))


def test_nothing_is_known_without_a_sample():
    assert wilson_interval(0, 0, alpha=0.05) == exact_interval(0, 0, alpha=0.05) == (0, 1)
    assert (*errors(0, 0, 0).limits(0.05), errors(0, 0, 0).p_value(1.25)) == (0, np.inf, 1)


def test_intervals_of_any_outcomes_are_chernoffs():
    low, high = exact_interval([0, 3.5, 10], 10, alpha=0.05, binary=False)
    # Of a mean of 0, (1 - high)^n is half of alpha; else n KL(mean, end) is log(2 / alpha).
    assert (low[0], high[0]) == (0, pytest.approx(1 - 0.025**0.1))
    assert (low[2], high[2]) == (pytest.approx(0.025**0.1), 1)
    for end in (low[1], high[1]):
        assert 10 * (0.35 * np.log(0.35 / end) + 0.65 * np.log(0.65 / (1 - end))) == pytest.approx(np.log(40))


def errors(*numbers):
    return PairedErrors(*(np.array(number) for number in numbers))


def test_limits_of_a_paired_ratio_by_hand():
    # Of 57 errors 52 and 45 are made by either: 40 by both, 12 and 5 by one alone.
    wide = np.sqrt((12 + 5 + 2) / (53 * 46))
    narrow = np.sqrt((1 - 53 / 59) / 53) + np.sqrt((1 - 46 / 59) / 46)
    alpha = 2 * norm.sf(norm.isf(0.025) * wide / narrow)
    first, second = (proportion_confint(x, 57, alpha, method="wilson") for x in (52, 45))
    expected = first[0] / second[1], first[1] / second[0]
    np.testing.assert_allclose(errors(40, 12, 5).limits(0.025), expected)


@pytest.mark.parametrize("threshold", [0.9, 1.25, 2.0])
def test_the_p_value_is_where_the_limit_passes_the_threshold(threshold):
    numbers = [40, 10, 3, 0, 0], [12, 9, 0, 8, 3], [5, 0, 3, 0, 4]
    for p, one in zip(errors(*numbers).p_value(threshold), map(errors, *numbers), strict=True):
        assert one.p_value(threshold) == pytest.approx(p)
        for level in (p * 0.99, p * 1.01):
            assert level > 0.5 or (one.limits(level)[0] > threshold) == (p < level)
