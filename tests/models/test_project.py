import numpy as np
import pytest

from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.models.mlp import BalancedMLP
from fairlab.models.project import ProjectedMLP

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
SENSITIVE = (X[:, [1]] + 0.3 * RNG.normal(size=(600, 1)) > 0).astype(int)
SMALL = {"n_hidden": 8, "learning_rate": 0.01, "n_steps": 300, "batch_size": 40}


@pytest.fixture(scope="module")
def blind():
    return ProjectedMLP(**SMALL).fit(X, Y, sensitive_features=SENSITIVE)


def test_a_projected_network_is_blind_to_the_sensitive_subspace(blind):
    seeing = BalancedMLP(**SMALL).fit(X, Y)
    moved = X + 2 * sensitive_directions(X, SENSITIVE) * X.std(axis=0)
    np.testing.assert_allclose(blind.predict_proba(moved), blind.predict_proba(X), atol=1e-4)
    assert np.abs(seeing.predict_proba(moved) - seeing.predict_proba(X)).max() > 0.5


def test_it_is_the_plain_network_on_projected_features(blind):
    metric = FairMetric.learned(X, SENSITIVE)
    np.testing.assert_array_equal(blind.metric_.projection, metric.projection)
    np.testing.assert_array_equal(blind.metric_.scale, metric.scale)
    projected = X / metric.scale @ metric.projection * metric.scale
    plain = BalancedMLP(**SMALL).fit(projected.astype(np.float32), Y)
    np.testing.assert_allclose(blind.predict_proba(X), plain.predict_proba(projected), atol=1e-4)


def test_the_subspace_behind_the_printed_numbers():
    published = ProjectedMLP(**SMALL | {"n_steps": 3}, solver="published", scaled=False, confidence=None)
    metric = FairMetric.learned(X, SENSITIVE, solver="published", scaled=False, confidence=None)
    published.fit(X, Y, sensitive_features=SENSITIVE)
    np.testing.assert_array_equal(published.metric_.projection, metric.projection)
    assert published.scale_ is None
