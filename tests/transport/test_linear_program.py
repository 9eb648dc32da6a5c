import numpy as np
import pytest

from fairlab.transport import SolverError, linear_program
from fairlab.transport.linear_program import MAX_PAIRS, peak_bytes, solve


def test_by_hand():
    # The first row has three quarters: two go to the cheap column, the rest must cross to the other.
    cost = np.array([[0.0, 3.0], [5.0, 1.0]])
    solution = solve(cost, np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(solution.plan.toarray(), [[0.5, 0.25], [0, 0.25]], atol=1e-9)
    assert "PuLP" in solution.solver


def test_what_cannot_be_solved_is_refused():
    uniform = np.full(2, 0.5)
    with pytest.raises(ValueError, match="unknown 'GLPK', expected one of HiGHS, CBC"):
        solve(np.zeros((2, 2)), uniform, uniform, backend="GLPK")
    with pytest.raises(ValueError, match="takes at most 250,000 pairs, found 501 x 500"):
        solve(np.zeros((501, 500)), np.full(501, 1 / 501), np.full(500, 1 / 500))
    with pytest.raises(SolverError, match="status 'Infeasible'"):
        solve(np.zeros((2, 2)), uniform, np.array([0.5, 0.6]))


def test_a_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr(linear_program.pulp, "listSolvers", lambda onlyAvailable: ["GLPK_CMD"])
    with pytest.raises(SolverError, match=r"HiGHS and CBC not found; PuLP has \['GLPK_CMD'\]"):
        solve(np.zeros((1, 1)), np.ones(1), np.ones(1))


def test_memory_grows_with_the_pairs():
    assert peak_bytes(500, 500) == MAX_PAIRS * peak_bytes(1, 1)
