import numpy as np
import pytest

from fairlab.adf import SymbolicGeneration, discriminatory
from fairlab.adf.explanation import Condition
from fairlab.adf.symbolic import solve


def test_solutions_obey_the_conditions_and_the_bounds(schema):
    conditions = [Condition(0, False, 3, 0.5), Condition(0, True, 4, 0.5), Condition(2, True, -4, 0.5)]
    child = solve((9, 1, 0, 0, 2), conditions, list(schema.bounds.values()))
    assert child[0] == 4
    assert child[2] in (-5, -4)
    assert (child[1], child[3], child[4]) == (1, 0, 2)
    assert solve((9, 1, 0, 0, 2), [Condition(3, False, 1, 0.5)], list(schema.bounds.values())) is None


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


def test_steps_are_the_inputs_in_the_order_of_exploring(network, schema):
    X = schema.sample(100, random_state=0)
    search = SymbolicGeneration(network, schema, "sex", n_neighbours=100, random_state=0)
    inputs = np.concatenate([step.inputs for step in search.steps(X, X[:5], n_inputs=30)])
    explored = {tuple(row) for row in np.delete(inputs, 3, axis=1)}
    again = search.generate(X, X[:5], n_inputs=30).trace.inputs
    assert len(explored) == 30
    assert explored == {tuple(row) for row in np.delete(again, 3, axis=1)}


def test_bad_input(network, schema):
    with pytest.raises(ValueError, match="'age' is not in the schema"):
        SymbolicGeneration(network, schema, "age")
    for options in (
        {"n_neighbours": 1},
        {"n_neighbours": 9.5},
        {"n_pool": 0},
        {"smallest_share": 2},
        {"smallest_share": np.nan},
        {"solution": "any"},
    ):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: expected"):
            SymbolicGeneration(network, schema, "sex", **options)
    X = schema.sample(9, random_state=0)
    with pytest.raises(ValueError, match="n_inputs: expected a positive integer, found -1"):
        SymbolicGeneration(network, schema, "sex").generate(X, X, n_inputs=-1)
    with pytest.raises(ValueError, match="need a threshold"):
        SymbolicGeneration(lambda X: 0.5 + 1e-12 * X[:, 3], schema, "sex").generate(X, X)
