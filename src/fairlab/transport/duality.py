"""Whether a plan is the best one: its cost beside the bound that prices of the points prove (linear duality)."""

from dataclasses import dataclass, replace

import numpy as np

from fairlab.transport import network_simplex
from fairlab.transport.plan import Solution, SolverError

# A plan may be dearer than the proven bound by this share of what the choice of plan can change, ...
RELATIVE_GAP = 1e-6
# ... and by this share of everyone's dearest pair, which is rounding.
ROUNDING = 1e-14
# Rows priced at once: bounds the temporary arrays.
BLOCK = 256
# Rounds of looking for prices; then the network simplex is asked, whose prices prove any optimal plan.
MOST_ROUNDS = 10
MOST_REFINEMENTS = 4
# In a refinement, pairs dearer than this many times the open gap per point count as just so dear.
DEAREST = 2.0**20


@dataclass(frozen=True)
class Certificate:
    """Prices that no pair undercuts, and what they prove about a plan.

    Attributes
    ----------
    source_price, target_price : array of shape (n_source,) and (n_target,)
        Their sum is at most the cost of every pair of points that have weight.
    gap : float
        Cost of the plan less the bound: no plan is cheaper by more.
    allowed : float
        Gap that rounding explains.
    """

    source_price: np.ndarray
    target_price: np.ndarray
    gap: float
    allowed: float

    @property
    def closed(self) -> bool:
        """Whether the plan is proven to be the best."""
        return self.gap <= self.allowed


def certify(cost: np.ndarray, solution: Solution, source_weight: np.ndarray, target_weight: np.ndarray) -> Certificate:
    """Return prices that bound the cost of every plan, and the gap between the bound and the cost of one plan.

    The prices start from those of the solver, or from none. As long as a pair undercuts them, the target point's price
    is lowered to fit; for an optimal plan this ends (it is the Bellman-Ford method on the residual graph).

    Parameters
    ----------
    cost : array of shape (n_source, n_target)
    solution : Solution
    source_weight, target_weight : array of shape (n_source,) and (n_target,)
        Each sums to 1.
    """
    from_row, to_row = solution.plan.nonzero()
    paid = cost[from_row, to_row]
    mass = np.asarray(solution.plan[from_row, to_row]).ravel()
    priced = solution.target_price is not None
    price = solution.target_price if priced else np.zeros(cost.shape[1])
    with_weight = target_weight > 0
    for _ in range(MOST_ROUNDS):
        needed = np.full(len(cost), -np.inf)
        np.maximum.at(needed, from_row, paid - price[to_row])
        lower = np.full(len(price), np.inf)
        for rows in _blocks(cost):
            np.minimum(lower, (cost[rows] - needed[rows, None]).min(axis=0), out=lower)
        lower = np.minimum(price, lower)
        settled = not (lower < price)[with_weight].any()
        price = lower
        if settled or priced:
            break
    source_price, cheapest, dearest = np.empty((3, len(cost)))
    for rows in _blocks(cost):
        block = cost[rows][:, with_weight]
        source_price[rows] = (block - price[with_weight]).min(axis=1)
        cheapest[rows], dearest[rows] = block.min(axis=1), block.max(axis=1)
    # Pair by pair, so that a few dear ones do not drown the rest in rounding.
    gap = float(mass @ (paid - source_price[from_row] - price[to_row]))
    avoidable = float(mass @ (paid - cheapest[from_row]))
    return Certificate(source_price, price, gap, RELATIVE_GAP * avoidable + ROUNDING * float(source_weight @ dearest))


def solve_to_optimality(solver, cost: np.ndarray, source_weight: np.ndarray, target_weight: np.ndarray, **options):
    """Return a solver's plan and the proof that it is the best.

    Solvers stop at differences that are small beside 1, whatever the unit of the costs. So costs below 1 are scaled up,
    by a power of two, which rounds nothing; and where the gap stays open, as it does if few pairs are dearer by many
    orders of magnitude, the solver is asked again about the costs less the prices, in the unit of the gap.

    Parameters
    ----------
    solver : module with a function ``solve``
    cost : array of shape (n_source, n_target)
    source_weight, target_weight : array of shape (n_source,) and (n_target,)
        Each sums to 1.

    Returns
    -------
    solution : Solution
    certificate : Certificate

    Raises
    ------
    SolverError
        If the gap is not closed.
    """
    highest = cost.max()
    unit = float(2.0 ** np.floor(np.log2(highest))) if 0 < highest < 1 else 1.0
    scaled = cost if unit == 1 else cost / unit
    solution = solver.solve(scaled, source_weight, target_weight, **options)
    certificate = certify(cost, solution.in_unit(unit, 0.0), source_weight, target_weight)
    if not certificate.closed and solution.target_price is None:
        price = network_simplex.solve(scaled, source_weight, target_weight).target_price
        priced = replace(solution, target_price=price).in_unit(unit, 0.0)
        certificate = certify(cost, priced, source_weight, target_weight)
    for _ in range(MOST_REFINEMENTS):
        if certificate.closed:
            return solution, certificate
        remaining = cost - certificate.source_price[:, None]
        remaining -= certificate.target_price
        np.clip(remaining, 0, DEAREST * certificate.gap, out=remaining)
        remaining /= certificate.gap
        solution = solver.solve(remaining, source_weight, target_weight, **options)
        solution = solution.in_unit(certificate.gap, certificate.target_price)
        certificate = certify(cost, solution, source_weight, target_weight)
    if not certificate.closed:
        raise SolverError(
            f"{solution.solver}: its plan may be dearer than the best by {certificate.gap:.3g}, expected at most "
            f"{certificate.allowed:.3g}, for costs up to {highest:.3g}; bring the costs to one order of magnitude, or "
            "use another solver"
        )
    return solution, certificate


def _blocks(cost):
    return (slice(start, min(start + BLOCK, len(cost))) for start in range(0, len(cost), BLOCK))
