import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.models.multiway_tree import MultiwayTree, mean_entropy


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
    assert model.n_nodes_ == 5
    assert model.predict(pd.DataFrame({"noise": [0], "a": [7], "b": [1]})).tolist() == [0]


def test_the_last_column_wins_ties():
    X = pd.DataFrame({"a": [0, 1], "b": [0, 1]})
    model = MultiwayTree().fit(X, [0, 1])
    assert model.predict(pd.DataFrame({"a": [0, 1], "b": [1, 0]})).tolist() == [1, 0]


def test_rows_that_cannot_be_told_apart_get_their_majority():
    X = pd.DataFrame({"a": [0, 0, 0, 1]})
    assert MultiwayTree().fit(X, [0, 0, 1, 1]).predict(X).tolist() == [0, 0, 0, 1]
    assert MultiwayTree().fit(X[:2], [0, 1]).predict(X[:2]).tolist() == [1, 1]
    assert MultiwayTree().fit(X, ["no", "no", "yes", "yes"]).predict(X).tolist() == ["no", "no", "no", "yes"]
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": pd.DataFrame({"a": [0.5, 1], "b": [0, 1]})}, "X: expected codes, whole numbers from 0 on"),
        ({"X": pd.DataFrame({"a": [-1, 1], "b": [0, 1]})}, "X: expected codes"),
        ({"y": [0, 2, 1], "X": pd.DataFrame({"a": [0, 1, 1]})}, "y: expected two classes, found 3: 0, 1, 2"),
        ({"y": [0, 2, 1]}, "y has 3 rows, X has 2"),
        ({"purity": ("sex",)}, "purity and discount: sex is no column; there are a, b"),
        ({"discount": "sex"}, "purity and discount: sex is no column"),
    ],
)
def test_bad_input(change, message):
    given = {"X": pd.DataFrame({"a": [0, 1], "b": [0, 1]}), "y": [0, 1]} | change
    X, y = given.pop("X"), given.pop("y")
    with pytest.raises(ValueError, match=message):
        MultiwayTree(**given).fit(X, y)


def test_other_columns_than_in_the_fit_are_an_error():
    X, y = table(0)
    with pytest.raises(ValueError, match="now missing:\n- "):
        MultiwayTree().fit(X, y).predict(X[["a", "b"]])
