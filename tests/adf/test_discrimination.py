from itertools import product

import numpy as np
import pytest

from fairlab.adf import discriminatory, estimate_unfairness
from fairlab.adf.discrimination import sensitive_columns
from fairlab.cases import Schema


def one_by_one(model, X, sensitive, schema):
    """Check every input on its own, value by value."""
    columns = schema.positions(sensitive)
    ranges = [range(*schema.bounds[schema.names[j]]) for j in columns]
    ranges = [[*r, r.stop] for r in ranges]
    answers = []
    for x in X:
        own, other = model(x[None])[0], x.copy()
        hit = False
        for values in product(*ranges):
            other[columns] = values
            hit |= model(other[None])[0] != own
        answers.append(hit)
    return np.array(answers)


@pytest.mark.parametrize("sensitive", ["group", "sex", ["group", "sex"]])
def test_every_other_value_is_tried(network, schema, sensitive):
    X = schema.sample(40, random_state=0)
    found = discriminatory(network, X, sensitive, schema=schema)
    assert 0 < found.sum() < len(X)
    assert (found == one_by_one(network.predict, X, sensitive, schema)).all()


def test_by_hand():
    schema = Schema.from_bounds({"sex": (0, 1), "age": (1, 9)})
    rule = lambda X: ((X[:, 0] == 1) & (X[:, 1] > 4)).astype(int)  # noqa: E731
    X = np.array([[0, 3], [0, 5], [1, 5], [1, 4]])
    assert discriminatory(rule, X, "sex", schema=schema).tolist() == [False, True, True, False]
    assert discriminatory(rule, X, "age", schema=schema).tolist() == [False, False, True, True]


def test_own_value_outside_of_the_bounds_is_compared_all_the_same():
    schema = Schema.from_bounds({"sex": (0, 1), "age": (1, 9)})
    assert discriminatory(lambda X: X[:, 0] > 1, np.array([[2, 3]]), "sex", schema=schema).all()


def test_estimate_is_the_share_of_the_domain(network, schema):
    grids = np.meshgrid(*(np.arange(low, high + 1) for low, high in schema.bounds.values()), indexing="ij")
    everything = np.stack(grids, axis=-1).reshape(-1, 5)
    exact = discriminatory(network, everything, "group", schema=schema).mean()
    fairness = estimate_unfairness(network, schema=schema, sensitive="group", n=20_000, random_state=0)
    assert fairness.share == pytest.approx(exact, abs=4 * fairness.standard_error)
    assert fairness.standard_error == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.05)


def test_a_constant_model_never_discriminates(schema):
    assert estimate_unfairness(lambda X: np.zeros(len(X)), schema=schema, sensitive="sex", n=99).share == 0


def test_a_protected_attribute_has_to_be_in_the_schema(network, schema):
    with pytest.raises(ValueError, match="'age' is not in the schema"):
        discriminatory(network, schema.sample(3, random_state=0), "age", schema=schema)
    with pytest.raises(ValueError, match="n: expected a positive integer, found 0"):
        estimate_unfairness(network, schema=schema, sensitive="sex", n=0)


def test_protected_columns_leave_something_to_search_along(schema):
    assert sensitive_columns(schema, ["sex", "group"]) == [1, 3]
    with pytest.raises(ValueError, match="no attribute is left"):
        sensitive_columns(schema, schema.names)


TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda X: 0.5 + 1e-12 * X[:, 1], "need a threshold"),
        (lambda X: 1 / (1 + np.exp(-X[:, 0].astype(float))), "need a threshold"),
        (lambda X: np.where(X[:, 1] == 1, np.nan, 0.0), "no class for .* rows: nan"),
        (lambda X: np.full(len(X), np.nan), "no class for .* rows: nan"),
    ],
)
def test_scores_are_not_compared_for_equality(model, said):
    with pytest.raises(ValueError, match=said):
        estimate_unfairness(model, schema=TWO, sensitive="sex", n=50)
    with pytest.raises(ValueError, match=said):
        discriminatory(model, [[1, 0], [1, 1]], "sex", schema=TWO)


def test_a_score_is_held_against_its_threshold():
    X = np.array([[4, 0], [5, 0]])
    for threshold, expected in ((0.5, [False, False]), (4.5, [True, False]), (5.5, [False, True])):
        found = discriminatory(lambda X: X[:, 0] + 0.9 * X[:, 1], X, "sex", schema=TWO, threshold=threshold)
        assert found.tolist() == expected
    fairness = estimate_unfairness(lambda X: 0.5 + 1e-12 * X[:, 1], schema=TWO, sensitive="sex", n=50, threshold=0.4)
    assert fairness.share == 0


@pytest.mark.parametrize("n", [0, -1, 2.5, "9", None])
def test_how_many_is_a_count(n):
    with pytest.raises(ValueError, match="n: expected a positive integer, found"):
        estimate_unfairness(lambda X: X[:, 0], schema=TWO, sensitive="sex", n=n)
