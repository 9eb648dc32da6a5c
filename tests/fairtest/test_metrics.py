from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import (
    binom,
    chi2_contingency,
    entropy,
    fisher_exact,
    hypergeom,
    multinomial,
    ncx2,
    norm,
    pearsonr,
    random_table,
)
from scipy.stats.contingency import expected_freq
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from fairlab.fairtest import (
    NMI,
    Column,
    Correlation,
    Difference,
    Metric,
    Ratio,
    Regression,
    Sample,
    look_level,
    resampling,
)
from fairlab.fairtest.resampling import (
    bootstrap_tables,
    is_sparse,
    percentile_interval,
    permute_tables,
    table_p_value,
)
from fairlab.papers.fairtest.lattice import two_by_two_p_value
from fairlab.statistics import g_test


def rng(seed=5):
    return np.random.default_rng(seed)


def exact(metric, sample, confidence_level=0.95):
    """Return what a test on a sample says, seeded."""
    return metric.exact(sample, confidence_level=confidence_level, rng=rng())


def numbers(interval):
    return tuple(map(float, (interval.low, interval.high, interval.p_value)))


def pairs(x, y):
    return Sample(Column("x", np.asarray(x, dtype=float)), Column("y", np.asarray(y, dtype=float)))


def correlated(n, shift=0.0):
    x, noise = rng(n).normal(size=(2, n))
    return pairs(x + shift, 0.5 * x + noise + shift)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("metric", [NMI, Difference, Ratio, Correlation])
def test_counts_and_sums_give_the_children_that_one_by_one_gives(metric, ordered):
    metric, draw = metric(variant="published"), rng()
    sample = Sample(*(Column(name, draw.integers(2, size=200), ("a", "b")) for name in "so"))
    given, options = (sample, draw.integers(4, size=200), 4), {"ordered": ordered, "confidence_level": 0.9}
    at_once, one_by_one = metric.children(*given, **options), Metric.children(metric, *given, **options)
    np.testing.assert_allclose(at_once[0], one_by_one[0], atol=1e-12)
    np.testing.assert_array_equal(at_once[1:], one_by_one[1:])


TABLE = np.array([[30, 10], [20, 40]])


