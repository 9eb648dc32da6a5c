"""Solvers of exact transport, and the proof that a plan is the best.

A solver is a function of costs (n_source, n_target) and of weights of both sides, each of which sums to 1. It returns a
plan, a sparse array of the same shape, and the dual prices of the target points, or None where it has none.
"""

import os
from functools import cache
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linear_sum_assignment

# POT loads every array library that is installed; here it only ever sees NumPy arrays.
_WITHOUT_BACKENDS = {f"POT_BACKEND_DISABLE_{name}": "1" for name in ("CUPY", "JAX", "PYTORCH", "TENSORFLOW")}
# Up to this many pairs POT gets the whole matrix.
DENSE_PAIRS = 2_500**2
# Pairs offered per point in each round of the search.
NEAREST = 100
# Rows priced or compared at once: bounds the temporary arrays.
BLOCK = 256
# A pair may undercut the potentials by this share of the largest cost.
PRICE_TOLERANCE = 1e-11
# PuLP holds an object per pair and constraint, so it is for teaching and checking, not for large problems.
MAX_PROGRAM_PAIRS = 500 * 500

# A plan may be dearer than the proven bound by this share of what the choice of pairs can change.
RELATIVE_GAP = 1e-6
MOST_REFINEMENTS = 4
# In a refinement, pairs dearer than this many times what the plan pays count as just so dear.
DEAREST = 2.0**20
# What rounding may leave of the weights, in all.
MARGINAL_TOLERANCE = 1e-7

# Rows are merged if no more than this share of the pairs is left.
WORTHWHILE = 0.5
# Pieces of mass below this share of the smallest weight are rounding.
SLIVER = 1e-6


class SolverError(RuntimeError):
    """A solver did not reach an optimal plan.

    Examples
    --------
    >>> from fairlab.transport import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


def hungarian(cost, source_weight, target_weight):
    """Solve the assignment problem by SciPy: equally many points on both sides, all of the same weight."""
    n_source, n_target = cost.shape
    if n_source != n_target:
        raise ValueError(
            f"solver 'hungarian' needs equally many rows, found {n_source} and {n_target}; use 'network_simplex'"
        )
    for name, weight in (("source_weight", source_weight), ("target_weight", target_weight)):
        if not np.allclose(weight, 1 / n_source, rtol=1e-12, atol=0):
            raise ValueError(f"solver 'hungarian' needs a uniform {name}; use 'network_simplex'")
    row, column = linear_sum_assignment(cost)
    return sparse.csr_array((np.full(n_source, 1 / n_source), (row, column)), shape=cost.shape), None


def linear_program(cost, source_weight, target_weight):
    """Solve the linear program by PuLP, with HiGHS."""
    if cost.size > MAX_PROGRAM_PAIRS:
        raise ValueError(
            f"solver 'lp' takes at most {MAX_PROGRAM_PAIRS:,} pairs, found {cost.shape[0]:,} x {cost.shape[1]:,}; "
            "subsample both groups or use 'network_simplex', which finds the same optimum"
        )
    import pulp

    # Interior point ends in a vertex by crossover, and takes less than half the time of the simplex method here.
    solver = pulp.HiGHS(msg=False, solver="ipm")
    # Weights in units of one source row keep the plan of equally large groups whole numbers.
    unit, n_target = 1 / len(source_weight), cost.shape[1]
    problem = pulp.LpProblem("transport", pulp.LpMinimize)
    moved = [problem.add_variable(f"m{k}", lowBound=0) for k in range(cost.size)]
    problem.setObjective(pulp.lpDot(cost.ravel().tolist(), moved))
    lines = [(moved[i * n_target : (i + 1) * n_target], weight) for i, weight in enumerate(source_weight)]
    lines += [(moved[j::n_target], weight) for j, weight in enumerate(target_weight)]
    for k, (line, weight) in enumerate(lines):
        problem.addConstraint(pulp.lpSum(line) == float(weight / unit), f"weight{k}")
    outcome = problem.solve(solver)
    status = pulp.LpStatus[outcome] if isinstance(outcome, int) else outcome.status.name  # PuLP 3; 4
    if status != "Optimal":
        raise SolverError(f"{solver.name}: expected status 'Optimal', found {status!r}")
    mass = np.fromiter((variable.varValue for variable in moved), dtype=float, count=cost.size)
    return sparse.csr_array(mass.reshape(cost.shape) * unit), None


def network_simplex(cost, source_weight, target_weight):
    """Solve the problem by POT's network simplex, on as few pairs of points as the optimum needs."""
    rows, columns = np.flatnonzero(source_weight), np.flatnonzero(target_weight)
    whole = (len(rows), len(columns)) == cost.shape
    active = cost if whole else cost[np.ix_(rows, columns)]
    plan, potential = _optimum(active, source_weight[rows], target_weight[columns], np.random.default_rng(0))
    plan = sparse.coo_array(plan)
    price = np.zeros(cost.shape[1])
    price[columns] = potential
    return sparse.csr_array((plan.data, (rows[plan.row], columns[plan.col])), shape=cost.shape), price


