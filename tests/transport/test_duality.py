import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from fairlab.transport import ExactTransport, SolverError, hungarian, network_simplex
from fairlab.transport.duality import certify, solve_to_optimality
from fairlab.transport.plan import Solution


def uniform(n):
    return np.full(n, 1 / n)


def assignment(columns, price=None):
    n = len(columns)
    return Solution(sparse.csr_array((uniform(n), (np.arange(n), columns)), shape=(n, n)), "by hand", price)


@pytest.mark.parametrize("solver", [network_simplex, hungarian])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e-7, 1, 1e12])
def test_the_best_plan_in_any_unit(solver, unit):
    cost = np.random.default_rng(0).random((150, 150)) * unit
    solution, certificate = solve_to_optimality(solver, cost, uniform(150), uniform(150))
    best = cost[linear_sum_assignment(cost)].mean()
    assert (solution.plan.toarray() * cost).sum() == pytest.approx(best, rel=1e-9, abs=0)
    assert certificate.closed
    assert abs(certificate.gap) <= 1e-9 * best


def test_tiny_differences_beside_one_dear_person():
    cost = np.random.default_rng(0).random((200, 200)) * 1e-6
    cost[0] += 1e6
    plain = network_simplex.solve(cost, uniform(200), uniform(200)).plan.toarray()
    solution, _ = solve_to_optimality(network_simplex, cost, uniform(200), uniform(200))
    best = cost[linear_sum_assignment(cost)][1:].sum()
    assert (plain * cost)[1:].sum() * 200 > 1.1 * best  # what the solver alone would say
    assert (solution.plan.toarray() * cost)[1:].sum() * 200 == pytest.approx(best, rel=1e-6)


def test_gap_of_a_plan_by_hand():
    cost = np.array([[0.0, 3.0], [1.0, 0.0]])
    best = certify(cost, assignment([0, 1]), uniform(2), uniform(2))
    assert best.closed
    assert best.gap == pytest.approx(0)
    crossed = certify(cost, assignment([1, 0]), uniform(2), uniform(2))
    assert not crossed.closed
    assert crossed.gap >= 2  # 2 dearer than the best, which costs nothing
    priced = certify(cost, assignment([0, 1], price=np.zeros(2)), uniform(2), uniform(2))
    assert (priced.source_price[:, None] + priced.target_price <= cost).all()


def test_a_large_assignment_is_proven_by_prices_of_the_network_simplex():
    X = np.random.default_rng(0).normal(size=(700, 2))
    Y = np.random.default_rng(1).gamma(2, size=(700, 2))
    cost = np.abs(X[:, None] - Y).sum(axis=2) ** 2
    solution, certificate = solve_to_optimality(hungarian, cost, uniform(700), uniform(700))
    assert certificate.closed
    assert not certify(cost, solution, uniform(700), uniform(700)).closed  # prices of its own take too many rounds


def test_people_without_weight_prove_nothing():
    cost = np.array([[0.0, 5.0, 0.0], [5.0, 0.0, 0.0]])
    plan = sparse.csr_array([[0.5, 0, 0], [0, 0.5, 0]])
    assert certify(cost, Solution(plan, "by hand"), uniform(2), np.array([0.5, 0.5, 0])).closed


def test_an_open_gap_is_an_error(monkeypatch):
    crossed = assignment([1, 0])
    monkeypatch.setattr(network_simplex, "solve", lambda *_, **__: crossed)
    cost = np.array([[0.0, 3.0], [1.0, 0.0]])
    with pytest.raises(SolverError, match=r"by hand: its plan may be dearer than the best by .*, expected at most"):
        solve_to_optimality(network_simplex, cost, uniform(2), uniform(2))
    with pytest.raises(SolverError, match="for costs up to 3; bring the costs to one order of magnitude"):
        ExactTransport(cost=lambda *_: cost).fit([[0.0], [1.0]], [[0.0], [1.0]])


def test_all_costs_zero():
    solution, certificate = solve_to_optimality(network_simplex, np.zeros((3, 3)), uniform(3), uniform(3))
    assert certificate.closed
    np.testing.assert_allclose(solution.plan.sum(axis=1), 1 / 3)
