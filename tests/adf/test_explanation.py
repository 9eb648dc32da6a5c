import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairlab.adf.explanation import Condition, Counts, Explainer, grow_path


def path_through(rows, classes) -> list[Condition]:
    """Return the path of the first row through the whole tree of scikit-learn."""
    tree, path, node = DecisionTreeClassifier(random_state=2019).fit(rows, classes).tree_, [], 0
    while tree.children_left[node] >= 0:
        column, threshold = int(tree.feature[node]), tree.threshold[node]
        below = bool(rows[0, column] <= threshold)
        child = (tree.children_left if below else tree.children_right)[node]
        share = float(tree.n_node_samples[child] / tree.n_node_samples[node])
        path.append(Condition(column, below, int(np.floor(threshold)), share))
        node = child
    return path


@pytest.fixture(params=range(6))
def labelled(request, network, schema):
    rows = schema.sample(400, random_state=request.param)
    return rows, network.predict(rows) if request.param % 2 else (rows[:, 0] + rows[:, 2] > 3) + (rows[:, 4] > 2)


def test_every_split_of_the_tree_is_among_the_best_ones(labelled):
    rows, classes = labelled
    counts, inside = Counts(rows, classes), np.arange(len(rows))
    for condition in path_through(rows, classes):
        table = counts.of(inside)
        splits = counts.best_splits(table)
        best = {(int(counts.column[k]), counts.threshold(table, k)) for k in splits}
        assert (condition.column, condition.threshold) in best
        inside = inside[(rows[inside, condition.column] <= condition.threshold) == condition.below]
    assert not counts.best_splits(counts.of(inside)).size, "the tree ends where nothing is left to split"


def test_the_path_is_that_of_the_tree_up_to_the_first_tie(labelled):
    rows, classes = labelled
    ours, theirs = grow_path(rows, classes, np.random.default_rng(0)), path_through(rows, classes)
    counts, inside, n_same = Counts(rows, classes), np.arange(len(rows)), 0
    for own, other in zip(ours, theirs, strict=False):
        if len(counts.best_splits(counts.of(inside))) > 1:
            break
        assert own == other
        inside = inside[(rows[inside, own.column] <= own.threshold) == own.below]
        n_same += 1
    assert n_same >= 1


def test_a_path_by_hand():
    rows = np.array([[2, 0], [0, 0], [1, 0], [2, 5]])
    path = grow_path(rows, np.array([1, 0, 0, 0]), np.random.default_rng(0))
    assert {(c.column, c.below, c.threshold) for c in path} == {(0, False, 1), (1, True, 2)}
    assert path[0].share == (0.5 if path[0].column == 0 else 0.75)
    assert path[0].negated() == Condition(path[0].column, not path[0].below, path[0].threshold, 1 - path[0].share)


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


def test_neighbours_have_the_frequencies_of_each_column_and_nothing_else():
    rng = np.random.default_rng(0)
    X = np.repeat([[0, 0], [1, 7], [2, -7]], [10, 30, 60], axis=0)
    rows = Explainer(None, X, n_neighbours=20_000, rng=rng).neighbourhood([5, 5])
    assert rows[0].tolist() == [5, 5]
    for column, values in zip(rows[1:].T, ([0, 1, 2], [0, 7, -7]), strict=True):
        shares = [(column == value).mean() for value in values]
        np.testing.assert_allclose(shares, [0.1, 0.3, 0.6], atol=0.015)
    assert abs(np.corrcoef(rows[1:, 0], rows[1:, 1] == -7)[0, 1]) < 0.03, "columns are drawn one by one"
