import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from fairlab.papers.themis.learners import (
    BoundedCovarianceLogistic,
    LeastSquaresClassifier,
    MultiwayTree,
    NearbySVC,
    balancing_weights,
    changes_for_equal_shares,
    massage,
    mean_entropy,
)

# Two women, one positive of four; men: three of four.
WOMEN = np.array([True] * 4 + [False] * 4)
LABELS = np.array([1, 0, 0, 0, 1, 1, 1, 0])
SCORES = np.array([0.9, 0.1, 0.4, 0.3, 0.9, 0.2, 0.6, 0.1])


def table(seed, n_rows=60, n_columns=4, n_values=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(n_values, size=(n_rows, n_columns)), columns=list("abcdefg")[:n_columns])
    return X, rng.integers(2, size=n_rows)


def test_mean_entropy_by_hand():
    # Branch 0 has classes 0, 1 (one bit), branch 1 only class 1; two of four rows each.
    assert mean_entropy(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1])) == pytest.approx(0.5)
    assert mean_entropy(np.array([2, 2]), np.array([1, 1])) == 0


class Oracle:
    """The same tree, written as the recursion that the source describes."""

    def __init__(self, X, y, purity=("class",), discount=None):
        self.purity, self.discount = purity, discount
        self.default = int(2 * sum(y) >= len(y))
        self.root = self.grow([(*row, label) for row, label in zip(X.to_numpy().tolist(), y, strict=True)], list(X))

    def grow(self, rows, columns):
        labels = [row[-1] for row in rows]
        if len(set(labels)) == 1 or not columns:
            return int(2 * sum(labels) >= len(labels))
        best, at = None, None
        for i, _ in enumerate(columns):
            rest = columns[:i] + columns[i + 1 :]
            entry = next((e for e in self.purity if e == "class" or (e == "first" and rest) or e in rest), "class")
            target = -1 if entry == "class" else columns.index(rest[0] if entry == "first" else entry)
            cost = self.entropy(rows, i, target)
            if self.discount in columns:
                cost -= self.entropy(rows, i, columns.index(self.discount))
            if best is None or cost <= best + 1e-12:
                best, at = min(cost, best if best is not None else cost), i
        branches = {}
        for row in rows:
            branches.setdefault(row[at], []).append((*row[:at], *row[at + 1 :]))
        rest = columns[:at] + columns[at + 1 :]
        return columns[at], {value: self.grow(part, rest) for value, part in branches.items()}

    @staticmethod
    def entropy(rows, column, target):
        total = 0.0
        for value in {row[column] for row in rows}:
            of_value = [row[target] for row in rows if row[column] == value]
            shares = [of_value.count(t) / len(of_value) for t in set(of_value)]
            total -= len(of_value) / len(rows) * sum(p * np.log2(p) for p in shares)
        return total

    def predict(self, X):
        answers = []
        for _, row in X.iterrows():
            node = self.root
            while isinstance(node, tuple):
                column, branches = node
                node = branches.get(row[column], self.default)
            answers.append(node)
        return answers


@pytest.mark.parametrize(
    "options",
    [{}, {"purity": ("first",)}, {"purity": ("b", "class")}, {"purity": ("c", "first")}],
    ids=lambda options: "-".join(options.get("purity", ("usual",))),
)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_the_tree_is_that_of_the_recursion(options, seed):
    X, y = table(seed)
    other, _ = table(seed + 1, n_values=5)  # with values never seen
    model = MultiwayTree(**options).fit(X, y)
    oracle = Oracle(X, y.tolist(), **options)
    assert model.predict(X).tolist() == oracle.predict(X)
    assert model.predict(other).tolist() == oracle.predict(other)


