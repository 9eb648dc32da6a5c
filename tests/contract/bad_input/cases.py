"""Bad input of cases, schemas, findings, and of the audit as a whole."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import SCHEMA, TABLE, Bad, Y, at_40, lacking, number

import fairlab
from fairlab.auditing import ModelComparison, Report, audit, compare, run
from fairlab.auditing.probes import Probe, Task
from fairlab.cases import (
    AnswerCache,
    BudgetSpentError,
    Case,
    CaseError,
    Encoding,
    Feature,
    Finding,
    MethodResult,
    ModelAdapter,
    Queries,
    Result,
    Schema,
    wrap_model,
)
from fairlab.data import DataError

PEOPLE = TABLE.assign(sex=[*"fmfmfmfm"], repaid=Y)
GOOD = {"sensitive_features": "sex", "features": ["age", "income"]}
CASE = Case(at_40, PEOPLE, **GOOD)
SCORED = Case(lambda rows: rows["age"] / 100, PEOPLE, **GOOD, decision_threshold=0.4)


def case(model=at_40, table=PEOPLE, **changes):
    return lambda: Case(model, table, **GOOD | changes)


def over_budget():
    with CASE.queries.limit(1):
        CASE.decide(PEOPLE.assign(age=PEOPLE["age"] + 1))


CASES = [
    Bad("wrap_model", "model", lambda: wrap_model(3), "expected an object with .predict or .predict_proba", TypeError),
    Bad(
        "ModelAdapter", "model", lambda: wrap_model(lambda X: [1]).predict(TABLE), "expected 8 values, one for each row"
    ),
    Bad(
        "ModelAdapter", "model", lambda: wrap_model(lambda X: [0.5] * 8).classes_of(TABLE), "expected one class per row"
    ),
    lacking(ModelAdapter, "name"),
    Bad(
        "AnswerCache",
        "callable",
        lambda: AnswerCache()(np.arange(2), answer=None),
        "'NoneType' object is not callable",
        TypeError,
    ),
    Bad("Case", "model", case(3), "expected an object with .predict or .predict_proba, a Keras or"),
    Bad("Case", "model", case(number), "expected one value for each row, found int (answers of the model)"),
    Bad("Case", "model", case(lambda rows: [None] * len(rows)), "expected one for each row"),
    Bad("Case", "model", case(lambda rows: np.full(len(rows), np.nan)), "expected one for each row"),
    Bad(
        "Case",
        "model",
        case(lambda rows: np.ones((len(rows), 2, 2))),
        "expected one value for each row, found shape (8, 2, 2) (answers of",
    ),
    Bad(
        "Case",
        "model",
        case(lambda rows: np.ones(len(rows) + 1)),
        "expected 8 values, one for each row, found 9 (answers of the model)",
    ),
    Bad("Case", "table", case(table=3), "expected a DataFrame, found int"),
    Bad("Case", "table", case(table=PEOPLE.to_numpy()), "expected a DataFrame, found ndarray"),
    Bad("Case", "table", case(table=PEOPLE.iloc[:0]), "expected at least 2 rows, found 0"),
    Bad("Case", "table", case(table=PEOPLE.iloc[:1]), "expected at least 2 rows, found 1"),
    Bad("Case", "table", case(table=pd.concat([PEOPLE, PEOPLE[["age"]]], axis=1)), "columns occur twice: age"),
    Bad(
        "Case",
        "born",
        case(table=PEOPLE.assign(born=pd.Timestamp("2000-01-01")), features=["age", "born"]),
        "has type datetime64[us]",
    ),
    Bad(
        "Case",
        "tags",
        case(table=PEOPLE.assign(tags=[[1]] * 8), features=["age", "tags"]),
        "expected strings, booleans or numbers, found a list",
    ),
    Bad("Case", "wave", case(table=PEOPLE.assign(wave=1j), features=["age", "wave"]), "has type complex128"),
    Bad("Case", "income", case(table=PEOPLE.assign(income=np.inf)), "expected finite or missing ones"),
    Bad("Case", "max_rows", case(max_rows=1), "expected an integer, at least 2, found 1", ValueError),
    Bad(
        "Case",
        "random_state",
        case(max_rows=4, random_state="0"),
        "expected an integer, at least 0, found '0'",
        ValueError,
    ),
    Bad("Case", "n_rows", lambda: CASE.sample(0), "expected a positive integer, found 0", ValueError),
    Bad("Case", "sensitive_features", case(sensitive_features="gender"), "the table has no column 'gender'"),
    Bad(
        "Case",
        "sensitive_features",
        case(sensitive_features=[]),
        "expected at least one column of the table, found none",
    ),
    Bad(
        "Case",
        "sensitive_features",
        case(sensitive_features=3),
        "expected a column of the table or a list of them, found 3",
    ),
    Bad(
        "Case",
        "sensitive_features",
        case(sensitive_features=["sex", "sex"]),
        "expected every column once, found sex, sex",
    ),
    Bad("Case", "sex", case(table=PEOPLE.assign(sex="f")), "expected at least two groups"),
    Bad("Case", "features", case(features=["wage"]), "the table has no column 'wage'"),
    Bad("Case", "features", case(features=[]), "expected at least one column of the table, found none"),
    Bad("Case", "features", case(features=["age", "age"]), "expected every column once, found age, age"),
    Bad("Case", "y_true", case(y_true="paid"), "the table has no column 'paid'"),
    Bad("Case", "y_true", case(y_true=Y[:5]), "expected 8 values, one for each row, found 5"),
    Bad("Case", "y_true", case(y_true=pd.Series(Y, index=range(10, 18))), "expected the same index"),
    Bad("Case", "pos_label", case(y_true="repaid", pos_label="yes"), "yes' is not among the labels (known: 0, 1)"),
    Bad("Case", "decision_threshold", case(decision_threshold="high"), "expected a finite number, found 'high'"),
    Bad("Case", "decision_threshold", case(decision_threshold=np.nan), "expected a finite number, found nan"),
    Bad("Case", "schema", case(schema=3), "expected a Schema, a mapping or a path, found int"),
    Bad("Case", "schema", case(schema=SCHEMA), "skill' is not among the"),
    Bad("Case", "rows", lambda: CASE.decide(PEOPLE[["age"]]), "lack the columns income"),
    Bad("Case", "rows", lambda: CASE.decide(3), "expected a DataFrame, found int"),
    Bad("Case", "score", lambda: CASE.score(), "expected a score"),
    Bad("Case", "number", lambda: CASE.number(), "expected numbers"),
    Bad("Case", "gender", lambda: CASE.groups("gender"), "expected a sensitive column, sex, found 'gender'"),
    Bad("Case", "gradient", lambda: CASE.log_odds_gradient(np.ones((2, 2))), "expected a Keras or PyTorch network"),
    Bad(
        "Queries",
        "n_rows",
        lambda: CASE.queries.limit(-1).__enter__(),
        "expected a number of rows, at least 0, found -1",
    ),
    Bad("Queries", "limit", over_budget, "expected at most 1 more model queries", BudgetSpentError),
    Bad("Encoding", "table", lambda: Encoding(3), "expected a DataFrame, found int"),
    Bad("Encoding", "rows", lambda: CASE.encoding.transform(PEOPLE[["age"]]), "lack the columns income"),
    Bad(
        "Encoding",
        "matrix",
        lambda: CASE.encoding.inverse_transform(np.ones((2, 9))),
        "expected finite numbers of shape (n_rows, 2), found shape (2, 9)",
    ),
    Bad("Feature", "age", lambda: Feature("age", ()), "expected at least one value, found none"),
    Bad("Feature", "age", lambda: Feature("age", "abc"), "expected a list of values, found 'abc'"),
    Bad("Feature", "age", lambda: Feature("age", (1, 1)), "a value is listed twice"),
    Bad(
        "Feature",
        "age",
        lambda: Feature.between("age", "0", "9"),
        "expected whole numbers as bounds, found '0' and '9'",
    ),
    Bad("Feature", "age", lambda: Feature.between("age", 9, 0), "low 9 is above high 0"),
    Bad("Feature", "age", lambda: Feature.between("age", 0.5, 9), "expected whole numbers as bounds, found 0.5 and 9"),
    Bad(
        "Feature",
        "age",
        lambda: Feature("age", range(2**63, 2**63 + 2)),
        "9223372036854775808 to 9223372036854775809 does not fit into 64 bits",
    ),
    Bad("Schema", "features", lambda: Schema(()), "found none"),
    Bad("Schema", "features", lambda: Schema((3,)), "expected a Feature each, found 3"),
    Bad(
        "Schema",
        "age",
        lambda: Schema((Feature("age", (0, 1)), Feature("age", (0, 1)))),
        "two features of the schema are named 'ag",
    ),
    Bad(
        "Schema",
        "bounds",
        lambda: Schema.from_bounds({"age": ("0", "9")}),
        "expected whole numbers as bounds, found '0' and '9'",
    ),
    Bad(
        "Schema",
        "age",
        lambda: Schema.from_dict({"age": {"from": 0}}),
        "expected low and high, or values and edges, found from",
    ),
    Bad("Schema", "content", lambda: Schema.from_dict([1, 2]), "expected names and values, found list"),
    Bad("Schema", "age", lambda: Schema.from_frame(TABLE.iloc[:0]), "expected at least one value, found none"),
    Bad(
        "Schema",
        "age",
        lambda: Schema.from_frame(pd.concat([TABLE, TABLE], axis=1)),
        "two features of the schema are named 'ag",
    ),
    Bad("Schema", "table", lambda: Schema.from_frame(3), "expected a DataFrame, found int"),
    Bad("Schema", "bins", lambda: Schema.from_frame(TABLE, bins=0), "expected a positive integer, found 0", ValueError),
    Bad(
        "Feature",
        "edges",
        lambda: Feature.from_column("income", TABLE["income"], edges=[3, 1]),
        "expected increasing numbers as edges, found [3, 1]",
    ),
    Bad(
        "Schema",
        "tags",
        lambda: Schema.from_frame(TABLE.assign(tags=[[1]] * 8)),
        "expected strings, booleans or numbers, found a list",
    ),
    Bad("Schema", "inputs", lambda: SCHEMA.encode(pd.DataFrame({"sex": [0]})), "lack the columns age, skill"),
    Bad(
        "Schema",
        "sex",
        lambda: SCHEMA.encode(pd.DataFrame({"sex": [7], "age": [0], "skill": [0]})),
        "holds 7, not among its values",
    ),
    Bad("Schema", "codes", lambda: SCHEMA.decode(np.array([[0, 9, 0]])), "expected 0 to 4 of feature 'age', found 9"),
    Bad(
        "Schema",
        "codes",
        lambda: SCHEMA.decode(np.array([[0, 0]])),
        "expected integers of shape (n_rows, 3), found int64 of shape (1, 2)",
    ),
    Bad("Schema", "wage", lambda: SCHEMA.positions("wage"), "is not in the schema"),
    Bad("Schema", "n", lambda: SCHEMA.sample(-1), "expected an integer, at least 0, found -1", ValueError),
    Bad("Schema", "X", lambda: SCHEMA.check([[0.5, 1, 1]]), "expected integers"),
    Bad(
        "Schema",
        "random_state",
        lambda: SCHEMA.sample(2, random_state="zero"),
        "expected an integer, at least 0, found 'zero'",
    ),
    Bad("Result", "Result", lambda: Result(), "abstract", TypeError),
    lacking(Finding, "method"),
    lacking(MethodResult, "method"),
]

AUDITING = [
    Bad("audit", "case", lambda: audit(3), "expected a fairlab.Case, found int", TypeError),
    Bad("audit", "budget", lambda: audit(CASE, budget=-1), "expected a positive integer, found -1"),
    Bad("audit", "budget", lambda: audit(CASE, budget=1.5), "expected a positive integer, found 1.5"),
    Bad(
        "audit",
        "confidence_level",
        lambda: audit(CASE, confidence_level=95),
        "expected a number between 0 and 1, found 95",
    ),
    Bad(
        "audit",
        "confidence_level",
        lambda: audit(CASE, confidence_level="high"),
        "expected a number between 0 and 1, found 'high'",
    ),
    Bad("audit", "methods", lambda: audit(CASE, methods=["luck"]), "unknown method 'luck' (known: fliptest, fairtest"),
    Bad("run", "case", lambda: run("themis", 3), "expected a fairlab.Case, found int", TypeError),
    Bad("run", "budget", lambda: run("themis", CASE, budget=-1), "expected an integer, at least 0, found -1"),
    Bad("run", "budget", lambda: run("adf", CASE, budget="all"), "expected an integer, at least 0, found 'all'"),
    Bad("run", "confidence_level", lambda: run("adf", CASE, confidence_level=95), "between 0 and 1, found 95"),
    Bad("run", "random_state", lambda: run("adf", CASE, random_state=1.5), "at least 0, found 1.5"),
    Bad("run", "methods", lambda: run("luck", CASE), "unknown method 'luck' (known: fliptest, fairtest"),
    Bad("run", "min_score", lambda: run("themis", CASE, min_score=2), "expected a number between 0 and 1, found 2"),
    Bad(
        "run",
        "max_loss_ratio",
        lambda: run("individual_fairness", SCORED, max_loss_ratio="fair"),
        "expected a finite number of at least 1, found 'fair'",
    ),
    Bad(
        "run",
        "proxies",
        lambda: run("themis", CASE, proxies={"sex": ["wage"]}),
        "expected features of the model, found 'wage' for sex",
    ),
    Bad("audit", "random_state", lambda: audit(CASE, random_state=-1), "expected an integer, at least 0, found -1"),
    Bad("audit", "random_state", lambda: audit(CASE, random_state=0.5), "expected an integer, at least 0, found 0.5"),
    Bad("compare", "case_a", lambda: compare(3, CASE), "expected a fairlab.Case, found int", TypeError),
    Bad("compare", "case_b", lambda: compare(CASE, 3), "expected a fairlab.Case, found int", TypeError),
    Bad(
        "compare",
        "confidence_level",
        lambda: compare(CASE, CASE, confidence_level=0),
        "expected a number between 0 and 1, found 0",
    ),
    lacking(Report, "case"),
    lacking(ModelComparison, "before"),
]

TOP = [
    Bad("Case", "sensitive_features", lambda: fairlab.Case(at_40, PEOPLE), "missing", TypeError),
    Bad("audit", "case", lambda: fairlab.audit(None), "expected a fairlab.Case, found NoneType", TypeError),
    Bad("compare", "case_b", lambda: fairlab.compare(CASE, None), "expected a fairlab.Case, found NoneType", TypeError),
    Bad("load", "lypton", lambda: fairlab.load("lypton"), "unknown data set 'lypton'", DataError),
    Bad(
        "Experiment",
        "fliptest/liptn",
        lambda: fairlab.Experiment("fliptest/liptn"),
        "unknown experiment 'fliptest/liptn'",
        KeyError,
    ),
    Bad(
        "Experiment",
        "profile",
        lambda: fairlab.Experiment("fliptest/lipton", profile="fast"),
        "unknown profile 'fast'",
        KeyError,
    ),
    Bad(
        "Experiment",
        "n_point",
        lambda: fairlab.Experiment("fliptest/lipton", n_point=3),
        "fliptest/lipton has no parameter 'n_poin",
        TypeError,
    ),
]

PROBES = [lacking(Probe, "title"), lacking(Task, "case")]

ROWS = {"cases": CASES, "auditing": AUDITING, "auditing.probes": PROBES, "": TOP}
__all__ = ["ROWS", "CaseError", "Queries"]
