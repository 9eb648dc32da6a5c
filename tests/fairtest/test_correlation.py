import numpy as np
import pytest
from scipy.stats import pearsonr

from fairlab.fairtest import Column, Correlation, Sample

RNG = np.random.default_rng(1)


def pairs(x, y):
    return Sample(Column("x", np.asarray(x, dtype=float)), Column("y", np.asarray(y, dtype=float)))


def correlated(n, slope=0.5, shift=0.0):
    x, noise = np.random.default_rng(n).normal(size=(2, n))
    return pairs(x + shift, slope * x + noise + shift)


def test_published_interval_is_that_of_fishers_z():
    sample = correlated(50)
    expected = pearsonr(sample.protected.values, sample.output.values)
    interval = Correlation(reading="as_published").approximate(sample, conf=0.9)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert interval.p_value == pytest.approx(expected.pvalue, rel=0.5)


def test_far_from_zero_numbers_lose_no_digits():
    near, far = (Correlation().approximate(correlated(50, shift=shift), conf=0.9) for shift in (0, 1e6))
    assert far.low == pytest.approx(float(near.low), abs=1e-6)


def test_groups_add_up():
    sample, metric = correlated(90), Correlation(reading="as_published")
    groups = np.arange(90) % 3
    of_groups = metric.interval(metric.statistics(sample, groups, 3), conf=0.9)
    for group in range(3):
        alone = metric.approximate(sample.take(groups == group), conf=0.9)
        assert of_groups.low[group] == pytest.approx(float(alone.low))
    assert metric.size(metric.statistics(sample, groups, 3)).tolist() == [30, 30, 30]


@pytest.mark.parametrize("y", [[1, 1, 1, 1, 1], [0.1] * 5])
def test_degenerate_data(y):
    for sample in (pairs(range(5), y), pairs([1, 2, 4], [3, 1, 2]), pairs([], [])):
        if len(sample):
            interval = Correlation().exact(sample, conf=0.95, rng=RNG)
            assert (interval.low, interval.high, interval.p_value) == (-1, 1, 1)
            assert Correlation().effect(interval) == 0


def test_perfect_correlation_is_capped():
    interval = Correlation().approximate(pairs(range(20), range(20)), conf=0.95)
    assert 0.999 < interval.low < interval.high < 1


def test_published_permutation_p_value_against_all_permutations():
    from itertools import permutations

    x, y = [1, 5, 2, 8, 9, 4], [2.0, 3, 1, 9, 4, 7]
    r = [abs(np.corrcoef(x, shuffled)[0, 1]) for shuffled in permutations(y)]
    expected = np.mean(np.array(r) >= abs(np.corrcoef(x, y)[0, 1]) - 1e-9)
    assert Correlation(reading="as_published").exact(pairs(x, y), conf=0.95, rng=RNG).p_value == pytest.approx(
        expected, abs=0.02
    )


def test_as_published_above_a_thousand_people_theory_is_used():
    sample, metric = correlated(1_001), Correlation(reading="as_published")
    assert metric.exact(sample, conf=0.95, rng=RNG) == metric.approximate(sample, conf=0.95)
    small = correlated(1_000)
    tested, theory = metric.exact(small, conf=0.95, rng=RNG), metric.approximate(small, conf=0.95)
    assert tested.p_value == pytest.approx(1 / 10_001)
    assert tested.low != theory.low
    assert (tested.low, tested.high) == pytest.approx((float(theory.low), float(theory.high)), abs=0.02)


def test_two_categories_count_as_zero_and_one_more_are_an_error():
    number = Column("y", np.array([1.0, 2, 3]))
    Correlation().check(Sample(Column("s", np.array([0, 1, 1]), ("f", "m")), number))
    with pytest.raises(ValueError, match="metric CORR needs numbers or two categories; column 's' has 3 categories"):
        Correlation().check(Sample(Column("s", np.array([0, 1, 2]), ("a", "b", "c")), number))


def test_an_interval_holds_zero_where_spread_grows_with_the_group_and_nothing_else_does():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        x = rng.normal(size=400)
        interval = Correlation().exact(pairs(x, np.abs(x) * rng.normal(size=400)), conf=0.95, rng=rng)
        held += interval.low <= 0 <= interval.high
        assert (interval.p_value <= 0.05) == (not interval.low <= 0 <= interval.high)
    assert held >= 0.92 * 300  # 0.74 by Fisher's z


def test_estimate_is_the_correlation():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    assert Correlation().estimate(pairs(x, y)) == pytest.approx(pearsonr(x, y)[0])
    assert Correlation().estimate(pairs([1, 2], [3, 3])) == 0
