import subprocess
import sys
from itertools import permutations

import numpy as np
import ot
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from fairlab.transport import ColumnCosts, SolverError, solvers, squared_l1
from fairlab.transport.solvers import (
    MARGINAL_TOLERANCE,
    check_marginals,
    duality_gap,
    hungarian,
    linear_program,
    network_simplex,
    solve_merged,
    solve_to_optimality,
)


def uniform(n):
    return np.full(n, 1 / n)


def assignment(columns):
    n = len(columns)
    return sparse.csr_array((uniform(n), (np.arange(n), columns)), shape=(n, n))


def best_cost(cost):
    return cost[linear_sum_assignment(cost)].mean()


@pytest.mark.parametrize("solver", [network_simplex, hungarian])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e-7, 1, 1e12])
def test_the_best_plan_in_any_unit(solver, unit):
    cost = np.random.default_rng(0).random((150, 150)) * unit
    plan, gap = solve_to_optimality(solver, cost, uniform(150), uniform(150))
    assert (plan.toarray() * cost).sum() == pytest.approx(best_cost(cost), rel=1e-9, abs=0)
    assert abs(gap) <= 1e-9 * best_cost(cost)


@pytest.mark.parametrize("solver", [network_simplex, hungarian])
def test_tiny_differences_beside_one_dear_person(solver):
    cost = np.random.default_rng(0).random((200, 200)) * 1e-6
    cost[0] += 1e6
    plain = network_simplex(cost, uniform(200), uniform(200))[0].toarray()
    plan, _ = solve_to_optimality(solver, cost, uniform(200), uniform(200))
    best = cost[linear_sum_assignment(cost)][1:].sum()
    assert (plain * cost)[1:].sum() * 200 > 1.1 * best  # what the network simplex alone would say
    assert (plan.toarray() * cost)[1:].sum() * 200 == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("dear", [1e3, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("share", [0.3, 0.8])
@pytest.mark.parametrize("solver", [network_simplex, hungarian])
def test_forbidden_pairs(solver, share, dear):
    rng = np.random.default_rng(1)
    cost, n = rng.random((60, 60)), 60
    forbidden = rng.random((n, n)) < share
    np.fill_diagonal(forbidden, False)  # so that there is a plan without them
    best = cost[linear_sum_assignment(np.where(forbidden, 2.0 * n, cost))].mean()
    plan, gap = solve_to_optimality(solver, np.where(forbidden, dear, cost), uniform(n), uniform(n))
    assert not plan.multiply(forbidden).sum()
    assert plan.multiply(cost).sum() == pytest.approx(best, rel=1e-6)
    assert gap <= 1e-6 * best


def test_forbidden_pairs_against_all_permutations():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cost = rng.random((6, 6))
        cost[rng.random((6, 6)) < 0.4] = 1e12
        np.fill_diagonal(cost, rng.random(6))
        best = min(cost[range(6), order].mean() for order in permutations(range(6)))
        plan, _ = solve_to_optimality(network_simplex, cost, uniform(6), uniform(6))
        assert plan.multiply(cost).sum() == pytest.approx(best, rel=1e-6)


def test_gap_of_a_plan_by_hand():
    cost, price = np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros(2)
    assert duality_gap(cost, assignment([0, 1]), price) == (0, 0)
    assert duality_gap(cost, assignment([1, 0]), price) == (2, 2)  # dearer by 2 than the best, which costs nothing
    assert duality_gap(cost, assignment([1, 0]), np.array([0.0, 1.0])) == (2, 2)


def test_points_without_weight_prove_nothing():
    cost = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0]])
    weights = uniform(2), np.array([0.5, 0.5, 0])
    plan, gap = solve_to_optimality(network_simplex, cost, *weights)
    assert gap == 0
    np.testing.assert_array_equal(plan.toarray(), [[0.5, 0, 0], [0, 0.5, 0]])


def test_an_open_gap_is_an_error():
    cost = np.array([[0.0, 3.0], [1.0, 0.0]])
    with pytest.raises(SolverError, match=r"dearer than the best by at most .*, found up to .* costs up to 3; bring"):
        solve_to_optimality(lambda *_: (assignment([1, 0]), np.zeros(2)), cost, uniform(2), uniform(2))


def test_a_plan_that_misses_the_weights_is_an_error():
    off = assignment([0, 1]) * (1 + 3 * MARGINAL_TOLERANCE)
    check_marginals(assignment([0, 1]) * (1 + MARGINAL_TOLERANCE / 2), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="expected the source weights to within 1e-07, found 3e-07 off"):
        solve_to_optimality(lambda *_: (off, np.zeros(2)), 1 - np.eye(2), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="expected the target weights"):
        check_marginals(assignment([0, 0]), uniform(2), uniform(2))
    with pytest.raises(SolverError, match="found nan off"):
        check_marginals(assignment([0, 1]), np.array([np.nan, 0.5]), uniform(2))


@pytest.fixture(params=["two normals", "many ties", "the same set"])
def groups(request):
    rng = np.random.default_rng(0)
    if request.param == "many ties":
        return rng.integers(0, 12, (300, 2)).astype(float), rng.integers(4, 16, (180, 2)).astype(float)
    source = rng.normal(size=(300, 3))
    return (source, source) if request.param == "the same set" else (source, rng.normal(size=(180, 3)) + 1)


