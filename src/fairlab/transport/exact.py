"""The exact optimal transport between two samples."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlab.checks import (
    align,
    check_features,
    check_function,
    check_parameters,
    check_seed,
    checked,
    estimator_features,
    one_of,
)
from fairlab.transport.cost import ColumnCosts, Cost, as_table, check_mixed, cost_matrix, is_mixed
from fairlab.transport.maps import TransportMap, require_memory
from fairlab.transport.solvers import SOLVERS, Problem, peak_bytes, solve


@checked(
    solver=one_of(*SOLVERS),
    cost=check_function,
    random_state=check_seed,
)
class ExactTransport(TransportMap):
    """The plan that moves one sample onto another at the least mean cost (FlipTest, section 3.1).

    Columns may be numbers in any unit, text, categories, booleans, and may miss values. Only the fitted rows have an
    image: `transform` takes exactly these rows, in their order. `match` returns the matched pairs.

    Parameters
    ----------
    solver : {"network_simplex", "hungarian", "lp"}
        All reach the same optimum, but possibly with different plans if it is not unique. The network simplex (POT) is
        for any size and any weights; the Hungarian algorithm (SciPy) is for equally large groups, the linear program
        (PuLP) for small ones.
    cost : callable, optional
        Takes both samples, returns the matrix of costs of all pairs. It gets arrays of numbers; DataFrames if a column
        is not of numbers or misses values. Default: `ColumnCosts`, scaled column by column. `squared_l1` is the one of
        the paper, in the units of the columns.
    random_state : int, Generator or None
        Seed for the images of rows that the plan splits: each is one target row, drawn by its share of the plan. With
        an int, every call of `transform` gives the same image; `match` gives all shares.

    Attributes
    ----------
    plan_ : sparse array of shape (n_source, n_target)
        Mass moved between each pair; rows and columns sum to the weights, all of it to 1.
    cost_ : float
        Mean cost of the plan.
    gap_ : float
        Bound on how much more the plan costs than the optimum: the duality gap, which is rounding.
    source_, target_ : array or DataFrame of shape (n_source, n_features) and (n_target, n_features)
        The samples; DataFrames where columns are not all of numbers.
    pairs_ : DataFrame
        The result of `match`, with positions instead of labels.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the source was a DataFrame.

    Examples
    --------
    >>> from fairlab.transport import ExactTransport
    >>> ExactTransport().fit([[0.0], [5.0]], [[6.0], [1.0]]).transform([[0.0], [5.0]])
    array([[1.],
           [6.]])
    """

    def __init__(
        self,
        solver: str = "network_simplex",
        *,
        cost: Cost | None = None,
        random_state=0,
    ):
        self.solver = solver
        self.cost = cost
        self.random_state = random_state

    def fit(self, X_source, X_target, *, source_weight=None, target_weight=None) -> "ExactTransport":
        """Find an optimal plan.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features)
        X_target : DataFrame or array of shape (n_target, n_features)
        source_weight : array-like of shape (n_source,), optional
            Weight of each row, for instance its number of occurrences; normalised to sum to 1. Uniform by default. A
            Series is matched by the row labels of a DataFrame.
        target_weight : array-like of shape (n_target,), optional

        Raises
        ------
        ValueError
            If the features, weights, cost or an option are invalid, or the solver does not apply.
        MemoryError
            If the problem will not fit.
        SolverError
            If the solver does not reach an optimum, its plan misses the weights, or the duality gap is not closed.
        """
        check_parameters(self)
        source, target = self._tables(X_source, X_target)
        pairs = (X_source, source), (X_target, target)
        tables = [as_table(X if isinstance(X, pd.DataFrame) else values) for X, values in pairs]
        weights = (
            _normalised(source_weight, X_source, len(source), "source_weight"),
            _normalised(target_weight, X_target, len(target), "target_weight"),
        )

        require_memory(
            peak_bytes(self.solver, len(source), len(target)),
            f"solver {self.solver!r} on {len(source):,} x {len(target):,} points",
            advice="subsample both groups, merge equal rows into weights, or use another solver or GANTransport",
        )
        by_column = self.cost is None or isinstance(self.cost, ColumnCosts)
        costs = cost_matrix(self.cost or ColumnCosts(), *(tables if by_column else (source, target)))
        self.plan_, self.gap_ = self._solve(Problem(costs, *weights), source, target)
        from_row, to_row = self.plan_.nonzero()
        mass = self.plan_[from_row, to_row]
        self.cost_ = float(mass @ costs[from_row, to_row])
        self.source_, self.target_ = source, target
        self._labels = [table.index for table in tables]
        self._images = tables[1].reset_index(drop=True)  # whole rows, with their original types
        share = mass / np.asarray(self.plan_.sum(axis=1)).ravel()[from_row]
        self.pairs_ = pd.DataFrame(
            {"source": from_row, "target": to_row, "share": share, "mass": mass, "cost": costs[from_row, to_row]}
        )
        return self

    def match(self) -> pd.DataFrame:
        """Return the matched pairs of source and target rows: real people, by their row labels.

        Returns
        -------
        DataFrame
            One row per pair: ``source`` and ``target``, labels of rows; ``share`` of the source row that goes to the
            target, 1 unless the plan splits the row; ``mass``, the share of all mass; ``cost`` of the pair.

        Raises
        ------
        NotFittedError
            If there is no plan yet.
        """
        check_is_fitted(self)
        source, target = (
            labels.take(self.pairs_[side]) for labels, side in zip(self._labels, ("source", "target"), strict=True)
        )
        return self.pairs_.assign(source=source, target=target)

    def transform(self, X):
        """Return the image of every row; see `TransportMap.transform`.

        For a DataFrame, images are whole rows of the target, with their original types.
        """
        check_is_fitted(self)
        if isinstance(self.source_, pd.DataFrame):
            known = isinstance(X, pd.DataFrame) and X.reset_index(drop=True).equals(self.source_)
        else:
            known = np.array_equal(estimator_features(self, X, fitting=False), self.source_)
        if not known:
            raise ValueError(
                "X: these are not the fitted rows in the fitted order; the exact map is defined only there. "
                "Fit again, or use GANTransport, which maps any point"
            )
        unweighted = np.flatnonzero(np.diff(self.plan_.indptr) == 0)
        if len(unweighted):
            raise ValueError(f"X: row {unweighted[0]} was fitted with weight 0 and has no counterpart")
        rows = self._sampled()
        if not isinstance(X, pd.DataFrame):
            return self.target_[rows]
        return self._images.iloc[rows].set_axis(X.index).set_axis(X.columns, axis=1)

    def _solve(self, problem, source, target):
        """Return the plan and its gap; subclasses may use more of the samples."""
        return solve(problem, SOLVERS[self.solver])

    def _tables(self, X_source, X_target):
        """Return both samples as arrays, or as DataFrames where columns are not all of numbers."""
        if not is_mixed(X_source, X_target):
            return self._samples(X_source, X_target)
        check_mixed(X_source, X_target)
        validate_data(self, X_source, skip_check_array=True)
        return X_source.reset_index(drop=True), X_target.reset_index(drop=True)

    def _sampled(self):
        """Return a target row's position per source row, drawn with the plan's row as its distribution."""
        plan = self.plan_
        drawn = np.random.default_rng(self.random_state).random(plan.shape[0])
        # All rows' distributions laid end to end, so that one search serves every row.
        reached = np.concatenate([[0], plan.data.cumsum()])
        start, end = reached[plan.indptr[:-1]], reached[plan.indptr[1:]]
        entry = np.searchsorted(reached, start + drawn * (end - start), side="right") - 1
        return plan.indices[np.clip(entry, plan.indptr[:-1], plan.indptr[1:] - 1)]


def _normalised(weight, X, n_rows, name):
    """Return the weights of a sample's rows, normalised to sum to 1; a Series is matched by the labels of a table."""
    by_label = isinstance(weight, pd.Series) and isinstance(X, pd.DataFrame)
    weight = np.ones(n_rows) if weight is None else weight
    weight = align(weight if by_label else np.asarray(weight), X.index if by_label else pd.RangeIndex(n_rows), name)
    weight = check_features(weight.to_frame("weight"), name)[0][:, 0]
    if weight.min() < 0:
        raise ValueError(f"{name}: row {weight.argmin()} has weight {weight.min():g}, expected at least 0")
    if weight.sum() == 0:
        raise ValueError(f"{name}: sums to 0, expected some weight above 0")
    with np.errstate(over="ignore"):
        weight = weight if np.isfinite(weight.sum()) else weight / weight.max()
    return weight / weight.sum()
