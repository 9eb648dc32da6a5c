import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, fisher_exact, ncx2, norm, pearsonr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score

from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    Difference,
    Interval,
    Metric,
    Ratio,
    Regression,
    Sample,
)
from fairlab.fairtest.resampling import table_p_value


class Share(Metric):
    """Share of the second output, as far as it is from nothing."""

    name = "SHARE"

    def approximate(self, sample, *, confidence_level):
        share = sample.output.values.mean()
        return Interval(share - 0.1, share + 0.1, 0.5)


SAMPLE = Sample(Column("s", np.array([0, 0, 1, 1]), ("a", "b")), Column("o", np.array([0, 1, 1, 1]), ("no", "yes")))


def test_effect_is_how_far_an_interval_is_from_0():
    bounds = np.array([[0.1, 0.3], [-0.4, -0.2], [-0.1, 0.1]])
    np.testing.assert_allclose(Share().effect(Interval(*bounds.T, 0.5)), [0.1, 0.2, 0])


def test_children_of_categories_are_the_groups():
    groups = np.array([0, 0, 2, 2])
    effect, size, smallest_stratum = Share().children(SAMPLE, groups, 3, ordered=False, confidence_level=0.95)
    np.testing.assert_allclose(effect, [0.4, 0, 0.9])
    assert size.tolist() == smallest_stratum.tolist() == [2, 0, 2]


def test_children_of_numbers_are_the_two_sides_of_each_cut():
    effect, size, _ = Share().children(SAMPLE, np.array([0, 1, 2, 2]), 3, ordered=True, confidence_level=0.95)
    np.testing.assert_allclose(effect, [[0, 0.9], [0.4, 0.9]])
    assert size.tolist() == [[1, 3], [2, 2]]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "metric", [metric(variant="published") for metric in (NMI, Difference, Ratio, Correlation)], ids=lambda m: m.name
)
def test_counts_and_sums_give_the_children_that_one_by_one_gives(metric, ordered):
    rng = np.random.default_rng(0)
    sample = Sample(*(Column(name, rng.integers(2, size=200), ("a", "b")) for name in "so"))
    groups = rng.integers(4, size=200)
    at_once = metric.children(sample, groups, 4, ordered=ordered, confidence_level=0.9)
    one_by_one = Metric.children(metric, sample, groups, 4, ordered=ordered, confidence_level=0.9)
    np.testing.assert_allclose(at_once[0], one_by_one[0], atol=1e-12)
    np.testing.assert_array_equal(at_once[1:], one_by_one[1:])


def test_a_metric_of_ones_own_is_tested_as_it_is_approximated():
    exact = Share().exact(SAMPLE, confidence_level=0.95, rng=np.random.default_rng(0))
    assert exact == Share().approximate(SAMPLE, confidence_level=0.95)
    assert Share().labels(SAMPLE, confidence_level=0.95) == ()
    [(name, _, sample)] = Share().hypotheses(SAMPLE, ())
    assert (name, sample) == ("", SAMPLE)


def test_columns_that_a_metric_is_not_for():
    numbers, letters = Column("x", np.zeros(6)), Column("x", np.arange(6), tuple("abcdef"))
    for metric in (NMI(), Difference()):
        with pytest.raises(ValueError, match=f"metric {metric.name} needs {metric.needs}; column 'x' holds numbers"):
            metric.check(Sample(numbers, letters))
    with pytest.raises(ValueError, match=r"metric DIFF needs two categories; column .x. has 6: a, b, c, d, e, \.\.\."):
        Difference().check(Sample(letters, letters))
    NMI().check(Sample(letters, letters))


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
    tables = Difference().statistics(sample, groups, 4)
    assert tables.shape == (4, 2, 2)
    np.testing.assert_array_equal(tables.sum(axis=0), TABLE)
    rows, columns = sample.sensitive_features.values, sample.output.values
    expected = [[np.sum((rows == s) & (columns == o) & (groups == 1)) for o in (0, 1)] for s in (0, 1)]
    np.testing.assert_array_equal(tables[1], expected)


# NMI


