import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from fairlab import load
from fairlab.data.variants.individual_simulation import draw
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import audit
from fairlab.models import LinearClassifier
from fairlab.papers.individual_fairness import simulation

AXIS = simulation.weight_axis()


@pytest.fixture(scope="module")
def people():
    return load("individual-simulation", n_points=60)


def test_grid():
    grid = simulation.weight_grid()
    assert grid.shape == (441, 2)
    assert len(np.unique(grid.round(6), axis=0)) == 441
    assert (grid.min(), grid.max()) == pytest.approx((-4, 4))
    np.testing.assert_allclose(grid[:2], [[-4, -4], [-4, -3.6]])
    assert len(AXIS) == 21
    assert AXIS[10] == 0


def test_intercepts_minimise_the_loss():
    table = draw(200, seed=2)
    X, y = table[["x1", "x2"]].to_numpy(), table["label"].to_numpy()
    coef = np.array([[-4.0, 2.0], [0.0, 0.0], [1.2, 3.6]])
    for weights, intercept in zip(coef, simulation.fitted_intercepts(coef, X, y), strict=True):
        best = minimize_scalar(lambda b, w=weights: np.logaddexp(0, -(2 * y - 1) * (X @ w + b)).sum(), tol=1e-10)
        assert intercept == pytest.approx(best.x, abs=1e-5)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="every label is 1"):
        simulation.fitted_intercepts([[1.0]], [[1.0], [2.0]], [1, 1])


def test_the_printed_models_have_their_intercept_twice(people):
    models = simulation.grid_models(people.features, people.target)
    assert list(models) == ["as_published", "as_described"]
    np.testing.assert_array_equal(models["as_published"].intercept, 2 * models["as_described"].intercept)
    probability = models["as_described"].predict_proba(np.broadcast_to(people.features, (441, 60, 2)))[..., 1]
    np.testing.assert_allclose(probability.mean(axis=1), people.target.mean(), atol=1e-6)


def test_the_grid_is_audited_as_each_model_alone(people):
    coef, intercept = np.array([[2.0, 0.0], [0.4, -1.2]]), np.array([0.1, 0.3])
    flow = {**simulation.FLOW, "n_steps": 5}
    together = simulation.audit_grid(
        LinearClassifier(coef, intercept), people.features, people.target, degrees=10, **flow
    )
    turn = np.radians(10)
    metric = FairMetric.from_directions([[np.cos(turn), np.sin(turn)]])
    for k in range(2):
        alone = audit(LinearClassifier(coef[k], intercept[k]), metric, people.features, people.target, **flow)
        assert together.loss_ratio.lower_bound[k] == pytest.approx(alone.loss_ratio.lower_bound, rel=1e-5)
    table = simulation.summary({("as_published", 10): together})
    assert table.loc[("as_published", 10), "models rejected"] == together.loss_ratio.rejected.mean()
    assert table.loc[("as_published", 10), "stopping time T"] == pytest.approx(
        0.02 * sum(k ** (-2 / 3) for k in range(1, 6))
    )


def test_a_map_has_theta_1_in_its_rows():
    bounds = simulation.as_map(simulation.weight_grid()[:, 0])
    np.testing.assert_allclose(bounds[0.0], AXIS, atol=1e-9)
    rows = simulation.as_rows({0: bounds, 5: bounds + 1})
    assert rows.columns.tolist() == ["degrees", "theta_1", "theta_2", "lower_bound"]
    assert len(rows) == 882
    np.testing.assert_allclose(rows["lower_bound"], rows["theta_1"] + (rows["degrees"] == 5), atol=1e-9)


def test_changes_between_maps():
    bounds = simulation.as_map(np.full(441, 1.2))
    other = bounds.copy()
    other.iloc[3, 4], other.iloc[5, 6] = 1.3, 1.24
    table = simulation.changes({0: bounds}, {0: other})
    assert table.loc[0].tolist() == [pytest.approx(0.1), 1]


def planted(tilt=0.0, slope=0.2, wobble=0.0):
    """Return a map that grows with the distance from a line through 0, and with theta_2 by `wobble`."""
    theta_1, theta_2 = np.meshgrid(AXIS, AXIS, indexing="ij")
    bounds = 1 + slope * np.abs(theta_1 + tilt * theta_2) + wobble * np.abs(theta_2)
    return pd.DataFrame(bounds, index=AXIS, columns=AXIS)


def test_claims_hold_on_a_map_made_for_them():
    claims = simulation.map_claims({0: planted(), 5: planted(0.1), 10: planted(0.2)})
    assert list(claims) == [
        "increases-with-theta1", "flat-in-theta2", "zero-theta1-accepted", "large-theta1-rejected",
        "small-theta1-permitted", "misspecification-tilts-boundary", "delta-to-one",
    ]  # fmt: skip
    assert all(holds is True for holds, _ in claims.values())
    assert claims["large-theta1-rejected"][1] == "smallest bound 1.400"


@pytest.mark.parametrize(
    ("maps", "failing"),
    [
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
def test_each_claim_can_fail(maps, failing):
    assert failing <= {claim for claim, (holds, _) in simulation.map_claims(maps).items() if not holds}
