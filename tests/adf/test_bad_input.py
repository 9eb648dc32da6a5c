"""What does not fit ends in an error that names the argument; files of the modules hold the rest."""

import numpy as np
import pandas as pd
import pytest

from fairlab.adf import (
    ADF,
    Aequitas,
    Fairness,
    FiniteDifferences,
    SymbolicGeneration,
    discriminatory,
    estimate_unfairness,
    examine,
    examine_adf,
    examine_aequitas,
    majority_vote,
    retrain,
    train_networks,
)
from fairlab.cases import Case, Schema

SCHEMA = Schema.from_bounds({"a": (0, 9), "sex": (0, 1), "b": (0, 9)})
X = SCHEMA.sample(30, random_state=0)
LABELS = {"additions": [X], "voters": [lambda X: X[:, 1]], "n_epochs": 1, "random_states": [0]}
WEIGHTS = [np.zeros((3, 2)), np.zeros(2)]


def score(X):
    return X[:, 0] - X[:, 2] + 2.0 * X[:, 1]


def rule(X):
    return score(X) >= 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: discriminatory(rule, X, "sex", schema={"a": (0, 9)}), "schema: expected a Schema, found dict"),
        (lambda: discriminatory(rule, X, 3, schema=SCHEMA), "sensitive: expected names of attributes, found 3"),
        (lambda: discriminatory(rule, X * 1e300, "sex", schema=SCHEMA), r"X: column 'a' holds values beyond 2\*\*53"),
        (lambda: discriminatory(rule, X[0], "sex", schema=SCHEMA), "X: expected shape"),
        (lambda: discriminatory(rule, X[:0], "sex", schema=SCHEMA), "X: is empty"),
        (lambda: discriminatory("m", X, "sex", schema=SCHEMA), "model: expected a function"),
        (lambda: estimate_unfairness(rule, schema=SCHEMA, sensitive=None), "sensitive: expected names of attributes"),
        (
            lambda: estimate_unfairness(rule, schema=SCHEMA, sensitive="sex", random_state="a"),
            "random_state: expected an integer, at least 0, found 'a'",
        ),
        (lambda: Fairness(10, 1).interval("95%"), "confidence: expected a number between 0 and 1, found '95%'"),
        (lambda: Fairness(10, 1).interval(95), "confidence: expected a number between 0 and 1, found 95"),
        (lambda: ADF(score, SCHEMA, "sex", threshold=1, random_state=1.5), "random_state: expected an integer"),
        (lambda: ADF(score, SCHEMA, "sex", threshold=1, tried="x"), "tried: expected a Schema, found str"),
        (lambda: ADF(score, SCHEMA, "sex", threshold=1).generate(X, time_limit="1 s"), "time_limit: expected a number"),
        (lambda: ADF(score, "x", "sex", threshold=1), "schema: expected a Schema, found str"),
        (lambda: Aequitas(rule, SCHEMA, "sex", random_state=-1), "random_state: expected an integer, at least 0"),
        (lambda: Aequitas(rule, None, "sex"), "schema: expected a Schema, found NoneType"),
        (
            lambda: SymbolicGeneration(rule, SCHEMA, "sex", smallest_share="a"),
            "smallest_share: expected a finite number",
        ),
        (lambda: SymbolicGeneration(rule, SCHEMA, "sex", random_state="a"), "random_state: expected an integer"),
        (lambda: FiniteDifferences(score, None, "sex", threshold=1), "schema: expected a Schema"),
        (lambda: FiniteDifferences(score, SCHEMA, "sex", threshold=None), "threshold: expected a finite number, found"),
        (
            lambda: FiniteDifferences(score, SCHEMA, "sex", threshold=1).predict("x"),
            "X: expected 3 columns, found shape",
        ),
        (
            lambda: FiniteDifferences(score, SCHEMA, "sex", threshold=1).margin_gradient(X[:, :2]),
            "X: expected 3 columns",
        ),
        (
            lambda: train_networks(X, X[:, 1], [], n_steps=1),
            r"random_states: expected one for each network, found \[\]",
        ),
        (lambda: train_networks(X, X[:, 1], 0, n_steps=1), "random_states: expected one for each network, found 0"),
        (lambda: train_networks(X, X[:, 1], ["a"], n_steps=1), "random_states: expected an integer"),
        (lambda: majority_vote(None, X), "voters: expected at least one model, found None"),
        (lambda: majority_vote([rule], "abc"), "X: expected shape"),
        (lambda: retrain([1], X, X[:, 1], **LABELS), "weights: expected kernels and biases of a network of 3 columns"),
        (
            lambda: retrain(WEIGHTS, X, X[:, 1], **LABELS | {"additions": [X[:, :2]]}),
            r"additions: expected 3 columns, found shape \(30, 2\)",
        ),
        (lambda: retrain(WEIGHTS, X, X[:, 1], **LABELS | {"voters": None}), "voters: expected at least one model"),
    ],
)
def test_the_argument_is_named(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call()


@pytest.mark.parametrize("examination", [examine, examine_adf, examine_aequitas])
def test_examinations(examination):
    case = Case(
        lambda rows: score(rows.to_numpy()), pd.DataFrame(X, columns=SCHEMA.names), sensitive="sex", threshold=1
    )
    for wrong in ("x", None, case.table):
        with pytest.raises(TypeError, match="case: expected a Case, found"):
            examination(wrong, budget=10)
    for options, said in (
        ({"budget": -1}, "budget: expected an integer, at least 0, found -1"),
        ({"budget": 10, "random_state": "a"}, "random_state: expected an integer, at least 0, found 'a'"),
        ({"budget": 10, "random_state": 1.5}, "random_state: expected an integer"),
        ({"budget": 10, "confidence": "a"}, "confidence: expected a number between 0 and 1"),
        ({"budget": 10, "confidence": 1.0}, "confidence: expected a number between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=said):
            examination(case, **options)