@given(TABLES)
def test_published_nmi_is_mutual_information_of_the_smoothed_table_over_the_smaller_entropy(table):
    rows, columns = np.indices(table.shape).reshape(2, -1).repeat((table + 1).ravel(), axis=1)
    information = mutual_info_score(rows, columns)
    smaller = min(mutual_info_score(rows, rows), mutual_info_score(columns, columns))
    assert NMI(variant="published").estimate(table) == pytest.approx(information / smaller, abs=1e-9)


def test_published_nmi_interval_is_where_the_noncentral_distribution_has_the_statistic_in_its_tails():
    confidence_level = 0.9
    interval = NMI(variant="published").interval(TABLE, confidence_level=confidence_level)
    g, p_value, df, _ = chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    assert interval.p_value == pytest.approx(p_value)
    smoothed = TABLE + 1
    share = smoothed.sum(axis=1) / smoothed.sum(), smoothed.sum(axis=0) / smoothed.sum()
    smaller = min(-(p * np.log(p)).sum() for p in share)
    for bound, level in ((interval.low, 0.95), (interval.high, 0.05)):
        noncentrality = bound * smaller * 2 * smoothed.sum() - df
        assert ncx2.cdf(g, df, noncentrality) == pytest.approx(level)


def test_small_tables_of_two_groups_are_tested_exactly_and_only_as_published_by_drawn_tables():
    table = np.array([[12, 4], [9, 17]])  # probabilities order such tables as chi-square does
    exact = fisher_exact(table).pvalue
    for padded in (table, np.insert(table, 1, 0, axis=0)):
        assert NMI().exact(people(padded), confidence_level=0.95, rng=None).p_value == pytest.approx(exact, rel=1e-9)
    drawn = [table_p_value(table, np.random.default_rng(7)), *(
        NMI(variant=variant).exact(people(table), confidence_level=0.95, rng=np.random.default_rng(7)).p_value
        for variant in ("published", "sound")
    )]  # fmt: skip
    assert drawn[0] == drawn[1] != drawn[2]


def test_nmi_leaves_empty_rows_out_of_the_degrees_of_freedom():
    padded = np.vstack([TABLE, [0, 0]])
    assert NMI().interval(padded, confidence_level=0.95).p_value == pytest.approx(
        NMI().interval(TABLE, confidence_level=0.95).p_value
    )


def test_an_insignificant_nmi_is_bounded_by_zero():
    interval = NMI().sound(np.array([[50, 50], [52, 48]]), confidence_level=0.95)
    assert interval.p_value > 0.05
    assert interval.low == 0 < interval.high


@pytest.mark.parametrize("table", [[[5, 0], [7, 0]], [[0, 0], [7, 3]], [[0, 0], [0, 0]]])
def test_one_value_shows_nothing_as_published(table):
    table = np.array(table)
    nmi, difference, ratio = (
        metric(variant="published").interval(table, confidence_level=0.95) for metric in (NMI, Difference, Ratio)
    )
    assert (nmi.low, nmi.high, nmi.p_value) == (0, 1, 1)
    assert (difference.low, difference.high, difference.p_value) == (0, 1, 1)
    assert (ratio.low, ratio.high, ratio.p_value) == (1, 1, 1)
    assert Difference().effect(difference) == Ratio().effect(ratio) == NMI().effect(nmi) == 0


def test_large_tables_are_no_trouble():
    table = np.array([[400_000, 100_000], [100_000, 400_000]])
    interval = NMI().sound(table, confidence_level=0.95)
    assert 0 < interval.low < NMI().estimate(table) < interval.high < 1
    assert interval.p_value == 0


# difference and ratio


def test_difference_by_hand():
    metric = Difference(smoothing=0)
    assert metric.estimate(TABLE) == pytest.approx(10 / 40 - 40 / 60)
    error = np.sqrt(0.25 * 0.75 / 40 + (2 / 3) * (1 / 3) / 60)
    interval = metric.interval(TABLE, confidence_level=0.95)
    assert (interval.low, interval.high) == pytest.approx(-5 / 12 + error * norm.ppf([0.025, 0.975]))
    assert interval.p_value == pytest.approx(2 * norm.sf(5 / 12 / error))
    assert metric.effect(interval) == pytest.approx(-interval.high)


