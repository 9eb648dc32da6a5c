"""Transport plans: what every solver returns, and the check that it must pass."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

# CBC hands its answer to PuLP with eight digits.
MARGINAL_TOLERANCE = 1e-7


class SolverError(RuntimeError):
    """A solver did not reach an optimal plan.

    Examples
    --------
    >>> from fairlab.transport import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


@dataclass(frozen=True)
class Solution:
    """An optimal plan and what found it.

    Attributes
    ----------
    plan : sparse array of shape (n_source, n_target)
        Mass moved between each pair; sums to 1.
    solver : str
        Name and version.
    target_price : array of shape (n_target,), optional
        Dual prices of the target points, where the solver gives them, in the unit of the costs.
    """

    plan: sparse.csr_array
    solver: str
    target_price: np.ndarray | None = None

    def in_unit(self, unit: float, base: np.ndarray | float) -> "Solution":
        """Return the solution for costs of which `base` was taken off each column, and that were divided by `unit`."""
        price = self.target_price
        return self if price is None else replace(self, target_price=base + price * unit)


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
