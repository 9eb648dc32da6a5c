"""Bad input of ADF and AEQUITAS."""

import numpy as np
from contract.bad_input.rows import SCHEMA, Bad, lacking, network, skilled

from fairlab.adf import (
    ADF,
    Aequitas,
    Fairness,
    FiniteDifferences,
    GlobalPhase,
    SearchResult,
    discriminatory,
    estimate_unfairness,
    majority_vote,
    retrain,
    train_networks,
)
from fairlab.cases import Schema

NUMBERS = np.array([[0, 1, 2], [1, 3, 0], [0, 4, 3], [1, 0, 1]] * 3)
CLASSES = np.array([0, 1] * 6)
WEIGHTS = [np.ones((3, 2), np.float32), np.zeros(2, np.float32)]


def unfairness(model=skilled, schema=SCHEMA, **options):
    return lambda: estimate_unfairness(model, schema=schema, sensitive_features="sex", **options)


def retrained(additions, voters, n_epochs=1):
    return lambda: retrain(WEIGHTS, NUMBERS, CLASSES, additions, voters, n_epochs=n_epochs, random_states=[0])


def discriminating(model=skilled, X=NUMBERS, schema=SCHEMA, **options):
    return lambda: discriminatory(model, X, "sex", schema=schema, **options)


def adf_of(model=None, schema=SCHEMA, sensitive_features="sex", X=NUMBERS, generated=None, **options):
    search = ADF(network() if model is None else model, schema, sensitive_features, **options)
    return lambda: search.generate(X, **(generated or {"n_seeds": 1}))


def aequitas_of(model=skilled, schema=SCHEMA, sensitive_features="sex", n_samples=3, **options):
    return lambda: Aequitas(model, schema, sensitive_features, **options).generate(n_samples=n_samples)


