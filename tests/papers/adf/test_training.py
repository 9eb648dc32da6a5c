import numpy as np
import pytest

from fairlab.benchmarks.adf import dense_network
from fairlab.networks import Network
from fairlab.papers.adf.training import TrainingInOnePass, retrain, train_networks
from fairlab.papers.training import Training


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


def test_retraining_takes_up_the_labels(table):
    [weights] = train_networks(*table, [0], n_steps=240)
    added = np.random.default_rng(1).integers(20, 30, (300, 4))
    labels, options = np.zeros(len(added), dtype=int), {"n_epochs": 60, "random_states": [0, 0]}
    nothing, changed = retrain(weights, *table, [added[:0], added], [labels[:0], labels], **options)
    assert accuracy(changed, added, 0) > 0.9 > 0.5 > accuracy(nothing, added, 0)
    assert min(accuracy(nothing, *table), accuracy(changed, *table)) > 0.8


def test_adam_in_one_pass_is_the_plain_one_to_the_bit_and_leaves_no_denormal_numbers(rng):
    pytest.importorskip("numba")
    start = [rng.normal(size=(3, 5)), np.array([0.1, 0, 0, 0, -1e6]), rng.normal(size=(5, 2)), np.zeros(2)]
    X, y = rng.normal(size=(1, 20, 3)).astype(np.float32), rng.integers(0, 2, (1, 20))
    plain, compiled = (kind([start], 0.01, epsilon=1e-8) for kind in (Training, TrainingInOnePass))
    for number in range(1500):  # the last unit learns once, then is never active
        for training in (plain, compiled):
            training.step(X * (1e7 if number == 0 else 1), y)
    np.testing.assert_equal(compiled.networks()[0], plain.networks()[0])
    denormal = [
        ((part._mean != 0) & (np.abs(part._mean) < np.finfo(np.float32).tiny)).sum() for part in (plain, compiled)
    ]
    assert denormal[0] > 0 == denormal[1]
    assert (compiled._mean != 0).any()
