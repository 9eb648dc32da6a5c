import numpy as np
import pytest
import tensorflow as tf

from fairlab.fair_metric import FairMetric
from fairlab.models.sensr_dense import attack, moved_penalty
from fairlab.models.sensr_recipe import EPSILON, Recipe
from fairlab.networks import adam, adam_start, forward, initial_network

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.5).astype(np.int32)
DIRECTIONS = RNG.normal(size=(2, 4)).astype(np.float32)
PROJECTION = FairMetric.from_directions(DIRECTIONS).projection.astype(np.float32)
RECIPE = Recipe(subspace_steps=5, full_steps=7, subspace_rate=0.1, distance_target=1e-3)


def attack_by_tape(network, x, y, rate, penalty):
    """Attack as described: both moves are variables, and the loss is that of the softmax of the whole network."""

    def objective(u, v):
        attacked = x + u @ DIRECTIONS + v
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(network, attacked)))
        distance = tf.reduce_mean(tf.reduce_sum(((attacked - x) @ PROJECTION) ** 2, axis=1))
        return loss - penalty * distance, distance, attacked

    def ascend(function, start, n_steps, rate):
        move, state = start, adam_start((start,))
        for _ in range(n_steps):
            with tf.GradientTape() as tape:
                tape.watch(move)
                loss = -function(move)
            (move,), state = adam((move,), (tape.gradient(loss, move),), state, rate, epsilon=EPSILON)
        return move

    u, v = tf.zeros((len(x), 2)), tf.zeros_like(x)
    before = objective(u, v)[0]
    u = ascend(lambda u: objective(u, v)[0], u, RECIPE.subspace_steps, RECIPE.subspace_rate)
    if objective(u, v)[0] < before:
        u = 0 * u
    middle = objective(u, v)[0]
    v = ascend(lambda v: objective(u, v)[0], v, RECIPE.full_steps, rate)
    end, distance, attacked = objective(u, v)
    return attacked, distance, end >= middle


@pytest.mark.parametrize("penalty", [1e-5, 2.0])
def test_attack_by_hidden_units_is_the_attack_by_tape(penalty):
    network = tuple(tf.constant(part) for part in initial_network(RNG, (4, 6, 2), bias=0.1))
    ours = attack(RECIPE, network, X[:50], Y[:50], DIRECTIONS, PROJECTION, 0.01, penalty)
    theirs = attack_by_tape(network, X[:50], Y[:50], 0.01, penalty)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3)
    assert bool(ours[2]) == bool(theirs[2])


def test_a_failed_attack_says_so():
    network = tuple(tf.constant(part) for part in initial_network(RNG, (4, 6, 2)))
    *_, risen = attack(RECIPE, network, X[:50], Y[:50], DIRECTIONS, PROJECTION, 5.0, 100.0)
    assert not risen


def test_penalty_steers_to_the_target():
    assert float(moved_penalty(2.0, 0.004, 0.001)) == pytest.approx(2 + 4 * 0.003)
    assert float(moved_penalty(2.0, 0.0005, 0.001)) == pytest.approx(2 - 2 * 0.0005)
    assert float(moved_penalty(2.0, tf.constant(0.0), 0.001)) == pytest.approx(1e-5)
    assert float(moved_penalty(2.0, 1.0, 0.001)) == 10