SOLVERS = {"network_simplex": network_simplex, "hungarian": hungarian, "lp": linear_program}


def peak_bytes(solver: str, n_source: int, n_target: int) -> int:
    """Return an estimate of the bytes that a solver needs, the cost matrix included."""
    n_pairs = n_source * n_target
    # POT copies the costs and keeps flow, end points and plan beside them; PuLP has objects.
    own = {"hungarian": 0, "lp": 2_000 * n_pairs, "network_simplex": 5 * 8 * min(n_pairs, DENSE_PAIRS)}[solver]
    priced = 20_000 * (n_source + n_target) if solver == "network_simplex" and n_pairs > DENSE_PAIRS else 0
    return 8 * n_pairs + own + priced


def duality_gap(cost, plan, target_price, *, most: float = np.inf) -> tuple[float, float]:
    """Return by how much a plan may be dearer than the best, and how much of its cost a choice of pairs could avoid.

    Prices that no pair undercuts bound the cost of every plan from below (linear duality). Given the target's, the
    source's best ones are the least reduced costs. Costs above `most` count as `most` for the bound, not for the plan.
    """
    from_row, to_row = plan.nonzero()
    mass, paid = plan[from_row, to_row], cost[from_row, to_row]
    used = np.isin(np.arange(cost.shape[1]), to_row)
    source_price, cheapest = np.empty((2, len(cost)))
    for rows in _blocks(len(cost)):
        block = np.minimum(cost[rows][:, used], most)
        source_price[rows], cheapest[rows] = (block - target_price[used]).min(axis=1), block.min(axis=1)
    # Pair by pair, so that a few dear ones do not drown the rest in rounding.
    gap = mass @ (paid - source_price[from_row] - target_price[to_row])
    avoidable = mass @ (paid - cheapest[from_row])
    return float(min(gap, avoidable)), float(avoidable)  # prices of zero prove a bound, too


def solve_to_optimality(solver, cost, source_weight, target_weight):
    """Return a solver's plan and its duality gap; a SolverError if the gap stays open, or the plan misses the weights.

    A plan without prices is judged by those of the network simplex. Solvers stop at differences that are small beside
    1, or beside the largest cost. So costs below 1 are scaled up, by a power of two, which rounds nothing; and where
    the gap stays open, as it does if few pairs are dearer by many orders of magnitude, the solver gets what a pair
    costs more than the cheapest of its row and column, in the unit of what a plan pays of it, and up to `DEAREST`. A
    plan that uses no dearer pair, and is the best of the others, is the best of all.
    """
    remaining, most, highest = cost, np.inf, cost.max()
    paid = min(highest, 1.0)
    for _ in range(1 + MOST_REFINEMENTS):
        unit = 2.0 ** np.floor(np.log2(paid)) if paid > 0 else 1.0
        scaled = remaining if unit == 1 and most == np.inf else np.minimum(remaining, most) / unit
        plan, price = solver(scaled, source_weight, target_weight)
        if price is None:
            price = network_simplex(scaled, source_weight, target_weight)[1]
        gap, avoidable = duality_gap(remaining, plan, unit * price, most=most)
        if gap <= RELATIVE_GAP * avoidable:
            check_marginals(plan, source_weight, target_weight)
            return plan, gap
        if most == np.inf:
            remaining = cost - cost.min(axis=1, keepdims=True)
            remaining -= remaining.min(axis=0)
        paid = float(plan.multiply(remaining).sum())
        most = DEAREST * paid
    raise SolverError(
        f"expected a plan that is dearer than the best by at most {RELATIVE_GAP * avoidable:.3g}, found up to "
        f"{gap:.3g}, for costs up to {highest:.3g}; bring the costs to one order of magnitude, or use another solver"
    )


