import numpy as np
import pytest

from fairlab.fairtest import NMI, Column, Correlation, Difference, Interval, Metric, Ratio, Sample
from fairlab.fairtest.metric import require_categorical


class Share(Metric):
    """Share of the second output, as far as it is from nothing."""

    name = "SHARE"

    def approximate(self, sample, *, conf):
        share = sample.output.values.mean()
        return Interval(share - 0.1, share + 0.1, 0.5)


SAMPLE = Sample(Column("s", np.array([0, 0, 1, 1]), ("a", "b")), Column("o", np.array([0, 1, 1, 1]), ("no", "yes")))


def test_effect_is_how_far_an_interval_is_from_0():
    bounds = np.array([[0.1, 0.3], [-0.4, -0.2], [-0.1, 0.1]])
    np.testing.assert_allclose(Share().effect(Interval(*bounds.T, 0.5)), [0.1, 0.2, 0])


def test_children_of_categories_are_the_groups():
    children = Share().children(SAMPLE, np.array([0, 0, 2, 2]), 3, ordered=False, conf=0.95)
    np.testing.assert_allclose(children.effect, [0.4, 0, 0.9])
    assert children.size.tolist() == children.smallest_stratum.tolist() == [2, 0, 2]


def test_children_of_numbers_are_the_two_sides_of_each_cut():
    children = Share().children(SAMPLE, np.array([0, 1, 2, 2]), 3, ordered=True, conf=0.95)
    np.testing.assert_allclose(children.effect, [[0, 0.9], [0.4, 0.9]])
    assert children.size.tolist() == [[1, 3], [2, 2]]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "metric", [metric(reading="as_published") for metric in (NMI, Difference, Ratio, Correlation)], ids=lambda m: m.name
)
def test_counts_and_sums_give_the_children_that_one_by_one_gives(metric, ordered):
    rng = np.random.default_rng(0)
    sample = Sample(*(Column(name, rng.integers(2, size=200), ("a", "b")) for name in "so"))
    groups = rng.integers(4, size=200)
    at_once = metric.children(sample, groups, 4, ordered=ordered, conf=0.9)
    one_by_one = Metric.children(metric, sample, groups, 4, ordered=ordered, conf=0.9)
    np.testing.assert_allclose(at_once.effect, one_by_one.effect, atol=1e-12)
    np.testing.assert_array_equal(at_once.size, one_by_one.size)


def test_a_metric_of_ones_own_is_tested_as_it_is_approximated_and_has_no_conditional_version():
    exact = Share().exact(SAMPLE, conf=0.95, rng=np.random.default_rng(0))
    assert exact == Share().approximate(SAMPLE, conf=0.95)
    assert Share().labels(SAMPLE, conf=0.95) == ()
    [hypothesis] = Share().hypotheses(SAMPLE, ())
    assert (hypothesis.part, hypothesis.sample) == ("", SAMPLE)
    with pytest.raises(ValueError, match="metric SHARE has no conditional version"):
        Share().conditional()


def test_columns_that_a_metric_is_not_for():
    with pytest.raises(ValueError, match="metric M needs categories; column 'x' holds numbers"):
        require_categorical(Column("x", np.zeros(2)), "M")
    letters = Column("x", np.arange(6), tuple("abcdef"))
    with pytest.raises(ValueError, match="metric M needs two categories; column 'x' has 6: a, b, c, d, e"):
        require_categorical(letters, "M", binary=True)
    require_categorical(letters, "M")
