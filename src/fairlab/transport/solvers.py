"""Exact transport: the problem, its solvers, and the proof that a plan is optimal.

A solver is a function of a `Problem`. It returns a plan, a sparse array of shape (n_source, n_target), and the dual
potentials of the target points, or None if it has none.
"""

import os
from dataclasses import dataclass, replace
from functools import cache, partial
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

# POT loads every array library that is installed; here it only ever sees NumPy arrays.
_WITHOUT_BACKENDS = {f"POT_BACKEND_DISABLE_{name}": "1" for name in ("CUPY", "JAX", "PYTORCH", "TENSORFLOW")}
# Up to this many pairs POT gets the whole matrix.
DENSE_PAIRS = 2_500**2
# Pairs offered per point in each round of column generation.
NEAREST = 100
# Rows priced or compared at once: bounds the temporary arrays.
BLOCK = 256
# A pair may undercut the potentials by this share of the largest cost.
POTENTIAL_TOLERANCE = 1e-11
# PuLP holds an object per pair and constraint, so it is for teaching and checking, not for large problems.
MAX_PROGRAM_PAIRS = 500 * 500

# A plan may exceed the proven bound by this share of the cost that a choice of pairs can avoid.
RELATIVE_GAP = 1e-6
MOST_REFINEMENTS = 4
# In a refinement, the cost of a pair is capped at this multiple of the plan's cost.
MOST_COST = 2.0**20
# Total deviation of marginals from the weights that is put down to rounding.
MARGINAL_TOLERANCE = 1e-7


class SolverError(RuntimeError):
    """A solver did not reach an optimal plan.

    Examples
    --------
    >>> from fairlab.transport import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem of moving the weights of one sample onto those of another at the least cost.

    Attributes
    ----------
    cost : ndarray of shape (n_source, n_target)
        Costs of all pairs, at least 0.
    source_weight, target_weight : ndarray of shape (n_source,) and (n_target,)
        At least 0; each sums to 1.
    """

    cost: np.ndarray
    source_weight: np.ndarray
    target_weight: np.ndarray

    @classmethod
    def uniform(cls, cost: np.ndarray) -> "Problem":
        """Return the problem whose points have equal weights on either side."""
        return cls(cost, *(np.full(n, 1 / n) for n in cost.shape))

    @property
    def is_uniform(self) -> bool:
        """Whether the points of either side have equal weights."""
        weights = (self.source_weight, self.target_weight)
        return all(np.allclose(weight, 1 / len(weight), rtol=1e-12, atol=0) for weight in weights)

    def check_marginals(self, plan) -> None:
        """Raise a SolverError unless a plan's rows and columns sum to the weights but for `MARGINAL_TOLERANCE`."""
        for side, axis, weight in (("source", 1, self.source_weight), ("target", 0, self.target_weight)):
            deviation = np.abs(plan.sum(axis=axis) - weight).sum()
            if not deviation <= MARGINAL_TOLERANCE:
                expected = f"expected the {side} weights to within {MARGINAL_TOLERANCE:g}"
                raise SolverError(f"plan: {expected}, found {deviation:.3g} off in all")

    def duality_gap(self, plan, target_potential, *, most: float = np.inf) -> tuple[float, float]:
        """Return the most by which a plan may exceed the least cost, and the cost that a choice of pairs could avoid.

        Potentials that no pair undercuts bound the cost of every plan from below (linear duality). Given the target's
        potentials, the source's best ones are the least reduced costs.

        Parameters
        ----------
        plan : sparse array of shape (n_source, n_target)
        target_potential : ndarray of shape (n_target,)
        most : float
            Larger costs count as `most` in the bound, but not in the plan.
        """
        from_row, to_row = plan.nonzero()
        mass, paid = plan[from_row, to_row], self.cost[from_row, to_row]
        used = np.isin(np.arange(self.cost.shape[1]), to_row)
        source_potential, cheapest = np.empty((2, len(self.cost)))
        for rows in blocks(len(self.cost)):
            block = np.minimum(self.cost[rows][:, used], most)
            reduced = block - target_potential[used]
            source_potential[rows], cheapest[rows] = reduced.min(axis=1), block.min(axis=1)
        # Pair by pair, so that a few pairs of high cost do not lose the rest in rounding.
        gap = mass @ (paid - source_potential[from_row] - target_potential[to_row])
        avoidable = mass @ (paid - cheapest[from_row])
        return float(min(gap, avoidable)), float(avoidable)  # potentials of zero prove a bound, too


