from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairlab.transport import ExactTransport, network_simplex, squared_l1
from fairlab.transport.columns import ColumnCosts
from fairlab.transport.duality import solve_to_optimality
from fairlab.transport.merging import solve_merged


@pytest.fixture
def solver():
    """The network simplex, with a note of the sizes that it was given."""
    sizes = []

    def solve(cost, *weights):
        sizes.append(cost.shape)
        return network_simplex.solve(cost, *weights)

    return SimpleNamespace(solve=solve, sizes=sizes)


def counts(n, seed, most=3):
    return np.random.default_rng(seed).integers(most, size=(n, 2)).astype(float)


def uniform(n):
    return np.full(n, 1 / n)


@pytest.mark.parametrize(("n_source", "n_target"), [(120, 120), (120, 75), (40, 111)])
def test_the_optimum_is_that_of_the_rows_one_by_one(n_source, n_target, solver):
    source, target = counts(n_source, 0), counts(n_target, 1) + 1
    cost, weights = squared_l1(source, target), (uniform(n_source), uniform(n_target))
    merged, certificate = solve_merged(solver, cost, source, target, *weights)
    whole, _ = solve_to_optimality(network_simplex, cost, *weights)
    assert solver.sizes == [(9, 9)]
    assert certificate.closed
    assert merged.plan.multiply(cost).sum() == pytest.approx(whole.plan.multiply(cost).sum(), rel=1e-12)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.plan.sum(axis=axis), weight, rtol=1e-9)


def test_weights_count(solver):
    source, target = counts(60, 2), counts(50, 3)
    rng = np.random.default_rng(4)
    weights = [rng.integers(0, 4, n).astype(float) for n in (60, 50)]
    weights = [weight / weight.sum() for weight in weights]
    merged, _ = solve_merged(solver, squared_l1(source, target), source, target, *weights)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.plan.sum(axis=axis), weight, atol=1e-12)


def test_between_groups_of_one_size_nobody_is_split(solver):
    source, target = counts(97, 5), counts(97, 6)
    merged, _ = solve_merged(solver, squared_l1(source, target), source, target, uniform(97), uniform(97))
    assert merged.plan.nnz == 97
    assert sorted(merged.plan.tocoo().col) == list(range(97))


def test_rows_that_differ_are_left_alone(solver):
    source, target = np.random.default_rng(7).normal(size=(2, 30, 2))
    cost = squared_l1(source, target)
    merged, _ = solve_merged(solver, cost, source, target, uniform(30), uniform(30))
    whole, _ = solve_to_optimality(network_simplex, cost, uniform(30), uniform(30))
    assert solver.sizes == [(30, 30)]
    np.testing.assert_array_equal(merged.plan.toarray(), whole.plan.toarray())


def test_equal_rows_of_unequal_cost_are_left_alone(solver):
    source = target = np.zeros((6, 1))
    cost = np.random.default_rng(8).random((6, 6))
    solve_merged(solver, cost, source, target, uniform(6), uniform(6))
    assert solver.sizes == [(6, 6)]


def test_categories_and_missing_values_are_merged_too(solver):
    table = pd.DataFrame({"job": pd.Categorical(["cook", "clerk", None] * 10), "age": [30.0, np.nan] * 15})
    cost = ColumnCosts()(table, table)
    merged, _ = solve_merged(solver, cost, table, table, uniform(30), uniform(30))
    assert solver.sizes == [(6, 6)]
    assert merged.plan.multiply(cost).sum() == 0


def test_an_exact_map_merges():
    source, target = counts(80, 9), counts(80, 10)
    image = ExactTransport(cost=squared_l1).fit(source, target).transform(source)
    other = ExactTransport("hungarian", cost=squared_l1).fit(source, target)
    assert sorted(map(tuple, image)) == sorted(map(tuple, target))
    assert np.square(np.abs(image - source).sum(axis=1)).mean() == pytest.approx(other.cost_, rel=1e-12)
