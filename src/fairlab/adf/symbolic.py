"""Symbolic generation (Agarwal et al. 2018) as the authors of ADF rebuilt it: explain, negate, solve.

An input is explained by the path that it takes through a decision tree fitted to the model's answers; one condition of
the path is negated, and what results is solved for another input. Every condition bounds one attribute, so that the
solutions are the integers of an interval for each, and no solver is needed to find them.
"""

import time
from collections.abc import Iterator
from heapq import heappop, heappush
from statistics import fmean

import numpy as np

from fairlab.adf.decisions import as_classes
from fairlab.adf.discrimination import Partners, sensitive_columns
from fairlab.adf.explanation import Explainer
from fairlab.adf.generation import clock, collect
from fairlab.adf.result import SearchResult, Trace
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_number, check_seed

# Smaller ranks are explored first: inputs of the local search, then seeds, then inputs of the global search.
LOCAL_RANK, SEED_RANK, GLOBAL_RANK = 1.0, 5.0, 10.0
SOLUTIONS = ("uniform", "lowest")


class SymbolicGeneration:
    """Search by negating explanations.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
    schema : Schema
    sensitive : str or sequence of str
        Conditions on these are never negated.
    n_neighbours : int
        Rows that each tree is fitted to.
    n_pool : int
        Rows that the model is asked about beforehand; those of each tree are picked from them anew.
    smallest_share : float
        The global search stops at the first condition with a smaller share.
    solution : {"uniform", "lowest"}
        Which of the values that obey the conditions an attribute gets: any, or the lowest. The authors left that to a
        solver: z3 of their time returned high and inner values, which a uniform draw comes near; of later versions it
        is mostly the lowest.
    threshold : float or None
        For models that give scores: the class is whether the score is at least this.
    random_state : int or None

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema, or a parameter is out of range.

    Examples
    --------
    >>> from fairlab.adf import SymbolicGeneration
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = lambda X: (X[:, 0] + 2 * X[:, 1] >= 5).astype(int)
    >>> search = SymbolicGeneration(model, schema, "sex", n_neighbours=200, n_pool=1_000)
    >>> X = schema.sample(100, random_state=0)
    >>> search.generate(X, X[:5], n_inputs=10).n_inputs <= 10
    True
    """

    def __init__(
        self,
        model,
        schema: Schema,
        sensitive,
        *,
        n_neighbours: int = 5000,
        n_pool: int = 200_000,
        smallest_share: float = 0.3,
        solution: str = "uniform",
        threshold: float | None = None,
        random_state: int | None = 0,
    ):
        self.classify = as_classes(model, threshold=threshold)
        self.columns = sensitive_columns(schema, sensitive)
        if check_number(smallest_share, "smallest_share", least=0) > 1:
            raise ValueError(f"smallest_share: expected a share, from 0 to 1, found {smallest_share!r}")
        if solution not in SOLUTIONS:
            raise ValueError(f"solution: expected one of {', '.join(SOLUTIONS)}, found {solution!r}")
        self.schema, self.sensitive, self.solution = schema, sensitive, solution
        self._bounds = list(schema.bounds.values())
        self.n_neighbours = check_count(n_neighbours, "n_neighbours", least=2)
        self.n_pool = check_count(n_pool, "n_pool", least=2)
        self.smallest_share = smallest_share
        self.random_state = check_seed(random_state)

    def generate(
        self, X, seeds, *, n_inputs: int = 1000, time_limit: float | None = None, max_found: int | None = None
    ) -> SearchResult:
        """Explore from `seeds` until `n_inputs` distinct inputs were explored, or nothing is left to explore.

        Parameters
        ----------
        X : DataFrame or array of int of shape (n_rows, n_attributes)
            The training data, whose frequencies the neighbourhoods have.
        seeds : array of int of shape (n_seeds, n_attributes)
        n_inputs : int
        time_limit : float or None
            Seconds.
        max_found : int or None
            Stop at so many distinct discriminatory inputs.
        """
        started, stop = time.perf_counter(), clock(time_limit)
        seeds = self.schema.check(seeds, "seeds")
        steps = self.steps(X, seeds, n_inputs=n_inputs)
        trace = collect(steps, self.schema, self.sensitive, stop=stop, max_found=max_found)
        is_seed = (trace.inputs == seeds[trace.seed]).all(axis=1)
        return SearchResult.count(
            trace,
            schema=self.schema,
            sensitive=self.sensitive,
            iterations=np.zeros(len(seeds), dtype=int),
            successful=np.isin(np.arange(len(seeds)), trace.seed[is_seed & (trace.partner >= 0)]),
            seconds=time.perf_counter() - started,
        )

    def steps(self, X, seeds, *, n_inputs: int | None = None) -> Iterator[Trace]:
        """Yield one explored input at a time, in the order of exploring; see `generate`, without limit if None."""
        X, seeds = self.schema.check(X), self.schema.check(seeds, "seeds")
        most = np.inf if n_inputs is None else check_count(n_inputs, "n_inputs")
        rng = np.random.default_rng(self.random_state)
        return self._explore(self._explainer(X, rng), seeds, most, rng)

    def _explainer(self, X, rng):
        """Return a function from an input to the conditions of its path."""
        return Explainer(self.classify, X, self._bounds, n_neighbours=self.n_neighbours, n_pool=self.n_pool, rng=rng)

    def _solve(self, x, conditions, rng) -> tuple | None:
        """Return `x` with values that obey the conditions; None where there are none."""
        return solve(x, conditions, self._bounds, rng if self.solution == "uniform" else None)

    def _explore(self, explain, seeds, n_inputs, rng) -> Iterator[Trace]:
        """Yield one explored input at a time."""
        queue = []
        for number, seed in enumerate(seeds):
            heappush(queue, (SEED_RANK, tuple(seed.tolist()), number))
        partners, explored, negated = Partners(self.classify, self.sensitive, schema=self.schema), set(), set()
        while queue and len(explored) < n_inputs:
            _, x, number = heappop(queue)
            explored.add(tuple(np.delete(x, self.columns)))
            partner = partners(np.array([x]))
            yield Trace(np.array([x]), partner, np.array([number]))
            path = explain(np.array(x))
            children = self._global_search(x, path, negated, rng)
            if partner[0] >= 0:
                children = [*self._local_search(x, path, negated, rng), *children]
            for rank, child in children:
                heappush(queue, (rank, child, number))

    def _local_search(self, x, path, negated, rng) -> Iterator[tuple[float, tuple]]:
        """Yield inputs that differ from `x` in the attribute of one negated condition, with their rank."""
        for place, condition in enumerate(path):
            if condition.column in self.columns:
                continue
            conditions = (*path[:place], condition.negated(), *path[place + 1 :])
            if conditions not in negated:
                negated.add(conditions)
                on_it = [other for other in conditions if other.column == condition.column]
                child = self._solve(x, on_it, rng)
                if child is not None:
                    yield LOCAL_RANK + fmean(other.share for other in conditions), child

    def _global_search(self, x, path, negated, rng) -> Iterator[tuple[float, tuple]]:
        """Yield inputs that share the beginning of the path of `x` and leave it at one condition, with their rank."""
        prefix = ()
        for condition in path:
            if condition.column in self.columns:
                continue
            if condition.share < self.smallest_share:
                return
            conditions = (*prefix, condition.negated())
            if conditions not in negated:
                negated.add(conditions)
                child = self._solve(x, conditions, rng)
                if child is not None:
                    yield GLOBAL_RANK - fmean(other.share for other in conditions), child
            prefix = (*prefix, condition)


def intervals(conditions, bounds) -> dict[int, tuple[int, int]]:
    """Return the lowest and the highest value that obey conditions and bounds, by attribute that is in a condition.

    Where the lowest is above the highest, none obeys.
    """
    found = {}
    for c in conditions:
        low, high = found.get(c.column, bounds[c.column])
        found[c.column] = (low, min(high, c.threshold)) if c.below else (max(low, c.threshold + 1), high)
    return found


def solve(x, conditions, bounds, rng: np.random.Generator | None = None) -> tuple | None:
    """Return `x` with the attributes of `conditions` set to values within bounds that obey them; None without any.

    Parameters
    ----------
    x : sequence of int
    conditions : sequence of Condition
    bounds : sequence of (int, int)
        Lowest and highest value of every attribute.
    rng : numpy.random.Generator or None
        Draws each value from those that obey; without it, the lowest is taken.
    """
    child = list(x)
    for column, (low, high) in intervals(conditions, bounds).items():
        if low > high:
            return None
        child[column] = low if rng is None else int(rng.integers(low, high + 1))
    return tuple(child)
