from dataclasses import FrozenInstanceError

import pytest

from fairlab.models.sensr_recipe import PENALTY_RANGE, Recipe


def test_a_recipe_says_how_batches_are_attacked_and_stays_as_it_is():
    recipe = Recipe(subspace_steps=5, full_steps=7, subspace_rate=0.1, distance_target=1e-3)
    assert PENALTY_RANGE[0] < recipe.penalty < PENALTY_RANGE[1]
    assert hash(recipe) == hash(Recipe(5, 7, 0.1, 1e-3))  # compiled loops are kept by it
    with pytest.raises(FrozenInstanceError):
        recipe.full_steps = 8
