"""Symbolic generation (Agarwal et al. 2018) as the authors of ADF rebuilt it: explain, negate, solve.

An input is explained by the path that it takes through a decision tree fitted to the model's answers; one condition of
the path is negated, and a solver finds an input that obeys what results. The rows that the tree is fitted to are LIME's
neighbourhood with every attribute declared categorical: each column drawn from its frequencies in the training data,
so that apart from its first row nothing in it is near the input.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fairlab.adf.decisions import as_classes
from fairlab.adf.discrimination import find_partners, sensitive_columns
from fairlab.adf.generation import clock, collect
from fairlab.adf.result import SearchResult, Trace
from fairlab.cases.schema import Schema
from fairlab.checks import check_count, check_number, check_seed, optional

z3, lime_tabular = optional("z3"), optional("lime.lime_tabular")

# Smaller ranks are explored first: inputs of the local search, then seeds, then inputs of the global search.
LOCAL_RANK, SEED_RANK, GLOBAL_RANK = 1.0, 5.0, 10.0
TREE_SEED = 2019


@dataclass(frozen=True)
class Condition:
    """One condition on the way from the root of a tree to an input's leaf.

    Attributes
    ----------
    column : int
    below : bool
        Whether the value is at most `threshold`, an integer, rather than above it.
    threshold : int
    share : float
        Of the node's rows, how many fulfil the condition.
    """

    column: int
    below: bool
    threshold: int
    share: float

    def negated(self) -> "Condition":
        """Return the opposite condition."""
        return Condition(self.column, not self.below, self.threshold, 1 - self.share)


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
    smallest_share : float
        The global search stops at the first condition with a smaller share.
    threshold : float or None
        For models that give scores: the class is whether the score is at least this.
    random_state : int or None

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema, or a parameter is out of range.
    """

    def __init__(
        self,
        model,
        schema: Schema,
        sensitive,
        *,
        n_neighbours: int = 5000,
        smallest_share: float = 0.3,
        threshold: float | None = None,
        random_state: int | None = 0,
    ):
        self.classify = as_classes(model, threshold=threshold)
        self.columns = sensitive_columns(schema, sensitive)
        if check_number(smallest_share, "smallest_share", least=0) > 1:
            raise ValueError(f"smallest_share: expected a share, from 0 to 1, found {smallest_share!r}")
        self.schema, self.sensitive = schema, sensitive
        self.n_neighbours = check_count(n_neighbours, "n_neighbours", least=2)
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
        X, seeds = self.schema.check(X), self.schema.check(seeds, "seeds")
        n_inputs = check_count(n_inputs, "n_inputs")
        steps = self._explore(self._explainer(X), seeds, n_inputs)
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

    def _explainer(self, X):
        return lime_tabular.LimeTabularExplainer(
            X,
            categorical_features=list(range(X.shape[1])),
            discretize_continuous=False,
            random_state=np.random.RandomState(self.random_state),  # what lime takes
        )

    def _explore(self, explainer, seeds, n_inputs) -> Iterator[Trace]:
        """Yield one explored input at a time."""
        queue = []
        for number, seed in enumerate(seeds):
            heappush(queue, (SEED_RANK, tuple(seed.tolist()), number))
        explored, negated = set(), set()
        while queue and len(explored) < n_inputs:
            _, x, number = heappop(queue)
            explored.add(tuple(np.delete(x, self.columns)))
            partner = find_partners(self.classify, np.array([x]), self.sensitive, schema=self.schema)
            yield Trace(np.array([x]), partner, np.array([number]))
            path = self._explain(explainer, np.array(x))
            children = self._global_search(x, path, negated)
            if partner[0] >= 0:
                children = [*self._local_search(x, path, negated), *children]
            for rank, child in children:
                heappush(queue, (rank, child, number))

    def _explain(self, explainer, x) -> list[Condition]:
        """Return the path of `x` through a tree fitted to the model's answers on LIME's neighbourhood."""
        # The step of `explain_instance` that draws the rows; what follows there, a linear model, is not used.
        _, rows = explainer._LimeTabularExplainer__data_inverse(x, self.n_neighbours)
        model = DecisionTreeClassifier(random_state=TREE_SEED).fit(rows, self.classify(rows))
        return path_through(model.tree_, x)

    def _local_search(self, x, path, negated) -> Iterator[tuple[float, tuple]]:
        """Yield inputs that differ from `x` in the attribute of one negated condition, with their rank."""
        for place, condition in enumerate(path):
            if condition.column in self.columns:
                continue
            conditions = (*path[:place], condition.negated(), *path[place + 1 :])
            if conditions not in negated:
                negated.add(conditions)
                on_it = [other for other in conditions if other.column == condition.column]
                child = solve(x, on_it, self.schema)
                if child is not None:
                    yield LOCAL_RANK + np.mean([other.share for other in conditions]), child

    def _global_search(self, x, path, negated) -> Iterator[tuple[float, tuple]]:
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
                child = solve(x, conditions, self.schema)
                if child is not None:
                    yield GLOBAL_RANK - np.mean([other.share for other in conditions]), child
            prefix = (*prefix, condition)


def solve(x, conditions, schema: Schema) -> tuple | None:
    """Return `x` with the attributes of `conditions` set to values of the schema that obey them; None without any.

    Parameters
    ----------
    x : sequence of int
    conditions : sequence of Condition
    schema : Schema

    Returns
    -------
    tuple of int or None
        Which of several solutions is the solver's choice.
    """
    solver = z3.Solver()
    variables = {c.column: z3.Int(f"x{c.column}") for c in conditions}
    for column, variable in variables.items():
        solver.add(variable >= int(schema.low[column]), variable <= int(schema.high[column]))
    for c in conditions:
        solver.add(variables[c.column] <= c.threshold if c.below else variables[c.column] > c.threshold)
    if solver.check() != z3.sat:
        return None
    values = solver.model()
    child = list(x)
    for column, variable in variables.items():
        child[column] = values[variable].as_long()
    return tuple(child)


def path_through(tree, x) -> list[Condition]:
    """Return the conditions that `x` fulfils on its way through a fitted tree of scikit-learn.

    Thresholds are rounded down, which changes nothing for integers.
    """
    path, node = [], 0
    while tree.children_left[node] >= 0:
        column, threshold = int(tree.feature[node]), tree.threshold[node]
        below = bool(x[column] <= threshold)
        child = (tree.children_left if below else tree.children_right)[node]
        share = float(tree.n_node_samples[child] / tree.n_node_samples[node])
        path.append(Condition(column, below, int(np.floor(threshold)), share))
        node = child
    return path
