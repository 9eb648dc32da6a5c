import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, fisher_exact, ncx2, norm
from sklearn.metrics import mutual_info_score

from fairlab.fairtest import NMI, Column, Difference, Ratio, Sample
from fairlab.fairtest.tables import contingency_tables

TABLE = np.array([[30, 10], [20, 40]])
TABLES = arrays(int, st.tuples(st.integers(2, 4), st.integers(2, 4)), elements=st.integers(0, 60))


def people(table):
    """Return a sample with the given counts of groups (rows) and outputs (columns)."""
    table = np.asarray(table)
    s, o = (axis.ravel() for axis in np.indices(table.shape))
    categories = [tuple(f"{letter}{i}" for i in range(n)) for letter, n in zip("so", table.shape, strict=True)]
    return Sample(
        Column("group", np.repeat(s, table.ravel()), categories[0]),
        Column("output", np.repeat(o, table.ravel()), categories[1]),
    )


def test_tables_of_groups():
    sample = people(TABLE)
    groups = np.arange(100) % 3
    tables = contingency_tables(sample, groups, 4)
    assert tables.shape == (4, 2, 2)
    np.testing.assert_array_equal(tables.sum(axis=0), TABLE)
    expected = [[np.sum((sample.protected.values == s) & (sample.output.values == o) & (groups == 1)) for o in (0, 1)]
                for s in (0, 1)]  # fmt: skip
    np.testing.assert_array_equal(tables[1], expected)


# NMI


@given(TABLES)
def test_published_nmi_is_mutual_information_of_the_smoothed_table_over_the_smaller_entropy(table):
    rows, columns = np.indices(table.shape).reshape(2, -1).repeat((table + 1).ravel(), axis=1)
    information = mutual_info_score(rows, columns)
    smaller = min(mutual_info_score(rows, rows), mutual_info_score(columns, columns))
    assert NMI(reading="as_published").estimate(table) == pytest.approx(information / smaller, abs=1e-9)


def test_published_nmi_interval_is_where_the_noncentral_distribution_has_the_statistic_in_its_tails():
    conf = 0.9
    interval = NMI(reading="as_published").interval(TABLE, conf=conf)
    g, p_value, df, _ = chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    assert interval.p_value == pytest.approx(p_value)
    smoothed = TABLE + 1
    share = smoothed.sum(axis=1) / smoothed.sum(), smoothed.sum(axis=0) / smoothed.sum()
    smaller = min(-(p * np.log(p)).sum() for p in share)
    for bound, level in ((interval.low, 0.95), (interval.high, 0.05)):
        noncentrality = bound * smaller * 2 * smoothed.sum() - df
        assert ncx2.cdf(g, df, noncentrality) == pytest.approx(level)


def test_nmi_leaves_empty_rows_out_of_the_degrees_of_freedom():
    padded = np.vstack([TABLE, [0, 0]])
    assert NMI().interval(padded, conf=0.95).p_value == pytest.approx(NMI().interval(TABLE, conf=0.95).p_value)


def test_an_insignificant_nmi_is_bounded_by_zero():
    interval = NMI().sound(np.array([[50, 50], [52, 48]]), conf=0.95)
    assert interval.p_value > 0.05
    assert interval.low == 0 < interval.high


@pytest.mark.parametrize("table", [[[5, 0], [7, 0]], [[0, 0], [7, 3]], [[0, 0], [0, 0]]])
def test_one_value_shows_nothing_as_published(table):
    table = np.array(table)
    nmi, difference, ratio = (
        metric(reading="as_published").interval(table, conf=0.95) for metric in (NMI, Difference, Ratio)
    )
    assert (nmi.low, nmi.high, nmi.p_value) == (0, 1, 1)
    assert (difference.low, difference.high, difference.p_value) == (0, 1, 1)
    assert (ratio.low, ratio.high, ratio.p_value) == (1, 1, 1)
    assert Difference().effect(difference) == Ratio().effect(ratio) == NMI().effect(nmi) == 0


def test_large_tables_are_no_trouble():
    table = np.array([[400_000, 100_000], [100_000, 400_000]])
    interval = NMI().sound(table, conf=0.95)
    assert 0 < interval.low < NMI().estimate(table) < interval.high < 1
    assert interval.p_value == 0


