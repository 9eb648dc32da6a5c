"""The assignment problem by SciPy: equally many points on both sides, all of the same weight."""

from importlib.metadata import version

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from fairlab.transport.plan import Solution


def peak_bytes(n_source: int, n_target: int) -> int:
    """Return an estimate of the bytes that `solve` needs, the cost matrix included."""
    return 8 * n_source * n_target


def solve(cost: np.ndarray, source_weight: np.ndarray, target_weight: np.ndarray) -> Solution:
    """Return an optimal permutation as a plan.

    Parameters
    ----------
    cost : array of shape (n, n)
    source_weight, target_weight : array of shape (n,)
        Uniform; the argument is there to be checked.

    Raises
    ------
    ValueError
        If sizes differ or weights are not uniform.
    """
    n_source, n_target = cost.shape
    if n_source != n_target:
        raise ValueError(
            f"solver 'hungarian' needs equally many rows, found {n_source} and {n_target}; use 'network_simplex'"
        )
    for name, weight in (("source_weight", source_weight), ("target_weight", target_weight)):
        if not np.allclose(weight, 1 / n_source, rtol=1e-12, atol=0):
            raise ValueError(f"solver 'hungarian' needs a uniform {name}; use 'network_simplex'")
    row, column = linear_sum_assignment(cost)
    plan = sparse.csr_array((np.full(n_source, 1 / n_source), (row, column)), shape=cost.shape)
    return Solution(plan, f"Hungarian algorithm (SciPy {version('scipy')})")
