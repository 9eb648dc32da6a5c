"""Bad input of Themis."""

from pathlib import Path

import numpy as np
from contract.bad_input.rows import INPUTS, SCHEMA, Bad, lacking, skilled

from fairlab.cases import CaseError
from fairlab.themis import (
    Score,
    Search,
    Themis,
    causal_score,
    group_score,
    output_table,
    read_settings,
)

THEMIS = Themis(skilled, SCHEMA)
HALVES, ALONE = Themis(lambda rows: np.full(len(rows), 0.5), SCHEMA), Themis(lambda rows: [True], SCHEMA)
OUTPUTS = np.arange(8).reshape(2, 4) > 2
HERE = Path(__file__)


def themis_of(program=skilled, schema=SCHEMA, **options):
    return lambda: Themis(program, schema, **options).causal_score("sex")


def apparent(weight):
    return lambda: THEMIS.apparent_score(INPUTS, "sex", measure="group", weight=weight)


THEMIS_ROWS = [
    Bad("Themis", "model", themis_of(3), "expected an object with .predict or .predict_proba, a Keras or", TypeError),
    Bad("Themis", "schema", themis_of(schema={"sex": [0, 1]}), "expected a Schema, found dict", TypeError),
    Bad("Themis", "confidence_level", themis_of(confidence_level=95), "expected a number between 0 and 1"),
    Bad("Themis", "confidence_level", themis_of(confidence_level="high"), "expected a number between 0 and 1"),
    Bad("Themis", "error_bound", themis_of(error_bound=0), "expected a number between 0 and 1"),
    Bad("Themis", "variant", themis_of(variant="printed"), "expected one of sound, published"),
    Bad("Themis", "stop", themis_of(stop="soon"), "expected one of exact, wilson, normal"),
    Bad("Themis", "min_samples", themis_of(min_samples=-1), "expected an integer, at least 0"),
    Bad("Themis", "max_samples", themis_of(max_samples=10.5), "expected an integer, at least 11"),
    Bad("Themis", "output_distance", themis_of(output_distance="far"), "expected a function, found str", TypeError),
    Bad("Themis", "random_state", themis_of(random_state="zero"), "expected an integer, at least 0, found 'zero'"),
    Bad("Themis", "random_state", themis_of(random_state=-1), "expected an integer, at least 0, found -1"),
    Bad("Themis", "wage", lambda: THEMIS.causal_score("wage"), "is not in the schema"),
    Bad(
        "Themis",
        "sex",
        lambda: THEMIS.group_score(["sex", "sex"]),
        "expected features of the schema, each once, found sex, sex",
    ),
    Bad("Themis", "min_score", lambda: THEMIS.search(95), "expected a number between 0 and 1"),
    Bad("Themis", "measure", lambda: THEMIS.search(0.1, measure="luck"), "expected one of group, causal, both"),
    Bad("Themis", "max_size", lambda: THEMIS.search(0.1, max_size=9), "expected 1 to 3"),
    Bad(
        "Themis",
        "measure",
        lambda: THEMIS.apparent_score(INPUTS, "sex", measure="luck"),
        "expected one of group, causal",
    ),
    Bad(
        "Themis",
        "inputs",
        lambda: THEMIS.apparent_score(INPUTS[:0], "sex", measure="group"),
        "expected at least one, found none",
    ),
    Bad(
        "Themis",
        "inputs",
        lambda: THEMIS.apparent_score(INPUTS[["sex"]], "sex", measure="group"),
        "lack the columns age, skill",
    ),
    Bad("Themis", "weight", apparent([1, 2]), "expected 4 positive numbers, found [1, 2]"),
    Bad("Themis", "weight", apparent([1, 1, 1, np.inf]), "1 values are missing or infinite"),
    Bad(
        "Themis",
        "model",
        lambda: HALVES.causal_score("sex"),
        "expected 0 or 1",
        CaseError,
    ),
    Bad(
        "Themis",
        "model",
        lambda: ALONE.causal_score("sex"),
        "expected 40 values, one for each row, found 1",
        CaseError,
    ),
    Bad(
        "output_table",
        "model",
        lambda: output_table(3, SCHEMA),
        "expected an object with .predict or .predict_proba, a Keras or",
        TypeError,
    ),
    Bad("output_table", "schema", lambda: output_table(skilled, 3), "expected a Schema, found int", TypeError),
    Bad(
        "group_score",
        "table",
        lambda: group_score([[0.5, 1.0]], 0),
        "expected outputs false and true, at least one, found array([[0.5, 1.",
    ),
    Bad("group_score", "positions", lambda: group_score(OUTPUTS, -1), "expected different ones of 0 to 1, found -1"),
    Bad(
        "group_score",
        "positions",
        lambda: group_score(OUTPUTS, [0, 0]),
        "expected different ones of 0 to 1, found 0, 0",
    ),
    Bad(
        "causal_score",
        "table",
        lambda: causal_score([], 0),
        "expected outputs false and true, at least one, found array([]",
    ),
    Bad("causal_score", "positions", lambda: causal_score(OUTPUTS, 7), "expected different ones of 0 to 1, found 7"),
    Bad(
        "causal_score",
        "positions",
        lambda: causal_score(OUTPUTS, "sex"),
        "expected different ones of 0 to 1, found 'sex'",
    ),
    Bad("read_settings", "path", lambda: read_settings(3), "expected the path of a settings file, found 3", TypeError),
    Bad(
        "read_settings",
        "nowhere.xml",
        lambda: read_settings("nowhere.xml"),
        "[Errno 2] No such file or directory: 'no",
        FileNotFoundError,
    ),
    Bad(
        "read_settings",
        "themis.py",
        lambda: read_settings(HERE),
        "not XML: not well-formed (invalid token): line 1, column 2",
    ),
    lacking(Score, "measure"),
    lacking(Search, "min_score"),
]


ROWS = {"themis": THEMIS_ROWS}
