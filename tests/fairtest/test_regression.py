import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from fairlab.fairtest import Column, Difference, Regression, Sample


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
    group = sample.protected.values
    model = LogisticRegression(solver="liblinear").fit(labels, group)
    error = np.sqrt((model.predict(labels) != group).mean() * np.diag(np.linalg.inv(labels.T @ labels)))
    interval = Regression().approximate(sample, conf=0.95)
    np.testing.assert_allclose(interval.low, model.coef_[0] + norm.ppf(0.025) * error)
    np.testing.assert_allclose(interval.high, model.coef_[0] + norm.ppf(0.975) * error)


def test_strongest_labels_come_first_and_make_the_effect():
    sample, _ = tagged()
    metric = Regression(top_k=2)
    assert metric.labels(sample, conf=0.95) == ("tag 2", "tag 4")
    interval = metric.approximate(sample, conf=0.95)
    assert metric.effect(interval) == pytest.approx((interval.low[2] - interval.high[4]) / 2)


def test_every_label_found_is_a_hypothesis_of_the_label_metric():
    sample, labels = tagged()
    metric = Regression(top_k=2, label_metric=Difference(smoothing=0))
    hypotheses = metric.hypotheses(sample, ("tag 4", "tag 2"))
    assert [h.part for h in hypotheses] == ["tag 4", "tag 2"]
    np.testing.assert_array_equal(hypotheses[1].sample.output.values, labels[:, 2])
    assert hypotheses[0].metric.smoothing == 0


def test_more_labels_asked_for_than_there_are():
    sample, _ = tagged()
    assert len(Regression(top_k=35).labels(sample, conf=0.95)) == 6


def test_labels_that_never_occur_or_say_the_same_and_groups_of_one_have_no_effect():
    sample, _ = tagged()
    never = Column("never", np.zeros(2_000, dtype=int), ("0", "1"))
    twice = Sample(sample.protected, (*sample.output, never, sample.output[2]))
    effects = np.maximum(Regression().approximate(twice, conf=0.95).low, 0)
    assert effects[6] == 0
    assert np.isfinite(effects).all()
    alone = Regression().approximate(sample.take(sample.protected.values == 0), conf=0.95)
    assert Regression().effect(alone) == 0


def test_bad_input():
    sample, _ = tagged()
    with pytest.raises(ValueError, match="top_k: expected a whole number of at least 1, found 0"):
        Regression(top_k=0)
    count = Column("count", np.arange(2_000.0))
    with pytest.raises(ValueError, match="metric REG needs categories; column 'count' holds numbers"):
        Regression().check(Sample(sample.protected, (count,)))
