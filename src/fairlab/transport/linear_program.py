"""The linear program of optimal transport by PuLP, with the free solver that is there."""

from importlib.metadata import version

import numpy as np
import pulp
from scipy import sparse

from fairlab.transport.plan import Solution, SolverError

# PuLP holds an object per pair and constraint, so it is for teaching and checking, not for large problems.
MAX_PAIRS = 500 * 500
BYTES_PER_PAIR = 2_000

# PuLP's name, package with a version of its own, options. Interior point ends in a vertex by crossover, and
# takes less than half the time of the simplex method here.
_BACKENDS = {"HiGHS": ("HiGHS", "highspy", {"solver": "ipm"}), "CBC": ("PULP_CBC_CMD", None, {})}


def peak_bytes(n_source: int, n_target: int) -> int:
    """Return an estimate of the bytes that `solve` needs, the cost matrix included."""
    return (8 + BYTES_PER_PAIR) * n_source * n_target


def solve(
    cost: np.ndarray, source_weight: np.ndarray, target_weight: np.ndarray, *, backend: str | None = None
) -> Solution:
    """Return an optimal plan for weights that sum to 1.

    Parameters
    ----------
    cost : array of shape (n_source, n_target)
    source_weight : array of shape (n_source,)
    target_weight : array of shape (n_target,)
    backend : {"HiGHS", "CBC"}, optional
        Which solver PuLP calls; the first that is installed by default.

    Raises
    ------
    ValueError
        If there are more than ``MAX_PAIRS`` pairs, or `backend` is unknown.
    SolverError
        If `backend` is not installed or does not report an optimum.
    """
    if cost.size > MAX_PAIRS:
        raise ValueError(
            f"solver 'lp' takes at most {MAX_PAIRS:,} pairs, found {cost.shape[0]:,} x {cost.shape[1]:,}; "
            "subsample both groups or use 'network_simplex', which finds the same optimum"
        )
    solver, name = _solver(backend)
    # Weights in units of one source row keep the plan of equally large groups whole numbers.
    unit = 1 / len(source_weight)
    problem, moved = _program(cost, source_weight / unit, target_weight / unit)
    status = pulp.LpStatus[problem.solve(solver)]
    if status != "Optimal":
        raise SolverError(f"{name}: status {status!r}, expected 'Optimal'")
    mass = np.fromiter((variable.varValue for variable in moved), dtype=float, count=cost.size)
    plan = sparse.csr_array(mass.reshape(cost.shape) * unit)
    return Solution(plan, name)


def _solver(backend):
    installed = pulp.listSolvers(onlyAvailable=True)
    if backend is not None and backend not in _BACKENDS:
        raise ValueError(f"lp_backend: unknown {backend!r}, expected one of {', '.join(_BACKENDS)}")
    for name in [backend] if backend else _BACKENDS:
        pulp_name, package, options = _BACKENDS[name]
        if pulp_name in installed:
            own_version = f" {version(package)}" if package else ""
            return getattr(pulp, pulp_name)(msg=False, **options), f"{name}{own_version} (PuLP {version('pulp')})"
    raise SolverError(f"solver 'lp': {backend or ' and '.join(_BACKENDS)} not found; PuLP has {installed}")


def _program(cost, source_weight, target_weight):
    """Return the linear program and its variables in row order."""
    n_target = cost.shape[1]
    problem = pulp.LpProblem("transport", pulp.LpMinimize)
    moved = [problem.add_variable(f"m{k}", lowBound=0) for k in range(cost.size)]
    problem.setObjective(pulp.LpAffineExpression(zip(moved, cost.ravel().tolist(), strict=True)))
    lines = [(moved[i * n_target : (i + 1) * n_target], weight) for i, weight in enumerate(source_weight)]
    lines += [(moved[j::n_target], weight) for j, weight in enumerate(target_weight)]
    for k, (line, weight) in enumerate(lines):
        total = pulp.LpAffineExpression((variable, 1) for variable in line)
        problem.addConstraint(pulp.LpConstraint(total, pulp.LpConstraintEQ, f"weight{k}", float(weight)))
    return problem, moved
