import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.papers.individual_fairness.learners import SOLVERS


def test_hand_computed():
    metric = FairMetric.from_directions([[2.0, 0.0, 0.0]])
    np.testing.assert_allclose(metric.projection, np.diag([0, 1, 1]), atol=1e-12)
    assert (metric.n_features, metric.n_sensitive) == (3, 1)
    assert metric.squared_distance([[5.0, 3.0, 4.0]], [[-9.0, 0.0, 0.0]]) == pytest.approx(25)
    np.testing.assert_allclose(metric.gradient(np.array([[5.0, 3.0, 4.0]]), np.zeros((1, 3))), [[0, 6, 8]], atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_distance_ignores_the_subspace_and_only_that(seed, k):
    rng = np.random.default_rng(seed)
    directions, x, move = rng.normal(size=(k, 5)), rng.normal(size=(4, 5)), rng.normal(size=(4, k))
    metric = FairMetric.from_directions(np.vstack([directions, directions[0] * 3]))
    assert metric.n_sensitive == k
    np.testing.assert_allclose(metric.squared_distance(x + move @ directions, x), 0, atol=1e-10)
    residual = [row - directions.T @ np.linalg.lstsq(directions.T, row)[0] for row in x]
    np.testing.assert_allclose(metric.squared_distance(x, 0 * x), np.square(residual).sum(axis=1), atol=1e-10)


def test_rotation_turns_the_subspace():
    metric = FairMetric.from_directions([[1.0, 0.0]])
    turned = metric.rotated(30)
    fair = np.array([-0.5, np.sqrt(0.75)])  # (0, 1) turned by 30 degrees
    np.testing.assert_allclose(turned.projection, np.outer(fair, fair), atol=1e-12)
    np.testing.assert_allclose(turned.rotated(-30).projection, metric.projection, atol=1e-12)
    in_plane = FairMetric.from_directions([[1.0, 0.0, 0.0, 0.0]]).rotated(90)
    np.testing.assert_allclose(in_plane.projection, np.diag([1, 0, 1, 1]), atol=1e-12)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc"))
    sex = (X["a"] - 2 * X["b"] + rng.logistic(size=3000) > 0).astype(int)
    race = (X["c"] + 1 + rng.logistic(size=3000) > 0).astype(int)
    return X, pd.DataFrame({"sex": sex, "race": race})


def test_learned_directions_are_those_of_the_attributes(people):
    X, sensitive_features = people
    converged = sensitive_directions(X, sensitive_features, scaled=False)
    np.testing.assert_allclose(converged, [[1, -2, 0], [0, 0, 1]], atol=0.25)
    for name, atol in (("published", 1e-4), ("liblinear", 0.02)):
        found = sensitive_directions(X, sensitive_features, solver=SOLVERS[name], scaled=False)
        np.testing.assert_allclose(found, converged, atol=atol)
    assert FairMetric.learned(X, sensitive_features).n_sensitive == 2


def test_what_is_learned_does_not_depend_on_units(people):
    X, sensitive_features = people
    units = np.array([1000.0, 1.0, 0.01])
    first, second = FairMetric.learned(X, sensitive_features), FairMetric.learned(X * units + 5, sensitive_features)
    moved = X.to_numpy() + np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(second.scale, X.std(ddof=0) * units)
    np.testing.assert_allclose(
        second.squared_distance(moved * units, X * units), first.squared_distance(moved, X), rtol=1e-5
    )
    assert first.feature_names == ("a", "b", "c")
    assert FairMetric.learned(X.assign(a=7.0), sensitive_features).scale[0] == 1


def test_an_attribute_that_does_not_show_has_no_direction(people):
    X, _ = people
    rng = np.random.default_rng(3)
    chance = [pd.DataFrame({"group": rng.integers(0, 2, 300)}) for _ in range(200)]
    kept = [sensitive_directions(X[:300], group).any() for group in chance]
    assert 0.02 < np.mean(kept) < 0.09  # 5% promised
    quiet = chance[kept.index(False)]
    ranks = [FairMetric.learned(X[:300], quiet, confidence_level=level).n_sensitive for level in (0.95, None)]
    assert ranks == [0, 1]


def test_a_gradient_in_units_agrees_with_finite_differences():
    metric = FairMetric.from_directions([[1.0, 2.0, 0.0]], scale=[1.0, 10.0, 0.1])
    x, start, h = np.array([[1.0, 2.0, 3.0]]), np.zeros((1, 3)), 1e-6
    numeric = [
        (metric.squared_distance(x + h * e, start) - metric.squared_distance(x, start))[0] / h for e in np.eye(3)
    ]
    np.testing.assert_allclose(metric.gradient(x, start)[0], numeric, rtol=1e-4)


def test_tables_are_matched_by_their_index(people):
    X, sensitive_features = people
    shuffled = sensitive_features.sample(frac=1, random_state=0)
    np.testing.assert_allclose(sensitive_directions(X, shuffled), sensitive_directions(X, sensitive_features))


def test_attributes_that_are_features_add_their_axes(people):
    X, sensitive_features = people
    directions = sensitive_directions(X.assign(sex=sensitive_features["sex"]), sensitive_features)
    assert directions.shape == (3, 4)
    np.testing.assert_allclose(directions[:2, :3], sensitive_directions(X, sensitive_features))
    np.testing.assert_array_equal(directions[:2, 3], 0)
    np.testing.assert_array_equal(directions[2], [0, 0, 0, 1])
