"""Learning algorithms of the paper's systems (sections 5.1 and 5.2) that scikit-learn does not have."""

import numpy as np
import pandas as pd
from scipy.optimize import LinearConstraint, minimize
from scipy.spatial import KDTree
from scipy.special import expit, xlogy
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

CLASS, FIRST = "class", "first"
_NEGLIGIBLE = 1e-6  # of the decision function
_KERNEL_CACHE = 1000  # MB; holds the whole kernel of 15,000 rows, without which a fit takes twenty times as long


class BoundedCovarianceLogistic:
    """System A: logistic regression whose scores covary with membership in each group by at most a bound (Zafar 2017).

    Without an intercept the boundary goes through the origin, and the solution depends on where the codes start.
    """

    def __init__(self, covariance_bound: float = 0.0, *, fit_intercept: bool = True):
        self.covariance_bound, self.fit_intercept = covariance_bound, fit_intercept

    def fit(self, X, y, *, sensitive_features) -> "BoundedCovarianceLogistic":
        """Learn the weights for labels 0 and 1; raise a RuntimeError if the minimum is not found.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : ndarray of int of shape (n_rows,)
        sensitive_features : array-like of shape (n_rows,)
        """
        values = np.asarray(X, dtype=float)
        scale = np.sqrt((values**2).mean(axis=0))
        design = values / scale  # for the optimiser; the solution is the same
        if self.fit_intercept:
            design = np.column_stack([design, np.ones(len(design))])
        members = pd.get_dummies(pd.Series(np.asarray(sensitive_features))).astype(float)
        covariances = (members - members.mean()).to_numpy().T @ design / len(design)
        # The last group's indicator follows from the others', so its equation would make the system singular.
        bounded = covariances[:-1] if self.covariance_bound == 0 else covariances
        result = minimize(
            lambda w: np.logaddexp(0, -(2 * y - 1) * (design @ w)).mean(),
            np.zeros(design.shape[1]),
            jac=lambda w: design.T @ (expit(design @ w) - y) / len(y),
            method="SLSQP",
            constraints=LinearConstraint(bounded, -self.covariance_bound, self.covariance_bound),
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        if not result.success:
            raise RuntimeError(f"no optimum after {result.nit} steps: {result.message}")
        self.coef_ = result.x[: values.shape[1]] / scale
        self.intercept_ = float(result.x[-1]) if self.fit_intercept else 0.0
        return self

    def predict(self, X) -> np.ndarray:
        """Return 1 where the score is positive, else 0."""
        return (np.asarray(X, dtype=float) @ self.coef_ + self.intercept_ > 0).astype(int)


class LeastSquaresClassifier:
    """System G: least squares on labels 0 and 1, positive above 0 as in the paper's package."""

    def fit(self, X, y) -> "LeastSquaresClassifier":
        """Fit the regression.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : ndarray of int of shape (n_rows,)
            Labels 0 and 1.
        """
        self.regression_ = LinearRegression().fit(np.asarray(X, dtype=float), y)
        return self

    def predict(self, X) -> np.ndarray:
        """Return 1 where the regression exceeds 0, else 0."""
        return (np.asarray(X, dtype=float) @ self.regression_.coef_ + self.regression_.intercept_ > 0).astype(int)


class NearbySVC:
    """System H: SVC with a Gaussian kernel of one width that evaluates nearby support vectors only.

    Together, the others change the decision function by less than 1e-6, so decisions are the same as scikit-learn's.
    """

    def fit(self, X, y) -> "NearbySVC":
        """Fit scikit-learn's SVC to labels 0 and 1.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : ndarray of int of shape (n_rows,)
        """
        self.svc_ = SVC(gamma="auto", cache_size=_KERNEL_CACHE).fit(np.asarray(X, dtype=float), y)
        self._width, self._weights = self.svc_._gamma, self.svc_.dual_coef_[0]
        self._radius = float(np.sqrt(np.log(max(2.0, np.abs(self._weights).sum()) / _NEGLIGIBLE) / self._width))
        self._tree = KDTree(self.svc_.support_vectors_)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return the decision function, shape (n_rows,)."""
        values = np.asarray(X, dtype=float)
        pairs = KDTree(values).sparse_distance_matrix(self._tree, self._radius, output_type="ndarray")
        parts = self._weights[pairs["j"]] * np.exp(-self._width * pairs["v"] ** 2)
        return self.svc_.intercept_[0] + np.bincount(pairs["i"], parts, minlength=len(values))

    def predict(self, X) -> np.ndarray:
        """Return 1 where the decision function is positive, else 0."""
        return (self.decision_function(X) > 0).astype(int)


class MultiwayTree:
    """Systems B, D and F: a tree with one branch for each value of the column that a node splits by (Kamiran 2010).

    A node splits by the column whose branches are purest (smallest mean entropy, the last such column on ties) until
    its rows are of one class or no column is left. Purity is measured in the first entry of `purity` that is available:
    ``"class"``, ``"first"`` (the first column left) or a column. Impurity in the column `discount` is rewarded, which
    gives the criterion IGC - IGS. Values that a branch has never seen get the most frequent class.
    """

    def __init__(self, *, purity: tuple[str, ...] = (CLASS,), discount: str | None = None):
        self.purity, self.discount = purity, discount

    def fit(self, X: pd.DataFrame, y) -> "MultiwayTree":
        """Grow the tree for codes from 0 on and labels 0 and 1.

        Parameters
        ----------
        X : DataFrame of int
        y : array-like of int of shape (n_rows,)
        """
        codes, labels = X.to_numpy(dtype=np.int64), np.asarray(y, dtype=np.int64)
        self.default_ = int(2 * labels.sum() >= len(labels))
        self._grow(codes, labels, list(X.columns))
        return self

    def predict(self, X) -> np.ndarray:
        """Return the class of each row, shape (n_rows,)."""
        codes = np.asarray(X, dtype=np.int64)
        answer = np.full(len(codes), self.default_)
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
        return answer

    def _grow(self, codes, labels, names) -> None:
        """Split and number nodes; from a node's offset on, `_children` has the child node of each value, or -1."""
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
    """Return the mean entropy in bits of `target` within each value of `branch`, weighted by rows.

    Parameters
    ----------
    target, branch : ndarray of int of shape (n_rows,)
    """
    width = target.max() + 1
    counts = np.bincount(branch * width + target).astype(float)
    totals = np.bincount(branch).astype(float)
    return float(xlogy(totals, totals).sum() - xlogy(counts, counts).sum()) / (len(target) * np.log(2))


def massage(y, disadvantaged, scores, *, n_promoted: int | None = None, n_demoted: int | None = None) -> np.ndarray:
    """Return labels after changing those nearest to a ranker's boundary (Kamiran and Calders 2009).

    By default, as many labels change in each group as make the shares of positives most nearly equal.

    Parameters
    ----------
    y : ndarray of int of shape (n_rows,)
    disadvantaged : ndarray of bool of shape (n_rows,)
    scores : ndarray of shape (n_rows,)
        Scores of the ranker; high scores are favourable.
    n_promoted, n_demoted : int, optional
        Labels to change among the disadvantaged, and among the others.
    """
    y = y.copy()
    if n_promoted is None:
        n_promoted = n_demoted = changes_for_equal_shares(y, disadvantaged)
    promoted, demoted = np.flatnonzero((y == 0) & disadvantaged), np.flatnonzero((y == 1) & ~disadvantaged)
    y[promoted[np.argsort(-scores[promoted], kind="stable")[:n_promoted]]] = 1
    y[demoted[np.argsort(scores[demoted], kind="stable")[:n_demoted]]] = 0
    return y


def changes_for_equal_shares(y, disadvantaged) -> int:
    """Return how many labels to change in each group for equal shares of positives; 0 if they need no change.

    Parameters
    ----------
    y : ndarray of int of shape (n_rows,)
    disadvantaged : ndarray of bool of shape (n_rows,)
    """
    n_disadvantaged, n_others = disadvantaged.sum(), (~disadvantaged).sum()
    difference = y[~disadvantaged].mean() - y[disadvantaged].mean()
    return max(0, round(float(difference * n_disadvantaged * n_others / len(y))))


def balancing_weights(y, sensitive_features) -> np.ndarray:
    """Return a weight for each row that makes label and group independent (Calders et al. 2009, reweighing).

    Parameters
    ----------
    y, sensitive_features : array-like of shape (n_rows,)
    """
    y, group = pd.Series(np.asarray(y)), pd.Series(np.asarray(sensitive_features))
    share = [values.map(values.value_counts(normalize=True)) for values in (y, group)]
    joint = y.groupby([y, group]).transform("size") / len(y)
    return (share[0] * share[1] / joint).to_numpy()
