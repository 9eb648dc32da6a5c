from itertools import permutations

import numpy as np
import pytest

from fairlab.transport.hungarian import peak_bytes, solve

UNIFORM = np.full(4, 1 / 4)


def test_finds_the_best_permutation():
    cost = np.random.default_rng(0).random((4, 4))
    solution = solve(cost, UNIFORM, UNIFORM)
    best = min(permutations(range(4)), key=lambda order: cost[range(4), order].sum())
    expected = np.zeros((4, 4))
    expected[range(4), best] = 1 / 4
    np.testing.assert_array_equal(solution.plan.toarray(), expected)
    assert solution.solver.startswith("Hungarian algorithm (SciPy ")


def test_other_problems_are_refused():
    with pytest.raises(ValueError, match="needs equally many rows, found 4 and 3"):
        solve(np.zeros((4, 3)), UNIFORM, np.full(3, 1 / 3))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="needs a uniform target_weight"):
        solve(np.zeros((4, 4)), UNIFORM, weights)
    with pytest.raises(ValueError, match="needs a uniform source_weight"):
        solve(np.zeros((4, 4)), weights, UNIFORM)


def test_needs_the_costs_alone():
    assert peak_bytes(30, 30) == np.zeros((30, 30)).nbytes
