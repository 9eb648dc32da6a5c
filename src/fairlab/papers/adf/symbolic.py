"""Symbolic generation (Agarwal et al. 2018) as the authors of ADF rebuilt it: explain, negate, solve.

An input is explained by its path through a decision tree fitted to the model's outputs. One condition of the path is
negated, and the resulting conditions are solved for another input. Every condition bounds one attribute, so the
solutions are an interval of integers for each attribute, and no solver is needed.

The tree is fitted on LIME's neighbourhood with every attribute declared categorical: each column is drawn from its
frequencies in the training data, so only the first row, the input itself, is near the input. Only the nodes on the
input's path are grown, with the same splits as those of scikit-learn's classifier (Gini impurity, no limit of depth),
from counts instead of sorted rows.
"""

import time
from collections.abc import Iterator
from heapq import heappop, heappush
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairlab.adf.discrimination import Partners, SearchResult, Trace
from fairlab.cases.model import wrap_model
from fairlab.cases.schema import Schema
from fairlab.models.loops import compiled


class PathCondition(NamedTuple):
    """One condition on the way from the root of a tree to an input's leaf.

    Attributes
    ----------
    column : int
    below : bool
        Whether the value is at most `threshold`, an integer, rather than above it.
    threshold : int
    share : float
        Share of the node's rows that fulfil the condition.
    """

    column: int
    below: bool
    threshold: int
    share: float

    def negated(self) -> "PathCondition":
        """Return the opposite condition."""
        return PathCondition(self.column, not self.below, self.threshold, 1 - self.share)


class Explainer:
    """Explains inputs one by one, each by its own tree.

    The rows of each tree are picked anew from a pool that was drawn and classified once.

    Parameters
    ----------
    classify : callable
        Takes rows of integers, returns one class per row.
    X : array of int of shape (n_rows, n_attributes)
        The training data; each column of the pool is drawn from its frequencies.
    bounds : sequence of (int, int)
        Lowest and highest value of every attribute of an input, which may lie outside the range of the data.
    n_neighbours : int
        Rows that each tree is fitted to, the input among them.
    n_pool : int
        Rows to pick from.
    rng : numpy.random.Generator
    """

    def __init__(self, classify, X: np.ndarray, bounds, *, n_neighbours: int, n_pool: int, rng: np.random.Generator):
        self.classify, self.n_neighbours, self.rng = classify, n_neighbours, rng
        pool = np.column_stack([rng.choice(column, n_pool) for column in X.T]).astype(np.int64)
        self.known, labels = np.unique(classify(pool), return_inverse=True)
        low, high = np.transpose(bounds)
        self.counts = NodeCounts(np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0)), len(self.known) + 1)
        small = np.min_scalar_type(len(self.counts.column))  # is quicker to pick from
        self._bins, self._labels = self.counts.bins(pool).astype(small), labels

    def __call__(self, x) -> list[PathCondition]:
        """Return the conditions that `x` fulfils, from the root on."""
        picked, row = self.pick(), np.array([x])
        same = np.flatnonzero(self.known == self.classify(row)[0])
        bins, labels = self._bins.take(picked, axis=0), self._labels[picked]
        bins[0], labels[0] = self.counts.bins(row)[0], same[0] if same.size else len(self.known)
        return follow(self.counts, bins, labels, self.rng)

    def pick(self) -> np.ndarray:
        """Return the rows of the pool for one tree; the first is replaced by the input."""
        return self.rng.integers(len(self._bins), size=self.n_neighbours)


