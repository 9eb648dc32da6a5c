from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, fisher_exact, hypergeom, multinomial, ncx2, norm, pearsonr, random_table
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
    resampling,
)
from fairlab.fairtest.resampling import (
    bootstrap_tables,
    percentile_interval,
    permute_correlation,
    permute_tables,
    table_p_value,
    two_by_two_p_value,
)


class Share(Metric):
    """Share of the second output, as far as it is from nothing."""

    name = "SHARE"

    def approximate(self, sample, *, confidence_level):
        share = sample.output.values.mean()
        return Interval(share - 0.1, share + 0.1, 0.5)


SAMPLE = Sample(Column("s", np.array([0, 0, 1, 1]), ("a", "b")), Column("o", np.array([0, 1, 1, 1]), ("no", "yes")))


def rng():
    return np.random.default_rng(5)


def pairs(x, y):
    return Sample(Column("x", np.asarray(x, dtype=float)), Column("y", np.asarray(y, dtype=float)))


def correlated(n, slope=0.5, shift=0.0):
    x, noise = np.random.default_rng(n).normal(size=(2, n))
    return pairs(x + shift, slope * x + noise + shift)


def letters(n):
    return Column("x", np.arange(6) % n, tuple("abcdef"[:n]))


NUMBERS = Column("count", np.arange(6.0))


@pytest.mark.parametrize(
    ("metric", "columns", "message"),
    [
        (NMI(), (NUMBERS, letters(6)), "metric NMI needs categories; column 'count' holds numbers"),
        (Difference(), (letters(6), letters(6)), r"DIFF needs two .*'x' has 6: a, b, c, d, e, \.\.\."),
        (Ratio(), (letters(2), letters(3)), "metric RATIO needs two categories; column 'x' has 3: a, b, c"),
        (Correlation(), (letters(3), NUMBERS), "metric CORR needs numbers or two categories; column 'x' has 3: "),
        (Regression(), (letters(2), (NUMBERS,)), "metric REG needs two categories; column 'count' holds numbers"),
    ],
)
def test_columns_that_a_metric_is_not_for(metric, columns, message):
    with pytest.raises(ValueError, match=message):
        metric.check(Sample(*columns))
    metric.check(Sample(letters(2), (letters(2),) if metric.name == "REG" else letters(2)))


def test_a_metric_of_ones_own_is_tested_as_it_is_approximated():
    exact = Share().exact(SAMPLE, confidence_level=0.95, rng=rng())
    assert exact == Share().approximate(SAMPLE, confidence_level=0.95)
    assert Share().labels(SAMPLE, confidence_level=0.95) == ()
    assert Share().hypotheses(SAMPLE, ())[0][::2] == ("", SAMPLE)


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


# NMI


@given(TABLES)
def test_published_nmi_is_mutual_information_of_the_smoothed_table_over_the_smaller_entropy(table):
    rows, columns = np.indices(table.shape).reshape(2, -1).repeat((table + 1).ravel(), axis=1)
    information = mutual_info_score(rows, columns)
    smaller = min(mutual_info_score(rows, rows), mutual_info_score(columns, columns))
    assert NMI(variant="published").estimate(table) == pytest.approx(information / smaller, abs=1e-9)


def test_published_nmi_interval_is_where_the_noncentral_distribution_has_the_statistic_in_its_tails():
    confidence_level = 0.9
    padded = np.vstack([TABLE, [0, 0]])  # an empty row is no degree of freedom
    p_values = [NMI().interval(table, confidence_level=0.95).p_value for table in (TABLE, padded)]
    assert p_values[0] == pytest.approx(p_values[1])
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


def test_large_tables_are_no_trouble():
    table = np.array([[400_000, 100_000], [100_000, 400_000]])
    interval = NMI().sound(table, confidence_level=0.95)
    assert 0 < interval.low < NMI().estimate(table) < interval.high < 1
    assert interval.p_value == 0


# difference and ratio


ERRORS = np.sqrt(0.25 * 0.75 / 40 + (2 / 3) * (1 / 3) / 60), np.sqrt(1 / 10 + 1 / 40 - 1 / 40 - 1 / 60)


