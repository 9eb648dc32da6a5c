"""Explanations of symbolic generation: the path of an input through a decision tree that stands in for the model.

The tree is fitted to the model's answers on LIME's neighbourhood with every attribute declared categorical: each column
drawn from its frequencies in the training data, so that apart from its first row, the input itself, nothing in it is
near the input. What is asked of the tree is one path, so only the nodes on this path are grown: the same splits as
those of scikit-learn's classifier (Gini impurity, no limit of depth), from counts instead of sorted rows.
"""

from typing import NamedTuple

import numpy as np


class Condition(NamedTuple):
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


class Explainer:
    """Explains one input after the other, each by a tree on rows of its own.

    Parameters
    ----------
    classify : callable
        Takes rows of integers, returns one class per row.
    X : array of int of shape (n_rows, n_attributes)
        The training data, whose frequencies the rows have.
    n_neighbours : int
        Rows that each tree is fitted to, the input among them.
    rng : numpy.random.Generator
    """

    def __init__(self, classify, X: np.ndarray, *, n_neighbours: int, rng: np.random.Generator):
        self.classify, self.n_neighbours, self.rng = classify, n_neighbours, rng
        small = np.result_type(np.min_scalar_type(X.min()), np.min_scalar_type(X.max()))
        self._shape, self._values = X.shape, X.T.astype(small).ravel()  # small numbers are quicker to draw

    def __call__(self, x) -> list[Condition]:
        """Return the conditions that `x` fulfils, from the root on."""
        rows = self.neighbourhood(x)
        return grow_path(rows, self.classify(rows), self.rng)

    def neighbourhood(self, x) -> np.ndarray:
        """Return `x` and rows whose columns are drawn one by one, shape (n_neighbours, n_attributes)."""
        n_rows, n_columns = self._shape
        drawn = self.rng.integers(n_rows, size=(self.n_neighbours, n_columns)) + np.arange(n_columns) * n_rows
        rows = self._values.take(drawn).astype(np.int64)
        rows[0] = x
        return rows


def grow_path(rows: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> list[Condition]:
    """Return the path of the first row through a decision tree fitted to all rows.

    Of columns that split a node equally well one is drawn, as scikit-learn does, and the lowest of several equal
    thresholds is taken. Thresholds are rounded down, which changes nothing for integers.

    Parameters
    ----------
    rows : array of int of shape (n_rows, n_attributes)
    classes : array of shape (n_rows,)
    rng : numpy.random.Generator
        Decides between equal splits.
    """
    counts = Counts(rows, classes)
    path, inside = [], np.arange(len(rows))
    table = counts.of(slice(None))
    while (splits := counts.best_splits(table)).size:
        split = rng.choice(splits)
        column, value = counts.column[split], counts.value[split]
        below = rows[0, column] <= value
        left = rows[inside, column] <= value
        stay, leave = inside[left == below], inside[left != below]
        share = len(stay) / len(inside)
        path.append(Condition(int(column), bool(below), counts.threshold(table, split), share))
        # Counting the smaller side will do.
        table = counts.of(stay) if len(stay) < len(leave) else table - counts.of(leave)
        inside = stay
    return path


class Counts:
    """Rows of a node counted by class and by value of every column: all that the choice of a split needs.

    Parameters
    ----------
    rows : array of int of shape (n_rows, n_attributes)
    classes : array of shape (n_rows,)

    Attributes
    ----------
    column, value : ndarray of shape (n_bins,)
        What a table counts in each place: the columns one after the other, their values in order.
    """

    def __init__(self, rows: np.ndarray, classes: np.ndarray):
        known, labels = np.unique(classes, return_inverse=True)
        low = rows.min(axis=0)
        widths = rows.max(axis=0) - low + 1
        starts = np.cumsum(widths) - widths
        self.column = np.repeat(np.arange(len(widths)), widths)
        self.value = np.arange(widths.sum()) - (starts - low)[self.column]
        self._start = starts[self.column]
        self._shape = len(known), len(self.column)
        self._cells = rows + (starts - low) + labels[:, None] * len(self.column)

    def of(self, some: np.ndarray | slice) -> np.ndarray:
        """Return the counts of some rows, by number, shape (n_classes, n_bins)."""
        return np.bincount(self._cells[some].ravel(), minlength=np.prod(self._shape)).reshape(self._shape)

    def best_splits(self, table: np.ndarray) -> np.ndarray:
        """Return the bins after which a node is split best, one for each column that does; none if it is a leaf."""
        summed = np.zeros((self._shape[0], self._shape[1] + 1))
        table.cumsum(axis=1, out=summed[:, 1:])
        node = summed[:, -1:] / (self.column[-1] + 1)  # every column counts every row
        n = node.sum()
        bins = np.flatnonzero(table.any(axis=0))
        left = summed[:, bins + 1] - summed[:, self._start[bins]]
        n_left = left.sum(axis=0)
        inner = n_left < n
        if node.max() == n or not inner.any():
            return bins[:0]
        bins, left, n_left = bins[inner], left[:, inner], n_left[inner]
        right, n_right = node - left, n - n_left
        # Rounding decides between splits that are equal, so it is done in the order in which scikit-learn does it.
        impurity = [
            1 - (side * side).sum(axis=0) / (count * count) for side, count in ((left, n_left), (right, n_right))
        ]
        quality = -n_right * impurity[1] - n_left * impurity[0]
        best = bins[quality == quality.max()]
        return best[np.diff(self.column[best], prepend=-1) > 0]

    def threshold(self, table: np.ndarray, split: int) -> int:
        """Return the middle between the value of a bin and the next one that occurs, rounded down."""
        following = split + 1 + table[:, split + 1 :].any(axis=0).argmax()
        return int((self.value[split] + self.value[following]) // 2)