def solve(problem: Problem, solver) -> tuple[sparse.csr_array, float]:
    """Return a solver's plan and its duality gap, which proves that no plan costs less.

    Parameters
    ----------
    problem : Problem
    solver : callable

    Raises
    ------
    SolverError
        If the gap stays open, or the plan misses the weights.
    """
    # Solvers stop at differences that are small beside 1: costs below are given in a smaller unit.
    plan, gap, avoidable = _attempt(problem, solver, unit=_power_of_two(min(problem.cost.max(), 1.0)))
    if gap > RELATIVE_GAP * avoidable:
        plan, gap, avoidable = _refined(problem, solver, plan)
    if not gap <= RELATIVE_GAP * avoidable:
        raise SolverError(
            f"expected a plan that is dearer than the best by at most {RELATIVE_GAP * avoidable:.3g}, found up to "
            f"{gap:.3g}, for costs up to {problem.cost.max():.3g}; bring the costs to one order of magnitude, or use "
            "another solver"
        )
    problem.check_marginals(plan)
    return plan, gap


def _attempt(problem, solver, *, unit: float, most: float = np.inf):
    """Return the plan for costs up to `most`, in some unit, its gap, and the cost that a choice of pairs could avoid.

    A plan without potentials is judged by those of the network simplex.
    """
    scaled = problem
    if unit != 1 or most < np.inf:  # a large matrix is not copied for nothing
        scaled = replace(problem, cost=np.minimum(problem.cost, most) / unit)
    plan, potential = solver(scaled)
    potential = network_simplex(scaled)[1] if potential is None else potential
    return plan, *problem.duality_gap(plan, unit * potential, most=most)


def _refined(problem, solver, plan):
    """Return the result of `_attempt` where rounding beside very costly pairs has lost the differences of the others.

    The solver gets the costs in excess of the cheapest of each row and column, since all plans pay the rest alike. The
    unit is the excess that the previous plan pays, and the cap is `MOST_COST` times that. A plan that is optimal for
    capped costs and uses no capped pair is optimal.
    """
    cost = problem.cost - problem.cost.min(axis=1, keepdims=True)
    cost -= cost.min(axis=0)
    reduced, gap, avoidable = replace(problem, cost=cost), np.inf, 0.0
    for _ in range(MOST_REFINEMENTS):
        paid = float(plan.multiply(cost).sum())
        if paid == 0:
            return plan, 0.0, 0.0
        plan, gap, avoidable = _attempt(reduced, solver, unit=_power_of_two(paid), most=MOST_COST * paid)
        if gap <= RELATIVE_GAP * avoidable:
            break
    return plan, gap, avoidable


def _power_of_two(number: float) -> float:
    """Return the largest power of two not above a number (division by it is exact); 1 for zero."""
    return 2.0 ** np.floor(np.log2(number)) if number > 0 else 1.0


def hungarian(problem: Problem):
    """Solve the assignment problem by SciPy: the same number of points on both sides, all of the same weight."""
    n_source, n_target = problem.cost.shape
    if n_source != n_target:
        raise ValueError(
            f"solver 'hungarian' needs equally many rows, found {n_source} and {n_target}; use 'network_simplex'"
        )
    if not problem.is_uniform:
        raise ValueError("solver 'hungarian' needs uniform source_weight and target_weight; use 'network_simplex'")
    row, column = linear_sum_assignment(problem.cost)
    return sparse.csr_array((np.full(n_source, 1 / n_source), (row, column)), shape=problem.cost.shape), None