# difference and ratio


def test_difference_by_hand():
    metric = Difference(smoothing=0)
    assert metric.estimate(TABLE) == pytest.approx(10 / 40 - 40 / 60)
    error = np.sqrt(0.25 * 0.75 / 40 + (2 / 3) * (1 / 3) / 60)
    interval = metric.interval(TABLE, conf=0.95)
    assert (interval.low, interval.high) == pytest.approx(-5 / 12 + error * norm.ppf([0.025, 0.975]))
    assert interval.p_value == pytest.approx(2 * norm.sf(5 / 12 / error))
    assert metric.effect(interval) == pytest.approx(-interval.high)


def test_smoothing_adds_to_every_cell():
    assert Difference(reading="as_published").estimate(TABLE) == pytest.approx(15 / 50 - 45 / 70)
    assert Ratio(smoothing=1).estimate(TABLE) == pytest.approx((11 / 42) / (41 / 62))


def test_difference_stays_within_its_range():
    interval = Difference(smoothing=0).interval(np.array([[1, 30], [3, 0]]), conf=0.95)
    assert interval.high == 1


def test_ratio_by_hand():
    metric = Ratio(smoothing=0)
    interval = metric.interval(TABLE, conf=0.95)
    log_ratio, error = np.log(0.25 / (2 / 3)), np.sqrt(1 / 10 + 1 / 40 - 1 / 40 - 1 / 60)
    assert (interval.low, interval.high) == pytest.approx(np.exp(log_ratio + error * norm.ppf([0.025, 0.975])))
    assert interval.p_value == pytest.approx(2 * norm.sf(-log_ratio / error))
    assert metric.effect(interval) == pytest.approx(-np.log(interval.high))


def test_ratio_without_a_single_hit_is_unbounded():
    interval = Ratio(smoothing=0).interval(np.array([[9, 0], [5, 4]]), conf=0.95)
    assert (interval.low, interval.high, interval.p_value) == (0, np.inf, 1)


@given(TABLES.filter(lambda table: table.shape == (2, 2)))
def test_swapping_the_groups_turns_the_sign(table):
    one, other = (Difference().interval(t, conf=0.9) for t in (table, table[::-1]))
    if one.p_value < 1:
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
        assert Difference().effect(one) == pytest.approx(Difference().effect(other))


@pytest.mark.parametrize("metric", [NMI(), Difference(), Ratio()], ids=lambda m: m.name)
@pytest.mark.parametrize("bounds", ["sound", "interval"])
def test_many_tables_at_once_are_as_one_by_one(metric, bounds):
    tables = np.random.default_rng(0).integers(0, 30, (5, 3, 2, 2))
    tables[0, 0] = [[0, 0], [3, 4]]
    together = getattr(metric, bounds)(tables, conf=0.95)
    for index in np.ndindex(5, 3):
        alone = getattr(metric, bounds)(tables[index], conf=0.95)
        assert together.low[index] == pytest.approx(float(alone.low))
        assert together.high[index] == pytest.approx(float(alone.high))
        assert together.p_value[index] == pytest.approx(float(alone.p_value))


# in tests

PUBLISHED = [metric(reading="as_published") for metric in (NMI, Difference, Ratio)]


@pytest.mark.parametrize("metric", PUBLISHED, ids=lambda m: m.name)
def test_small_samples_are_resampled_and_large_ones_follow_theory(metric):
    small, large = people(TABLE * 10), people(TABLE * 10 + [[1, 0], [0, 0]])
    assert len(small) == 1_000
    theory = [metric.approximate(sample, conf=0.95) for sample in (small, large)]
    tested = [metric.exact(sample, conf=0.95, rng=np.random.default_rng(0)) for sample in (small, large)]
    assert tested[0].p_value == pytest.approx(1 / 100_001)
    assert tested[1].p_value == pytest.approx(float(theory[1].p_value))
    assert tested[0].low != theory[0].low
    assert (tested[1].low == theory[1].low) == (metric.name != "NMI")