def people(table):
    """Return a sample with the given counts of groups (rows) and outputs (columns)."""
    table = np.asarray(table)
    s, o = (axis.ravel() for axis in np.indices(table.shape))
    categories = [tuple(f"{letter}{i}" for i in range(n)) for letter, n in zip("so", table.shape, strict=True)]
    return Sample(
        Column("group", np.repeat(s, table.ravel()), categories[0]),
        Column("output", np.repeat(o, table.ravel()), categories[1]),
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_codes_of_any_type_are_counted_alike(dtype):
    draw, names = rng(), tuple(f"c{code}" for code in range(30))  # 900 cells do not fit into a byte
    sensitive, output = draw.integers(30, size=(2, 3_000))
    sample = Sample(Column("group", sensitive.astype(dtype), names), Column("output", output.astype(dtype), names))
    expected = contingency_matrix(output, sensitive)
    assert (sample.counts().drop(index="Total", columns="Total").to_numpy() == expected).all()
    assert (NMI().of_all(sample)[0] == expected.T).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_missing_number_is_refused_and_no_sign_of_fairness(number):
    with pytest.raises(ValueError, match="column 'x', found 1 missing or infinite ones"):
        pairs([1, 2, 3, number, 5], range(5))


# NMI


@given(arrays(int, st.tuples(st.integers(2, 4), st.integers(2, 4)), elements=st.integers(0, 60)))
def test_published_nmi_is_mutual_information_of_the_smoothed_table_over_the_smaller_entropy(table):
    rows, columns = np.indices(table.shape).reshape(2, -1).repeat((table + 1).ravel(), axis=1)
    information = mutual_info_score(rows, columns)
    smaller = min(mutual_info_score(rows, rows), mutual_info_score(columns, columns))
    assert NMI(variant="published").estimate(table) == pytest.approx(information / smaller, abs=1e-9)


def test_published_nmi_interval_is_where_the_noncentral_distribution_has_the_statistic_in_its_tails():
    g, p_value, df, _ = chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    # An empty row is no degree of freedom.
    assert NMI().interval(np.vstack([TABLE, [0, 0]]), confidence_level=0.9).p_value == pytest.approx(p_value)
    interval, smoothed = NMI(variant="published").interval(TABLE, confidence_level=0.9), TABLE + 1
    smaller = min(entropy(smoothed.sum(axis=axis)) for axis in (0, 1))
    noncentrality = np.array([interval.low, interval.high]) * smaller * 2 * smoothed.sum() - df
    assert [*ncx2.cdf(g, df, noncentrality), interval.p_value] == pytest.approx([0.95, 0.05, p_value])


@pytest.mark.parametrize(
    ("metric", "table"),
    [
        (Difference(), [[9, 1], [3, 7]]),
        (Ratio(), [[9, 1], [3, 7]]),
        (NMI(), [[12, 4], [9, 17]]),  # probabilities order such tables as chi-square does
        (NMI(), [[12, 4], [0, 0], [9, 17]]),
    ],
)
def test_small_tables_of_two_groups_are_tested_by_fisher_and_as_published_nmi_by_drawn_tables(metric, table):
    sample, p_value = people(table), fisher_exact([table[0], table[-1]]).pvalue
    low, high, tested = numbers(exact(metric, sample))
    assert tested == pytest.approx(p_value, rel=1e-9)
    if metric.name == "NMI":
        assert exact(NMI(variant="published"), sample).p_value == table_p_value(np.array(table), rng()) != p_value
    else:
        assert (low, high) == numbers(metric.approximate(sample, confidence_level=0.95))[:2]


def test_large_tables_are_no_trouble():
    table = np.array([[400_000, 100_000], [100_000, 400_000]])
    low, high, p_value = numbers(NMI().sound(table, confidence_level=0.95))
    assert 0 == p_value < low < NMI().estimate(table) < high < 1


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
    low, high = center + error * norm.ppf([0.025, 0.975])
    found = metric.estimate(TABLE), *numbers(interval), metric.effect(interval)
    assert found == pytest.approx((float(scale(center)), *scale([low, high]), 2 * norm.sf(-center / error), -high))


NOTHING = {NMI: [(0, 1, 1), (0, 1, 1)], Difference: [(0, 1, 1), (-1, 1, 1)], Ratio: [(1, 1, 1), (0, np.inf, 1)]}


@pytest.mark.parametrize("metric", NOTHING)
@pytest.mark.parametrize("table", [[[5, 0], [7, 0]], [[0, 0], [7, 3]], [[0, 0], [0, 0]]])
def test_of_one_value_nothing_is_known(metric, table):
    published = metric(variant="published").interval(np.array(table), confidence_level=0.95)
    known = [published] + [metric().sound(np.array(table), confidence_level=0.95)] * (0 in np.sum(table, axis=1))
    expected = [(numbers, 0) for numbers in NOTHING[metric][: len(known)]]
    assert [(numbers(interval), metric().effect(interval)) for interval in known] == expected


def test_bounds_of_rates_at_the_edge():
    assert Difference(smoothing=0).interval(np.array([[1, 30], [3, 0]]), confidence_level=0.95).high == 1
    assert numbers(Ratio(smoothing=0).interval(np.array([[9, 0], [5, 4]]), confidence_level=0.95)) == (0, np.inf, 1)


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
    theory, tested = (
        np.array([numbers(result) for result in results])
        for results in (
            [metric.approximate(sample, confidence_level=0.95) for sample in (small, large)],
            [exact(metric, sample) for sample in (small, large)],
        )
    )
    assert tested[:, 2] == pytest.approx([smallest, theory[1, 2]])
    assert ((tested == theory)[:, 0] == [False, metric.name != "NMI"]).all()
    np.testing.assert_allclose(tested[:, :2], theory[:, :2], atol=0.2 * (theory[0, 1] - theory[0, 0]))


# sound by default


def test_nmi_that_chance_explains_holds_zero_and_its_estimate_is_less_what_chance_adds():
    fair, unfair = np.array([[26, 24], [24, 26]]), np.array([[45, 5], [5, 45]])
    tested = exact(NMI(), people(fair))
    assert (tested.low, NMI().estimate(fair), tested.p_value > 0.05) == (0, 0, True)
    tested, plain = exact(NMI(), people(unfair)), 1 - (0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(0.5)
    assert 0 < tested.low < NMI().estimate(unfair) < tested.high
    assert NMI().estimate(unfair) == pytest.approx(plain - 1 / 200 / np.log(2), abs=2e-4)


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
    whole, *alone = (numbers(metric.approximate(one, confidence_level=0.9)) for one in (sample, *parts))
    assert whole == pytest.approx(np.average(alone, axis=0, weights=[len(part) for part in parts]))


def test_within_strata_p_value_against_shuffling_by_hand():
    sample, metric, draw = stratified(STRATA // 5), Difference(smoothing=0), rng(0)
    group, strata, output = (column.values for column in (sample.sensitive_features, sample.explanatory, sample.output))

    def value(shuffled):
        tables = [contingency_matrix(group[strata == e], shuffled[strata == e]) for e in (0, 1)]
        return abs(sum(metric.estimate(table) * table.sum() for table in tables))

    # The strata come one after the other, so that sorting by them and by chance shuffles within each.
    orders = [np.lexsort([draw.random(len(strata)), strata]) for _ in range(500)]
    hits = np.mean([value(output[order]) > value(output) + 1e-9 for order in orders])
    assert exact(metric, sample).p_value == pytest.approx(hits, abs=0.08)


def test_strata_that_do_not_occur_change_nothing_but_are_strata():
    one, other = (exact(Difference(), stratified(STRATA, n_empty=n)) for n in (0, 2))
    assert one == other
    some = stratified(STRATA, n_empty=1)
    assert list(some.strata()) == ["e0", "e1", "e2"]
    _, *sizes = NMI().children(some, np.zeros(160, dtype=int), 2, ordered=False, confidence_level=0.95)
    assert np.array(sizes).tolist() == [[160, 0], [60, 0]], "and of the smallest stratum that occurs"


def test_difference_within_strata_by_hand():
    interval = Difference().sound_given(STRATA, confidence_level=0.9)
    parts = [Difference().sound(table, confidence_level=0.9) for table in STRATA]
    gaps = [-gap for gap in (30 / 40 - 20 / 60, 5 / 30 - 10 / 30)]
    below = np.sqrt(sum((n / 160 * (part.low - gap)) ** 2 for n, part, gap in zip((100, 60), parts, gaps, strict=True)))
    assert interval.low == pytest.approx(np.average(gaps, weights=[100, 60]) - below)


def in_strata(n, shares, difference, draw):
    """Return people in as many strata as there are shares of the second group; rates differ alike in all of them."""
    stratum = draw.integers(len(shares), size=n)
    group = (draw.random(n) < np.asarray(shares)[stratum]).astype(int)
    hit = (draw.random(n) < 0.3 + difference * (group == 0)).astype(int)
    given = Column("job", stratum, tuple(map(str, range(len(shares)))))
    return Sample(Column("sex", group, ("f", "m")), Column("offer", hit, ("no", "yes")), given)


@pytest.mark.parametrize(
    ("n", "shares"),
    [(2_000, [0.5, 0] * 50), (1_500, [0.5] * 500), (4_000, [0.1] * 200)],
    ids=["strata of one group", "strata of three people", "few of the second group"],
)
@pytest.mark.parametrize("difference", [0, 0.2, 0.4])
def test_the_difference_within_strata_is_held_although_some_lack_a_group(n, shares, difference):
    draw, held = rng(), []
    for _ in range(60):
        found = Difference().approximate(in_strata(n, shares, difference, draw), confidence_level=0.95)
        held.append(found.low <= difference <= found.high)
    assert np.mean(held) >= 0.87  # of 0.95, with a chance of error of 0.01


@pytest.mark.parametrize(("metric", "nothing", "ends"), [(Difference, 0, (-1, 1)), (Ratio, 1, (0, np.inf))])
def test_of_strata_without_both_groups_nothing_is_known(metric, nothing, ends):
    one_group_each = np.array([[[3, 7], [0, 0]], [[0, 0], [5, 5]]])
    assert metric().estimate_given(one_group_each) == nothing
    found = metric().sound_given(one_group_each, confidence_level=0.95)
    assert numbers(found) == (*ends, 1)
    alike = np.array([[4, 6], [4, 6]])
    assert metric().estimate_given(np.array([alike, one_group_each[0]])) == nothing
    apart = np.array([[2, 8], [6, 4]])
    assert metric().estimate_given(np.array([apart, *one_group_each])) == metric().estimate(apart)
    beside = metric().sound_given(np.array([one_group_each, [apart, alike]]), confidence_level=0.95)
    assert (beside.low[0], beside.high[0]) == ends


def test_a_sound_p_value_of_strata_is_no_mere_mean():
    tables = np.array([[[20, 20], [20, 20]], [[40, 0], [0, 40]]])
    assert NMI().sound_given(tables, confidence_level=0.9).p_value == 1  # twice the mean of 1 and nearly 0
    assert exact(NMI(), stratified(tables)).p_value == pytest.approx(1 / 10_001)


def test_information_within_strata_that_chance_explains_holds_zero_however_many_strata_there_are():
    draw, tested = rng(0), []
    for _ in range(20):
        sample = stratified(draw.multinomial(60, [0.2, 0.3, 0.2, 0.3], size=20).reshape(20, 2, 2))
        tested.append([exact(NMI(), sample), NMI().approximate(sample, confidence_level=0.95)])
    assert all(each.low == 0 for pair in tested for each in pair if each.p_value > 0.05)
    assert sum(permuted.low > 0 for permuted, _ in tested) <= 4  # more with a probability of 0.003


def test_sound_conditional_correlation_adds_up_the_strata():
    x, noise = CORRELATED_IN_STRATA.sensitive_features, CORRELATED_IN_STRATA.output.values
    sample = Sample(x, Column("y", 0.3 * x.values + noise), Column("part", STRATA_OF_PAIRS, ("a", "b")))
    parts = [Correlation().approximate(part, confidence_level=0.9) for part in sample.strata().values()]
    interval = exact(Correlation(), sample, 0.9)
    assert interval.low == pytest.approx(np.average([part.low for part in parts], weights=[200, 100]))
    assert interval.p_value < min(part.p_value for part in parts)
    assert Correlation().approximate(sample, confidence_level=0.9) == interval


def test_published_interval_is_that_of_fishers_z():
    sample = correlated(50)
    expected = pearsonr(sample.sensitive_features.values, sample.output.values)
    *interval, p_value = numbers(Correlation(variant="published").approximate(sample, confidence_level=0.9))
    found = Correlation().estimate(sample), *interval
    assert found == pytest.approx((expected.statistic, *expected.confidence_interval(0.9)))
    assert p_value == pytest.approx(expected.pvalue, rel=0.5)


def test_far_from_zero_numbers_lose_no_digits():
    near, far = (Correlation().approximate(correlated(50, shift=shift), confidence_level=0.9) for shift in (0, 1e6))
    assert far.low == pytest.approx(float(near.low), abs=1e-6)


@pytest.mark.parametrize("sample", [pairs(range(5), [1] * 5), pairs(range(5), [0.1] * 5), pairs([1, 2, 4], [3, 1, 2])])
def test_of_one_number_or_three_people_nothing_is_known(sample):
    interval = exact(Correlation(), sample)
    assert (*numbers(interval), Correlation().effect(interval)) == (-1, 1, 1, 0)
    assert np.isfinite(Correlation().estimate(sample))


@pytest.mark.parametrize(("x", "y"), [([1, 5, 2, 8, 9, 4], [2.0, 3, 1, 9, 4, 7]), ([1, 5, 2, 8], [2.0, 3, 1, 9])])
def test_published_permutation_p_value_against_all_permutations(x, y):
    r = np.array([abs(np.corrcoef(x, shuffled)[0, 1]) for shuffled in permutations(y)])
    expected = pytest.approx(np.mean(r >= r[0] - 1e-9), abs=0.02)
    assert exact(Correlation(variant="published"), pairs(x, y)).p_value == expected


def tagged(n=2_000, n_labels=6):
    """Return people whose label 2 goes with the group strongly, label 4 weakly, and the others not."""
    draw = rng()
    group, rates = draw.integers(2, size=n), np.full((n, n_labels), 0.3)
    rates[:, [2, 4]] += np.outer(group, [0.4, -0.2])
    labels = (draw.random((n, n_labels)) < rates).astype(int)
    columns = tuple(Column(f"tag {j}", labels[:, j], ("0", "1")) for j in range(n_labels))
    return Sample(Column("group", group, ("a", "b")), columns), labels


def test_strongest_labels_come_first_and_make_the_effect():
    sample, metric = tagged()[0], Regression(top_k=2)
    assert len(Regression(top_k=35).labels(sample, confidence_level=0.95)) == 6
    assert metric.labels(sample, confidence_level=0.95) == ("tag 2", "tag 4")
    interval = metric.approximate(sample, confidence_level=0.95)
    assert metric.effect(interval) == pytest.approx((interval.low[2] - interval.high[4]) / 2)


def test_labels_that_never_occur_or_say_the_same_and_groups_of_one_have_no_effect():
    sample, _ = tagged()
    never = Column("never", np.zeros(2_000, dtype=int), ("0", "1"))
    twice = Sample(sample.sensitive_features, (*sample.output, never, sample.output[2]))
    effects = np.maximum(Regression().approximate(twice, confidence_level=0.95).low, 0)
    assert (effects[6], np.isfinite(effects).all()) == (0, True)
    alone = Regression().approximate(sample.take(sample.sensitive_features.values == 0), confidence_level=0.95)
    assert Regression().effect(alone) == 0


# resampling


@pytest.mark.parametrize(
    ("groups", "outputs"),
    [([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 0]), ([0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 2, 2, 2, 0])],
)
def test_monte_carlo_p_value_against_all_permutations(groups, outputs):
    tables = np.eye(3)[groups].T @ np.eye(3)[np.array(list(permutations(outputs)))]
    tables = tables[:, : max(groups) + 1, : max(outputs) + 1].astype(int)
    apart = tables - expected_freq(tables[0])
    statistics = (apart**2 / expected_freq(tables[0])).sum(axis=(1, 2))
    expected = np.mean(statistics >= statistics[0] - 1e-9)
    error = 4 * np.sqrt(expected * (1 - expected) / resampling.TABLES)
    assert table_p_value(tables[0], rng()) == pytest.approx(expected, abs=error + 1e-5)


@pytest.mark.parametrize("table", [[[12, 4], [9, 17]], [[3, 40], [9, 31]], [[5, 5], [5, 5]], [[200, 240], [260, 200]]])
def test_two_by_two_p_value_is_distributed_as_that_of_random_tables(table):
    table, n_tables, generator = np.array(table), 400, rng()
    expected = expected_freq(table)
    tables = random_table(table.sum(axis=1), table.sum(axis=0)).rvs(n_tables * 300, random_state=rng())
    statistic = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    hits = (statistic >= ((table - expected) ** 2 / expected).sum() * (1 - 1e-9)).reshape(-1, n_tables).sum(axis=1)
    ours = [two_by_two_p_value(table, generator, n_tables=n_tables) for _ in range(300)]
    drawn = (1 + hits) / (1 + n_tables)
    assert np.mean(ours) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(150) + 1e-12)
    assert np.std(ours) == pytest.approx(drawn.std(), rel=0.25)


@pytest.mark.parametrize(("rare", "is_drawn"), [(7, True), (13, False)])
def test_tables_with_few_people_expected_in_a_cell_are_tested_by_drawn_ones_at_any_size(rare, is_drawn):
    rows, columns = np.array([1_200, 800]), np.array([1_000, 1_000 - rare, rare])  # 800 of 2,000 are 0.4 of the rare
    table = random_table(rows, columns).rvs(random_state=rng())
    p_value = NMI().exact_table(table, confidence_level=0.95, rng=rng()).p_value
    drawn, by_theory = table_p_value(table, rng()), float(NMI().sound(table, confidence_level=0.95).p_value)
    assert p_value == (drawn if is_drawn else by_theory) != (by_theory if is_drawn else drawn)
    published = NMI(variant="published").exact_table(table, confidence_level=0.95, rng=rng())
    assert published.p_value == pytest.approx(float(g_test(table)[2]))
    assert by_theory == pytest.approx(chi2_contingency(table).pvalue)


@pytest.mark.parametrize(("shape", "n"), [((50, 10), 8_000), ((2, 30), 2_001)])
def test_tables_of_many_cells_are_rejected_as_seldom_as_each_level_says(shape, n):
    tables = rng().multinomial(n, np.full(np.prod(shape), 1 / np.prod(shape)), size=2_000).reshape(-1, *shape)
    p_values = NMI().sound(tables, confidence_level=0.95).p_value
    assert not any(map(is_sparse, tables[:100]))
    for level in (0.05, 0.01):
        assert (p_values <= level).sum() <= binom.ppf(0.999, 2_000, level)


@pytest.mark.parametrize(("n", "rows", "columns"), [(1_001, 100, 50), (1_500, 50, 150), (3_000, 30, 600)])
def test_tables_of_two_by_two_are_rejected_as_seldom_as_each_level_says(n, rows, columns):
    corner = np.arange(rows + 1)  # five or six of them by chance
    corner = corner[(corner <= columns) & (corner >= rows + columns - n)]
    tables = [np.array([[k, rows - k], [columns - k, n - rows - columns + k]]) for k in corner]
    p_values = np.array([NMI().exact_table(each, confidence_level=0.95, rng=rng()).p_value for each in tables])
    for level in (look_level(number, 0.05) for number in range(1, 21)):
        assert hypergeom.pmf(corner[p_values <= level], n, columns, rows).sum() <= level


def test_smallest_p_value_and_tables_without_two_lines():
    found = [table_p_value(np.array(table), rng()) for table in ([[50, 0], [0, 50]], [[50, 3], [0, 0]])]
    assert found == [1 / 100_001, 1]


def test_memory_is_bounded_by_portions(monkeypatch):
    table = np.array([[5, 9], [8, 3]])
    whole = table_p_value(table, rng(), n_tables=5_000)
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1_000)
    assert table_p_value(table, rng(), n_tables=5_000) == pytest.approx(whole, abs=0.04)
    assert bootstrap_tables(table, rng(), lambda t: t[:, 0, 0], n_resamples=777).shape == (777,)


def test_bootstrap_draws_the_filled_table():
    drawn = bootstrap_tables(np.array([[0, 3], [6, 7]]), rng(), lambda t: t[:, 0, 0], n_resamples=50_000)
    assert drawn.mean() == pytest.approx(multinomial.mean(20, np.array([1, 4, 7, 8]) / 20)[0], abs=0.03)


def test_permuted_tables_keep_the_margins_of_every_stratum():
    tables, kept = np.array([[[3, 2], [1, 4]], [[9, 0], [5, 6]]]), []
    corner = permute_tables(tables, rng(), lambda t: kept.append(t) or t[:, 0, 0, 0], n_resamples=50_000)
    for axis in (2, 3):
        assert (np.concatenate(kept).sum(axis=axis) == tables.sum(axis=axis - 1)).all()
    assert (corner == 3).mean() == pytest.approx(hypergeom.pmf(3, 10, 5, 4), abs=0.01)


def test_percentile_interval_ignores_undefined_draws():
    assert percentile_interval(np.append(np.arange(101.0), np.nan), 0.9) == pytest.approx((5, 95))
