import numpy as np
import pytest

from fairlab.benchmarks.adf import dense_network
from fairlab.networks import Network
from fairlab.papers.adf.training import majority_vote, retrain, train_networks


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).integers(0, 10, (300, 4))
    return X, (X[:, 0] > 4).astype(int)


def accuracy(weights, X, y):
    return (Network(dense_network(weights)).predict(X) == y).mean()


def test_an_ensemble_learns_and_its_members_do_not_know_each_other(table):
    first, second = train_networks(*table, [1, 2], n_steps=240)
    [alone] = train_networks(*table, [2], n_steps=240)
    assert max(accuracy(first, *table), accuracy(second, *table)) > 0.9
    for together, own in zip(second, alone, strict=True):
        np.testing.assert_allclose(together, own, atol=1e-3)
    assert [part.shape for part in first[::2]] == [(4, 64), (64, 32), (32, 16), (16, 8), (8, 4), (4, 2)]


def test_majority_vote_by_hand():
    voters = [lambda X, k=k: X[:, k] for k in range(3)]
    assert majority_vote(voters, np.array([[0, 1, 1], [1, 0, 0], [0, 1, 2], [2, 2, 0]])).tolist() == [1, 0, 0, 2]


def test_retraining_takes_up_the_labels(table):
    [weights] = train_networks(*table, [0], n_steps=240)
    added = np.random.default_rng(1).integers(20, 30, (300, 4))
    labels, options = np.zeros(len(added), dtype=int), {"n_epochs": 60, "random_states": [0, 0]}
    nothing, changed = retrain(weights, *table, [added[:0], added], [labels[:0], labels], **options)
    assert accuracy(changed, added, 0) > 0.9 > 0.5 > accuracy(nothing, added, 0)
    assert min(accuracy(nothing, *table), accuracy(changed, *table)) > 0.8
