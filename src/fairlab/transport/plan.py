"""Transport plans: what every solver returns, and the check that it must pass."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

# CBC hands its answer to PuLP with eight digits.
MARGINAL_TOLERANCE = 1e-7


class SolverError(RuntimeError):
    """A solver did not reach an optimal plan."""


@dataclass(frozen=True)
class Solution:
    """An optimal plan and what found it.

    Attributes
    ----------
    plan : sparse array of shape (n_source, n_target)
        Mass moved between each pair; sums to 1.
    solver : str
        Name and version.
    """

    plan: sparse.csr_array
    solver: str


def check_marginals(plan: sparse.csr_array, source_weight: np.ndarray, target_weight: np.ndarray) -> None:
    """Raise a SolverError unless rows and columns of `plan` sum to the weights.

    The total deviation (L1) of either side may be ``MARGINAL_TOLERANCE`` of the whole mass, which is 1.
    """
    for side, axis, weight in (("source", 1, source_weight), ("target", 0, target_weight)):
        deviation = np.abs(plan.sum(axis=axis) - weight).sum()
        if not deviation <= MARGINAL_TOLERANCE:
            raise SolverError(
                f"the plan misses the {side} weights by {deviation:.3g} in all, allowed {MARGINAL_TOLERANCE:g}"
            )
