import numpy as np

from fairlab.models import mlp_training
from fairlab.models.loops import IS_COMPILED
from fairlab.models.mlp import _compiled_training
from fairlab.models.network import balanced_batches
from fairlab.networks import initial_network

RNG = np.random.default_rng(0)
N_STEPS, BATCH = (200, 60) if IS_COMPILED else (4, 12)
X = RNG.normal(size=(300, 5)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.5).astype(np.int32)


def start():
    rng = np.random.default_rng(3)
    return initial_network(rng, (5, 7, 2)), balanced_batches(rng, Y, N_STEPS, BATCH)


def test_trains_the_network_of_the_tape():
    network, batches = start()
    ours = mlp_training.train(X, Y, batches, network, 0.003)
    theirs = _compiled_training()(X, Y, batches, network, np.float32(0.003))
    for part, expected, before, again in zip(ours, theirs, network, start()[0], strict=True):
        np.testing.assert_array_equal(before, again)  # what it starts from is left as it is
        assert np.linalg.norm(part - expected) < 1e-3 * np.linalg.norm(expected - before)


def test_rates_make_up_for_moments_that_start_at_zero():
    rates = mlp_training.adam_rates(0.5, 3)
    assert np.isclose(rates[0], 0.5 * np.sqrt(0.001) / 0.1)
    assert rates.dtype == np.float32