ADF_ROWS = [
    Bad(
        "ADF",
        "model",
        adf_of(model=3),
        "expected a Keras model, or a model that gives scores and a decision_th",
        TypeError,
    ),
    Bad(
        "ADF",
        "model",
        adf_of(schema=Schema.from_dict({"sex": [0, 1], "age": range(5)})),
        "takes 3 columns, the schema has 2 attributes",
    ),
    Bad("ADF", "schema", adf_of(schema={"sex": [0, 1]}), "expected a Schema, found dict", TypeError),
    Bad("ADF", "wage", adf_of(sensitive_features="wage"), "is not in the schema"),
    Bad(
        "ADF",
        "sex",
        adf_of(sensitive_features=["sex", "sex"]),
        "expected features of the schema, each once, found sex, sex",
    ),
    Bad("ADF", "n_clusters", adf_of(n_clusters=0), "expected a positive integer, found 0"),
    Bad("ADF", "n_clusters", adf_of(n_clusters=99), "n_samples=12 should be >= n_clusters=99"),
    Bad("ADF", "max_iter", adf_of(max_iter=0.5), "expected an integer, at least 0, found 0.5"),
    Bad("ADF", "n_local", adf_of(n_local=-1), "expected an integer, at least 0, found -1"),
    Bad("ADF", "variant", adf_of(variant="printed"), "expected one of sound, published, found 'printed'"),
    Bad(
        "ADF",
        "decision_threshold",
        adf_of(decision_threshold="high"),
        "expected none, since Sequential has classes of its own",
    ),
    Bad("ADF", "random_state", adf_of(random_state="zero"), "expected an integer, at least 0, found 'zero'"),
    Bad("ADF", "n_seeds", adf_of(generated={"n_seeds": -1}), "expected a positive integer, found -1"),
    Bad("ADF", "n_seeds", adf_of(generated={"n_seeds": 1.5}), "expected a positive integer, found 1.5"),
    Bad(
        "ADF",
        "max_found",
        adf_of(generated={"n_seeds": 1, "max_found": 0}),
        "expected a positive integer, found 0",
    ),
    Bad("ADF", "X", adf_of(X=NUMBERS + 0.5), "expected integers"),
    Bad(
        "Aequitas",
        "model",
        aequitas_of(model=3),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad("Aequitas", "wage", aequitas_of(sensitive_features="wage"), "is not in the schema"),
    Bad(
        "Aequitas",
        "strategy",
        aequitas_of(strategy="luck"),
        "expected one of random, semi_directed, fully_directed, found 'luck'",
    ),
    Bad("Aequitas", "n_local", aequitas_of(n_local=-1), "expected an integer, at least 0, found -1"),
    Bad("Aequitas", "in_flight", aequitas_of(in_flight=0), "expected a positive integer, found 0"),
    Bad("Aequitas", "random_state", aequitas_of(random_state=-1), "expected an integer, at least 0, found -1"),
    Bad("Aequitas", "n_samples", aequitas_of(n_samples=0), "expected a positive integer, found 0"),
    Bad(
        "Aequitas",
        "model",
        aequitas_of(lambda X: np.full(len(X), 0.5)),
        "expected one class per row",
    ),
    Bad(
        "FiniteDifferences",
        "model",
        lambda: FiniteDifferences(3, SCHEMA, "sex", decision_threshold=0.5),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad(
        "FiniteDifferences",
        "decision_threshold",
        lambda: FiniteDifferences(skilled, SCHEMA, "sex", decision_threshold=np.nan),
        "expected a finite number, found nan",
    ),
    Bad(
        "FiniteDifferences",
        "wage",
        lambda: FiniteDifferences(skilled, SCHEMA, "wage", decision_threshold=0.5),
        "is not in the schema",
    ),
    Bad(
        "discriminatory",
        "model",
        discriminating(3),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad("discriminatory", "model", discriminating(lambda X: X[:, 2] / 7), "expected one class per row"),
    Bad("discriminatory", "X", discriminating(X=NUMBERS[:, :2]), "has the columns x0, x1"),
    Bad("discriminatory", "schema", discriminating(schema=3), "expected a Schema, found int", TypeError),
    Bad(
        "discriminatory",
        "decision_threshold",
        discriminating(decision_threshold="x"),
        "expected a finite number, found 'x'",
    ),
    Bad("estimate_unfairness", "n", unfairness(n=0), "expected a positive integer, found 0"),
    Bad(
        "estimate_unfairness",
        "model",
        unfairness(None),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad(
        "estimate_unfairness",
        "schema",
        unfairness(schema=None),
        "expected a Schema, found NoneType",
        TypeError,
    ),
    Bad("majority_vote", "voters", lambda: majority_vote([], NUMBERS), "expected at least one model, found []"),
    Bad(
        "majority_vote",
        "model",
        lambda: majority_vote([3], NUMBERS),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad(
        "train_networks",
        "X",
        lambda: train_networks([["a"]], [0], [0], n_steps=1),
        "expected a table of numbers (could not convert string to float: 'a')",
    ),
    Bad(
        "train_networks",
        "y",
        lambda: train_networks(NUMBERS, CLASSES[:3], [0], n_steps=1),
        "expected one class for each of 12 rows, found shape (3,)",
    ),
    Bad(
        "train_networks",
        "y",
        lambda: train_networks(NUMBERS, CLASSES - 1, [0], n_steps=1),
        "expected classes counted from 0, found [-1, 0, -1] ...",
    ),
    Bad(
        "train_networks",
        "n_steps",
        lambda: train_networks(NUMBERS, CLASSES, [0], n_steps=0),
        "expected a positive integer, found 0",
    ),
    Bad(
        "train_networks",
        "random_states",
        lambda: train_networks(NUMBERS, CLASSES, [], n_steps=1),
        "expected one for each network, found []",
    ),
    Bad("retrain", "voters", retrained([[]], []), "expected at least one model, found []"),
    Bad(
        "retrain",
        "additions",
        retrained([], [skilled]),
        "expected as many",
    ),
    Bad(
        "retrain",
        "n_epochs",
        retrained([[]], [skilled], n_epochs=-1),
        "expected a positive integer, found -1",
    ),
    Bad(
        "Fairness",
        "confidence_level",
        lambda: Fairness(10, 2).interval(95),
        "expected a number between 0 and 1, found 95",
    ),
    lacking(Fairness, "n"),
    lacking(GlobalPhase, "inputs"),
    lacking(SearchResult, "schema"),
]

ROWS = {"adf": ADF_ROWS}
