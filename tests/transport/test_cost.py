import numpy as np
import pandas as pd
import pytest

from fairlab.transport import ColumnCosts, squared_l1
from fairlab.transport.cost import check_mixed, codes_of, cost_matrix

PEOPLE = pd.DataFrame(
    {
        "age": [20, 30, 40, 50],  # standard deviation: 11.18
        "job": ["clerk", "cook", "clerk", None],
        "member": [True, False, True, True],
        "income": [1.0, np.nan, 3.0, np.nan],  # standard deviation: 1
    }
)
SD = np.std([20, 30, 40, 50])


def test_sum_of_columns_by_hand():
    cost = ColumnCosts(squared=False)(PEOPLE[:2], PEOPLE[2:])
    expected = [
        [20 / SD + 0 + 0 + 2, 30 / SD + 1 + 0 + 1],
        [10 / SD + 1 + 1 + 1, 20 / SD + 1 + 1 + 0],
    ]
    np.testing.assert_allclose(cost, expected)
    np.testing.assert_allclose(ColumnCosts()(PEOPLE[:2], PEOPLE[2:]), np.square(expected))


def test_kinds_and_weights():
    only_age = {"job": 0, "member": 0, "income": 0}
    squared = ColumnCosts({"age": "squared"}, weights=only_age | {"age": 3}, squared=False)
    np.testing.assert_allclose(squared(PEOPLE[:1], PEOPLE[1:]), 3 * np.square([[10 / SD, 20 / SD, 30 / SD]]))
    codes = ColumnCosts({"age": "mismatch"}, weights=only_age, squared=False)
    np.testing.assert_array_equal(codes(PEOPLE[:1], PEOPLE), [[0, 1, 1, 1]])
    as_codes = ColumnCosts(number="mismatch", weights={"job": 0, "member": 0}, squared=False)
    np.testing.assert_array_equal(as_codes(PEOPLE[:2], PEOPLE), [[0, 2, 2, 2], [2, 0, 2, 1]])


@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_units_do_not_matter(unit):
    X = np.random.default_rng(0).normal(size=(30, 2)) * [unit, 1]
    scaled = X / X.std(axis=0)
    np.testing.assert_allclose(ColumnCosts()(X[:10], X[10:]), squared_l1(scaled[:10], scaled[10:]))


def test_a_constant_column_costs_nothing():
    X = pd.DataFrame({"one": [1.0, 1.0, 1.0], "none": [np.nan] * 3})
    np.testing.assert_array_equal(ColumnCosts()(X[:1], X[1:]), [[0, 0]])


def test_categories_of_two_tables_are_told_apart_by_value():
    source = pd.DataFrame({"job": pd.Categorical(["a", "b"], ["a", "b"])})
    target = pd.DataFrame({"job": pd.Categorical(["b", "a"], ["b", "a"])})
    np.testing.assert_array_equal(ColumnCosts()(source, target), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("cost", "table", "message"),
    [
        (ColumnCosts({"agee": "squared"}), PEOPLE, "columns: no column 'agee'; did you mean 'age'"),
        (ColumnCosts(weights={"pay": 1}), PEOPLE, "weights: no column 'pay'"),
        (ColumnCosts({"job": "absolute"}), PEOPLE, "column 'job': expected numbers"),
        (ColumnCosts(), PEOPLE.assign(age=[1, 2, 3, np.inf]), "column 'age' holds infinite values"),
        (ColumnCosts(), PEOPLE.assign(age=pd.Timestamp("2020-01-01")), "column 'age' holds dates.*age in days"),
        (ColumnCosts(), PEOPLE.assign(age=[1, 2, 3, 1j]), "column 'age' has complex numbers"),
        (
            ColumnCosts(),
            PEOPLE.assign(job=[[1], [2], [3], [4]]),
            "column 'job': expected values that can be told apart",
        ),
        (ColumnCosts({"age": lambda x, y: np.zeros(3)}), PEOPLE, r"columns\['age'\]: returned shape \(3,\)"),
    ],
)
def test_bad_tables(cost, table, message):
    with pytest.raises(ValueError, match=message):
        cost(table, table)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (PEOPLE[:0], PEOPLE, "X_source: is empty"),
        (PEOPLE, PEOPLE[["age", "age"]], "X_target: columns occur twice: age"),
        (PEOPLE, PEOPLE[["age", "job"]], "only in X_source: member, income"),
        (PEOPLE, PEOPLE.assign(age=list("abcd")), "column 'age' has type int64 in X_source and .* in X_target"),
    ],
)
def test_tables_that_do_not_match(source, target, message):
    with pytest.raises(ValueError, match=message):
        check_mixed(source, target)


def test_codes_of_both_columns_together():
    first, second = (pd.Series(values, dtype="string") for values in (["x", None, "y"], ["y", "x", None]))
    x, y = codes_of(first, second)
    assert (x[:, None] == y).tolist() == [[False, True, False], [False, False, True], [True, False, False]]


def test_squared_l1_by_hand():
    cost = squared_l1(np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([[1.0, 2.0], [0.0, 0.0], [1.0, -1.0]]))
    np.testing.assert_array_equal(cost, [[9, 0, 4], [9, 4, 0]])


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (lambda X, Y: np.zeros((len(Y), len(X))), r"shape \(3, 2\), expected \(2, 3\)"),
        (lambda X, Y: 0.0, "shape"),
        (lambda X, Y: np.full((len(X), len(Y)), -0.5), "returned -0.5"),
        (lambda X, Y: np.full((len(X), len(Y)), np.nan), "NaN or infinite"),
        (lambda X, Y: np.array([[0, 1, 2], [0, 1, np.inf]]), "NaN or infinite"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(cost, np.zeros((2, 1)), np.zeros((3, 1)))


def test_a_function_for_one_column():
    steps = ColumnCosts(
        {"job": lambda x, y: np.where(x.isna().to_numpy()[:, None] | y.isna().to_numpy(), 7, 0)},
        weights={"age": 0, "member": 0, "income": 0},
        squared=False,
    )
    np.testing.assert_array_equal(steps(PEOPLE[:2], PEOPLE[2:]), [[0, 7], [0, 7]])