@pytest.mark.parametrize(
    ("metric", "center", "error", "scale"),
    [
        (Difference(smoothing=0), 10 / 40 - 40 / 60, ERRORS[0], np.asarray),
        (Ratio(smoothing=0), np.log(0.25 / (2 / 3)), ERRORS[1], np.exp),
    ],
    ids=["difference", "ratio"],
)
def test_normal_intervals_by_hand(metric, center, error, scale):
    interval = metric.interval(TABLE, confidence_level=0.95)
    bounds = center + error * norm.ppf([0.025, 0.975])
    assert metric.estimate(TABLE) == pytest.approx(scale(center))
    assert (interval.low, interval.high) == pytest.approx(scale(bounds))
    assert interval.p_value == pytest.approx(2 * norm.sf(-center / error))
    assert metric.effect(interval) == pytest.approx(-bounds[1])


NOTHING = {"NMI": (0, 1, 1), "DIFF": (-1, 1, 1), "RATIO": (0, np.inf, 1)}
PUBLISHED_NOTHING = {"NMI": (0, 1, 1), "DIFF": (0, 1, 1), "RATIO": (1, 1, 1)}


@pytest.mark.parametrize("metric", [NMI, Difference, Ratio])
@pytest.mark.parametrize("table", [[[5, 0], [7, 0]], [[0, 0], [7, 3]], [[0, 0], [0, 0]]])
def test_of_one_value_nothing_is_known(metric, table):
    known = metric(variant="published").interval(np.array(table), confidence_level=0.95)
    assert (known.low, known.high, known.p_value) == PUBLISHED_NOTHING[metric.name]
    assert metric().effect(known) == 0
    if 0 in np.sum(table, axis=1):
        known = metric().sound(np.array(table), confidence_level=0.95)
        assert (known.low, known.high, known.p_value) == NOTHING[metric.name]
        assert metric().effect(known) == 0


def test_bounds_of_rates_at_the_edge():
    assert Difference(smoothing=0).interval(np.array([[1, 30], [3, 0]]), confidence_level=0.95).high == 1
    interval = Ratio(smoothing=0).interval(np.array([[9, 0], [5, 4]]), confidence_level=0.95)
    assert (interval.low, interval.high, interval.p_value) == (0, np.inf, 1)


def test_smoothing_adds_to_every_cell():
    assert Difference(variant="published").estimate(TABLE) == pytest.approx(15 / 50 - 45 / 70)
    assert Ratio(smoothing=1).estimate(TABLE) == pytest.approx((11 / 42) / (41 / 62))


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


@pytest.mark.parametrize(
    ("metric", "small", "large", "smallest"),
    [
        *(
            (metric, people(TABLE * 10), people(TABLE * 10 + [[1, 0], [0, 0]]), 1 / 100_001)
            for metric in (NMI, Difference, Ratio)
        ),
        (Correlation, correlated(1_000), correlated(1_001), 1 / 10_001),
    ],
)
def test_as_published_up_to_a_thousand_people_are_resampled(metric, small, large, smallest):
    metric = metric(variant="published")
    theory = [metric.approximate(sample, confidence_level=0.95) for sample in (small, large)]
    tested = [metric.exact(sample, confidence_level=0.95, rng=rng()) for sample in (small, large)]
    assert tested[0].p_value == pytest.approx(smallest)
    assert tested[1].p_value == pytest.approx(float(theory[1].p_value))
    assert tested[0].low != theory[0].low
    assert (tested[1].low == theory[1].low) == (metric.name != "NMI")
    width = 0.2 * (theory[0].high - theory[0].low)
    assert tested[0].low == pytest.approx(float(theory[0].low), abs=width)
    assert tested[0].high == pytest.approx(float(theory[0].high), abs=width)


# sound by default


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


STRATA = np.array([[[30, 10], [20, 40]], [[5, 25], [10, 20]]])  # 100 and 60 people


def stratified(tables, n_empty=0):
    """Return a sample with one contingency table per stratum, and strata that do not occur."""
    strata, s, o = np.indices(tables.shape).reshape(3, -1).repeat(tables.ravel(), axis=1)
    names = tuple(f"e{i}" for i in range(len(tables) + n_empty))
    return Sample(
        Column("group", s, ("f", "m")), Column("output", o, ("no", "yes")), Column("department", strata, names)
    )


STRATA_OF_PAIRS = np.repeat([0, 1], [200, 100])
CORRELATED_IN_STRATA = Sample(
    *(Column(name, values) for name, values in zip("xy", np.random.default_rng(2).normal(size=(2, 300)), strict=True)),
    Column("part", STRATA_OF_PAIRS, ("high", "low", "none")),
)


