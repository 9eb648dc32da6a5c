"""Bad input of FlipTest."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import OTHER, TABLE, TEXTS, Bad, at_40, lacking

from fairlab.fliptest import (
    CounterpartTest,
    Flipset,
    TransparencyReport,
    compare_flipsets,
    counterpart_test,
    differences_in_words,
    flipset,
    flipset_intervals,
    flipsets_by_cost,
    transparency_report,
)

FLIPS = flipset(at_40, TABLE, OTHER)
OTHER_FLIPS = flipset(at_40, TABLE[:5], OTHER[:5])
MOVED = TABLE.set_axis(range(10, 18))
MANY = pd.concat([TABLE] * 10, ignore_index=True)
FAVOURED = np.arange(80) % 2 > 0


FLIPTEST = [
    Bad(
        "flipset",
        "model",
        lambda: flipset(3, TABLE, OTHER),
        "expected an object with .predict or .predict_proba",
        TypeError,
    ),
    Bad("flipset", "model", lambda: flipset(lambda X: np.full(len(X), 0.5), TABLE, OTHER), "expected 0 or 1"),
    Bad("flipset", "model", lambda: flipset(lambda X: [1], TABLE, OTHER), "expected 8 values"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, OTHER[:3]), "expected one image per row"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, MOVED), "expected the same index"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, OTHER[["age"]]), "differ in columns: only in X: income"),
    Bad("flipset", "X", lambda: flipset(at_40, TABLE[:0], OTHER[:0]), "expected at least 1"),
    Bad("flipset_intervals", "flip", lambda: flipset_intervals(3), "expected a Flipset, found int", TypeError),
    Bad(
        "flipset_intervals",
        "confidence_level",
        lambda: flipset_intervals(FLIPS, confidence_level=95),
        "expected a number between 0 and 1, found 95",
    ),
    Bad(
        "flipset_intervals",
        "n_resamples",
        lambda: flipset_intervals(FLIPS, n_resamples=0),
        "expected a positive integer, found 0",
    ),
    Bad(
        "flipset_intervals",
        "random_state",
        lambda: flipset_intervals(FLIPS, random_state="zero"),
        "expected an integer, at least 0, found 'zero'",
    ),
    Bad(
        "flipsets_by_cost",
        "costs",
        lambda: flipsets_by_cost(at_40, TABLE, OTHER, costs={}),
        "expected at least one cost by its name",
    ),
    Bad(
        "flipsets_by_cost",
        "cost",
        lambda: flipsets_by_cost(at_40, TABLE, OTHER, costs={"x": 3}),
        "expected a function of both samples, found 3",
    ),
    Bad(
        "flipsets_by_cost",
        "age",
        lambda: flipsets_by_cost(at_40, TEXTS, OTHER),
        "expected numbers in both or in neither",
    ),
    Bad(
        "compare_flipsets",
        "flips",
        lambda: compare_flipsets({}),
        "expected a Flipset for each map, by its name, found {}",
    ),
    Bad("compare_flipsets", "flips", lambda: compare_flipsets({"a": FLIPS, "b": 3}), "expected a Flipset for each map"),
    Bad(
        "compare_flipsets",
        "flips",
        lambda: compare_flipsets({"a": FLIPS, "b": OTHER_FLIPS}),
        "expected the same people under every map, found others for 'b'",
    ),
    Bad(
        "transparency_report", "flipset", lambda: transparency_report(3, TABLE, OTHER), "expected a Flipset, found int"
    ),
    Bad(
        "transparency_report",
        "X_image",
        lambda: transparency_report(FLIPS, TABLE, OTHER[:3]),
        "expected one image per row",
    ),
    Bad("transparency_report", "X", lambda: transparency_report(OTHER_FLIPS, TABLE, OTHER), "has 8"),
    Bad(
        "transparency_report",
        "scale",
        lambda: transparency_report(FLIPS, TABLE, OTHER, scale=[0, 1]),
        "expected positive values, found 0.0 for 'age'",
    ),
    Bad(
        "transparency_report",
        "scale",
        lambda: transparency_report(FLIPS, TABLE, OTHER, scale="std"),
        "expected a table of numbers (could not convert string to float",
    ),
    Bad(
        "counterpart_test",
        "tables",
        lambda: counterpart_test((MANY,), (FAVOURED,)),
        "expected those of two groups, found 1 tables and 1 decisions",
    ),
    Bad(
        "counterpart_test",
        "decisions",
        lambda: counterpart_test((MANY, MANY), (FAVOURED[:3], FAVOURED)),
        "expected shapes (80,) and (80,), found (3,) and (80,)",
    ),
    Bad(
        "counterpart_test",
        "confidence_level",
        lambda: counterpart_test((MANY, MANY), (FAVOURED,) * 2, confidence_level=2),
        "expected a number between 0 and 1, found 2",
    ),
    Bad(
        "counterpart_test",
        "n_people",
        lambda: counterpart_test((MANY, MANY), (FAVOURED,) * 2, n_people=-1),
        "expected an integer, at least 30, found -1",
    ),
    Bad(
        "counterpart_test",
        "tables",
        lambda: counterpart_test((MANY, TABLE), (FAVOURED, FAVOURED[:8])),
        "expected at least 30 people in each group, found 8",
    ),
    Bad(
        "differences_in_words",
        "X_image",
        lambda: differences_in_words(TABLE, OTHER[["age"]]),
        "differ in columns: only in X: income",
    ),
    Bad(
        "differences_in_words",
        "n_columns",
        lambda: differences_in_words(TABLE, OTHER, n_columns=0),
        "expected a positive integer, found 0",
    ),
    lacking(CounterpartTest, "triples"),
    lacking(Flipset, "prediction"),
    lacking(TransparencyReport, "positive"),
]

ROWS = {"fliptest": FLIPTEST}
