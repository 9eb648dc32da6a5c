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

    The rows of a tree are picked anew for every input, from many that were drawn and asked about once.

    Parameters
    ----------
    classify : callable
        Takes rows of integers, returns one class per row.
    X : array of int of shape (n_rows, n_attributes)
        The training data, whose frequencies the rows have.
    bounds : sequence of (int, int)
        Within which an input may lie outside of the data.
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
        self.counts = Counts(np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0)), len(self.known) + 1)
        small = np.min_scalar_type(len(self.counts.column))  # is quicker to pick from
        self._bins, self._labels = self.counts.bins(pool).astype(small), labels

    def __call__(self, x) -> list[Condition]:
        """Return the conditions that `x` fulfils, from the root on."""
        picked, row = self.pick(), np.array([x])
        same = np.flatnonzero(self.known == self.classify(row)[0])
        bins, labels = self._bins[picked], self._labels[picked]
        bins[0], labels[0] = self.counts.bins(row)[0], same[0] if same.size else len(self.known)
        return follow(self.counts, bins, labels, self.rng)

    def pick(self) -> np.ndarray:
        """Return which rows of the pool come to a tree; the first gives way to the input."""
        return self.rng.integers(len(self._bins), size=self.n_neighbours)


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
    known, labels = np.unique(classes, return_inverse=True)
    counts = Counts(rows.min(axis=0), rows.max(axis=0), len(known))
    return follow(counts, counts.bins(rows), labels, rng)


def follow(counts: "Counts", bins: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> list[Condition]:
    """Return the path of the first row; see `grow_path`.

    Parameters
    ----------
    counts : Counts
    bins : ndarray of int of shape (n_rows, n_attributes)
        Of every row.
    labels : ndarray of int of shape (n_rows,)
        Number of its class.
    """
    cells = bins + (labels * len(counts.column))[:, None]
    path, inside = [], np.arange(len(bins))
    table = counts.of(cells)
    while (splits := counts.best_splits(table)).size:
        split = splits[rng.integers(len(splits))]
        column = counts.column[split]
        below = bins[0, column] <= split
        stays = (bins[inside, column] <= split) == below
        stay, leave = inside[stays], inside[~stays]
        share = len(stay) / len(inside)
        path.append(Condition(int(column), bool(below), counts.threshold(table, split), share))
        # Counting the smaller side will do.
        table = counts.of(cells[stay]) if len(stay) < len(leave) else table - counts.of(cells[leave])
        inside = stay
    return path


class Counts:
    """Rows of a node counted by class and by value of every column: all that the choice of a split needs.

    Parameters
    ----------
    low, high : ndarray of int of shape (n_attributes,)
        Lowest and highest value of each.
    n_classes : int

    Attributes
    ----------
    column, value : ndarray of shape (n_bins,)
        What a table counts in each place: the columns one after the other, their values in order.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, n_classes: int):
        widths = high - low + 1
        self._shift = np.cumsum(widths) - widths - low
        self.column = np.repeat(np.arange(len(widths)), widths)
        self.value = np.arange(widths.sum()) - self._shift[self.column]
        self._shape = n_classes, len(self.column)

    def bins(self, rows: np.ndarray) -> np.ndarray:
        """Return where a table counts each value, shape (n_rows, n_attributes)."""
        return rows + self._shift

    def of(self, cells: np.ndarray) -> np.ndarray:
        """Return the counts of bins, those of the second class moved on by as many as there are, and so on."""
        return np.bincount(cells.ravel(), minlength=self._shape[0] * self._shape[1]).reshape(self._shape)

    def best_splits(self, table: np.ndarray) -> np.ndarray:
        """Return the bins after which a node is split best, one for each column that does; none if it is a leaf."""
        bins = np.flatnonzero(table.any(axis=0))
        counted, column = table[:, bins].astype(float), self.column[bins]
        node = counted.sum(axis=1, keepdims=True) / (column[-1] + 1)  # every column counts every row
        n = node.sum()
        if node.max() == n:
            return bins[:0]
        left = counted.cumsum(axis=1) - node * column
        n_left = left.sum(axis=0)
        inner = n_left < n
        bins, left, n_left = bins[inner], left[:, inner], n_left[inner]
        if not bins.size:
            return bins
        right, n_right = node - left, n - n_left
        # Rounding decides between splits that are equal, so it is done in the order in which scikit-learn does it.
        impurity = [
            1 - (side * side).sum(axis=0) / (count * count) for side, count in ((left, n_left), (right, n_right))
        ]
        quality = -n_right * impurity[1] - n_left * impurity[0]
        best = bins[quality == quality.max()]
        return best if len(best) == 1 else best[np.diff(self.column[best], prepend=-1) > 0]

    def threshold(self, table: np.ndarray, split: int) -> int:
        """Return the middle between the value of a bin and the next one that occurs, rounded down."""
        following = split + 1 + table[:, split + 1 :].any(axis=0).argmax()
        return int((self.value[split] + self.value[following]) // 2)