@pytest.mark.parametrize(
    ("metric", "sample"),
    [
        *((metric, stratified(STRATA)) for metric in (NMI, Difference, Ratio)),
        (Correlation, CORRELATED_IN_STRATA),
    ],
)
def test_published_intervals_of_strata_are_means_weighted_by_size(metric, sample):
    metric = metric(variant="published")
    parts = [part for part in sample.strata().values() if len(part)]
    interval, *alone = (metric.approximate(one, confidence_level=0.9) for one in (sample, *parts))
    for bound in ("low", "high", "p_value"):
        means = np.average([float(getattr(one, bound)) for one in alone], weights=[len(part) for part in parts])
        assert getattr(interval, bound) == pytest.approx(means)
    if metric.name != "CORR":
        assert metric.estimate_given(STRATA) == pytest.approx(np.average(metric.estimate(STRATA), weights=[100, 60]))


def test_within_strata_p_value_against_shuffling_by_hand():
    sample, metric, draw = stratified(STRATA // 5), Difference(smoothing=0), np.random.default_rng(0)
    group, strata = sample.sensitive_features.values, sample.explanatory.values

    def value(output):
        tables = [np.histogram2d(group[strata == e], output[strata == e], bins=2)[0] for e in (0, 1)]
        return abs(sum(metric.estimate(table) * table.sum() for table in tables))

    observed, hits = value(sample.output.values), 0
    for _ in range(500):
        output = sample.output.values.copy()
        for e in (0, 1):
            output[strata == e] = draw.permutation(output[strata == e])
        hits += value(output) > observed + 1e-9
    assert metric.exact(sample, confidence_level=0.95, rng=rng()).p_value == pytest.approx(hits / 500, abs=0.08)


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


def test_smallest_p_value_of_a_permutation_test():
    sample = stratified(np.array([[[50, 0], [0, 50]], [[50, 0], [0, 50]]]))
    assert NMI(variant="published").exact(sample, confidence_level=0.95, rng=rng()).p_value == 1e-4


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
    x, noise = CORRELATED_IN_STRATA.sensitive_features.values, CORRELATED_IN_STRATA.output.values
    sample = Sample(Column("x", x), Column("y", 0.3 * x + noise), Column("part", STRATA_OF_PAIRS, ("a", "b")))
    parts = [Correlation().approximate(part, confidence_level=0.9) for part in sample.strata().values()]
    interval = Correlation().exact(sample, confidence_level=0.9, rng=rng())
    assert interval.low == pytest.approx(np.average([part.low for part in parts], weights=[200, 100]))
    assert interval.p_value < min(part.p_value for part in parts)
    assert Correlation().approximate(sample, confidence_level=0.9) == interval


def test_published_interval_is_that_of_fishers_z():
    sample = correlated(50)
    expected = pearsonr(sample.sensitive_features.values, sample.output.values)
    assert Correlation().estimate(sample) == pytest.approx(expected.statistic)
    interval = Correlation(variant="published").approximate(sample, confidence_level=0.9)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert interval.p_value == pytest.approx(expected.pvalue, rel=0.5)


def test_far_from_zero_numbers_lose_no_digits():
    near, far = (Correlation().approximate(correlated(50, shift=shift), confidence_level=0.9) for shift in (0, 1e6))
    assert far.low == pytest.approx(float(near.low), abs=1e-6)


@pytest.mark.parametrize("sample", [pairs(range(5), [1] * 5), pairs(range(5), [0.1] * 5), pairs([1, 2, 4], [3, 1, 2])])
def test_of_one_number_or_three_people_nothing_is_known(sample):
    interval = Correlation().exact(sample, confidence_level=0.95, rng=rng())
    assert (interval.low, interval.high, interval.p_value) == (-1, 1, 1)
    assert Correlation().effect(interval) == 0
    assert np.isfinite(Correlation().estimate(sample))


def test_perfect_correlation_is_capped():
    interval = Correlation().approximate(pairs(range(20), range(20)), confidence_level=0.95)
    assert 0.999 < interval.low < interval.high < 1


def test_published_permutation_p_value_against_all_permutations():
    x, y = [1, 5, 2, 8, 9, 4], [2.0, 3, 1, 9, 4, 7]
    r = [abs(np.corrcoef(x, shuffled)[0, 1]) for shuffled in permutations(y)]
    expected = np.mean(np.array(r) >= abs(np.corrcoef(x, y)[0, 1]) - 1e-9)
    assert Correlation(variant="published").exact(
        pairs(x, y), confidence_level=0.95, rng=rng()
    ).p_value == pytest.approx(expected, abs=0.02)


def test_an_interval_holds_zero_where_spread_grows_with_the_group_and_nothing_else_does():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        x = rng.normal(size=400)
        interval = Correlation().exact(pairs(x, np.abs(x) * rng.normal(size=400)), confidence_level=0.95, rng=rng)
        held += interval.low <= 0 <= interval.high
        assert (interval.p_value <= 0.05) == (not interval.low <= 0 <= interval.high)
    assert held >= 0.92 * 300  # 0.74 by Fisher's z


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
    assert len(Regression(top_k=35).labels(sample, confidence_level=0.95)) == 6
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


def test_labels_that_never_occur_or_say_the_same_and_groups_of_one_have_no_effect():
    sample, _ = tagged()
    never = Column("never", np.zeros(2_000, dtype=int), ("0", "1"))
    twice = Sample(sample.sensitive_features, (*sample.output, never, sample.output[2]))
    effects = np.maximum(Regression().approximate(twice, confidence_level=0.95).low, 0)
    assert effects[6] == 0
    assert np.isfinite(effects).all()
    alone = Regression().approximate(sample.take(sample.sensitive_features.values == 0), confidence_level=0.95)
    assert Regression().effect(alone) == 0


# resampling


def seeded():
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
    assert table_p_value(table, seeded()) == pytest.approx(expected, abs=error + 1e-5)


@pytest.mark.parametrize("table", [[[12, 4], [9, 17]], [[3, 40], [9, 31]], [[5, 5], [5, 5]], [[200, 240], [260, 200]]])
def test_two_by_two_p_value_is_distributed_as_that_of_random_tables(table):
    table, n_tables = np.array(table), 400
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows, columns) / table.sum()
    tables = random_table(rows, columns).rvs(n_tables * 300, random_state=seeded())
    statistic = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    hits = (statistic >= ((table - expected) ** 2 / expected).sum() * (1 - 1e-9)).reshape(-1, n_tables).sum(axis=1)
    generator = seeded()
    ours = [two_by_two_p_value(table, generator, n_tables=n_tables) for _ in range(300)]
    drawn = (1 + hits) / (1 + n_tables)
    assert np.mean(ours) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(150) + 1e-12)
    assert np.std(ours) == pytest.approx(drawn.std(), rel=0.25)


