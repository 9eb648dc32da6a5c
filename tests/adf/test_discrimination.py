from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from fairlab.adf import (
    ADF,
    Aequitas,
    SearchResult,
    discriminatory,
    estimate_unfairness,
)
from fairlab.adf.discrimination import Trace, repeated
from fairlab.cases import Schema


def one_by_one(model, X, sensitive_features, schema):
    """Check every input on its own, value by value."""
    columns = schema.positions(sensitive_features)
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


@pytest.mark.parametrize("sensitive_features", ["group", "sex", ["group", "sex"]])
def test_every_other_value_is_tried(network, schema, sensitive_features):
    X = schema.sample(40, random_state=0)
    found = discriminatory(network, X, sensitive_features, schema=schema)
    assert 0 < found.sum() < len(X)
    assert (found == one_by_one(network.predict, X, sensitive_features, schema)).all()


def test_by_hand():
    schema = Schema.from_bounds({"sex": (0, 1), "age": (1, 9)})
    rule = lambda X: ((X[:, 0] == 1) & (X[:, 1] > 4)).astype(int)  # noqa: E731
    X = np.array([[0, 3], [0, 5], [1, 5], [1, 4]])
    assert discriminatory(rule, X, "sex", schema=schema).tolist() == [False, True, True, False]
    assert discriminatory(rule, X, "age", schema=schema).tolist() == [False, False, True, True]


def test_estimate_is_the_share_of_the_domain(network, schema):
    grids = np.meshgrid(*(np.arange(low, high + 1) for low, high in schema.bounds.values()), indexing="ij")
    everything = np.stack(grids, axis=-1).reshape(-1, 5)
    exact = discriminatory(network, everything, "group", schema=schema).mean()
    fairness = estimate_unfairness(network, schema=schema, sensitive_features="group", n=20_000, random_state=0)
    assert fairness.share == pytest.approx(exact, abs=4 * fairness.standard_error)
    assert fairness.standard_error == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.05)


TWO = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda X: 0.5 + 1e-12 * X[:, 1], "need decision_threshold"),
        (lambda X: 1 / (1 + np.exp(-X[:, 0].astype(float))), "need decision_threshold"),
        (lambda X: np.where(X[:, 1] == 1, np.nan, 0.0), "no class for .* rows: nan"),
        (lambda X: np.full(len(X), np.nan), "no class for .* rows: nan"),
    ],
)
def test_scores_are_not_compared_for_equality(model, said):
    with pytest.raises(ValueError, match=said):
        estimate_unfairness(model, schema=TWO, sensitive_features="sex", n=50)
    with pytest.raises(ValueError, match=said):
        discriminatory(model, [[1, 0], [1, 1]], "sex", schema=TWO)


def test_a_score_is_held_against_its_threshold():
    X = np.array([[4, 0], [5, 0]])
    for threshold, expected in ((0.5, [False, False]), (4.5, [True, False]), (5.5, [False, True])):
        found = discriminatory(lambda X: X[:, 0] + 0.9 * X[:, 1], X, "sex", schema=TWO, decision_threshold=threshold)
        assert found.tolist() == expected
    fairness = estimate_unfairness(
        lambda X: 0.5 + 1e-12 * X[:, 1], schema=TWO, sensitive_features="sex", n=50, decision_threshold=0.4
    )
    assert fairness.share == 0


SCHEMA = Schema.from_bounds({"a": (0, 9), "sex": (0, 1)})


def result():
    trace = Trace(
        inputs=np.array([[1, 0], [2, 0], [1, 1], [3, 1], [2, 1], [4, 0]]),
        partner=np.array([1, -1, 0, 0, -1, -1]),
        seed=np.array([0, 5, 5, 5, 0, 5]),
    )
    return SearchResult.count(
        trace,
        schema=SCHEMA,
        sensitive_features="sex",
        iterations=np.array([0, 10, 10, 10, 10, 3]),
        successful=np.array([True, False, False, False, False, True]),
        seconds=1.0,
    )


def test_inputs_that_differ_in_protected_values_only_count_once():
    found = result()
    assert found.trace.inputs.tolist() == [[1, 0], [2, 1], [3, 1], [4, 0]], "by seed, then by time"
    assert (found.n_inputs, found.n_discriminatory, found.success_rate) == (4, 2, 0.5)
    assert found.discriminatory.tolist() == [[1, 0], [3, 1]]


@pytest.mark.parametrize("n_attributes", [1, 2, 65, 200])
def test_repeated_inputs_are_those_seen_before(n_attributes):
    inputs = np.random.default_rng(0).integers(-2, 2, (60, n_attributes))
    inputs[30:] = inputs[:30]
    inputs[30:, 0] += 1
    seen, expected = set(), []
    for row in inputs[:, 1:].tolist():
        expected.append(tuple(row) in seen)
        seen.add(tuple(row))
    assert repeated(inputs, np.array([0])).tolist() == expected
    few = np.zeros((3, n_attributes), dtype=int)
    assert repeated(few, np.array([0])).tolist() == [False, True, True], "one number for each, of any number of columns"


def test_pairs_have_the_partners_values():
    assert result().pairs.tolist() == [[[1, 0], [1, 1]], [[3, 1], [3, 0]]]


def test_growth_accumulates_over_the_seeds_that_started():
    growth = result().growth()
    assert growth.index.tolist() == [1, 2]
    assert growth["inputs"].tolist() == [2, 4]
    assert growth["discriminatory"].tolist() == [1, 2]


def test_a_search_that_tried_nothing():
    nothing = SearchResult.count(
        Trace.join([], 2),
        schema=SCHEMA,
        sensitive_features="sex",
        iterations=np.array([]),
        successful=np.array([], dtype=bool),
        seconds=0.0,
    )
    assert (nothing.n_inputs, nothing.n_discriminatory, nothing.success_rate) == (0, 0, 0)
    assert nothing.pairs.shape == (0, 2, 2)
    assert nothing.growth().empty
    assert nothing.to_frame().loc[0, "successful seeds"] == 0


SCHEMA_BAD_INPUT = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9)})
X = SCHEMA_BAD_INPUT.sample(30, random_state=0)


def score(X):
    return X[:, 0] - X[:, 2] + 2.0 * X[:, 1]


def rule(X):
    return score(X) >= 1


@pytest.mark.parametrize("method", [ADF, Aequitas])
def test_a_search_keeps_its_parameters_and_can_be_cloned(method):
    given = {"n_local": 7, "variant": "published", "decision_threshold": 1, "random_state": 3}
    search = method(score, SCHEMA_BAD_INPUT, "sex", **given)
    assert search.get_params().items() >= given.items()
    searched = {ADF: lambda s: s.generate(X, n_seeds=10), Aequitas: lambda s: s.generate(n_samples=10)}[method]
    found, copy = searched(search), clone(search)
    assert search.get_params().items() >= given.items(), "a search changes no parameter"
    assert copy.get_params() | {"schema": None} == search.get_params() | {"schema": None}
    assert copy.schema == search.schema
    assert np.array_equal(searched(copy).trace.inputs, found.trace.inputs)
    for wrong in (method(None, None, None, n_local=-1), copy.set_params(n_local=-1)):
        with pytest.raises((ValueError, TypeError)):
            searched(wrong)
