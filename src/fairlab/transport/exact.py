"""The exact optimal transport between two samples."""

import numpy as np

from fairlab.transport import hungarian, linear_program, network_simplex
from fairlab.transport.cost import Cost, cost_matrix, squared_l1
from fairlab.transport.memory import require_memory
from fairlab.transport.plan import check_marginals
from fairlab.transport.transport_map import TransportMap

SOLVERS = {"network_simplex": network_simplex, "hungarian": hungarian, "lp": linear_program}
COUNTERPARTS = ("sample", "barycentre")


class ExactTransport(TransportMap):
    """The plan that moves one sample onto another at the least mean cost (FlipTest, section 3.1).

    Only the fitted rows have an image: `transform` takes them in their order, and nothing else.

    Parameters
    ----------
    solver : {"network_simplex", "hungarian", "lp"}
        All find the same optimum; where it is not unique they may find different plans. The network simplex (POT)
        is for any size and any weights, the Hungarian algorithm (SciPy) for equally large groups, the linear
        program (PuLP) for small ones.
    cost : callable
        Takes both samples as arrays, returns the matrix of costs of all pairs.
    counterpart : {"sample", "barycentre"}
        What a row's image is when the plan splits the row: one target row drawn from its share of the plan, or
        their weighted mean. A row that is not split goes to its one match either way.
    random_state : int, Generator or None
        Seed of that draw. With an int, every call of `transform` gives the same image.
    memory_limit_gb : float, optional
        Most memory to use, in GiB; all that is free by default.
    lp_backend : {"HiGHS", "CBC"}, optional
        Which program solves the linear program; by default the first of these that is installed.

    Attributes
    ----------
    plan_ : sparse array of shape (n_source, n_target)
        Mass moved between each pair; rows and columns sum to the weights, all of it to 1.
    cost_ : float
        Mean cost of the plan.
    solver_ : str
        Name and version of the program that solved it.
    source_, target_ : array of shape (n_source, n_features) and (n_target, n_features)
        The samples.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the source was a DataFrame.

    Examples
    --------
    >>> ExactTransport().fit([[0.0], [5.0]], [[6.0], [1.0]]).transform([[0.0], [5.0]])
    array([[1.],
           [6.]])
    """

    def __init__(
        self,
        solver: str = "network_simplex",
        *,
        cost: Cost = squared_l1,
        counterpart: str = "sample",
        random_state=None,
        memory_limit_gb: float | None = None,
        lp_backend: str | None = None,
    ):
        self.solver = solver
        self.cost = cost
        self.counterpart = counterpart
        self.random_state = random_state
        self.memory_limit_gb = memory_limit_gb
        self.lp_backend = lp_backend

    def fit(self, X_source, X_target, *, source_weight=None, target_weight=None) -> "ExactTransport":
        """Find an optimal plan.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features)
        X_target : DataFrame or array of shape (n_target, n_features)
        source_weight : array-like of shape (n_source,), optional
            Weight of each row, for instance how often it occurs; normalised to sum to 1. Uniform by default.
        target_weight : array-like of shape (n_target,), optional

        Raises
        ------
        ValueError
            If the features, weights, cost or an option are not what is expected, or the solver does not apply.
        MemoryError
            If the problem will not fit.
        SolverError
            If the solver does not reach an optimum, or its plan misses the weights.
        """
        _require_known("solver", self.solver, SOLVERS)
        _require_known("counterpart", self.counterpart, COUNTERPARTS)
        source, target = self._samples(X_source, X_target)
        source_weight = _normalised(source_weight, len(source), "source_weight")
        target_weight = _normalised(target_weight, len(target), "target_weight")

        solver = SOLVERS[self.solver]
        require_memory(
            solver.peak_bytes(len(source), len(target)),
            f"solver {self.solver!r} on {len(source):,} x {len(target):,} points",
            limit_gb=self.memory_limit_gb,
            advice="subsample both groups, merge equal rows into weights, or use another solver or GANTransport",
        )
        costs = cost_matrix(self.cost, source, target)
        options = {"backend": self.lp_backend} if self.solver == "lp" else {}
        solution = solver.solve(costs, source_weight, target_weight, **options)
        check_marginals(solution.plan, source_weight, target_weight)

        self.plan_ = solution.plan
        self.solver_ = solution.solver
        from_row, to_row = self.plan_.nonzero()
        self.cost_ = float(self.plan_[from_row, to_row] @ costs[from_row, to_row])
        self.source_ = source
        self.target_ = target
        return self

    def _image(self, X):
        """Return the image of the fitted rows: no others have one."""
        if not np.array_equal(X, self.source_):
            raise ValueError(
                "X: these are not the fitted rows in the fitted order; the exact map is defined only there. "
                "Fit again, or use GANTransport, which maps any point"
            )
        unweighted = np.flatnonzero(np.diff(self.plan_.indptr) == 0)
        if len(unweighted):
            raise ValueError(f"X: row {unweighted[0]} was fitted with weight 0 and has no counterpart")
        return self._sampled() if self.counterpart == "sample" else self._barycentre()

    def _sampled(self):
        """Return a target row per source row, drawn with the plan's row as its distribution."""
        plan = self.plan_
        drawn = np.random.default_rng(self.random_state).random(plan.shape[0])
        # All rows' distributions laid end to end, so that one search serves every row.
        reached = np.concatenate([[0], plan.data.cumsum()])
        start, end = reached[plan.indptr[:-1]], reached[plan.indptr[1:]]
        entry = np.searchsorted(reached, start + drawn * (end - start), side="right") - 1
        entry = np.clip(entry, plan.indptr[:-1], plan.indptr[1:] - 1)
        return self.target_[plan.indices[entry]]

    def _barycentre(self):
        return (self.plan_ @ self.target_) / self.plan_.sum(axis=1)[:, None]


def _require_known(argument, value, known):
    if value not in known:
        raise ValueError(f"{argument}: unknown {value!r}, expected one of {', '.join(known)}")


def _normalised(weight, n_rows, name):
    weight = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=float)
    if weight.shape != (n_rows,):
        raise ValueError(f"{name}: expected shape ({n_rows},), found {weight.shape}")
    if not np.isfinite(weight).all():
        raise ValueError(f"{name}: holds missing or infinite values")
    if weight.min() < 0:
        raise ValueError(f"{name}: row {weight.argmin()} has weight {weight.min():g}, expected at least 0")
    if weight.sum() == 0:
        raise ValueError(f"{name}: sums to 0, expected some weight above 0")
    return weight / weight.sum()
