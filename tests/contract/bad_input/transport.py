"""Bad input of transport between groups."""

import numpy as np
import pandas as pd
from contract.bad_input.rows import OTHER, TABLE, Bad

from fairlab.transport import (
    ColumnCosts,
    ExactTransport,
    GANEnsemble,
    GANTransport,
    SeguyEnsemble,
    SeguyTransport,
    monotone_rearrangement,
    squared_l1,
)

FITTED = ExactTransport().fit(TABLE, OTHER)


def exact(X=TABLE, Y=OTHER, options=None, **weights):
    return lambda: ExactTransport(**options or {}).fit(X, Y, **weights)


def gan(**options):
    return lambda: GANTransport(**{"n_steps": 1} | options).fit(TABLE, OTHER)


def seguy(**options):
    return lambda: SeguyTransport(**{"n_dual_steps": 1, "n_map_steps": 1} | options).fit(TABLE, OTHER)


TRANSPORT = [
    Bad(
        "ExactTransport",
        "solver",
        exact(options={"solver": "simplex"}),
        "expected one of network_simplex, hungarian, lp",
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
    Bad("ExactTransport", "counterpart", exact(options={"counterpart": "best"}), "expected one of sample, barycentre"),
    Bad(
        "ExactTransport",
        "random_state",
        exact(options={"random_state": "zero"}),
        "expected an integer, at least 0, found 'zero'",
    ),
    Bad(
        "ExactTransport",
        "lp_backend",
        exact(options={"solver": "lp", "lp_backend": "GUROBY"}),
        "expected one of HiGHS, CBC",
    ),
    Bad(
        "ExactTransport",
        "memory_limit_gb",
        exact(options={"memory_limit_gb": -1}),
        "expected a finite number above 0, found -1",
    ),
    Bad("ExactTransport", "source", exact(X=TABLE.assign(income=np.inf)), "column 'income' holds inf in row 0"),
    Bad("ExactTransport", "source", exact(X=TABLE.iloc[:0]), "expected at least 1"),
    Bad("ExactTransport", "age", exact(Y=OTHER[["income"]]), "X_source and X_target differ in columns:"),
    Bad("ExactTransport", "source_weight", exact(source_weight=[1, 2]), "expected shape (8,), found (2,)"),
    Bad("ExactTransport", "source_weight", exact(source_weight=-np.ones(8)), "expected at least 0"),
    Bad("ExactTransport", "target_weight", exact(target_weight=np.full(8, np.inf)), "holds missing or infinite values"),
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
    Bad("GANTransport", "penalty", gan(penalty=0), "expected finite numbers above 0, found 0"),
    Bad("GANTransport", "penalty", gan(penalty="strong"), "expected finite numbers above 0, found 'strong'"),
    Bad("GANTransport", "hidden_layers", gan(hidden_layers=(0,)), "expected a positive integer, found 0"),
    Bad("GANTransport", "hidden_layers", gan(hidden_layers=5), "expected a sequence of widths, found 5"),
    Bad("GANTransport", "n_steps", gan(n_steps=0), "expected a positive integer, found 0"),
    Bad("GANTransport", "batch_size", gan(batch_size=1.5), "expected a positive integer, found 1.5"),
    Bad("GANTransport", "learning_rate", gan(learning_rate=np.nan), "expected a finite number above 0, found nan"),
    Bad("GANTransport", "clip", gan(clip=-1), "expected a finite number above 0, found -1"),
    Bad("GANTransport", "clip", gan(clip="tight"), "expected a finite number above 0, found 'tight'"),
    Bad("GANTransport", "random_state", gan(random_state=-1), "expected integers of at least 0, found [-1]"),
    Bad(
        "GANEnsemble",
        "random_states",
        lambda: GANEnsemble([], n_steps=1).fit(TABLE, OTHER),
        "expected integers of at least 0, found []",
    ),
    Bad(
        "GANEnsemble",
        "random_states",
        lambda: GANEnsemble([0.5], n_steps=1).fit(TABLE, OTHER),
        "expected integers of at least 0, found [0.5]",
    ),
    Bad(
        "GANEnsemble",
        "penalty",
        lambda: GANEnsemble([0, 1], penalty=[1.0], n_steps=1).fit(TABLE, OTHER),
        "expected a number or one per map (2), found shape (1,)",
    ),
    Bad(
        "GANEnsemble",
        "X_source",
        lambda: GANEnsemble([0, 1], n_steps=1).fit(np.ones((3, 8, 2)), OTHER),
        "expected one each",
    ),
    Bad(
        "GANEnsemble",
        "n_threads",
        lambda: GANEnsemble([0], n_steps=1, n_threads=0).fit(TABLE, OTHER),
        "expected a positive integer, found 0",
    ),
    Bad("SeguyTransport", "regularization", seguy(regularization=0), "expected a finite number above 0, found 0"),
    Bad(
        "SeguyTransport",
        "regularization",
        seguy(regularization="some"),
        "expected a finite number above 0, found 'some'",
    ),
    Bad("SeguyTransport", "n_dual_steps", seguy(n_dual_steps=0), "expected a positive integer, found 0"),
    Bad("SeguyTransport", "batch_size", seguy(batch_size=0.5), "expected a positive integer, found 0.5"),
    Bad("SeguyTransport", "learning_rate", seguy(learning_rate=-1), "expected a finite number above 0, found -1"),
    Bad("SeguyTransport", "hidden_layers", seguy(hidden_layers=5), "expected a sequence of widths, found 5"),
    Bad("SeguyTransport", "random_state", seguy(random_state=-1), "expected an integer of at least 0, found -1"),
    Bad("SeguyTransport", "cost", seguy(cost=lambda a, b: np.zeros((len(a), len(b)))), "expected some above 0"),
    Bad(
        "SeguyEnsemble",
        "random_states",
        lambda: SeguyEnsemble([]).fit(TABLE, OTHER),
        "expected a sequence of integers, found []",
    ),
    Bad(
        "SeguyEnsemble",
        "random_states",
        lambda: SeguyEnsemble(["zero"]).fit(TABLE, OTHER),
        "expected a sequence of integers, found ['zero']",
    ),
    Bad(
        "SeguyEnsemble",
        "regularization",
        lambda: SeguyEnsemble([0, 1], regularization=[1.0]).fit(TABLE, OTHER),
        "expected a number or one per map (2), found shape (1,)",
    ),
    Bad("monotone_rearrangement", "source", lambda: monotone_rearrangement([], [1.0]), "expected at least 1"),
    Bad(
        "monotone_rearrangement",
        "source",
        lambda: monotone_rearrangement([np.nan], [1.0]),
        "column 'x0' holds nan in row 0",
    ),
    Bad(
        "monotone_rearrangement",
        "target",
        lambda: monotone_rearrangement([1.0], np.ones((2, 2))),
        "expected one dimension, found 2 columns",
    ),
    Bad(
        "monotone_rearrangement",
        "target",
        lambda: monotone_rearrangement([1.0], ["a"]),
        "expected a table of numbers (could not convert string to float",
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
