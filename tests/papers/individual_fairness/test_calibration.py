import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from fairlab import load
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.individual_fairness import RatioTest, audit, error_rate_ratio_test, loss_ratio_test
from fairlab.papers.individual_fairness import calibration
from fairlab.papers.individual_fairness.learners import PUBLISHED_METRIC

ATTACKED = pd.DataFrame(
    {
        "loss": [1.0, 2.0, 4.0, 1.0],
        "attacked_loss": [1.5, 2.0, 5.0, 3.0],
        "wrong": [False, True, True, False],
        "attacked_wrong": [True, True, True, False],
    }
)


def test_true_ratios_by_hand():
    ratios = calibration.true_ratios(ATTACKED)
    assert ratios == {"loss ratio": (1.5 + 1 + 1.25 + 3) / 4, "error-rate ratio": 1.5}
    table = calibration.truth_table({-1.0: ATTACKED})
    assert table.loc[-1.0].to_dict() == ratios | {"largest loss ratio": 3, "error rate": 0.5}


def test_the_population_is_attacked_under_each_weight():
    people = load("individual-simulation", n_points=60, seed=3)
    population = calibration.attacked_population(people)
    assert tuple(population) == calibration.WEIGHTS
    assert all(len(attacked) == 60 for attacked in population.values())
    ratios = calibration.truth_table(population)["loss ratio"]
    assert ratios.is_monotonic_increasing  # as the weight of what tells the groups apart grows
    assert ratios.min() > 1


def test_many_audits_are_those_made_one_at_a_time():
    rows = np.random.default_rng(0).integers(4, size=(6, 30))
    thresholds = {"loss ratio": 1.2, "error-rate ratio": 1.4}
    together = calibration.sampled_audits(ATTACKED, rows, max_ratios=thresholds)
    for k, line in enumerate(rows):
        people = ATTACKED.iloc[line]
        alone = {
            "loss ratio": loss_ratio_test(
                people["loss"], people["attacked_loss"], max_loss_ratio=1.2, variant="published"
            ),
            "error-rate ratio": error_rate_ratio_test(
                people["wrong"], people["attacked_wrong"], max_loss_ratio=1.4, variant="published"
            ),
        }
        for name, test in alone.items():
            assert together[name].lower_bound[k] == pytest.approx(test.lower_bound)
            assert together[name].rejected[k] == test.rejected


def test_coverage_by_hand():
    test = RatioTest(np.array([1.0, 1.1, 2.0]), np.array([0.1, 0.01, 0.1]), 10, 0, 1.25, 0.05)
    assert calibration.coverage(test, 1.05) == pytest.approx(1 / 3)
    assert calibration.coverage(test, 1.1) == pytest.approx(2 / 3)


def test_rates_beyond_their_error():
    rates = pd.DataFrame(
        {
            "test": ["a", "a", "b", "b"], "n": [50, 50, 50, 100],
            "type I error": [0.05, 0.2, 0.05, 0.0], "coverage": [0.95, 0.95, 0.8, 1.0],
        }
    )  # fmt: skip
    counts = calibration.beyond_monte_carlo_error(rates, n_repetitions=400)  # the limits are 0.083 and 0.917
    assert counts.index.tolist() == [("a", 50), ("b", 50), ("b", 100)]
    assert counts.to_numpy().tolist() == [[1, 0], [0, 1], [0, 0]]


def test_curves_have_the_interval_of_their_rate():
    rates = pd.DataFrame({"weight": [-0.8, -4.0], "n": [50, 50], "type I error": [0.2, 0.5]})
    curves = calibration.curves(rates, rate="type I error", curve="weight", n_repetitions=80)
    assert curves["curve"].tolist() == ["-0.8", "-4.0"]
    for row in curves.itertuples():
        low, high = proportion_confint(round(80 * row.rate), 80, method="normal")
        assert row.error == pytest.approx((high - low) / 2)


def test_people_follow_their_model_and_their_group():
    features, label, group = calibration.draw_people(np.random.default_rng(0), 4, 5000)
    assert features.shape == (4, 5000, 5)
    assert label.shape == group.shape == (4, 5000)
    apart = features[group == 1].mean(axis=0) - features[group == 0].mean(axis=0)
    np.testing.assert_allclose(apart, calibration.SHIFT * calibration.DIRECTION, atol=0.1)
    probability = expit(features @ calibration.AUDITED.coef)
    assert label.mean() == pytest.approx(probability.mean(), abs=0.02)


def test_each_sample_has_its_own_metric():
    rng = np.random.default_rng(1)
    features, _, group = calibration.draw_people(rng, 3, 80)
    directions = calibration.learned_directions(features, group)
    assert directions.shape == (3, 5)
    options = PUBLISHED_METRIC
    np.testing.assert_array_equal(directions[1], sensitive_directions(features[1], group[1][:, None], **options)[0])
    label = rng.integers(0, 2, (3, 80))
    thresholds = dict.fromkeys(calibration.TESTS, 1.0)
    together = calibration.both_tests_of_each(directions, features, label, max_ratios=thresholds)["loss ratio"]
    metric = FairMetric.from_directions(directions[[1]])
    alone = audit(calibration.AUDITED, metric, features[1], label[1], variant="published", **calibration.LEARNED_FLOW)
    np.testing.assert_allclose(together.lower_bound[1], alone.loss_ratio.lower_bound)
    assert len(set(together.lower_bound)) == 3


def test_angles_by_hand():
    directions = np.array([[1.0, 0, 0, 0, 0], [-2.0, 2.0, 0, 0, 0], [0, 3.0, 0, 0, 0]])
    assert calibration.median_angle(directions) == pytest.approx(45)