@pytest.mark.parametrize("metric", PUBLISHED, ids=lambda m: m.name)
def test_bootstrap_and_theory_agree_on_large_tables(metric):
    sample = people(TABLE * 10)
    theory, tested = (
        metric.approximate(sample, conf=0.95),
        metric.exact(sample, conf=0.95, rng=np.random.default_rng(0)),
    )
    width = theory.high - theory.low
    assert tested.low == pytest.approx(float(theory.low), abs=0.15 * width)
    assert tested.high == pytest.approx(float(theory.high), abs=0.15 * width)


@pytest.mark.parametrize("metric", [Difference(), Ratio()], ids=lambda m: m.name)
def test_rates_need_two_categories_on_both_sides(metric):
    with pytest.raises(ValueError, match=r"needs two categories; column 'group' has 3: s0, s1, s2"):
        metric.check(people(np.ones((3, 2), dtype=int)))


def test_nmi_needs_categories():
    sample = Sample(Column("age", np.array([1.0, 2.0])), Column("output", np.array([0, 1]), ("a", "b")))
    with pytest.raises(ValueError, match="metric NMI needs categories; column 'age' holds numbers"):
        NMI().check(sample)


def test_negative_smoothing():
    with pytest.raises(ValueError, match="smoothing"):
        Difference(smoothing=-1)


# sound by default


@pytest.mark.parametrize("metric", [NMI(), Difference(), Ratio()], ids=lambda m: m.name)
@pytest.mark.parametrize("table", [[[0, 0], [7, 3]], [[0, 0], [0, 0]]])
def test_nothing_is_known_of_an_empty_group(metric, table):
    interval = metric.sound(np.array(table), conf=0.95)
    nothing = {"NMI": (0, 1), "DIFF": (-1, 1), "RATIO": (0, np.inf)}[metric.name]
    assert (interval.low, interval.high, interval.p_value) == (*nothing, 1)
    assert metric.effect(interval) == 0


def test_where_nobody_gets_the_output_the_difference_is_still_bounded():
    interval = Difference().sound(np.array([[50, 0], [70, 0]]), conf=0.95)
    assert (interval.low, interval.high) == pytest.approx((-(1 - 0.025 ** (1 / 70)), 1 - 0.025 ** (1 / 50)))
    assert interval.p_value == 1


def test_nmi_that_chance_explains_holds_zero_and_its_estimate_is_less_what_chance_adds():
    fair, unfair = np.array([[26, 24], [24, 26]]), np.array([[45, 5], [5, 45]])
    tested = NMI().exact(people(fair), conf=0.95, rng=np.random.default_rng(0))
    assert tested.p_value > 0.05
    assert tested.low == 0 == NMI().estimate(fair)
    tested = NMI().exact(people(unfair), conf=0.95, rng=np.random.default_rng(0))
    assert 0 < tested.low < NMI().estimate(unfair) < tested.high
    plain = 1 - (0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(0.5)
    assert NMI().estimate(unfair) == pytest.approx(plain - 1 / 200 / np.log(2))


def test_small_differences_are_tested_by_fisher():
    sample = people([[9, 1], [3, 7]])
    for metric in (Difference(), Ratio()):
        tested = metric.exact(sample, conf=0.95, rng=np.random.default_rng(0))
        theory = metric.approximate(sample, conf=0.95)
        assert tested.p_value == pytest.approx(fisher_exact([[9, 1], [3, 7]]).pvalue)
        assert (tested.low, tested.high) == (float(theory.low), float(theory.high))


def test_one_reading_is_asked_for_by_name():
    assert Difference(reading="as_published").smoothing == 5
    assert Difference(smoothing=0).reading == "as_published"
    assert Difference().reading == NMI().reading == "sound"
    assert Difference().conditional().stratum_metric.smoothing is None
    for metric in (NMI, Difference, Ratio):
        with pytest.raises(ValueError, match="reading: expected one of sound, as_published, found 'paper'"):
            metric(reading="paper")


def test_other_smoothing_than_a_number():
    for smoothing in ("5", np.inf, np.nan):
        with pytest.raises(ValueError, match="smoothing: expected None or a number from 0"):
            Ratio(smoothing=smoothing)
