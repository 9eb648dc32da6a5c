"""Figure 1's models of simulated people, and how both tests keep their level and cover."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from fairlab import load
from fairlab.data.variants.individual_simulation import draw
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.individual_fairness import RatioTest, audit, error_rate_ratio_test, loss_ratio_test
from fairlab.models import LinearClassifier
from fairlab.papers.individual_fairness import calibration, simulation, trials
from fairlab.papers.individual_fairness.learners import PUBLISHED_METRIC
from fairlab.seeds import Trial

AXIS = simulation.weight_axis()
FIRST = Trial("study", 0)


@pytest.fixture(scope="module")
def people():
    return load("individual-simulation", n_points=60)


def test_a_map_has_the_grid_of_theta_1_in_its_rows():
    grid = simulation.weight_grid()
    assert grid.shape == (441, 2)
    np.testing.assert_allclose(grid[:2], [[-4, -4], [-4, -3.6]])
    bounds = simulation.as_map(grid[:, 0])
    np.testing.assert_allclose(bounds[0.0], AXIS, atol=1e-9)


def test_intercepts_minimise_the_loss():
    table = draw(200, seed=2)
    X, y = table[["x1", "x2"]].to_numpy(), table["label"].to_numpy()
    coef = np.array([[-4.0, 2.0], [0.0, 0.0], [1.2, 3.6]])
    for weights, intercept in zip(coef, simulation.fitted_intercepts(coef, X, y), strict=True):
        best = minimize_scalar(lambda b, w=weights: np.logaddexp(0, -(2 * y - 1) * (X @ w + b)).sum(), tol=1e-10)
        assert intercept == pytest.approx(best.x, abs=1e-5)


def test_the_printed_models_have_their_intercept_twice(people):
    models = simulation.grid_models(people.features, people.target)
    np.testing.assert_array_equal(models["as_published"].intercept, 2 * models["as_described"].intercept)
    probability = models["as_described"].predict_proba(np.broadcast_to(people.features, (441, 60, 2)))[..., 1]
    np.testing.assert_allclose(probability.mean(axis=1), people.target.mean(), atol=1e-6)


def test_the_grid_is_audited_as_each_model_alone(people):
    coef, intercept = np.array([[2.0, 0.0], [0.4, -1.2]]), np.array([0.1, 0.3])
    about, flow = (people.features, people.target), {**simulation.FLOW, "n_steps": 5}
    together = simulation.audit_grid(LinearClassifier(coef, intercept), *about, degrees=10, **flow)
    metric = FairMetric.from_directions([[np.cos(np.radians(10)), np.sin(np.radians(10))]])
    for k in range(2):
        alone = audit(LinearClassifier(coef[k], intercept[k]), metric, *about, **flow)
        assert together.loss_ratio.lower_bound[k] == pytest.approx(alone.loss_ratio.lower_bound, rel=1e-5)
    row = simulation.summary({("as_published", 10): together}).loc[("as_published", 10)]
    assert row["models rejected"] == together.loss_ratio.rejected.mean()


def test_changes_between_maps():
    bounds = simulation.as_map(np.full(441, 1.2))
    other = bounds.copy()
    other.iloc[3, 4], other.iloc[5, 6] = 1.3, 1.24
    assert simulation.changes({0: bounds}, {0: other}).loc[0].tolist() == [pytest.approx(0.1), 1]


def planted(tilt=0.0, slope=0.2, wobble=0.0):
    """Return a map that grows with the distance from a line through 0, and with theta_2 by `wobble`."""
    theta_1, theta_2 = np.meshgrid(AXIS, AXIS, indexing="ij")
    bounds = 1 + slope * np.abs(theta_1 + tilt * theta_2) + wobble * np.abs(theta_2)
    return pd.DataFrame(bounds, index=AXIS, columns=AXIS)


@pytest.mark.parametrize(
    ("maps", "failing"),
    [
        ({0: planted(), 5: planted(0.1), 10: planted(0.2)}, set()),
        (
            {0: planted(slope=-0.01), 5: planted(0.1)},
            {"increases-with-theta1", "large-theta1-rejected", "delta-to-one"},
        ),
        ({0: planted(wobble=0.06), 5: planted(0.3)}, {"flat-in-theta2", "small-theta1-permitted", "delta-to-one"}),
        ({0: planted(slope=0.1), 5: planted(0.01, slope=0.1)}, {"large-theta1-rejected"}),
        ({0: planted(slope=0.3), 5: planted(0.1)}, {"small-theta1-permitted"}),
        ({0: planted(), 5: planted(1.0)}, {"zero-theta1-accepted"}),
        ({0: planted(), 5: planted()}, {"misspecification-tilts-boundary"}),
    ],
)
def test_claims_on_maps_made_for_them(maps, failing):
    failed = {claim for claim, (holds, _) in simulation.map_claims(maps).items() if not holds}
    assert failing <= failed
    assert bool(failing) == bool(failed)


ATTACKED = pd.DataFrame(
    {
        "loss": [1.0, 2.0, 4.0, 1.0],
        "attacked_loss": [1.5, 2.0, 5.0, 3.0],
        "wrong": [False, True, True, False],
        "attacked_wrong": [True, True, True, False],
    }
)


def test_true_ratios_by_hand():
    row = calibration.truth_table({-1.0: ATTACKED}).loc[-1.0].to_dict()
    ratios = {"loss ratio": (1.5 + 1 + 1.25 + 3) / 4, "error-rate ratio": 1.5}
    assert row == ratios | {"largest loss ratio": 3, "error rate": 0.5}


def test_many_audits_are_those_made_one_at_a_time():
    rows = np.random.default_rng(0).integers(4, size=(6, 30))
    thresholds, tests = {"loss ratio": 1.2, "error-rate ratio": 1.4}, (loss_ratio_test, error_rate_ratio_test)
    together = calibration.sampled_audits(ATTACKED, rows, max_ratios=thresholds)
    for (name, limit), test, what in zip(thresholds.items(), tests, ("loss", "wrong"), strict=True):
        for k, people in enumerate(ATTACKED.iloc[line] for line in rows):
            alone = test(people[what], people[f"attacked_{what}"], max_loss_ratio=limit, variant="published")
            assert together[name].lower_bound[k] == pytest.approx(alone.lower_bound)
            assert together[name].rejected[k] == alone.rejected


def test_coverage_by_hand():
    test = RatioTest(np.array([1.0, 1.1, 2.0]), np.array([0.1, 0.01, 0.1]), 10, 0, 1.25, 0.05)
    assert [calibration.coverage(test, ratio) for ratio in (1.05, 1.1)] == pytest.approx([1 / 3, 2 / 3])


def test_rates_beyond_their_error():
    rows = [("a", 50, 0.05, 0.95), ("a", 50, 0.2, 0.95), ("b", 50, 0.05, 0.8), ("b", 100, 0.0, 1.0)]
    rates = pd.DataFrame(rows, columns=["test", "n", "type I error", "coverage"])
    counts = calibration.beyond_monte_carlo_error(rates, n_repetitions=400)  # the limits are 0.083 and 0.917
    assert counts.T.to_dict("list") == {("a", 50): [1, 0], ("b", 50): [0, 1], ("b", 100): [0, 0]}


def test_curves_have_the_interval_of_their_rate():
    rates = pd.DataFrame({"weight": [-0.8, -4.0], "n": [50, 50], "type I error": [0.2, 0.5]})
    for row in calibration.curves(rates, rate="type I error", curve="weight", n_repetitions=80).itertuples():
        low, high = proportion_confint(round(80 * row.rate), 80, method="normal")
        assert row.error == pytest.approx((high - low) / 2)


def test_people_follow_their_model_and_their_group():
    features, label, group = calibration.draw_people(np.random.default_rng(0), 4, 5000)
    apart = features[group == 1].mean(axis=0) - features[group == 0].mean(axis=0)
    np.testing.assert_allclose(apart, calibration.SHIFT * calibration.DIRECTION, atol=0.1)
    assert label.mean() == pytest.approx(expit(features @ calibration.AUDITED.coef).mean(), abs=0.02)


def test_each_sample_has_its_own_metric():
    rng = np.random.default_rng(1)
    features, _, group = calibration.draw_people(rng, 3, 80)
    directions = calibration.learned_directions(features, group)
    of_second = sensitive_directions(features[1], group[1][:, None], **PUBLISHED_METRIC)
    np.testing.assert_array_equal(directions[1], of_second[0])
    label, ratios = rng.integers(0, 2, (3, 80)), dict.fromkeys(calibration.TESTS, 1.0)
    together = calibration.both_tests_of_each(directions, features, label, max_ratios=ratios)["loss ratio"]
    metric, options = FairMetric.from_directions(of_second), {"variant": "published", **calibration.LEARNED_FLOW}
    alone = audit(calibration.AUDITED, metric, features[1], label[1], **options)
    np.testing.assert_allclose(together.lower_bound[1], alone.loss_ratio.lower_bound)
    assert len(set(together.lower_bound)) == 3


def test_angles_by_hand():
    directions = np.array([[1.0, 0, 0, 0, 0], [-2.0, 2.0, 0, 0, 0], [0, 3.0, 0, 0, 0]])
    assert calibration.median_angle(directions) == pytest.approx(45)


def test_audits_of_a_population_keep_their_level():
    attacked = calibration.attacked_population(load("individual-simulation", n_points=2000, seed=5))
    population = {weight: attacked[weight] for weight in (-0.8, -4.0)}
    table = trials.audit_population(FIRST, population=population, n_repetitions=60)
    large = table[table["n"] == 1600].set_index(["weight", "test"])
    assert (large["type I error"] < 0.25).all()
    assert (large["coverage"] > 0.8).all()
    rejected = large["rejected at 5/4"].xs("loss ratio", level="test")
    assert rejected.to_dict() == {-0.8: 0, -4.0: 1}


def test_learned_metrics(monkeypatch):
    monkeypatch.setattr(calibration, "LEARNED_SIZES", (60, 400))
    found = trials.audit_with_learned_metrics(FIRST, n_population=3000, n_learned=8)
    angle = found["audits"].query("test == 'loss ratio'").set_index(["metric", "n"])["median angle (degrees)"]
    assert (angle["known"] == 0).all()
    for way in ("learned from other people", "learned from the audited"):
        assert angle[way, 60] > angle[way, 400] > 0
