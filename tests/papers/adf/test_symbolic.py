"""Symbolic generation: paths of surrogate trees, and the search along their negated conditions."""

import numpy as np
import pytest
import small_network
from sklearn.tree import DecisionTreeClassifier

from fairlab.adf import discriminatory
from fairlab.papers.adf.symbolic import Explainer, NodeCounts, PathCondition, SymbolicGeneration, grow_path, solve

network, schema, weights = small_network.network, small_network.schema, small_network.weights  # fixtures


def test_solutions_obey_the_conditions_and_the_bounds(schema):
    conditions = [PathCondition(0, False, 3, 0.5), PathCondition(0, True, 4, 0.5), PathCondition(2, True, -4, 0.5)]
    child = solve((9, 1, 0, 0, 2), conditions, list(schema.bounds.values()))
    assert child in [(4, 1, -5, 0, 2), (4, 1, -4, 0, 2)]
    assert solve((9, 1, 0, 0, 2), [PathCondition(3, False, 1, 0.5)], list(schema.bounds.values())) is None


@pytest.mark.parametrize("sensitive_features", ["group", ["group", "sex"]])
def test_every_reported_instance_is_discriminatory(network, schema, sensitive_features):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(network, schema, sensitive_features, n_neighbours=200, random_state=0)
    result = search.generate(X, X[:10], n_inputs=40)
    inputs = result.trace.inputs
    found = discriminatory(network, inputs, sensitive_features, schema=schema).sum()
    assert result.n_inputs == 40
    assert found == result.n_discriminatory > 0
    assert ((inputs >= schema.low) & (inputs <= schema.high)).all()
    changed = inputs != X[:10][result.trace.seed]
    assert not changed[:, schema.positions(sensitive_features)].any(), "protected values are never solved for"
    steps = np.concatenate([step.inputs for step in search.steps(X, X[:10], n_inputs=40)])
    explored = [np.delete(rows, schema.positions(sensitive_features), axis=1) for rows in (steps, inputs)]
    assert {tuple(row) for row in explored[0]} == {tuple(row) for row in explored[1]}


def test_with_room_for_all_seeds_the_successful_are_the_discriminatory_ones(schema):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(
        lambda X: (X[:, 0] > 4) & (X[:, 3] == 1), schema, "sex", n_neighbours=100, random_state=0
    )
    assert (search.generate(X, X[:6], n_inputs=200).successful == (X[:6, 0] > 4)).all()


def path_through(rows, classes) -> list[PathCondition]:
    """Return the path of the first row through the whole tree of scikit-learn."""
    tree, path, node = DecisionTreeClassifier(random_state=2019).fit(rows, classes).tree_, [], 0
    while tree.children_left[node] >= 0:
        column, threshold = int(tree.feature[node]), tree.threshold[node]
        below = bool(rows[0, column] <= threshold)
        child = (tree.children_left if below else tree.children_right)[node]
        share = float(tree.n_node_samples[child] / tree.n_node_samples[node])
        path.append(PathCondition(column, below, int(np.floor(threshold)), share))
        node = child
    return path


@pytest.fixture(params=range(6))
def labelled(request, network, schema):
    rows = schema.sample(400, random_state=request.param)
    return rows, network.predict(rows) if request.param % 2 else (rows[:, 0] + rows[:, 2] > 3) + (rows[:, 4] > 2)


def counted(rows, classes):
    """Return the counts of rows, and what they count of each."""
    known, labels = np.unique(classes, return_inverse=True)
    counts = NodeCounts(rows.min(axis=0), rows.max(axis=0), len(known))
    return counts, counts.bins(rows) + labels[:, None] * len(counts.column)


