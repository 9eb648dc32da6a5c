"""Exact transport between samples with many equal rows, such as the Strategic Subject List: equal rows are merged.

At its published size, 10,000 people in each group with a few whole numbers each, the problem takes minutes and
gigabytes if it is solved row by row.
"""

import numpy as np
import pandas as pd
from scipy import sparse

from fairlab.transport import ExactTransport
from fairlab.transport.solvers import Problem, blocks, network_simplex, solve

# Rows are merged if no more than this share of the pairs remains.
WORTHWHILE = 0.5
# Pieces of mass below this share of the smallest weight are rounding errors.
SLIVER = 1e-6


class MergedTransport(ExactTransport):
    """`ExactTransport` that solves equal rows as one, by the network simplex.

    The mass of equal rows is distributed among them in order, one of many optimal ways. Rows are merged only if that
    makes the problem much smaller and equal rows have equal costs.
    """

    def _solve(self, problem, source, target):
        return solve_merged(problem, source, target)


def solve_merged(problem: Problem, source, target, solver=network_simplex) -> tuple[sparse.csr_array, float]:
    """Return an optimal plan and its gap, as `solve` does, with equal rows solved as one.

    Parameters
    ----------
    problem : Problem
    source, target : DataFrame or array of shape (n_source, n_features) and (n_target, n_features)
    solver : callable
    """
    cost, weights = problem.cost, (problem.source_weight, problem.target_weight)
    (row, one_row), (column, one_column) = _kinds(source), _kinds(target)
    if len(one_row) * len(one_column) <= WORTHWHILE * cost.size:
        small = cost[np.ix_(one_row, one_column)]
        if all(np.array_equal(cost[rows], small[row[rows]][:, column]) for rows in blocks(len(cost))):
            merged = Problem(
                small, *(np.bincount(kind, weight) for kind, weight in zip((row, column), weights, strict=True))
            )
            plan, gap = solve(merged, solver)
            plan = _handed_out(plan, row, column, *weights)
            problem.check_marginals(plan)
            return plan, gap
    return solve(problem, solver)


def _kinds(X):
    """Return the kind of every row (equal rows are of one kind), and the position of the first row of each kind."""
    table = pd.DataFrame(X)
    table = table.set_axis(range(table.shape[1]), axis=1)
    try:
        kind = table.groupby(list(table), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    except TypeError:  # values that cannot be hashed
        kind = np.arange(len(table))
    return kind, np.unique(kind, return_index=True)[1]


def _handed_out(plan, row, column, source_weight, target_weight) -> sparse.csr_array:
    """Expand a plan between kinds of rows to a plan between rows."""
    of_kind, to_kind = plan.nonzero()
    cells = np.lexsort((to_kind, of_kind))
    mass, to_kind = plan.data[cells], to_kind[cells]
    least = SLIVER * min(weight[weight > 0].min() for weight in (source_weight, target_weight))
    # Sort rows by kind, beside the sorted cells that their mass goes to; then do the same for the targets.
    rows = np.argsort(row, kind="stable")
    from_row, cell, mass = _overlaps(source_weight[rows], mass, least)
    from_row, to_kind = rows[from_row], to_kind[cell]
    pieces = np.argsort(to_kind, kind="stable")
    columns = np.argsort(column, kind="stable")
    piece, to_column, mass = _overlaps(mass[pieces], target_weight[columns], least)
    place = from_row[pieces[piece]], columns[to_column]
    return sparse.csr_array((mass, place), shape=(len(row), len(column)))


def _overlaps(first, second, least):
    """Return the pairs of overlapping segments of two divisions of one line, and the overlaps longer than `least`."""
    ends = [np.cumsum(lengths) for lengths in (first, second)]
    ends[1] *= ends[0][-1] / ends[1][-1]
    cuts = np.sort(np.concatenate([[0.0], *ends]))
    length = np.diff(cuts)
    middle = (cuts[:-1] + length / 2)[length > least]
    segments = (np.minimum(np.searchsorted(end, middle), len(end) - 1) for end in ends)
    return *segments, length[length > least]