def test_an_and_is_learned_and_the_rest_gets_the_default():
    X = pd.DataFrame({"noise": [0, 1, 0, 1, 0, 1, 0, 1], "a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 1, 1, 0, 0, 1, 1]})
    y = (X["a"] & X["b"]).to_numpy()
    model = MultiwayTree().fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.default_ == 0
    assert model.predict(pd.DataFrame({"noise": [0], "a": [7], "b": [1]})).tolist() == [0]


def test_the_last_column_wins_ties():
    X = pd.DataFrame({"a": [0, 1], "b": [0, 1]})
    model = MultiwayTree().fit(X, [0, 1])
    assert model.predict(pd.DataFrame({"a": [0, 1], "b": [1, 0]})).tolist() == [1, 0]


def test_rows_that_cannot_be_told_apart_get_their_majority():
    X = pd.DataFrame({"a": [0, 0, 0, 1]})
    assert MultiwayTree().fit(X, [0, 0, 1, 1]).predict(X).tolist() == [0, 0, 0, 1]
    assert MultiwayTree().fit(X[:2], [0, 1]).predict(X[:2]).tolist() == [1, 1]
    assert MultiwayTree().fit(X, [1, 1, 1, 1]).predict(X + 5).tolist() == [1, 1, 1, 1]


def test_a_discounted_column_and_its_proxy_are_not_split_by():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=400)
    merit = rng.integers(2, size=400)
    X = pd.DataFrame({"merit": merit, "sex": sex, "hair": sex})
    y = np.where(rng.random(400) < 0.7, sex, merit)
    plain, fair = MultiwayTree().fit(X, y), MultiwayTree(discount="sex").fit(X, y)
    assert X.columns[plain._column[0]] == "hair"
    assert X.columns[fair._column[0]] == "merit"


def people():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    X = pd.DataFrame({"merit": rng.normal(size=600), "proxy": group + rng.normal(size=600), "code": 1 + group})
    y = (X["merit"] + X["proxy"] - 1 + rng.logistic(size=600) > 0).astype(int)
    return X, y.to_numpy(), group


@pytest.mark.parametrize("bound", [0.0, 0.05])
def test_covariances_stay_within_the_bound(bound):
    X, y, group = people()
    model = BoundedCovarianceLogistic(bound).fit(X, y, sensitive_features=group)
    members = np.eye(3)[group]
    reached = np.abs((members - members.mean(axis=0)).T @ (X.to_numpy() @ model.coef_ + model.intercept_)) / len(X)
    assert reached.max() == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_bound_it_is_logistic_regression(intercept):
    X, y, group = people()
    model = BoundedCovarianceLogistic(1e6, fit_intercept=intercept).fit(X, y, sensitive_features=group)
    plain = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-8).fit(X, y)
    assert model.coef_ == pytest.approx(plain.coef_[0], abs=2e-3)
    assert (model.predict(X) == plain.predict(X)).mean() > 0.99


def test_least_squares_decide_at_0():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    # The line is 0.4 x - 0.1.
    assert LeastSquaresClassifier().fit(X, y).predict(X).tolist() == [0, 1, 1, 1]


def test_nearby_support_vectors_decide_as_all_of_them():
    rng = np.random.default_rng(0)
    X, far = rng.integers(12, size=(400, 5)).astype(float), rng.integers(100, size=(3000, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 11).astype(int)
    model, plain = NearbySVC().fit(X, y), SVC(gamma="auto").fit(X, y)
    for inputs in (X, far):
        assert model.decision_function(inputs) == pytest.approx(plain.decision_function(inputs), abs=1e-6)
        assert (model.predict(inputs) == plain.predict(inputs)).all()
    assert (model.decision_function(far + 1000) == model.svc_.intercept_[0]).all(), "nothing is nearby"


def test_the_nearest_labels_are_changed():
    # One change in each group makes the shares equal: the woman with 0.4, the man with 0.2.
    assert changes_for_equal_shares(LABELS, WOMEN) == 1
    assert massage(LABELS, WOMEN, SCORES).tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    assert massage(LABELS, WOMEN, SCORES, n_promoted=2, n_demoted=0).tolist() == [1, 0, 1, 1, 1, 1, 1, 0]
    assert massage(LABELS, ~WOMEN, SCORES).tolist() == LABELS.tolist(), "the disadvantaged do better"


def test_weights_by_hand():
    weights = balancing_weights(LABELS, WOMEN)
    # P(positive) P(woman) / P(positive woman) = 1/2 * 1/2 / (1/8).
    assert weights.tolist() == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 2])