def check_marginals(plan, source_weight, target_weight) -> None:
    """Raise a SolverError unless rows and columns of a plan sum to the weights, in all but `MARGINAL_TOLERANCE`."""
    for side, axis, weight in (("source", 1, source_weight), ("target", 0, target_weight)):
        deviation = np.abs(plan.sum(axis=axis) - weight).sum()
        if not deviation <= MARGINAL_TOLERANCE:
            expected = f"expected the {side} weights to within {MARGINAL_TOLERANCE:g}"
            raise SolverError(f"plan: {expected}, found {deviation:.3g} off in all")


def solve_merged(solver, cost, source, target, source_weight, target_weight):
    """Return an optimal plan and its gap, as `solve_to_optimality` does, with equal rows solved as one.

    The mass of equal rows is handed out in their order, which the optimum leaves open. Rows are only merged where that
    makes the problem much smaller, and equal rows have equal costs.
    """
    (row, one_row), (column, one_column) = _kinds(source), _kinds(target)
    if len(one_row) * len(one_column) <= WORTHWHILE * cost.size:
        small = cost[np.ix_(one_row, one_column)]
        if all(np.array_equal(cost[rows], small[row[rows]][:, column]) for rows in _blocks(len(cost))):
            weights = np.bincount(row, source_weight), np.bincount(column, target_weight)
            plan, gap = solve_to_optimality(solver, small, *weights)
            plan = _handed_out(plan, row, column, source_weight, target_weight)
            check_marginals(plan, source_weight, target_weight)
            return plan, gap
    return solve_to_optimality(solver, cost, source_weight, target_weight)


