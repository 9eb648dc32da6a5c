"""Network simplex by POT, on as few pairs of points as the optimum needs."""

import os
from importlib.metadata import version
from unittest.mock import patch

import numpy as np
from scipy import sparse

from fairlab.transport.plan import Solution, SolverError

_BACKENDS = ("CUPY", "JAX", "PYTORCH", "TENSORFLOW")
# POT loads every array library that is installed; here it only ever sees NumPy arrays.
with patch.dict(os.environ, {f"POT_BACKEND_DISABLE_{backend}": "1" for backend in _BACKENDS}):
    import ot

NAME = f"network simplex (POT {version('pot')})"
# Up to this many pairs POT gets the whole matrix.
DENSE_PAIRS = 2_500**2
# Pairs offered per point in each round of the search.
NEAREST = 100
# Rows priced at once: bounds the temporary arrays.
BLOCK = 256
# A pair may undercut the potentials by this share of the largest cost.
PRICE_TOLERANCE = 1e-11


def peak_bytes(n_source: int, n_target: int) -> int:
    """Return an estimate of the bytes that `solve` needs, the cost matrix included."""
    n_pairs = n_source * n_target
    # Dense: POT copies the costs and keeps flow, end points and plan beside them.
    dense = 5 * 8 * min(n_pairs, DENSE_PAIRS)
    priced = 20_000 * (n_source + n_target) if n_pairs > DENSE_PAIRS else 0
    return 8 * n_pairs + dense + priced


def solve(cost: np.ndarray, source_weight: np.ndarray, target_weight: np.ndarray) -> Solution:
    """Return an optimal plan for weights that sum to 1.

    Parameters
    ----------
    cost : array of shape (n_source, n_target)
    source_weight : array of shape (n_source,)
    target_weight : array of shape (n_target,)

    Raises
    ------
    SolverError
        If the network simplex does not end at an optimum.
    """
    rows, columns = np.flatnonzero(source_weight), np.flatnonzero(target_weight)
    whole = (len(rows), len(columns)) == cost.shape
    active = cost if whole else cost[np.ix_(rows, columns)]
    plan, potential = _optimum(active, source_weight[rows], target_weight[columns], np.random.default_rng(0))
    plan = sparse.coo_array(plan)
    plan = sparse.csr_array((plan.data, (rows[plan.row], columns[plan.col])), shape=cost.shape)
    target_price = np.zeros(cost.shape[1])
    target_price[columns] = potential
    return Solution(plan, NAME, target_price)


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
        _cheapest_of_columns(cost, source_potential),
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


def _emd(cost, source_weight, target_weight):
    # POT stops at 100,000 pivots unless told otherwise.
    plan, log = ot.emd(source_weight, target_weight, cost, numItermax=2**62, log=True, center_dual=False)
    if log["warning"] is not None or log["result_code"] != 1:
        raise SolverError(f"network simplex: {log['warning']} (result code {log['result_code']})")
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
        reduced = cost[rows] - target_potential
        reduced -= source_potential[rows, None]
        candidates = np.flatnonzero(reduced.min(axis=1) < below)
        reduced = reduced[candidates]
        column = np.argpartition(reduced, nearest, axis=1)[:, :nearest]
        take, position = np.nonzero(np.take_along_axis(reduced, column, axis=1) < below)
        found.append((rows.start + candidates[take]) * n_columns + column[take, position])
    return np.concatenate(found)


def _cheapest_of_columns(cost, source_potential):
    """Return, as flat indices, the pairs of least reduced cost in each column."""
    n_rows, n_columns = cost.shape
    nearest = min(NEAREST, n_rows - 1)
    found = []
    for columns in _blocks(n_columns):
        reduced = np.ascontiguousarray(cost[:, columns].T) - source_potential
        row = np.argpartition(reduced, nearest, axis=1)[:, :nearest]
        found.append((row * n_columns + np.arange(n_columns)[columns, None]).ravel())
    return np.concatenate(found)


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


def _blocks(n):
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