def test_smoothing_adds_to_every_cell():
    assert Difference(variant="published").estimate(TABLE) == pytest.approx(15 / 50 - 45 / 70)
    assert Ratio(smoothing=1).estimate(TABLE) == pytest.approx((11 / 42) / (41 / 62))


def test_difference_stays_within_its_range():
    interval = Difference(smoothing=0).interval(np.array([[1, 30], [3, 0]]), confidence_level=0.95)
    assert interval.high == 1


def test_ratio_by_hand():
    metric = Ratio(smoothing=0)
    interval = metric.interval(TABLE, confidence_level=0.95)
    log_ratio, error = np.log(0.25 / (2 / 3)), np.sqrt(1 / 10 + 1 / 40 - 1 / 40 - 1 / 60)
    assert (interval.low, interval.high) == pytest.approx(np.exp(log_ratio + error * norm.ppf([0.025, 0.975])))
    assert interval.p_value == pytest.approx(2 * norm.sf(-log_ratio / error))
    assert metric.effect(interval) == pytest.approx(-np.log(interval.high))


def test_ratio_without_a_single_hit_is_unbounded():
    interval = Ratio(smoothing=0).interval(np.array([[9, 0], [5, 4]]), confidence_level=0.95)
    assert (interval.low, interval.high, interval.p_value) == (0, np.inf, 1)


@given(TABLES.filter(lambda table: table.shape == (2, 2)))
def test_swapping_the_groups_turns_the_sign(table):
    one, other = (Difference().interval(t, confidence_level=0.9) for t in (table, table[::-1]))
    if one.p_value < 1:
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
        assert Difference().effect(one) == pytest.approx(Difference().effect(other))


@pytest.mark.parametrize("metric", [NMI(), Difference(), Ratio()], ids=lambda m: m.name)
@pytest.mark.parametrize("bounds", ["sound", "interval"])
def test_many_tables_at_once_are_as_one_by_one(metric, bounds):
    tables = np.random.default_rng(0).integers(0, 30, (5, 3, 2, 2))
    tables[0, 0] = [[0, 0], [3, 4]]
    together = getattr(metric, bounds)(tables, confidence_level=0.95)
    for index in np.ndindex(5, 3):
        alone = getattr(metric, bounds)(tables[index], confidence_level=0.95)
        assert together.low[index] == pytest.approx(float(alone.low))
        assert together.high[index] == pytest.approx(float(alone.high))
        assert together.p_value[index] == pytest.approx(float(alone.p_value))


# in tests

PUBLISHED = [metric(variant="published") for metric in (NMI, Difference, Ratio)]


@pytest.mark.parametrize("metric", PUBLISHED, ids=lambda m: m.name)
def test_small_samples_are_resampled_and_large_ones_follow_theory(metric):
    small, large = people(TABLE * 10), people(TABLE * 10 + [[1, 0], [0, 0]])
    assert len(small) == 1_000
    theory = [metric.approximate(sample, confidence_level=0.95) for sample in (small, large)]
    tested = [metric.exact(sample, confidence_level=0.95, rng=np.random.default_rng(0)) for sample in (small, large)]
    assert tested[0].p_value == pytest.approx(1 / 100_001)
    assert tested[1].p_value == pytest.approx(float(theory[1].p_value))
    assert tested[0].low != theory[0].low
    assert (tested[1].low == theory[1].low) == (metric.name != "NMI")


