"""What the paper's systems are trained with, and the systems themselves."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from fairlab.data import load
from fairlab.papers.themis import learners, systems
from fairlab.papers.themis.instances import INSTANCES

BY_ID = {instance.id: instance for instance in INSTANCES}


def table(seed, n_rows=60, n_columns=4, n_values=3):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(n_values, size=(n_rows, n_columns)), columns=list("abcdefg")[:n_columns])
    return X, rng.integers(2, size=n_rows)


def entropy_within(rows, column, target):
    """Return the mean entropy of the target among rows that are alike in a column."""
    alike = [Counter(row[target] for row in rows if row[column] == value) for value in {row[column] for row in rows}]
    return sum(counts.total() * entropy([*counts.values()], base=2) for counts in alike) / len(rows)


def grow(rows, columns, purity):
    """Return the tree as the recursion that the source describes: a label, or a column and the tree of each value."""
    labels = [row["label"] for row in rows]
    if len(set(labels)) == 1 or not columns:
        return int(2 * sum(labels) >= len(labels))
    rests = {column: [name for name in columns if name != column] for column in columns}
    costs = {}
    for column, rest in rests.items():
        entry = next((e for e in purity if e == "class" or (e == "first" and rest) or e in rest), "class")
        target = "label" if entry == "class" else rest[0] if entry == "first" else entry
        costs[column] = entropy_within(rows, column, target)
    best = [column for column in columns if costs[column] <= min(costs.values()) + 1e-12][-1]
    parts = {value: [row for row in rows if row[best] == value] for value in {row[best] for row in rows}}
    return best, {value: grow(part, rests[best], purity) for value, part in parts.items()}


def answer(tree, row, default):
    while isinstance(tree, tuple):
        column, branches = tree
        tree = branches.get(row[column], default)
    return tree


@pytest.mark.parametrize(
    "options",
    [{}, {"purity": ("first",)}, {"purity": ("b", "class")}, {"purity": ("c", "first")}],
    ids=lambda options: "-".join(options.get("purity", ("usual",))),
)
@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_the_tree_is_that_of_the_recursion(options, seed):
    X, y = table(seed)
    other, _ = table(seed + 1, n_values=5)  # with values never seen
    model = learners.MultiwayTree(**options).fit(X, y)
    tree = grow(X.assign(label=y).to_dict("records"), list(X), options.get("purity", ("class",)))
    for asked in (X, other):
        expected = [answer(tree, row, default=int(2 * y.sum() >= len(y))) for row in asked.to_dict("records")]
        assert model.predict(asked).tolist() == expected


def test_a_discounted_column_and_its_proxy_are_not_split_by(rng):
    sex, merit = rng.integers(2, size=(2, 400))
    X = pd.DataFrame({"merit": merit, "sex": sex, "hair": sex})
    y = np.where(rng.random(400) < 0.7, sex, merit)
    roots = [X.columns[learners.MultiwayTree(discount=name).fit(X, y)._column[0]] for name in (None, "sex")]
    assert roots == ["hair", "merit"]


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=600)
    X = pd.DataFrame({"merit": rng.normal(size=600), "proxy": group + rng.normal(size=600), "code": 1 + group})
    y = (X["merit"] + X["proxy"] - 1 + rng.logistic(size=600) > 0).astype(int)
    return X, y.to_numpy(), group


@pytest.mark.parametrize("bound", [0.0, 0.05])
def test_covariances_stay_within_the_bound(groups, bound):
    X, y, group = groups
    model = learners.BoundedCovarianceLogistic(bound).fit(X, y, sensitive_features=group)
    members = np.eye(3)[group]
    reached = np.abs((members - members.mean(axis=0)).T @ (X.to_numpy() @ model.coef_ + model.intercept_)) / len(X)
    assert reached.max() == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_bound_it_is_logistic_regression(groups, intercept):
    X, y, group = groups
    model = learners.BoundedCovarianceLogistic(1e6, fit_intercept=intercept).fit(X, y, sensitive_features=group)
    plain = LogisticRegression(C=np.inf, fit_intercept=intercept, tol=1e-8).fit(X, y)
    assert model.coef_ == pytest.approx(plain.coef_[0], abs=2e-3)


def test_least_squares_decide_at_0():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    # The line is 0.4 x - 0.1.
    assert learners.LeastSquaresClassifier().fit(X, y).predict(X).tolist() == [0, 1, 1, 1]


def test_nearby_support_vectors_decide_as_all_of_them(rng):
    X, far = rng.integers(12, size=(400, 5)).astype(float), rng.integers(100, size=(3000, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 11).astype(int)
    model, plain = learners.NearbySVC().fit(X, y), SVC(gamma="auto").fit(X, y)
    for inputs in (X, far):
        assert model.decision_function(inputs) == pytest.approx(plain.decision_function(inputs), abs=1e-6)
        assert (model.predict(inputs) == plain.predict(inputs)).all()


# Four women, of whom one is positive, and four men, of whom three are.
WOMEN = np.array([True] * 4 + [False] * 4)
LABELS = np.array([1, 0, 0, 0, 1, 1, 1, 0])
RANKS = np.array([0.9, 0.1, 0.4, 0.3, 0.9, 0.2, 0.6, 0.1])


@pytest.mark.parametrize(
    ("disadvantaged", "options", "expected"),
    [
        # One change in each group makes the shares equal: the woman with 0.4, the man with 0.2.
        (WOMEN, {}, [1, 0, 1, 0, 1, 0, 1, 0]),
        (WOMEN, {"n_promoted": 2, "n_demoted": 0}, [1, 0, 1, 1, 1, 1, 1, 0]),
        (~WOMEN, {}, LABELS.tolist()),  # the disadvantaged do better
    ],
)
def test_the_nearest_labels_are_changed(disadvantaged, options, expected):
    assert learners.massage(LABELS, disadvantaged, RANKS, **options).tolist() == expected
    assert learners.changes_for_equal_shares(LABELS, disadvantaged) == disadvantaged[0]


def test_weights_by_hand():
    # P(positive) P(woman) / P(positive woman) = 1/2 * 1/2 / (1/8).
    assert learners.balancing_weights(LABELS, WOMEN).tolist() == pytest.approx([2, *[2 / 3] * 6, 2])


@pytest.fixture(scope="module")
def people():
    """Surrogates, cut to a size that all systems learn from within a second."""
    return {
        data: systems.sample_people(load(variant), 300, random_state=0) for data, variant in systems.VARIANTS.items()
    }


def test_other_people_train_another_system(people):
    instance = INSTANCES[0]
    fewer = systems.sample_people(people[instance.data], 200, random_state=0)
    assert systems.train(instance, fewer) is not systems.train(instance, people[instance.data])


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.id)
def test_readings_differ_but_for_two_systems(people, instance):
    inputs = instance.schema.decode(instance.schema.sample_codes(2000, random_state=0))
    published, described = (
        systems.train(instance, people[instance.data], reading=reading)(inputs) for reading in systems.READINGS
    )
    assert (published == described).all() == (instance.system in "eh")


def test_changed_labels_by_hand():
    X = pd.DataFrame({"race": [0] * 20 + [4] * 40, "sex": [0, 1] * 30})
    y = np.array([1] * 20 + [1, 1] + [0] * 38)

    def labels(id, column, privileged, behind):
        return systems._changed_labels(BY_ID[id], X, y, (X[column] != privileged).to_numpy(), behind).tolist()

    # No white person keeps a positive label.
    no_white = [0] * 20 + [1, 1] + [0] * 38
    changes = [("c.census.race", behind) for behind in systems.BEHIND] + [("d.census.race", "figure-1 causal")]
    assert [labels(id, "race", 0, behind) for id, behind in changes] == [no_white] * 4
    # Twelve of either side change.
    changed = labels("d.census.race", "race", 0, "figure-2") != y
    assert changed[:20].sum() == changed[20:].sum() == 12
    # Of the 19 women of race 4 with a negative label, all keep it; a twentieth would be promoted.
    assert labels("c.census.gender", "sex", 1, "figure-2") == y.tolist()
