import numpy as np
import pytest

from fairlab.fairtest import (
    NMI,
    Column,
    ConditionalCorrelation,
    ConditionalDifference,
    ConditionalNMI,
    ConditionalRatio,
    Correlation,
    Difference,
    Ratio,
    Sample,
)

TABLES = np.array([[[30, 10], [20, 40]], [[5, 25], [10, 20]]])  # 100 and 60 people


def people(tables, n_empty=0):
    """Return a sample with one contingency table per stratum, and strata that do not occur."""
    strata, s, o = np.indices(tables.shape).reshape(3, -1).repeat(tables.ravel(), axis=1)
    names = tuple(f"e{i}" for i in range(len(tables) + n_empty))
    return Sample(
        Column("group", s, ("f", "m")), Column("output", o, ("no", "yes")), Column("department", strata, names)
    )


def rng():
    return np.random.default_rng(5)


def test_conditional_difference_by_hand():
    estimate = ConditionalDifference(smoothing=0).estimate(TABLES)
    assert estimate == pytest.approx((100 * (10 / 40 - 40 / 60) + 60 * (25 / 30 - 20 / 30)) / 160)


@pytest.mark.parametrize(
    ("conditional", "plain"),
    [
        (ConditionalNMI(reading="as_published"), NMI(reading="as_published")),
        (ConditionalDifference(smoothing=1), Difference(smoothing=1)),
        (ConditionalRatio(smoothing=1), Ratio(smoothing=1)),
    ],
    ids=lambda metric: metric.name,
)
def test_estimate_and_training_interval_are_means_weighted_by_size(conditional, plain):
    weights = [100, 60]
    assert conditional.estimate(TABLES) == pytest.approx(np.average(plain.estimate(TABLES), weights=weights))
    interval, parts = conditional.approximate(people(TABLES), conf=0.9), plain.interval(TABLES, conf=0.9)
    for bound in ("low", "high", "p_value"):
        assert getattr(interval, bound) == pytest.approx(np.average(getattr(parts, bound), weights=weights))


def test_strata_that_do_not_occur_change_nothing_but_are_hypotheses():
    metric = ConditionalDifference()
    one, other = (metric.exact(people(TABLES, n_empty=n), conf=0.95, rng=rng()) for n in (0, 2))
    assert one == other
    assert [h.part for h in metric.hypotheses(people(TABLES, n_empty=1), ())] == [
        "", "department: e0", "department: e1", "department: e2"
    ]  # fmt: skip


def test_smallest_stratum_that_occurs():
    metric = ConditionalNMI()
    statistics = metric.statistics(people(TABLES, n_empty=1), np.zeros(160, dtype=int), 2)
    assert statistics.shape == (2, 3, 2, 2)
    assert metric.size(statistics).tolist() == [160, 0]
    assert metric.smallest_stratum(statistics).tolist() == [60, 0]


def test_simpsons_paradox():
    # Two departments with equal rates for both groups; women apply where few are admitted.
    tables = np.array([[[20, 80], [80, 320]], [[320, 80], [80, 20]]])
    sample = people(tables)
    plain = Difference(smoothing=0).exact(sample, conf=0.95, rng=rng())
    given = ConditionalDifference(smoothing=0).exact(sample, conf=0.95, rng=rng())
    assert plain.p_value < 1e-4
    assert given.p_value > 0.5
    assert given.low < 0 < given.high


def test_within_strata_p_value_against_shuffling_by_hand():
    sample, metric = people(TABLES // 5), ConditionalDifference(smoothing=0)
    draw = np.random.default_rng(0)

    def value(output):
        return sum(
            Difference(smoothing=0).estimate(
                np.histogram2d(sample.protected.values[m], output[m], bins=(2, 2), range=((0, 1), (0, 1)))[0]
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
    assert metric.exact(sample, conf=0.95, rng=rng()).p_value == pytest.approx(hits / 500, abs=0.08)


def test_smallest_p_value_of_a_permutation_test():
    sample = people(np.array([[[50, 0], [0, 50]], [[50, 0], [0, 50]]]))
    assert ConditionalNMI(reading="as_published").exact(sample, conf=0.95, rng=rng()).p_value == 1e-4


def test_published_conditional_correlation_averages_bounds_and_p_values():
    draw = np.random.default_rng(2)
    x, noise = draw.normal(size=(2, 3_500))
    strata = np.repeat([0, 1], [2_000, 1_500])
    sample = Sample(
        Column("age", x), Column("error", x * strata + noise), Column("confidence", strata, ("high", "low", "none"))
    )
    interval = ConditionalCorrelation(reading="as_published").exact(sample, conf=0.9, rng=rng())
    parts = [Correlation(reading="as_published").approximate(sample.take(strata == e), conf=0.9) for e in (0, 1)]
    for bound in ("low", "high", "p_value"):
        values = [float(getattr(part, bound)) for part in parts]
        assert getattr(interval, bound) == pytest.approx(np.average(values, weights=[2_000, 1_500]))
    trained = ConditionalCorrelation(reading="as_published").approximate(sample, conf=0.9)
    assert (trained.low, trained.high) == pytest.approx((interval.low, interval.high))


def test_plain_metrics_know_their_conditional_version():
    assert isinstance(NMI().conditional(), ConditionalNMI)
    assert isinstance(Correlation().conditional(), ConditionalCorrelation)
    assert Ratio(smoothing=2).conditional().stratum_metric.smoothing == 2
    conditional = Difference(smoothing=0).conditional()
    assert conditional.stratum_metric.smoothing == 0
    assert conditional.conditional() is conditional


def test_without_explanatory_attribute():
    sample = people(TABLES)
    with pytest.raises(ValueError, match="metric COND-NMI needs an explanatory attribute, found none"):
        ConditionalNMI().check(Sample(sample.protected, sample.output))


def test_difference_within_strata_by_hand():
    interval = ConditionalDifference().sound(TABLES, conf=0.9)
    parts = [Difference().sound(table, conf=0.9) for table in TABLES]
    gaps = [-gap for gap in (30 / 40 - 20 / 60, 5 / 30 - 10 / 30)]
    mean = np.average(gaps, weights=[100, 60])
    below = np.sqrt(sum((n / 160 * (part.low - gap)) ** 2 for n, part, gap in zip((100, 60), parts, gaps, strict=True)))
    assert interval.low == pytest.approx(mean - below)


def test_a_sound_p_value_of_strata_is_no_mere_mean():
    fair, unfair = np.array([[20, 20], [20, 20]]), np.array([[40, 0], [0, 40]])
    interval = ConditionalNMI().sound(np.stack([fair, unfair]), conf=0.9)
    assert interval.p_value == 1  # twice the mean of 1 and nearly 0
    tested = ConditionalNMI().exact(people(np.stack([fair, unfair])), conf=0.9, rng=rng())
    assert tested.p_value == pytest.approx(1 / 10_001)


def test_sound_conditional_correlation_adds_up_the_strata():
    draw = np.random.default_rng(2)
    x, noise = draw.normal(size=(2, 300))
    strata = np.repeat([0, 1], [200, 100])
    sample = Sample(Column("x", x), Column("y", 0.3 * x + noise), Column("part", strata, ("a", "b")))
    parts = [Correlation().approximate(sample.take(strata == e), conf=0.9) for e in (0, 1)]
    interval = ConditionalCorrelation().exact(sample, conf=0.9, rng=rng())
    assert interval.low == pytest.approx(np.average([part.low for part in parts], weights=[200, 100]))
    assert interval.p_value < min(part.p_value for part in parts)
    assert ConditionalCorrelation().approximate(sample, conf=0.9) == interval