def test_every_split_of_the_tree_is_among_the_best_ones_and_the_path_the_same_up_to_the_first_tie(labelled):
    rows, classes = labelled
    ours, theirs = grow_path(rows, classes, np.random.default_rng(0)), path_through(rows, classes)
    (counts, cells), inside, n_same = counted(rows, classes), np.arange(len(rows)), 0
    for number, condition in enumerate(theirs):
        table = counts.of(cells[inside])
        splits = counts.best_splits(table)
        assert (condition.column, condition.threshold) in {
            (int(counts.column[k]), counts.threshold(table, k)) for k in splits
        }
        n_same += n_same == number and len(splits) == 1
        inside = inside[(rows[inside, condition.column] <= condition.threshold) == condition.below]
    assert not counts.best_splits(counts.of(cells[inside])).size, "the tree ends where nothing is left to split"
    assert ours[:n_same] == theirs[:n_same] != []


def test_a_path_by_hand():
    rows = np.array([[2, 0], [0, 0], [1, 0], [2, 5]])
    path = grow_path(rows, np.array([1, 0, 0, 0]), np.random.default_rng(0))
    assert {(c.column, c.below, c.threshold) for c in path} == {(0, False, 1), (1, True, 2)}
    assert path[0].share == (0.5 if path[0].column == 0 else 0.75)
    assert path[0].negated() == PathCondition(path[0].column, not path[0].below, path[0].threshold, 1 - path[0].share)


def test_equal_splits_are_drawn_evenly():
    rows = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0]])
    rng = np.random.default_rng(0)
    first = [grow_path(rows, np.array([0, 1, 0, 1]), rng)[0].column for _ in range(400)]
    assert abs(np.mean(first) - 0.5) < 0.1
    assert set(first) == {0, 1}


def test_one_class_and_equal_rows_have_no_path():
    rng = np.random.default_rng(0)
    assert grow_path(np.array([[0], [1]]), np.array([1, 1]), rng) == []
    assert grow_path(np.array([[3], [3]]), np.array([0, 1]), rng) == []


@pytest.fixture
def explainer():
    """Explains by a model of two columns, of which the second takes few and far values."""
    X = np.repeat([[0, 0], [1, 7], [2, -7]], [10, 30, 60], axis=0)
    options = {"n_neighbours": 200, "n_pool": 20_000, "rng": np.random.default_rng(0)}
    return Explainer(lambda X: (X[:, 0] + X[:, 1] > 2).astype(int), X, [(-1, 5), (-9, 9)], **options)


def test_rows_to_pick_from_have_the_frequencies_of_each_column_and_nothing_else(explainer):
    rows = explainer.counts.value[explainer._bins]
    for column, values in zip(rows.T, ([0, 1, 2], [0, 7, -7]), strict=True):
        shares = [(column == value).mean() for value in values]
        np.testing.assert_allclose(shares, [0.1, 0.3, 0.6], atol=0.015)
    assert abs(np.corrcoef(rows[:, 0], rows[:, 1] == -7)[0, 1]) < 0.03, "columns are drawn one by one"
    assert (explainer.known[explainer._labels] == explainer.classify(rows)).all()


def test_a_tree_has_rows_of_its_own_and_the_path_of_the_input_in_it(explainer):
    for x in ([5, -8], [2, 7]):
        path = explainer(x)
        assert path
        assert all((x[c.column] <= c.threshold) == c.below for c in path)
    assert len(np.intersect1d(explainer.pick(), explainer.pick())) < 20


def test_a_model_of_one_class_is_explained_by_nothing():
    X = np.array([[0, 1], [1, 0]])
    options = {"n_neighbours": 20, "n_pool": 50, "rng": np.random.default_rng(0)}
    assert Explainer(lambda X: np.zeros(len(X)), X, [(0, 1), (0, 1)], **options)([0, 0]) == []
    # An input outside of the data, of a class of its own.
    [condition] = Explainer(lambda X: X[:, 0] > 1, X, [(0, 9), (0, 1)], **options)([9, 1])
    assert (condition.column, condition.below, condition.threshold) == (0, False, 5)
