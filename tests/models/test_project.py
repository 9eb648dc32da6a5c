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
    moved = X + 2 * sensitive_directions(X, SENSITIVE)
    np.testing.assert_allclose(blind.predict_proba(moved), blind.predict_proba(X), atol=1e-4)
    assert np.abs(seeing.predict_proba(moved) - seeing.predict_proba(X)).max() > 0.5


def test_it_is_the_plain_network_on_projected_features(blind):
    metric = FairMetric.learned(X, SENSITIVE)
    np.testing.assert_array_equal(blind.metric_.projection, metric.projection)
    plain = BalancedMLP(**SMALL).fit(X.astype(np.float32) @ metric.projection.astype(np.float32), Y)
    np.testing.assert_allclose(blind.predict_proba(X), plain.predict_proba(X @ metric.projection), atol=1e-5)
