"""The figures of Themis: scores with their intervals, and scores as a map."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.plotting import BLUE, GREY, VERMILION, legend_above, panels

_LOOKS = {"group": ("s", VERMILION, 0.12), "causal": ("o", BLUE, -0.12)}


def score_intervals(table: pd.DataFrame, *, threshold: float | None = None) -> Figure:
    """Draw scores with their confidence intervals, one line of the figure for each set of characteristics.

    Parameters
    ----------
    table : DataFrame
        Columns ``measure``, ``characteristics`` (tuples of names), ``score``, ``low`` and ``high``, as in
        `Search.to_frame`.
    threshold : float, optional
        Drawn as a line.

    Raises
    ------
    ValueError
        If a column is missing, or there is no row.
    """
    expected = ["measure", "characteristics", "score", "low", "high"]
    if not isinstance(table, pd.DataFrame) or not set(expected) <= set(table.columns) or not len(table):
        raise ValueError(
            f"table: expected a DataFrame with rows and the columns {', '.join(expected)}, found {table!r}"
        )
    names = table["characteristics"].str.join(", ")
    sets = names.unique()
    figure, [axis] = panels(1, 1, width=5.4, height=1.3 + 0.26 * len(sets))
    for measure, rows in table.groupby("measure", sort=False):
        marker, color, shift = _LOOKS[measure]
        place = pd.Index(sets).get_indexer(names[rows.index]) + shift
        axis.hlines(place, rows["low"], rows["high"], color=color, linewidth=1)
        axis.plot(rows["score"], place, marker, color=color, markersize=4.5, label=f"{measure} score")
    if threshold is not None:
        axis.axvline(threshold, color=GREY, linestyle="--", linewidth=1, label="threshold")
    axis.set(xlim=(-0.02, 1.02), xlabel="score, with its confidence interval")
    axis.set_yticks(np.arange(len(sets)), sets)
    axis.set_ylim(len(sets) - 0.4, -0.6)
    legend_above(figure, axis)
    return figure


def score_map(table: pd.DataFrame, *, unit: str = "%") -> Figure:
    """Draw a table of scores as a map, each with its number.

    Parameters
    ----------
    table : DataFrame
        Scores between 0 and 100; rows and columns are named as they are to be shown.
    unit : str

    Raises
    ------
    ValueError
        If the table holds anything but numbers, or none.
    """
    if not isinstance(table, pd.DataFrame) or table.empty or not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        raise ValueError(f"table: expected a DataFrame of numbers, at least one, found {table!r}")
    figure, [axis] = panels(1, 1, width=1.8 + 0.75 * table.shape[1], height=1.2 + 0.3 * table.shape[0])
    image = axis.imshow(table.to_numpy(), cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for (row, column), score in np.ndenumerate(table.to_numpy()):
        shown = "" if np.isnan(score) else f"{score:.1f}"
        axis.text(column, row, shown, ha="center", va="center", color="white" if score > 60 else "black", fontsize=8)
    axis.set_xticks(np.arange(table.shape[1]), table.columns, rotation=30, ha="right")
    axis.set_yticks(np.arange(table.shape[0]), table.index)
    figure.colorbar(image, label=f"score ({unit})")
    return figure