def test_growing_the_pairs_finds_the_optimum_of_all_pairs(groups, monkeypatch):
    rng = np.random.default_rng(1)
    cost = squared_l1(*groups)
    source_weight, target_weight = (rng.integers(0, 4, n) + 0.0 for n in cost.shape)
    if groups[0] is groups[1]:
        source_weight = target_weight
    weights = source_weight / source_weight.sum(), target_weight / target_weight.sum()
    whole, _ = network_simplex(cost, *weights)
    monkeypatch.setattr(solvers, "DENSE_PAIRS", 400)
    monkeypatch.setattr(solvers, "NEAREST", 3)
    grown, gap = solve_to_optimality(network_simplex, cost, *weights)
    assert (grown * cost).sum() == pytest.approx((whole * cost).sum(), rel=1e-9, abs=1e-12)
    assert abs(gap) <= 1e-9


def test_stopping_early_is_an_error(monkeypatch):
    emd = ot.emd
    monkeypatch.setattr(ot, "emd", lambda *a, **kw: emd(*a, **kw | {"numItermax": 1}))
    monkeypatch.setattr("warnings.warn", lambda *a, **kw: None)
    with pytest.raises(SolverError, match="network simplex: expected an optimum"):
        network_simplex(np.random.default_rng(0).random((50, 50)), uniform(50), uniform(50))


def test_linear_program_by_hand():
    # The first row has three quarters: two go to the cheap column, the rest must cross to the other.
    plan, _ = linear_program(np.array([[0.0, 3.0], [5.0, 1.0]]), np.array([0.75, 0.25]), uniform(2))
    np.testing.assert_allclose(plan.toarray(), [[0.5, 0.25], [0, 0.25]], atol=1e-9)
    with pytest.raises(SolverError, match="expected status 'Optimal', found 'Infeasible'"):
        linear_program(np.zeros((2, 2)), uniform(2), np.array([0.5, 0.6]))


def test_import_loads_no_other_array_library():
    program = """
import os, sys
import sklearn.base  # its threadpoolctl sets variables of its own
before = dict(os.environ)
from fairlab.transport import ExactTransport
assert dict(os.environ) == before
loaded = {"tensorflow", "torch", "jax", "cupy", "keras"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Counted:
    """The network simplex, with a note of the sizes that it was given."""

    def __init__(self):
        self.sizes = []

    def __call__(self, cost, *weights):
        self.sizes.append(cost.shape)
        return network_simplex(cost, *weights)


def counts(n, seed):
    return np.random.default_rng(seed).integers(3, size=(n, 2)).astype(float)


@pytest.mark.parametrize(("n_source", "n_target"), [(120, 120), (120, 75), (40, 111)])
def test_merged_rows_have_the_optimum_of_the_rows_one_by_one(n_source, n_target):
    source, target = counts(n_source, 0), counts(n_target, 1) + 1
    cost, weights, solver = squared_l1(source, target), (uniform(n_source), uniform(n_target)), Counted()
    merged, gap = solve_merged(solver, cost, source, target, *weights)
    whole, _ = solve_to_optimality(network_simplex, cost, *weights)
    assert solver.sizes == [(9, 9)]
    assert abs(gap) <= 1e-12
    assert merged.multiply(cost).sum() == pytest.approx(whole.multiply(cost).sum(), rel=1e-12)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.sum(axis=axis), weight, rtol=1e-9)


def test_between_groups_of_one_size_nobody_is_split():
    source, target = counts(97, 5), counts(97, 6)
    cost = squared_l1(source, target)
    merged, _ = solve_merged(network_simplex, cost, source, target, uniform(97), uniform(97))
    assert merged.nnz == 97
    assert sorted(merged.tocoo().col) == list(range(97))


def test_rows_that_differ_or_cost_differently_are_left_alone():
    source, target = np.random.default_rng(7).normal(size=(2, 30, 2))
    cost, solver = squared_l1(source, target), Counted()
    merged, _ = solve_merged(solver, cost, source, target, uniform(30), uniform(30))
    whole, _ = solve_to_optimality(network_simplex, cost, uniform(30), uniform(30))
    np.testing.assert_array_equal(merged.toarray(), whole.toarray())
    equal = np.zeros((6, 1))
    solve_merged(solver, np.random.default_rng(8).random((6, 6)), equal, equal, uniform(6), uniform(6))
    assert solver.sizes == [(30, 30), (6, 6)]


def test_categories_and_missing_values_are_merged_too():
    table = pd.DataFrame({"job": pd.Categorical(["cook", "clerk", None] * 10), "age": [30.0, np.nan] * 15})
    cost, solver = ColumnCosts()(table, table), Counted()
    merged, _ = solve_merged(solver, cost, table, table, uniform(30), uniform(30))
    assert solver.sizes == [(6, 6)]
    assert merged.multiply(cost).sum() == 0


def test_merged_rows_have_their_weights():
    source, target, rng = counts(60, 2), counts(50, 3), np.random.default_rng(4)
    weights = [rng.integers(0, 4, n).astype(float) for n in (60, 50)]
    weights = [weight / weight.sum() for weight in weights]
    cost = squared_l1(source, target)
    merged, _ = solve_merged(network_simplex, cost, source, target, *weights)
    whole, _ = solve_to_optimality(network_simplex, cost, *weights)
    assert merged.multiply(cost).sum() == pytest.approx(whole.multiply(cost).sum(), rel=1e-9)
    for axis, weight in ((1, weights[0]), (0, weights[1])):
        np.testing.assert_allclose(merged.sum(axis=axis), weight, atol=1e-12)
