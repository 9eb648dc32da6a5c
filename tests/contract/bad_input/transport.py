"""Bad input of transport between groups."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import OTHER, TABLE, Bad

from fairlab.transport import (
    ColumnCosts,
    ExactTransport,
    GANTransport,
    fit_gans,
    squared_l1,
)

FITTED = ExactTransport().fit(TABLE, OTHER)


def exact(X=TABLE, Y=OTHER, options=None, **weights):
    return lambda: ExactTransport(**options or {}).fit(X, Y, **weights)


def gan(**options):
    return lambda: GANTransport(**{"n_steps": 1} | options).fit(TABLE, OTHER)


TRANSPORT = [
    Bad(
        "ExactTransport",
        "solver",
        exact(options={"solver": "simplex"}),
        "expected one of network_simplex, hungarian, lp, found 'simplex'",
    ),
    Bad("ExactTransport", "cost", exact(options={"cost": 3}), "expected a function of both samples, found 3"),
    Bad(
        "ExactTransport",
        "cost",
        exact(options={"cost": lambda a, b: np.ones((2, 2))}),
        "expected (8, 8), a row per source point",
    ),
    Bad(
        "ExactTransport",
        "cost",
        exact(options={"cost": lambda a, b: np.full((len(a), len(b)), np.nan)}),
        "expected finite costs",
    ),
    Bad(
        "ExactTransport",
        "cost",
        exact(options={"cost": lambda a, b: -np.ones((len(a), len(b)))}),
        "expected costs of at least 0",
    ),
    Bad(
        "ExactTransport",
        "random_state",
        exact(options={"random_state": "zero"}),
        "expected an integer, at least 0, found 'zero'",
    ),
    Bad("ExactTransport", "source", exact(X=TABLE.assign(income=np.inf)), "column 'income' holds inf in row 0"),
    Bad("ExactTransport", "source", exact(X=TABLE.iloc[:0]), "expected at least 1"),
    Bad("ExactTransport", "age", exact(Y=OTHER[["income"]]), "X_source and X_target differ in columns:"),
    Bad("ExactTransport", "source_weight", exact(source_weight=[1, 2]), "expected 8 values, one for each row, found 2"),
    Bad("ExactTransport", "source_weight", exact(source_weight=-np.ones(8)), "expected at least 0"),
    Bad("ExactTransport", "target_weight", exact(target_weight=np.full(8, np.inf)), "values in all are missing or inf"),
    Bad(
        "ExactTransport",
        "target_weight",
        exact(target_weight=pd.Series(1.0, index=range(10, 18))),
        "expected the same index",
    ),
    Bad(
        "ExactTransport", "X", lambda: FITTED.transform(TABLE * 2), "these are not the fitted rows in the fitted order"
    ),
    Bad("ColumnCosts", "number", lambda: ColumnCosts(number="cubic"), "expected one of absolute, squared, mismatch"),
    Bad("ColumnCosts", "columns", lambda: ColumnCosts({"age": "cubic"}), "expected one of absolute, squared, mismatch"),
    Bad("ColumnCosts", "columns", exact(options={"cost": ColumnCosts({"wage": "absolute"})}), "no column 'wage'"),
    Bad(
        "ColumnCosts",
        "weights",
        lambda: ColumnCosts(weights={"age": -1}),
        "expected a finite number of at least 0, found -1",
    ),
    Bad("ColumnCosts", "weights", lambda: ColumnCosts(weights=3), "expected a dict by column, found 3"),
    Bad("GANTransport", "penalty", gan(penalty=0), "expected a finite number above 0, found 0"),
    Bad("GANTransport", "penalty", gan(penalty="strong"), "expected a finite number above 0, found 'strong'"),
    Bad("GANTransport", "hidden_layers", gan(hidden_layers=(0,)), "expected a positive integer, found 0"),
    Bad("GANTransport", "hidden_layers", gan(hidden_layers=5), "expected a sequence of widths, found 5"),
    Bad("GANTransport", "n_steps", gan(n_steps=0), "expected a positive integer, found 0"),
    Bad("GANTransport", "batch_size", gan(batch_size=1.5), "expected a positive integer, found 1.5"),
    Bad("GANTransport", "learning_rate", gan(learning_rate=np.nan), "expected a finite number above 0, found nan"),
    Bad("GANTransport", "clip", gan(clip=-1), "expected a finite number above 0, found -1"),
    Bad("GANTransport", "clip", gan(clip="tight"), "expected a finite number above 0, found 'tight'"),
    Bad("GANTransport", "random_state", gan(random_state=-1), "expected an integer, at least 0, found -1"),
    Bad("fit_gans", "maps", lambda: fit_gans([], TABLE, OTHER), "expected at least one, found none"),
    Bad(
        "fit_gans",
        "X_source",
        lambda: fit_gans([GANTransport()] * 2, [TABLE], OTHER),
        "expected one sample for each of 2 maps, found 1",
    ),
    Bad(
        "fit_gans",
        "n_threads",
        lambda: fit_gans([GANTransport()], TABLE, OTHER, n_threads=0),
        "expected a positive integer, found 0",
    ),
    Bad("squared_l1", "X_target", lambda: squared_l1(np.ones((2, 2)), np.ones((2, 3))), "has 3"),
    Bad(
        "squared_l1",
        "X_source",
        lambda: squared_l1(np.ones(3), np.ones((2, 3))),
        "expected shape (n_rows, n_features), found (3,)",
    ),
]

ROWS = {"transport": TRANSPORT}