def linear_program(problem: Problem):
    """Solve the linear program by PuLP, with HiGHS."""
    cost, (n_source, n_target) = problem.cost, problem.cost.shape
    if cost.size > MAX_PROGRAM_PAIRS:
        raise ValueError(
            f"solver 'lp' takes at most {MAX_PROGRAM_PAIRS:,} pairs, found {n_source:,} x {n_target:,}; "
            "subsample both groups or use 'network_simplex', which finds the same optimum"
        )
    import pulp

    # Interior point ends in a vertex by crossover, and takes less than half the time of the simplex method here.
    solver = pulp.HiGHS(msg=False, solver="ipm")
    # Weights in units of one source row keep the plan of equally large groups whole numbers.
    unit, program = 1 / n_source, pulp.LpProblem("transport", pulp.LpMinimize)
    moved = np.array([program.add_variable(f"m{k}", lowBound=0) for k in range(cost.size)]).reshape(cost.shape)
    program.setObjective(pulp.lpDot(cost.ravel().tolist(), moved.ravel().tolist()))
    weights = np.concatenate([problem.source_weight, problem.target_weight])
    for k, (line, weight) in enumerate(zip([*moved, *moved.T], weights, strict=True)):
        program.addConstraint(pulp.lpSum(line.tolist()) == float(weight / unit), f"weight{k}")
    outcome = program.solve(solver)
    status = pulp.LpStatus[outcome] if isinstance(outcome, int) else outcome.status.name  # PuLP 3; 4
    if status != "Optimal":
        raise SolverError(f"{solver.name}: expected status 'Optimal', found {status!r}")
    mass = np.array([variable.varValue for variable in moved.flat], dtype=float)
    return sparse.csr_array(mass.reshape(cost.shape) * unit), None


def network_simplex(problem: Problem):
    """Solve the problem by POT's network simplex, a large one by column generation."""
    cost, rows, columns = problem.cost, np.flatnonzero(problem.source_weight), np.flatnonzero(problem.target_weight)
    active = cost if (len(rows), len(columns)) == cost.shape else cost[np.ix_(rows, columns)]
    weights = problem.source_weight[rows], problem.target_weight[columns]
    plan, _, active_potential = _optimum(active, *weights, np.random.default_rng(0))
    plan, potential = sparse.coo_array(plan), np.zeros(cost.shape[1])
    potential[columns] = active_potential
    return sparse.csr_array((plan.data, (rows[plan.row], columns[plan.col])), shape=cost.shape), potential


SOLVERS = {"network_simplex": network_simplex, "hungarian": hungarian, "lp": linear_program}


def peak_bytes(solver: str, n_source: int, n_target: int) -> int:
    """Return an estimate of the bytes that a solver needs, the cost matrix included.

    Parameters
    ----------
    solver : str
        A key of `SOLVERS`.
    n_source, n_target : int
    """
    n_pairs = n_source * n_target
    # POT copies the costs and adds flow, end points and plan; PuLP holds objects.
    own = {"hungarian": 0, "lp": 2_000 * n_pairs, "network_simplex": 5 * 8 * min(n_pairs, DENSE_PAIRS)}[solver]
    generated = 20_000 * (n_source + n_target) if solver == "network_simplex" and n_pairs > DENSE_PAIRS else 0
    return 8 * n_pairs + own + generated


def _optimum(cost, source_weight, target_weight, rng):
    """Return a plan and the potentials of both sides."""
    solver = _emd if cost.size <= DENSE_PAIRS else partial(_column_generation, rng=rng)
    return solver(cost, source_weight, target_weight)


