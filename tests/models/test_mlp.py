import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fairlab.models.mlp import BalancedMLP

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
SMALL = {"n_hidden": 8, "learning_rate": 0.01, "n_steps": 300, "batch_size": 40}


def test_learns_with_balance():
    model = BalancedMLP(**SMALL).fit(X, Y)
    predicted = model.predict(X)
    recalls = [(predicted == Y)[label == Y].mean() for label in (0, 1)]
    assert min(recalls) > 0.93
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    assert model.score(X, Y) > 0.93


def test_the_seed_decides():
    first, second, other = (BalancedMLP(**SMALL, random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    for a, b, c in zip(first.network_, second.network_, other.network_, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()


def test_parameters_survive_cloning():
    model = clone(BalancedMLP(n_steps=7))
    assert model.n_steps == 7
    with pytest.raises(NotFittedError):
        model.log_odds(X)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="every label is 1, expected both classes"):
        BalancedMLP(**SMALL).fit(X, np.ones(600, int))