@pytest.mark.parametrize("metric", PUBLISHED, ids=lambda m: m.name)
def test_bootstrap_and_theory_agree_on_large_tables(metric):
    sample = people(TABLE * 10)
    theory, tested = (
        metric.approximate(sample, confidence_level=0.95),
        metric.exact(sample, confidence_level=0.95, rng=np.random.default_rng(0)),
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
    interval = metric.sound(np.array(table), confidence_level=0.95)
    nothing = {"NMI": (0, 1), "DIFF": (-1, 1), "RATIO": (0, np.inf)}[metric.name]
    assert (interval.low, interval.high, interval.p_value) == (*nothing, 1)
    assert metric.effect(interval) == 0


def test_where_nobody_gets_the_output_the_difference_is_still_bounded():
    interval = Difference().sound(np.array([[50, 0], [70, 0]]), confidence_level=0.95)
    assert (interval.low, interval.high) == pytest.approx((-(1 - 0.025 ** (1 / 70)), 1 - 0.025 ** (1 / 50)))
    assert interval.p_value == 1


def test_nmi_that_chance_explains_holds_zero_and_its_estimate_is_less_what_chance_adds():
    fair, unfair = np.array([[26, 24], [24, 26]]), np.array([[45, 5], [5, 45]])
    tested = NMI().exact(people(fair), confidence_level=0.95, rng=np.random.default_rng(0))
    assert tested.p_value > 0.05
    assert tested.low == 0 == NMI().estimate(fair)
    tested = NMI().exact(people(unfair), confidence_level=0.95, rng=np.random.default_rng(0))
    assert 0 < tested.low < NMI().estimate(unfair) < tested.high
    plain = 1 - (0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(0.5)
    assert NMI().estimate(unfair) == pytest.approx(plain - 1 / 200 / np.log(2))


def test_small_differences_are_tested_by_fisher():
    sample = people([[9, 1], [3, 7]])
    for metric in (Difference(), Ratio()):
        tested = metric.exact(sample, confidence_level=0.95, rng=np.random.default_rng(0))
        theory = metric.approximate(sample, confidence_level=0.95)
        assert tested.p_value == pytest.approx(fisher_exact([[9, 1], [3, 7]]).pvalue)
        assert (tested.low, tested.high) == (float(theory.low), float(theory.high))


def test_one_reading_is_asked_for_by_name():
    assert Difference(variant="published").smoothing == 5
    assert Difference(smoothing=0).variant == "published"
    assert Difference().variant == NMI().variant == "sound"
    for metric in (NMI, Difference, Ratio):
        with pytest.raises(ValueError, match="variant: expected one of sound, published, found 'paper'"):
            metric(variant="paper")


def test_other_smoothing_than_a_number():
    for smoothing in ("5", np.inf, np.nan):
        with pytest.raises(ValueError, match="smoothing: expected None or a number from 0"):
            Ratio(smoothing=smoothing)


STRATA = np.array([[[30, 10], [20, 40]], [[5, 25], [10, 20]]])  # 100 and 60 people


def stratified(tables, n_empty=0):
    """Return a sample with one contingency table per stratum, and strata that do not occur."""
    strata, s, o = np.indices(tables.shape).reshape(3, -1).repeat(tables.ravel(), axis=1)
    names = tuple(f"e{i}" for i in range(len(tables) + n_empty))
    return Sample(
        Column("group", s, ("f", "m")), Column("output", o, ("no", "yes")), Column("department", strata, names)
    )


def rng():
    return np.random.default_rng(5)


def test_conditional_difference_by_hand():
    estimate = Difference(smoothing=0).estimate_given(STRATA)
    assert estimate == pytest.approx((100 * (10 / 40 - 40 / 60) + 60 * (25 / 30 - 20 / 30)) / 160)


@pytest.mark.parametrize("metric", [NMI(variant="published"), Difference(smoothing=1), Ratio(smoothing=1)])
def test_estimate_and_training_interval_are_means_weighted_by_size(metric):
    weights = [100, 60]
    assert metric.estimate_given(STRATA) == pytest.approx(np.average(metric.estimate(STRATA), weights=weights))
    interval, parts = (
        metric.approximate(stratified(STRATA), confidence_level=0.9),
        metric.interval(STRATA, confidence_level=0.9),
    )
    for bound in ("low", "high", "p_value"):
        assert getattr(interval, bound) == pytest.approx(np.average(getattr(parts, bound), weights=weights))


def test_strata_that_do_not_occur_change_nothing_but_are_hypotheses():
    metric = Difference()
    one, other = (metric.exact(stratified(STRATA, n_empty=n), confidence_level=0.95, rng=rng()) for n in (0, 2))
    assert one == other
    assert [name for name, _, _ in metric.hypotheses(stratified(STRATA, n_empty=1), ())] == [
        "", "department: e0", "department: e1", "department: e2"
    ]  # fmt: skip


def test_smallest_stratum_that_occurs():
    groups = np.zeros(160, dtype=int)
    sample = stratified(STRATA, n_empty=1)
    _, size, smallest_stratum = NMI().children(sample, groups, 2, ordered=False, confidence_level=0.95)
    assert size.tolist() == [160, 0]
    assert smallest_stratum.tolist() == [60, 0]


def test_simpsons_paradox():
    # Two departments with equal rates for both groups; women apply where few are admitted.
    tables = np.array([[[20, 80], [80, 320]], [[320, 80], [80, 20]]])
    sample = stratified(tables)
    plain = Difference(smoothing=0).exact(
        Sample(sample.sensitive_features, sample.output), confidence_level=0.95, rng=rng()
    )
    given = Difference(smoothing=0).exact(sample, confidence_level=0.95, rng=rng())
    assert plain.p_value < 1e-4
    assert given.p_value > 0.5
    assert given.low < 0 < given.high


def test_within_strata_p_value_against_shuffling_by_hand():
    sample, metric = stratified(STRATA // 5), Difference(smoothing=0)
    draw = np.random.default_rng(0)

    def value(output):
        return sum(
            Difference(smoothing=0).estimate(
                np.histogram2d(sample.sensitive_features.values[m], output[m], bins=(2, 2), range=((0, 1), (0, 1)))[0]
            )
            * m.sum()
            for m in (sample.explanatory.values == e for e in (0, 1))
        )

    observed, hits = abs(value(sample.output.values)), 0
    for _ in range(500):
        output = sample.output.values.copy()
        for e in (0, 1):
            rows = np.flatnonzero(sample.explanatory.values == e)
            output[rows] = draw.permutation(output[rows])
        hits += abs(value(output)) > observed + 1e-9
    assert metric.exact(sample, confidence_level=0.95, rng=rng()).p_value == pytest.approx(hits / 500, abs=0.08)


def test_smallest_p_value_of_a_permutation_test():
    sample = stratified(np.array([[[50, 0], [0, 50]], [[50, 0], [0, 50]]]))
    assert NMI(variant="published").exact(sample, confidence_level=0.95, rng=rng()).p_value == 1e-4


def test_published_conditional_correlation_averages_bounds_and_p_values():
    draw = np.random.default_rng(2)
    x, noise = draw.normal(size=(2, 3_500))
    strata = np.repeat([0, 1], [2_000, 1_500])
    sample = Sample(
        Column("age", x), Column("error", x * strata + noise), Column("confidence", strata, ("high", "low", "none"))
    )
    interval = Correlation(variant="published").exact(sample, confidence_level=0.9, rng=rng())
    parts = [
        Correlation(variant="published").approximate(part, confidence_level=0.9)
        for part in list(sample.strata().values())[:2]
    ]
    for bound in ("low", "high", "p_value"):
        values = [float(getattr(part, bound)) for part in parts]
        assert getattr(interval, bound) == pytest.approx(np.average(values, weights=[2_000, 1_500]))
    trained = Correlation(variant="published").approximate(sample, confidence_level=0.9)
    assert (trained.low, trained.high) == pytest.approx((interval.low, interval.high))


def test_difference_within_strata_by_hand():
    interval = Difference().sound_given(STRATA, confidence_level=0.9)
    parts = [Difference().sound(table, confidence_level=0.9) for table in STRATA]
    gaps = [-gap for gap in (30 / 40 - 20 / 60, 5 / 30 - 10 / 30)]
    mean = np.average(gaps, weights=[100, 60])
    below = np.sqrt(sum((n / 160 * (part.low - gap)) ** 2 for n, part, gap in zip((100, 60), parts, gaps, strict=True)))
    assert interval.low == pytest.approx(mean - below)


def test_a_sound_p_value_of_strata_is_no_mere_mean():
    fair, unfair = np.array([[20, 20], [20, 20]]), np.array([[40, 0], [0, 40]])
    interval = NMI().sound_given(np.stack([fair, unfair]), confidence_level=0.9)
    assert interval.p_value == 1  # twice the mean of 1 and nearly 0
    tested = NMI().exact(stratified(np.stack([fair, unfair])), confidence_level=0.9, rng=rng())
    assert tested.p_value == pytest.approx(1 / 10_001)


def test_sound_conditional_correlation_adds_up_the_strata():
    draw = np.random.default_rng(2)
    x, noise = draw.normal(size=(2, 300))
    strata = np.repeat([0, 1], [200, 100])
    sample = Sample(Column("x", x), Column("y", 0.3 * x + noise), Column("part", strata, ("a", "b")))
    parts = [Correlation().approximate(part, confidence_level=0.9) for part in sample.strata().values()]
    interval = Correlation().exact(sample, confidence_level=0.9, rng=rng())
    assert interval.low == pytest.approx(np.average([part.low for part in parts], weights=[200, 100]))
    assert interval.p_value < min(part.p_value for part in parts)
    assert Correlation().approximate(sample, confidence_level=0.9) == interval


RNG = np.random.default_rng(1)


def pairs(x, y):
    return Sample(Column("x", np.asarray(x, dtype=float)), Column("y", np.asarray(y, dtype=float)))


def correlated(n, slope=0.5, shift=0.0):
    x, noise = np.random.default_rng(n).normal(size=(2, n))
    return pairs(x + shift, slope * x + noise + shift)


def test_published_interval_is_that_of_fishers_z():
    sample = correlated(50)
    expected = pearsonr(sample.sensitive_features.values, sample.output.values)
    interval = Correlation(variant="published").approximate(sample, confidence_level=0.9)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert interval.p_value == pytest.approx(expected.pvalue, rel=0.5)


def test_far_from_zero_numbers_lose_no_digits():
    near, far = (Correlation().approximate(correlated(50, shift=shift), confidence_level=0.9) for shift in (0, 1e6))
    assert far.low == pytest.approx(float(near.low), abs=1e-6)


def test_groups_add_up():
    sample, metric = correlated(90), Correlation(variant="published")
    groups = np.arange(90) % 3
    of_groups = metric.interval(metric.statistics(sample, groups, 3), confidence_level=0.9)
    for group in range(3):
        alone = metric.approximate(sample.take(groups == group), confidence_level=0.9)
        assert of_groups.low[group] == pytest.approx(float(alone.low))
    assert metric.size(metric.statistics(sample, groups, 3)).tolist() == [30, 30, 30]


@pytest.mark.parametrize("y", [[1, 1, 1, 1, 1], [0.1] * 5])
def test_degenerate_data(y):
    for sample in (pairs(range(5), y), pairs([1, 2, 4], [3, 1, 2]), pairs([], [])):
        if len(sample):
            interval = Correlation().exact(sample, confidence_level=0.95, rng=RNG)
            assert (interval.low, interval.high, interval.p_value) == (-1, 1, 1)
            assert Correlation().effect(interval) == 0


def test_perfect_correlation_is_capped():
    interval = Correlation().approximate(pairs(range(20), range(20)), confidence_level=0.95)
    assert 0.999 < interval.low < interval.high < 1


def test_published_permutation_p_value_against_all_permutations():
    from itertools import permutations

    x, y = [1, 5, 2, 8, 9, 4], [2.0, 3, 1, 9, 4, 7]
    r = [abs(np.corrcoef(x, shuffled)[0, 1]) for shuffled in permutations(y)]
    expected = np.mean(np.array(r) >= abs(np.corrcoef(x, y)[0, 1]) - 1e-9)
    assert Correlation(variant="published").exact(pairs(x, y), confidence_level=0.95, rng=RNG).p_value == pytest.approx(
        expected, abs=0.02
    )


def test_as_published_above_a_thousand_people_theory_is_used():
    sample, metric = correlated(1_001), Correlation(variant="published")
    assert metric.exact(sample, confidence_level=0.95, rng=RNG) == metric.approximate(sample, confidence_level=0.95)
    small = correlated(1_000)
    tested, theory = (
        metric.exact(small, confidence_level=0.95, rng=RNG),
        metric.approximate(small, confidence_level=0.95),
    )
    assert tested.p_value == pytest.approx(1 / 10_001)
    assert tested.low != theory.low
    assert (tested.low, tested.high) == pytest.approx((float(theory.low), float(theory.high)), abs=0.02)


def test_two_categories_count_as_zero_and_one_more_are_an_error():
    number = Column("y", np.array([1.0, 2, 3]))
    Correlation().check(Sample(Column("s", np.array([0, 1, 1]), ("f", "m")), number))
    with pytest.raises(ValueError, match="metric CORR needs numbers or two categories; column 's' has 3: "):
        Correlation().check(Sample(Column("s", np.array([0, 1, 2]), ("a", "b", "c")), number))


def test_an_interval_holds_zero_where_spread_grows_with_the_group_and_nothing_else_does():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        x = rng.normal(size=400)
        interval = Correlation().exact(pairs(x, np.abs(x) * rng.normal(size=400)), confidence_level=0.95, rng=rng)
        held += interval.low <= 0 <= interval.high
        assert (interval.p_value <= 0.05) == (not interval.low <= 0 <= interval.high)
    assert held >= 0.92 * 300  # 0.74 by Fisher's z


def test_estimate_is_the_correlation():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    assert Correlation().estimate(pairs(x, y)) == pytest.approx(pearsonr(x, y)[0])
    assert Correlation().estimate(pairs([1, 2], [3, 3])) == 0


def tagged(n=2_000, n_labels=6):
    """Return people whose label 2 goes with the group strongly, label 4 weakly, and the others not."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=n)
    rates = np.full((n, n_labels), 0.3)
    rates[:, 2] += 0.4 * group
    rates[:, 4] -= 0.2 * group
    labels = (rng.random((n, n_labels)) < rates).astype(int)
    columns = tuple(Column(f"tag {j}", labels[:, j], ("0", "1")) for j in range(n_labels))
    return Sample(Column("group", group, ("a", "b")), columns), labels


def test_intervals_by_hand():
    sample, labels = tagged()
    group = sample.sensitive_features.values
    model = LogisticRegression(solver="liblinear").fit(labels, group)
    error = np.sqrt((model.predict(labels) != group).mean() * np.diag(np.linalg.inv(labels.T @ labels)))
    interval = Regression().approximate(sample, confidence_level=0.95)
    np.testing.assert_allclose(interval.low, model.coef_[0] + norm.ppf(0.025) * error)
    np.testing.assert_allclose(interval.high, model.coef_[0] + norm.ppf(0.975) * error)


def test_strongest_labels_come_first_and_make_the_effect():
    sample, _ = tagged()
    metric = Regression(top_k=2)
    assert metric.labels(sample, confidence_level=0.95) == ("tag 2", "tag 4")
    interval = metric.approximate(sample, confidence_level=0.95)
    assert metric.effect(interval) == pytest.approx((interval.low[2] - interval.high[4]) / 2)


def test_every_label_found_is_a_hypothesis_of_the_label_metric():
    sample, labels = tagged()
    metric = Regression(top_k=2, label_metric=Difference(smoothing=0))
    hypotheses = metric.hypotheses(sample, ("tag 4", "tag 2"))
    assert [name for name, _, _ in hypotheses] == ["tag 4", "tag 2"]
    np.testing.assert_array_equal(hypotheses[1][2].output.values, labels[:, 2])
    assert hypotheses[0][1].smoothing == 0


def test_more_labels_asked_for_than_there_are():
    sample, _ = tagged()
    assert len(Regression(top_k=35).labels(sample, confidence_level=0.95)) == 6


def test_labels_that_never_occur_or_say_the_same_and_groups_of_one_have_no_effect():
    sample, _ = tagged()
    never = Column("never", np.zeros(2_000, dtype=int), ("0", "1"))
    twice = Sample(sample.sensitive_features, (*sample.output, never, sample.output[2]))
    effects = np.maximum(Regression().approximate(twice, confidence_level=0.95).low, 0)
    assert effects[6] == 0
    assert np.isfinite(effects).all()
    alone = Regression().approximate(sample.take(sample.sensitive_features.values == 0), confidence_level=0.95)
    assert Regression().effect(alone) == 0


def test_bad_input():
    sample, _ = tagged()
    with pytest.raises(ValueError, match="top_k: expected a positive integer, found 0"):
        Regression(top_k=0)
    count = Column("count", np.arange(2_000.0))
    with pytest.raises(ValueError, match="metric REG needs two categories; column 'count' holds numbers"):
        Regression().check(Sample(sample.sensitive_features, (count,)))
