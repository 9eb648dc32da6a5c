"""Decision tree with a branch per value, and the fairness-aware splits of Kamiran et al. 2010 (Themis' B, D and F)."""

import numpy as np
from scipy.special import xlogy
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_features, estimator_features
from fairlab.models.binary import BinaryClassifier, two_classes

CLASS, FIRST = "class", "first"


class MultiwayTree(BinaryClassifier):
    """Tree over categorical columns whose every node has one branch for each value of the column it splits by.

    A node splits by the column whose branches are purest (smallest mean entropy, weighted by rows; the last such column
    on ties) until its rows are of one class or no column is left. There is no pruning and no limit of depth. Values
    that a branch has never seen get the most frequent class of all training rows, the second on ties.

    Parameters
    ----------
    purity : tuple of str
        What branches should be pure in: the first entry that is left once the column to split by is taken away. Entries
        are ``"class"``, the label; ``"first"``, the first column that is left; or the name of a column. ``("class",)``
        is the usual tree.
    discount : str or None
        A column that branches should not be pure in: its mean entropy is subtracted. With the protected column this is
        Kamiran's criterion IGC - IGS.

    Attributes
    ----------
    default_ : label
        The most frequent class, the second on ties.
    n_nodes_ : int
    classes_ : ndarray of shape (2,), or (1,) if all labels were the same

    References
    ----------
    Kamiran, Calders, Pechenizkiy. Discrimination Aware Decision Tree Learning. ICDM 2010.

    Examples
    --------
    >>> from fairlab.models import MultiwayTree
    >>> rows = pd.DataFrame({"job": [0, 1, 0, 2], "town": [0, 0, 1, 1]})
    >>> MultiwayTree().fit(rows, [0, 1, 0, 1]).predict(rows).tolist()
    [0, 1, 0, 1]
    """

    def __init__(self, *, purity=(CLASS,), discount=None):
        self.purity = purity
        self.discount = discount

    def fit(self, X, y) -> "MultiwayTree":
        """Grow the tree.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
            Codes of categories, integers from 0 on.
        y : array-like of shape (n_rows,)
            Labels of two classes, or of one.

        Raises
        ------
        ValueError
            If a code is no such integer, labels are of more than two classes, or an entry of `purity` or `discount` is
            no column.
        """
        if isinstance(self.purity, str) or not np.iterable(self.purity):
            raise ValueError(f"purity: expected a tuple of columns, found {self.purity!r}")
        values, names = estimator_features(self, X, fitting=True), check_features(X)[1]
        labels, self.classes_ = two_classes(y, len(values), one_will_do=True)
        codes = _codes(values)
        wanted = {*self.purity, *([] if self.discount is None else [self.discount])} - {CLASS, FIRST}
        if unknown := sorted(wanted - set(names)):
            raise ValueError(f"purity and discount: {', '.join(unknown)} is no column; there are {', '.join(names)}")
        self._default = int(len(self.classes_) > 1 and 2 * labels.sum() >= len(labels))
        self.default_ = self.classes_[self._default]
        self._grow(codes, labels.astype(np.int64), names)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = tags.input_tags.positive_only = True
        return tags

    def predict(self, X) -> np.ndarray:
        """Return the class of each row, shape (n_rows,)."""
        check_is_fitted(self)
        codes = _codes(estimator_features(self, X, fitting=False))
        answer = np.full(len(codes), self._default)
        rows, node = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        while len(rows):
            leaf = self._column[node] < 0
            answer[rows[leaf]] = self._label[node[leaf]]
            rows, node = rows[~leaf], node[~leaf]
            value = codes[rows, self._column[node]]
            seen = value < self._n_values[node]
            rows, node, value = rows[seen], node[seen], value[seen]
            child = self._children[self._offset[node] + value]
            rows, node = rows[child >= 0], child[child >= 0]
        return self.classes_[answer]

    def _grow(self, codes, labels, names) -> None:
        """Split nodes and number them; `_children` has, from a node's offset on, a node for each value or -1."""
        column, label, offset, n_values, children = [], [], [], [], []
        waiting = [(np.arange(len(codes)), tuple(range(len(names))), None)]  # rows, columns left, place among children
        while waiting:
            rows, left, place = waiting.pop()
            if place is not None:
                children[place] = len(column)
            ones = labels[rows].sum()
            leaf = ones in (0, len(rows)) or not left
            best = -1 if leaf else self._choose(codes[rows], labels[rows], left, names)
            column.append(best)
            label.append(int(2 * ones >= len(rows)))
            offset.append(len(children))
            n_values.append(0 if leaf else codes[rows, best].max() + 1)
            children += [-1] * n_values[-1]
            if not leaf:
                rows = rows[np.argsort(codes[rows, best], kind="stable")]
                values, first = np.unique(codes[rows, best], return_index=True)
                rest = tuple(other for other in left if other != best)
                parts = np.split(rows, first[1:])
                waiting += [(part, rest, offset[-1] + value) for value, part in zip(values, parts, strict=True)]
        self.n_nodes_ = len(column)
        self._column, self._label, self._offset = np.array(column), np.array(label), np.array(offset)
        self._n_values, self._children = np.array(n_values), np.array(children, dtype=np.int64)

    def _choose(self, codes, labels, left, names) -> int:
        """Return the column to split by, of those left."""
        costs = []
        for column in left:
            rest = {names[other]: codes[:, other] for other in left if other != column}
            targets = {CLASS: labels, **rest} | ({FIRST: next(iter(rest.values()))} if rest else {})
            target = next((entry for entry in self.purity if entry in targets), CLASS)
            cost = mean_entropy(targets[target], codes[:, column])
            if self.discount is not None:
                cost -= mean_entropy(codes[:, names.index(self.discount)], codes[:, column])
            costs.append(cost)
        return left[int(np.flatnonzero(np.array(costs) <= min(costs) + 1e-12)[-1])]


def mean_entropy(target: np.ndarray, branch: np.ndarray) -> float:
    """Return the mean entropy in bits of `target` within each value of `branch`, weighted by rows."""
    width = target.max() + 1
    counts = np.bincount(branch * width + target).astype(float)
    totals = np.bincount(branch).astype(float)
    return float(xlogy(totals, totals).sum() - xlogy(counts, counts).sum()) / (len(target) * np.log(2))


def _codes(values: np.ndarray) -> np.ndarray:
    """Return codes of categories as integers, checked."""
    if (values < 0).any():
        raise ValueError("Negative values in data passed to MultiwayTree; X: expected codes, whole numbers from 0 on")
    if (values != np.floor(values)).any():
        raise ValueError("X: expected codes, whole numbers from 0 on; encode categories first")
    return values.astype(np.int64)