def _column_generation(cost, source_weight, target_weight, rng):
    """Return a plan and the potentials of both sides, found from a small subset of the pairs of points.

    The linear program has a column for each pair, a restricted program only the promising ones. Pairs whose cost its
    potentials exceed are added until there are none. By linear programming duality, its plan is then optimal among all
    pairs. This needs a third of the memory of the network simplex on all pairs.
    """
    # The potentials of half of the points show which of all pairs are promising.
    halves = [np.sort(rng.choice(n, -(-n // 2), replace=False)) for n in cost.shape]
    weights = (weight[half] for weight, half in zip((source_weight, target_weight), halves, strict=True))
    half_potential = _optimum(cost[np.ix_(*halves)], *(weight / weight.sum() for weight in weights), rng)[2]
    source_potential, target_potential = _extended(cost, halves[1], half_potential)
    to_source = _least_reduced(cost.T, np.zeros(cost.shape[1]), source_potential)
    pairs = _joined(
        _least_reduced(cost, source_potential, target_potential),
        np.ravel_multi_index(np.divmod(to_source, len(cost))[::-1], cost.shape),
        _feasible_pairs(source_weight, target_weight),
    )
    tolerance = POTENTIAL_TOLERANCE * cost.max()
    while True:
        restricted = sparse.coo_array((cost.ravel()[pairs], np.divmod(pairs, cost.shape[1])), shape=cost.shape)
        plan, source_potential, target_potential = _emd(restricted, source_weight, target_weight)
        missing = _least_reduced(cost, source_potential, target_potential, below=-tolerance)
        grown = _joined(pairs, missing)
        if len(grown) == len(pairs):
            return plan, source_potential, target_potential
        pairs = grown


def _emd(cost, source_weight, target_weight):
    """Return POT's plan and potentials, for all pairs or for those in a sparse matrix."""
    # POT stops at 100,000 pivots unless told otherwise.
    plan, log = _pot().emd(source_weight, target_weight, cost, numItermax=2**62, log=True, center_dual=False)
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"network simplex: expected an optimum, found {log['warning']} ({log['result_code']})")
    return plan, log["u"], log["v"]


@cache
def _pot():
    """Import POT when it is first used."""
    with patch.dict(os.environ, _WITHOUT_BACKENDS):
        import ot
    return ot


def _extended(cost, target_half, half_potential):
    """Return potentials of all points, from those of half of the targets, that no pair undercuts."""
    source_potential, target_potential = np.empty(len(cost)), np.full(cost.shape[1], np.inf)
    for rows in blocks(len(cost)):
        source_potential[rows] = (cost[rows][:, target_half] - half_potential).min(axis=1)
        lowest = (cost[rows] - source_potential[rows, None]).min(axis=0)
        np.minimum(target_potential, lowest, out=target_potential)
    return source_potential, target_potential


def _least_reduced(cost, source_potential, target_potential, below=np.inf):
    """Return, as flat indices, the pairs of least reduced cost in each row, if that is under `below`."""
    n_columns = cost.shape[1]
    nearest = min(NEAREST, n_columns - 1)
    found = []
    for rows in blocks(len(cost)):
        reduced = np.subtract(cost[rows], target_potential, order="C")
        reduced -= source_potential[rows, None]
        candidates = np.flatnonzero(reduced.min(axis=1) < below)
        reduced = reduced[candidates]
        column = np.argpartition(reduced, nearest, axis=1)[:, :nearest]
        take, position = np.nonzero(np.take_along_axis(reduced, column, axis=1) < below)
        found.append((rows.start + candidates[take]) * n_columns + column[take, position])
    return np.concatenate(found)


def _feasible_pairs(source_weight, target_weight):
    """Return, as flat indices, pairs that can carry all mass: those of the north-west corner rule."""
    n_source, n_target = len(source_weight), len(target_weight)
    used_up = np.argsort(np.concatenate([source_weight.cumsum(), target_weight.cumsum()]), kind="stable")
    is_source = used_up < n_source
    row = np.minimum(np.cumsum(is_source), n_source - 1)
    column = np.minimum(np.cumsum(~is_source), n_target - 1)
    return np.append(row * n_target + column, 0)


def _joined(*pairs):
    """Return all pairs once, in order; faster than np.unique, which hashes integers."""
    pairs = np.sort(np.concatenate(pairs))
    return pairs[np.diff(pairs, prepend=-1) > 0]


def blocks(n: int):
    """Return slices of up to `BLOCK` rows."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
