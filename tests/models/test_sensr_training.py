from dataclasses import replace

import numpy as np
import pytest

from fairlab.models import mlp_training, sensr_dense, sensr_training
from fairlab.models.loops import IS_COMPILED
from fairlab.models.network import balanced_batches
from fairlab.models.sensr_recipe import Recipe
from fairlab.networks import BETA_1, BETA_2, initial_network

RNG = np.random.default_rng(0)
N_STEPS, BATCH = (40, 150) if IS_COMPILED else (4, 12)
X = RNG.normal(size=(400, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0.5).astype(np.int32)
DIRECTIONS = RNG.normal(size=(2, 4))
RECIPE = Recipe(subspace_steps=5, full_steps=7, subspace_rate=0.1, distance_target=1e-3, learning_rate=1e-3)


def trained(module, recipe, directions=DIRECTIONS, n_steps=N_STEPS):
    rng = np.random.default_rng(3)
    network = initial_network(rng, (4, 6, 2), bias=0.1)
    return module.train(X, Y, balanced_batches(rng, Y, n_steps, BATCH), network, directions, recipe), network


# Moves of 1e-4 let hardly a unit change sides, those of 0.05 nearly all; the last attack overshoots and is refused.
@pytest.mark.parametrize(
    ("recipe", "directions"),
    [
        (RECIPE, DIRECTIONS),
        (replace(RECIPE, full_rate=0.05), DIRECTIONS),
        (replace(RECIPE, subspace_rate=10.0, full_steps=20, full_rate=0.01), 3 * DIRECTIONS[:1]),
        (replace(RECIPE, subspace_steps=0, full_rate=5.0, penalty=10.0), np.vstack([DIRECTIONS, DIRECTIONS[0]])),
    ],
)
def test_trains_the_network_of_the_dense_attack(recipe, directions):
    (ours, penalty, skipped), start = trained(sensr_training, recipe, directions)
    (dense, dense_penalty, dense_skipped), _ = trained(sensr_dense, recipe, directions)
    assert skipped == dense_skipped
    assert penalty == pytest.approx(dense_penalty, rel=1e-2)
    for part, expected, before in zip(ours, dense, start, strict=True):
        assert np.linalg.norm(part - expected) < 0.02 * np.linalg.norm(expected - before)


def test_what_it_starts_from_is_left_as_it_is():
    (ours, *_), start = trained(sensr_training, RECIPE, n_steps=2)
    assert all((part != before).any() for part, before in zip(ours, start, strict=True))
    for before, again in zip(start, trained(sensr_training, RECIPE, n_steps=1)[1], strict=True):
        np.testing.assert_array_equal(before, again)


def test_no_gradients_take_adam_farther_than_is_said():
    n_steps = 50
    rates = mlp_training.adam_rates(1.0, n_steps)
    for kind in range(20):
        gradients = RNG.normal(size=n_steps) * np.geomspace(1, 10.0 ** (kind - 10), n_steps)
        mean = square = moved = 0.0
        for rate, gradient in zip(rates, np.abs(gradients), strict=True):
            mean = BETA_1 * mean + (1 - BETA_1) * gradient
            square = BETA_2 * square + (1 - BETA_2) * gradient**2
            moved += rate * mean / np.sqrt(square)
        assert moved <= sensr_training.longest_move(n_steps)
