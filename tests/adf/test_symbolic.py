import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairlab.adf import SymbolicGeneration, discriminatory
from fairlab.adf.symbolic import Condition, path_through, solve


def test_path_through_a_tree_by_hand():
    X = np.array([[0, 0], [1, 0], [2, 0], [2, 5]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 0]).tree_
    path = path_through(tree, np.array([2, 0]))
    assert {(c.column, c.below, c.threshold) for c in path} == {(0, False, 1), (1, True, 2)}
    assert path[0].share == (0.5 if path[0].column == 0 else 0.75)
    assert path[0].negated() == Condition(path[0].column, not path[0].below, path[0].threshold, 1 - path[0].share)


def test_a_tree_of_one_leaf_has_no_path():
    assert path_through(DecisionTreeClassifier().fit([[0], [1]], [1, 1]).tree_, np.array([0])) == []


def test_solutions_obey_the_conditions_and_the_bounds(schema):
    conditions = [Condition(0, False, 3, 0.5), Condition(0, True, 4, 0.5), Condition(2, True, -4, 0.5)]
    child = solve((9, 1, 0, 0, 2), conditions, schema)
    assert child[0] == 4
    assert child[2] in (-5, -4)
    assert (child[1], child[3], child[4]) == (1, 0, 2)
    assert solve((9, 1, 0, 0, 2), [Condition(3, False, 1, 0.5)], schema) is None


@pytest.mark.parametrize("sensitive", ["group", ["group", "sex"]])
def test_every_reported_instance_is_discriminatory(network, schema, sensitive):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(network, schema, sensitive, n_neighbours=200, random_state=0)
    result = search.generate(X, X[:10], n_inputs=40)
    assert result.n_inputs == 40
    assert discriminatory(network, result.trace.inputs, sensitive, schema=schema).sum() == result.n_discriminatory > 0
    inputs = result.trace.inputs
    assert ((inputs >= schema.low) & (inputs <= schema.high)).all()
    changed = inputs != X[:10][result.trace.seed]
    assert not changed[:, schema.positions(sensitive)].any(), "protected values are never solved for"


def test_with_room_for_all_seeds_the_successful_are_the_discriminatory_ones(schema):
    X = schema.sample(300, random_state=0)
    search = SymbolicGeneration(
        lambda X: (X[:, 0] > 4) & (X[:, 3] == 1), schema, "sex", n_neighbours=100, random_state=0
    )
    assert (search.generate(X, X[:6], n_inputs=200).successful == (X[:6, 0] > 4)).all()


def test_what_ends_a_search(network, schema):
    X = schema.sample(50, random_state=0)
    search = SymbolicGeneration(network, schema, "sex", n_neighbours=50, random_state=0)
    assert search.generate(X, X, time_limit=0).n_inputs == 0
    assert search.generate(X, X, max_found=3).n_discriminatory == 3
    constant = SymbolicGeneration(lambda X: np.zeros(len(X)), schema, "sex", n_neighbours=50, random_state=0)
    result = constant.generate(X, X)
    assert (result.n_inputs, result.n_discriminatory) == (len(np.unique(np.delete(X, 3, axis=1), axis=0)), 0)


def test_bad_input(network, schema):
    with pytest.raises(ValueError, match="'age' is not in the schema"):
        SymbolicGeneration(network, schema, "age")
    for options in ({"n_neighbours": 1}, {"n_neighbours": 9.5}, {"smallest_share": 2}, {"smallest_share": np.nan}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: expected"):
            SymbolicGeneration(network, schema, "sex", **options)
    X = schema.sample(9, random_state=0)
    with pytest.raises(ValueError, match="n_inputs: expected a positive integer, found -1"):
        SymbolicGeneration(network, schema, "sex").generate(X, X, n_inputs=-1)
    with pytest.raises(ValueError, match="need a threshold"):
        SymbolicGeneration(lambda X: 0.5 + 1e-12 * X[:, 3], schema, "sex").generate(X, X)