def test_smallest_p_value_and_tables_without_two_lines():
    assert table_p_value(np.array([[50, 0], [0, 50]]), seeded()) == 1 / 100_001
    assert table_p_value(np.array([[50, 3], [0, 0]]), seeded()) == 1


def test_memory_is_bounded_by_portions(monkeypatch):
    table = np.array([[5, 9], [8, 3]])
    whole = table_p_value(table, seeded(), n_tables=5_000)
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1_000)
    assert table_p_value(table, seeded(), n_tables=5_000) == pytest.approx(whole, abs=0.04)
    assert bootstrap_tables(table, seeded(), lambda t: t[:, 0, 0], n_resamples=777).shape == (777,)


def test_bootstrap_draws_the_filled_table():
    table = np.array([[0, 3], [6, 7]])
    drawn = bootstrap_tables(table, seeded(), lambda t: t.reshape(len(t), -1)[:, 0], n_resamples=50_000)
    assert drawn.mean() == pytest.approx(multinomial.mean(20, np.array([1, 4, 7, 8]) / 20)[0], abs=0.03)


def test_permuted_tables_keep_the_margins_of_every_stratum():
    tables = np.array([[[3, 2], [1, 4]], [[9, 0], [5, 6]]])
    kept = []
    permute_tables(tables, seeded(), lambda t: kept.append(t) or t[:, 0, 0, 0], n_resamples=100)
    for axis in (2, 3):
        np.testing.assert_array_equal(kept[0].sum(axis=axis), np.broadcast_to(tables.sum(axis=axis - 1), (100, 2, 2)))
    corner = permute_tables(tables, seeded(), lambda t: t[:, 0, 0, 0], n_resamples=50_000)
    assert (corner == 3).mean() == pytest.approx(hypergeom.pmf(3, 10, 5, 4), abs=0.01)


def test_permuted_correlations_have_mean_zero_and_the_known_variance():
    x, y = seeded().normal(size=(2, 20))
    drawn = permute_correlation(x, y, seeded())
    assert drawn.shape == (10_000,)
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.var() == pytest.approx(1 / 19, rel=0.05)  # holds exactly, whatever x and y


def test_percentile_interval_ignores_undefined_draws():
    assert percentile_interval(np.append(np.arange(101.0), np.nan), 0.9) == pytest.approx((5, 95))
