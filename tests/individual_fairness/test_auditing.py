import numpy as np
import pytest

from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import (
    DivergenceWarning,
    audit,
    error_rate_ratio_test,
    gradient_flow_attack,
    loss_ratio_test,
)
from fairlab.models import LinearClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (X[:, 1] + 0.5 * RNG.normal(size=200) > 0).astype(int)
METRIC = FairMetric.from_directions([[1.0, 0.0]])  # the first feature is free to move
ATTACK = {"regularizer": 50.0, "step_size": 0.01, "n_steps": 100}


def test_an_audit_is_the_attack_and_both_tests_of_it():
    model = LinearClassifier([1.0, 2.0], 0.1)
    found = audit(model, METRIC, X, Y, threshold=1.5, level=0.1, **ATTACK)
    attack = gradient_flow_attack(model, METRIC, X, Y, **ATTACK)
    np.testing.assert_array_equal(found.attack.X, attack.X)
    options = {"threshold": 1.5, "level": 0.1}
    for test, expected in (
        (found.loss_ratio, loss_ratio_test(attack.loss, attack.attacked_loss, **options)),
        (found.error_rate_ratio, error_rate_ratio_test(attack.wrong, attack.attacked_wrong, **options)),
    ):
        assert (test.statistic, test.standard_error) == (expected.statistic, expected.standard_error)
        assert (test.threshold, test.level) == (1.5, 0.1)


@pytest.mark.parametrize(("weight", "unfair"), [(0.0, False), (3.0, True)])
def test_whoever_looks_at_the_free_feature_is_found_unfair(weight, unfair):
    found = audit(LinearClassifier([weight, 2.0], 0.0), METRIC, X, Y, **ATTACK)
    assert found.loss_ratio.rejected == unfair
    assert found.error_rate_ratio.rejected == unfair


def test_an_attack_that_diverges_stops_the_audit():
    options = {"regularizer": 1e30, "step_size": 1e20, "n_steps": 1}
    with pytest.raises(ValueError, match="step_size: the attack diverged at 200 of 200 points"):
        audit(LinearClassifier([1.0, 2.0], 0.0), METRIC, X, Y, **options)
    with pytest.warns(DivergenceWarning):
        found = audit(LinearClassifier([1.0, 2.0], 0.0), METRIC, X, Y, reading="as_published", **options)
    assert found.to_frame()["n_diverged"].tolist() == [200, 200]


def test_a_row_for_each_test_and_model():
    several = LinearClassifier([[0.0, 2.0], [3.0, 2.0]], [0.0, 0.0])
    frame = audit(several, METRIC, np.stack([X, X]), Y, **ATTACK).to_frame()
    assert frame.index.tolist() == ["loss ratio"] * 2 + ["error-rate ratio"] * 2
    assert frame["rejected"].tolist() == [False, True] * 2
    assert (frame["n_diverged"] == 0).all()
    assert (frame["threshold"] == 1.25).all()
