"""Bad input of FlipTest."""

import numpy as np
import pandas as pd
from contract.bad_input.cases import CASE
from contract.bad_input.rows import OTHER, TABLE, TEXTS, Bad, at_40, lacking

from fairlab.fliptest import (
    CounterpartTest,
    Flipset,
    FlipsetOverlap,
    MapValidation,
    Overlap,
    TransparencyReport,
    agreement_table,
    by_map,
    counterpart_test,
    difference_of_shares,
    differences_in_words,
    examine,
    fit_table,
    flipset,
    flipset_intervals,
    flipset_overlap,
    flipsets_by_cost,
    flipsets_by_map,
    match,
    size_spread,
    size_table,
    transparency_report,
    usable_maps,
    validate_map,
)

FLIPS = flipset(at_40, TABLE, OTHER)
OTHER_FLIPS = flipset(at_40, TABLE[:5], OTHER[:5])
MOVED = TABLE.set_axis(range(10, 18))
VALIDATION = validate_map(OTHER, TABLE)
MANY = pd.concat([TABLE] * 10, ignore_index=True)
FAVOURED = np.arange(80) % 2 > 0


FLIPTEST = [
    Bad(
        "flipset",
        "predict",
        lambda: flipset(3, TABLE, OTHER),
        "expected a function or an object with .predict, found int",
        TypeError,
    ),
    Bad("flipset", "predict", lambda: flipset(lambda X: np.full(len(X), 0.5), TABLE, OTHER), "expected labels 0 or 1"),
    Bad("flipset", "predict", lambda: flipset(lambda X: [1], TABLE, OTHER), "expected (8,)"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, OTHER[:3]), "expected one image per row"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, MOVED), "expected the same index"),
    Bad("flipset", "X_image", lambda: flipset(at_40, TABLE, OTHER[["age"]]), "differ in columns: only in X: income"),
    Bad("flipset", "X", lambda: flipset(at_40, TABLE[:0], OTHER[:0]), "expected at least 1"),
    Bad("flipset_intervals", "flip", lambda: flipset_intervals(3), "expected a Flipset, found int", TypeError),
    Bad(
        "flipset_intervals",
        "confidence",
        lambda: flipset_intervals(FLIPS, confidence=95),
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
    Bad("flipset_overlap", "second", lambda: flipset_overlap(FLIPS, 3), "expected a Flipset, found int"),
    Bad(
        "flipset_overlap",
        "second",
        lambda: flipset_overlap(FLIPS, OTHER_FLIPS),
        "expected the same people, found flipsets of different rows (8 and 5)",
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
        "flipsets_by_map",
        "images",
        lambda: flipsets_by_map(at_40, TABLE, {}),
        "expected one for each map, by its name, found none",
    ),
    Bad(
        "flipsets_by_map",
        "images",
        lambda: flipsets_by_map(at_40, TABLE, OTHER),
        "expected one for each map, by its name, found DataFrame",
    ),
    Bad(
        "flipsets_by_map",
        "X_image",
        lambda: flipsets_by_map(at_40, TABLE, {"exact": OTHER[:3]}),
        "expected one image per row",
    ),
    Bad("agreement_table", "flips", lambda: agreement_table({}), "expected one for each map, by its name, found none"),
    Bad("agreement_table", "flips", lambda: agreement_table({"a": FLIPS, "b": 3}), "expected Flipset, found 3 for 'b'"),
    Bad(
        "agreement_table",
        "second",
        lambda: agreement_table({"a": FLIPS, "b": OTHER_FLIPS}),
        "expected the same people, found flipsets of different rows (8 and 5)",
    ),
    Bad("size_table", "flips", lambda: size_table({}), "expected one for each map, by its name, found none"),
    Bad("size_table", "flips", lambda: size_table([FLIPS]), "expected one for each map, by its name, found list"),
    Bad("by_map", "parts", lambda: by_map({}), "expected one for each map, by its name, found none"),
    Bad("by_map", "parts", lambda: by_map({"a": 3}), "expected a table, found 3 for 'a'"),
    Bad(
        "size_spread",
        "intervals",
        lambda: size_spread(TABLE),
        "expected a table as of `by_map`, found one without flipset, high",
    ),
    Bad(
        "size_spread",
        "intervals",
        lambda: size_spread(3),
        "expected a table as of `by_map`, found one without flipset, high",
    ),
    Bad("fit_table", "validations", lambda: fit_table({}), "expected one for each map, by its name, found none"),
    Bad("fit_table", "validations", lambda: fit_table({"a": 3}), "expected MapValidation, found 3 for 'a'"),
    Bad(
        "fit_table",
        "labels",
        lambda: fit_table({"a": VALIDATION}, labels={"wage": "Wage"}),
        "expected features of the maps, found 'wage'",
    ),
    Bad("usable_maps", "validations", lambda: usable_maps({}), "expected one for each map, by its name, found none"),
    Bad("usable_maps", "validations", lambda: usable_maps({"a": 3}), "expected MapValidation, found 3 for 'a'"),
    Bad(
        "validate_map",
        "X_image",
        lambda: validate_map(OTHER, TABLE[["age"]]),
        "differ in columns: only in X_target: income",
    ),
    Bad(
        "validate_map",
        "X_source",
        lambda: validate_map(OTHER, TABLE, X_source=TABLE[:3]),
        "expected one row for each of 8 images, found 3",
    ),
    Bad(
        "validate_map",
        "columns",
        lambda: validate_map(OTHER, TABLE, columns=["wage"]),
        "expected columns of the DataFrame X_target, found ['wage']",
    ),
    Bad(
        "validate_map",
        "regression_of",
        lambda: validate_map(OTHER, TABLE, regression_of="wage"),
        "expected features by feature, found 'wage'",
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
    Bad("match", "method", lambda: match(TABLE, OTHER, method="luck"), "expected one of exact, gan"),
    Bad("match", "X_target", lambda: match(TABLE, OTHER[["age"]]), "differ in columns: only in X_source: income"),
    Bad("match", "source", lambda: match(TABLE[:0], OTHER), "expected at least 1"),
    Bad("match", "cost", lambda: match(TABLE, OTHER, cost=3), "expected a function of both samples, found 3"),
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
        "confidence",
        lambda: counterpart_test((MANY, MANY), (FAVOURED,) * 2, confidence=2),
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
        "difference_of_shares",
        "counts",
        lambda: difference_of_shares((9, 1), (3, 3)),
        "expected at most the sizes [3, 3], found [9, 1]",
    ),
    Bad(
        "difference_of_shares",
        "confidence",
        lambda: difference_of_shares((1, 1), (3, 3), confidence=95),
        "expected a number between 0 and 1, found 95",
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
    Bad("examine", "case", lambda: examine(3, budget=10), "expected a Case, found int", TypeError),
    Bad("examine", "budget", lambda: examine(CASE, budget=-1), "expected an integer, at least 0, found -1"),
    Bad(
        "examine",
        "confidence",
        lambda: examine(CASE, budget=10, confidence=95),
        "expected a number between 0 and 1, found 95",
    ),
    Bad(
        "examine", "n_people", lambda: examine(CASE, budget=10, n_people=0), "expected an integer, at least 30, found 0"
    ),
    Bad(
        "MapValidation",
        "frame",
        lambda: MapValidation.from_frame(TABLE),
        "expected a table of `to_frame`, found one without ks, mse_target",
    ),
    lacking(MapValidation, "features"),
    lacking(CounterpartTest, "triples"),
    lacking(Flipset, "prediction"),
    lacking(FlipsetOverlap, "positive"),
    lacking(Overlap, "both"),
    lacking(TransparencyReport, "positive"),
]

ROWS = {"fliptest": FLIPTEST}