def _optimum(cost, source_weight, target_weight, rng):
    """Return a plan and the target's potentials.

    A large problem is solved on half of the points first. The potentials of the half tell which pairs of the whole
    are promising; the network simplex runs on those, then on those and all pairs that its potentials would improve
    upon, until there are none. By linear programming duality the plan is then optimal among all pairs. This needs a
    third of the memory of the network simplex on all pairs.
    """
    if cost.size <= DENSE_PAIRS:
        plan, _, target_potential = _emd(cost, source_weight, target_weight)
        return plan, target_potential
    source_half, target_half = (np.sort(rng.choice(n, -(-n // 2), replace=False)) for n in cost.shape)
    half_cost = cost[np.ix_(source_half, target_half)]
    half_weights = (weight / weight.sum() for weight in (source_weight[source_half], target_weight[target_half]))
    _, half_potential = _optimum(half_cost, *half_weights, rng)
    del half_cost
    source_potential, target_potential = _extend(cost, target_half, half_potential)
    pairs = _merged(
        _cheapest_of_rows(cost, source_potential, target_potential),
        _transposed(_cheapest_of_rows(cost.T, np.zeros(cost.shape[1]), source_potential), cost.T.shape),
        _feasible_pairs(source_weight, target_weight),
    )
    tolerance = PRICE_TOLERANCE * cost.max()
    while True:
        costs = sparse.coo_array((cost.ravel()[pairs], np.divmod(pairs, cost.shape[1])), shape=cost.shape)
        plan, source_potential, target_potential = _emd(costs, source_weight, target_weight)
        better = _cheapest_of_rows(cost, source_potential, target_potential, below=-tolerance)
        grown = _merged(pairs, better)
        if len(grown) == len(pairs):
            return plan, target_potential
        pairs = grown


@cache
def _pot():
    """Import POT when it is first used."""
    with patch.dict(os.environ, _WITHOUT_BACKENDS):
        import ot
    return ot


def _emd(cost, source_weight, target_weight):
    # POT stops at 100,000 pivots unless told otherwise.
    plan, log = _pot().emd(source_weight, target_weight, cost, numItermax=2**62, log=True, center_dual=False)
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"network simplex: expected an optimum, found {log['warning']} ({log['result_code']})")
    return plan, log["u"], log["v"]


def _extend(cost, target_half, half_potential):
    """Return potentials of all points, from those of half of the targets, that no pair undercuts."""
    source_potential = np.empty(len(cost))
    target_potential = np.full(cost.shape[1], np.inf)
    for rows in _blocks(len(cost)):
        source_potential[rows] = (cost[rows][:, target_half] - half_potential).min(axis=1)
        lowest = (cost[rows] - source_potential[rows, None]).min(axis=0)
        np.minimum(target_potential, lowest, out=target_potential)
    return source_potential, target_potential


def _cheapest_of_rows(cost, source_potential, target_potential, below=np.inf):
    """Return, as flat indices, the pairs of least reduced cost in each row, if `below` a limit."""
    n_columns = cost.shape[1]
    nearest = min(NEAREST, n_columns - 1)
    found = []
    for rows in _blocks(len(cost)):
        reduced = np.subtract(cost[rows], target_potential, order="C")
        reduced -= source_potential[rows, None]
        candidates = np.flatnonzero(reduced.min(axis=1) < below)
        reduced = reduced[candidates]
        column = np.argpartition(reduced, nearest, axis=1)[:, :nearest]
        take, position = np.nonzero(np.take_along_axis(reduced, column, axis=1) < below)
        found.append((rows.start + candidates[take]) * n_columns + column[take, position])
    return np.concatenate(found)


def _transposed(pairs, shape):
    """Return flat indices into an array of some shape as those into its transpose."""
    row, column = np.divmod(pairs, shape[1])
    return column * shape[0] + row


def _feasible_pairs(source_weight, target_weight):
    """Return, as flat indices, pairs that can carry all mass: those of the north-west corner rule."""
    n_source, n_target = len(source_weight), len(target_weight)
    used_up = np.argsort(np.concatenate([source_weight.cumsum(), target_weight.cumsum()]), kind="stable")
    is_source = used_up < n_source
    row = np.minimum(np.cumsum(is_source), n_source - 1)
    column = np.minimum(np.cumsum(~is_source), n_target - 1)
    return np.append(row * n_target + column, 0)


def _merged(*pairs):
    """Return all pairs once, in order; faster than np.unique, which hashes integers."""
    pairs = np.sort(np.concatenate(pairs))
    return pairs[np.diff(pairs, prepend=-1) > 0]


def _kinds(X):
    """Return which kind of row every row is, and the position of the first of every kind."""
    table = pd.DataFrame(X)
    table = table.set_axis(range(table.shape[1]), axis=1)
    try:
        kind = table.groupby(list(table), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    except TypeError:  # values that cannot be told apart
        kind = np.arange(len(table))
    return kind, np.unique(kind, return_index=True)[1]


def _handed_out(plan, row, column, source_weight, target_weight) -> sparse.csr_array:
    """Return the plan between rows, from one between kinds of rows."""
    of_kind, to_kind = plan.nonzero()
    cells = np.lexsort((to_kind, of_kind))
    mass, to_kind = plan.data[cells], to_kind[cells]
    least = SLIVER * min(weight[weight > 0].min() for weight in (source_weight, target_weight))
    # Rows of one kind lie side by side, and so do the kinds that their mass goes to. Then the same for the targets.
    rows = np.argsort(row, kind="stable")
    from_row, cell, mass = _overlaps(source_weight[rows], mass, least)
    from_row, to_kind = rows[from_row], to_kind[cell]
    pieces = np.argsort(to_kind, kind="stable")
    columns = np.argsort(column, kind="stable")
    piece, to_column, mass = _overlaps(mass[pieces], target_weight[columns], least)
    place = from_row[pieces[piece]], columns[to_column]
    return sparse.csr_array((mass, place), shape=(len(row), len(column)))


def _overlaps(first, second, least):
    """Return which segments of two divisions of one length overlap, and by how much, if by more than `least`."""
    ends = [np.cumsum(lengths) for lengths in (first, second)]
    ends[1] *= ends[0][-1] / ends[1][-1]
    cuts = np.sort(np.concatenate([[0.0], *ends]))
    length = np.diff(cuts)
    middle = (cuts[:-1] + length / 2)[length > least]
    segments = (np.minimum(np.searchsorted(end, middle), len(end) - 1) for end in ends)
    return *segments, length[length > least]


def _blocks(n):
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