def grow_path(rows: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> list[PathCondition]:
    """Return the path of the first row through a decision tree fitted to all rows.

    Ties between columns are broken at random, as in scikit-learn; of equally good thresholds, the lowest is taken.
    Thresholds are rounded down, which changes nothing for integers.

    Parameters
    ----------
    rows : array of int of shape (n_rows, n_attributes)
    classes : array of shape (n_rows,)
    rng : numpy.random.Generator
        Decides between equal splits.
    """
    known, labels = np.unique(classes, return_inverse=True)
    counts = NodeCounts(rows.min(axis=0), rows.max(axis=0), len(known))
    return follow(counts, counts.bins(rows), labels, rng)


def follow(counts: "NodeCounts", bins: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> list[PathCondition]:
    """Return the path of the first row; see `grow_path`.

    Parameters
    ----------
    counts : NodeCounts
    bins : ndarray of int of shape (n_rows, n_attributes)
        Bins of every row; see `NodeCounts.bins`.
    labels : ndarray of int of shape (n_rows,)
        Class number of every row.
    """
    path, inside = [], np.arange(len(bins))
    table = counts.of(bins, labels, inside)
    while (splits := counts.best_splits(table)).size:
        split = splits[rng.integers(len(splits))]
        column = counts.column[split]
        below = bins[0, column] <= split
        stays = (bins[inside, column] <= split) == below
        stay, leave = inside[stays], inside[~stays]
        share = len(stay) / len(inside)
        path.append(PathCondition(int(column), bool(below), counts.threshold(table, split), share))
        # Only the smaller side is counted; the other is the difference.
        fewer = counts.of(bins, labels, stay if len(stay) < len(leave) else leave)
        table = fewer if len(stay) < len(leave) else table - fewer
        inside = stay
    return path


class NodeCounts:
    """Counts of a node's rows by class and by value of every column, from which splits are chosen.

    Parameters
    ----------
    low, high : ndarray of int of shape (n_attributes,)
        Lowest and highest value of each.
    n_classes : int

    Attributes
    ----------
    column, value : ndarray of shape (n_bins,)
        Column and value that each bin of a table counts: column by column, values in order.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, n_classes: int):
        widths = high - low + 1
        self._shift = np.cumsum(widths) - widths - low
        self.column = np.repeat(np.arange(len(widths)), widths)
        self.value = np.arange(widths.sum()) - self._shift[self.column]
        self._shape = n_classes, len(self.column)

    def bins(self, rows: np.ndarray) -> np.ndarray:
        """Return the bin of each value, shape (n_rows, n_attributes)."""
        return rows + self._shift

    def of(self, bins: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the counts of some of the rows, shape (n_classes, n_bins)."""
        table = np.zeros(self._shape, dtype=np.int64)
        _count(bins, labels, rows, table)
        return table

    def best_splits(self, table: np.ndarray) -> np.ndarray:
        """Return the bins after which the best splits fall, one for each tied column; none if the node is a leaf."""
        return _best_splits(table, self.column)

    def threshold(self, table: np.ndarray, split: int) -> int:
        """Return the midpoint between the value of a bin and the next value that occurs, rounded down.

        Parameters
        ----------
        table : ndarray of shape (n_classes, n_bins)
            Counts of a node.
        split : int
            Bin after which the node is split.
        """
        following = split + 1 + table[:, split + 1 :].any(axis=0).argmax()
        return int((self.value[split] + self.value[following]) // 2)


@compiled
def _count(bins, labels, rows, table):
    """Count rows by class and by value of every column.

    In NumPy::

        np.add.at(table, (labels[rows, None], bins[rows]), 1)
    """
    for row in rows:
        for column in range(bins.shape[1]):
            table[labels[row], bins[row, column]] += 1


@compiled
def _best_splits(table, column):
    """Return the bins after which the best splits fall, the first one in each tied column.

    In NumPy, for a bin that occurs and is not the last one of its column::

        node, left = table[:, column == 0].sum(axis=1), table[:, (column == column[bin]) & (bins <= bin)].sum(axis=1)
        sides = node - left, left
        quality = sum(-side.sum() * (1 - (side**2).sum() / side.sum() ** 2) for side in sides)

    Rounding breaks ties between equal splits, so operations have the same order as in scikit-learn.
    """
    n_classes, n_columns = len(table), column[-1] + 1
    best, found, n_found = -np.inf, np.empty(n_columns, np.int64), 0
    node, left = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(n_classes):
        node[i] = table[i].sum() / n_columns  # every column counts every row
    n, n_left = node.sum(), 0.0
    if node.max() == n:
        return found[:0]
    for bin in range(len(column)):
        if bin == 0 or column[bin] != column[bin - 1]:
            left[:], n_left = 0, 0.0
        here = table[:, bin].sum()
        left += table[:, bin]
        n_left += here
        if here == 0 or n_left == n:
            continue
        n_right, of_left, of_right = n - n_left, 0.0, 0.0
        for i in range(n_classes):
            of_left += left[i] * left[i]
            of_right += (node[i] - left[i]) * (node[i] - left[i])
        quality = -n_right * (1 - of_right / (n_right * n_right)) - n_left * (1 - of_left / (n_left * n_left))
        if quality > best:
            best, n_found = quality, 0
        if quality == best and (n_found == 0 or column[found[n_found - 1]] != column[bin]):
            found[n_found] = bin
            n_found += 1
    return found[:n_found]


# Smaller ranks are explored first: inputs of the local search, then seeds, then inputs of the global search.
LOCAL_RANK, SEED_RANK, GLOBAL_RANK = 1.0, 5.0, 10.0
SMALLEST_SHARE = 0.3  # the global search stops at the first condition with a smaller share


class SymbolicGeneration:
    """Search by negating explanations.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
    schema : Schema
    sensitive_features : str or sequence of str
        Conditions on these are never negated.
    n_neighbours : int
        Rows that each tree is fitted to.
    n_pool : int
        Rows that the model classifies beforehand; the rows of each tree are picked from them anew.
    solution : {"uniform", "lowest"}
        Choice among the values that satisfy the conditions: a random one, or the lowest. The authors left the choice to
        a solver: z3 of their time returned high and inner values, which a uniform draw approximates; later versions
        mostly return the lowest.
    random_state : int or None

    Raises
    ------
    ValueError
        If a protected attribute is not in the schema.

    Examples
    --------
    >>> from fairlab.papers.adf.symbolic import SymbolicGeneration
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
        sensitive_features,
        *,
        n_neighbours: int = 5000,
        n_pool: int = 200_000,
        solution: str = "uniform",
        random_state: int | None = 0,
    ):
        self.classify = wrap_model(model).deciding(None)
        self.columns = schema.positions(sensitive_features)
        self.schema, self.sensitive_features, self.solution = schema, sensitive_features, solution
        self._bounds = list(schema.bounds.values())
        self.n_neighbours, self.n_pool, self.random_state = n_neighbours, n_pool, random_state

    def generate(self, X, seeds, *, n_inputs: int = 1000) -> SearchResult:
        """Explore from `seeds` until `n_inputs` distinct inputs were explored, or nothing is left to explore.

        Parameters
        ----------
        X : DataFrame or array of int of shape (n_rows, n_attributes)
            The training data; neighbourhoods are drawn from its frequencies.
        seeds : array of int of shape (n_seeds, n_attributes)
        n_inputs : int
        """
        started = time.perf_counter()
        seeds = self.schema.check(seeds, "seeds")
        steps = self.steps(X, seeds, n_inputs=n_inputs)
        trace = Trace.join(list(steps), len(self.schema.names))
        is_seed = (trace.inputs == seeds[trace.seed]).all(axis=1)
        return SearchResult.count(
            trace,
            schema=self.schema,
            sensitive_features=self.sensitive_features,
            iterations=np.zeros(len(seeds), dtype=int),
            successful=np.isin(np.arange(len(seeds)), trace.seed[is_seed & (trace.partner >= 0)]),
            seconds=time.perf_counter() - started,
        )

    def steps(self, X, seeds, *, n_inputs: int | None = None) -> Iterator[Trace]:
        """Yield explored inputs one at a time, in order; see `generate`. If `n_inputs` is None, there is no limit.

        Parameters
        ----------
        X, seeds
            As for `generate`.
        n_inputs : int or None
        """
        X, seeds = self.schema.check(X), self.schema.check(seeds, "seeds")
        most = np.inf if n_inputs is None else n_inputs
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
        partners, explored, negated = Partners(self.classify, self.sensitive_features, schema=self.schema), set(), set()
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
            if condition.share < SMALLEST_SHARE:
                return
            conditions = (*prefix, condition.negated())
            if conditions not in negated:
                negated.add(conditions)
                child = self._solve(x, conditions, rng)
                if child is not None:
                    yield GLOBAL_RANK - fmean(other.share for other in conditions), child
            prefix = (*prefix, condition)


def intervals(conditions, bounds) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest value within conditions and bounds, for each attribute in a condition.

    If the lowest is above the highest, no value satisfies them.

    Parameters
    ----------
    conditions : iterable of PathCondition
    bounds : sequence of (int, int)
        Lowest and highest value of every attribute.
    """
    found = {}
    for c in conditions:
        low, high = found.get(c.column, bounds[c.column])
        found[c.column] = (low, min(high, c.threshold)) if c.below else (max(low, c.threshold + 1), high)
    return found


def solve(x, conditions, bounds, rng: np.random.Generator | None = None) -> tuple | None:
    """Return `x` with the attributes of `conditions` set to values within bounds that satisfy them; None if none does.

    Parameters
    ----------
    x : sequence of int
    conditions : sequence of PathCondition
    bounds : sequence of (int, int)
        Lowest and highest value of every attribute.
    rng : numpy.random.Generator or None
        Draws each value among those that satisfy the conditions; if None, the lowest is taken.
    """
    child = list(x)
    for column, (low, high) in intervals(conditions, bounds).items():
        if low > high:
            return None
        child[column] = low if rng is None else int(rng.integers(low, high + 1))
    return tuple(child)
