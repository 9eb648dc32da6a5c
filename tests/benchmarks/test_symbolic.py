"""The authors' libraries as the oracle of what symbolic generation computes without them."""

import numpy as np
import pytest

from fairlab.benchmarks.symbolic import WithLibraries, lime_tabular, solve_by_z3
from fairlab.cases import Schema
from fairlab.papers.adf.symbolic import Explainer, PathCondition, SymbolicGeneration, intervals, solve

SCHEMA = Schema.from_bounds({"a": (0, 9), "b": (-5, 5), "sex": (0, 1), "c": (0, 40)})
BOUNDS = list(SCHEMA.bounds.values())


def classify(X):
    """Sex matters where c is about a third of the domain."""
    return (X[:, 0] + 3 * X[:, 2] + X[:, 3] / 4 > 9) | (X[:, 1] == 5)


def test_rows_have_the_frequencies_of_limes():
    X = np.random.default_rng(0).choice([0, 1, 1, 2, 7], size=(500, 3))
    lime = lime_tabular.LimeTabularExplainer(
        X, categorical_features=[0, 1, 2], discretize_continuous=False, random_state=np.random.RandomState(0)
    )
    _, theirs = lime._LimeTabularExplainer__data_inverse(X[3], 20_000)
    options = {"n_neighbours": 10, "n_pool": 20_000, "rng": np.random.default_rng(0)}
    explainer = Explainer(lambda rows: np.zeros(len(rows), int), X, [(0, 7)] * 3, **options)
    ours = explainer.counts.value[explainer._bins]
    for column in range(3):
        for value in (0, 1, 2, 7):
            assert abs((ours[:, column] == value).mean() - (theirs[:, column] == value).mean()) < 0.015


@pytest.mark.parametrize("n_columns", [1, 3])
def test_solutions_are_z3s(n_columns):
    rng, x, n_solved, n_low = np.random.default_rng(n_columns), (1, 1, 1, 1), 0, 0
    for _ in range(60):
        columns = rng.choice([0, 1, 3], n_columns, replace=False)
        conditions = [
            PathCondition(
                int(column),
                bool(rng.random() < 0.5),
                int(rng.integers(-6, 42) if column == 3 else rng.integers(-6, 10)),
                0.5,
            )
            for column in np.repeat(columns, 2 if n_columns == 1 else 1)
        ]
        theirs, lowest, drawn = (
            solve_by_z3(x, conditions, BOUNDS),
            solve(x, conditions, BOUNDS),
            solve(x, conditions, BOUNDS, rng),
        )
        assert (theirs is None) == (lowest is None) == (drawn is None)
        if theirs is None:
            continue
        n_solved, n_low = n_solved + 1, n_low + (theirs == lowest)
        for column, (low, high) in intervals(conditions, BOUNDS).items():
            assert low == lowest[column] <= theirs[column] <= high
            assert low <= drawn[column] <= high
    assert n_solved > 10
    assert n_columns > 1 or n_low > 0.8 * n_solved, "of one attribute, z3 mostly gives the lowest value"


def test_a_drawn_solution_is_any_of_the_interval():
    conditions, rng = [PathCondition(0, False, 4, 0.5), PathCondition(0, True, 7, 0.5)], np.random.default_rng(0)
    drawn = [solve((0, 0, 0, 0), conditions, BOUNDS, rng)[0] for _ in range(300)]
    assert set(drawn) == {5, 6, 7}
    assert np.bincount(drawn)[5:].min() > 70


def test_searches_find_as_much_as_with_the_libraries():
    X = SCHEMA.sample(300, random_state=0)
    found = {}
    for search, options in ((SymbolicGeneration, {"solution": "lowest"}), (WithLibraries, {})):
        found[search] = [
            search(classify, SCHEMA, "sex", n_neighbours=150, random_state=seed, **options)
            .generate(X, X[:15], n_inputs=60)
            .n_discriminatory
            for seed in range(12)
        ]
    ours, theirs = found.values()
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 12)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * error
    assert np.mean(ours) > 5
