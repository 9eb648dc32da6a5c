"""The figures of Themis: scores with their intervals, and the look of each measure."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.plotting import BLUE, GREY, VERMILION, legend_above, panels

MEASURES = {"group": {"marker": "s", "color": VERMILION}, "causal": {"marker": "o", "color": BLUE}}  # in all figures
_SHIFTS = {"group": 0.12, "causal": -0.12}


def score_intervals(table: pd.DataFrame, *, threshold: float | None = None) -> Figure:
    """Draw scores with their confidence intervals, one line of the figure for each set of characteristics.

    Parameters
    ----------
    table : DataFrame
        Columns ``measure``, ``characteristics`` (tuples of names, or one text), ``score``, ``low`` and ``high``, as in
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
    names = table["characteristics"].map(lambda of: of if isinstance(of, str) else ", ".join(of))
    sets = names.unique()
    figure, [axis] = panels(1, 1, width=5.4, height=1.3 + 0.26 * len(sets))
    for measure, rows in table.groupby("measure", sort=False):
        look = MEASURES[measure]
        place = pd.Index(sets).get_indexer(names[rows.index]) + _SHIFTS[measure]
        axis.hlines(place, rows["low"], rows["high"], color=look["color"], linewidth=1)
        axis.plot(rows["score"], place, **look, linestyle="", markersize=4.5, label=f"{measure} score")
    if threshold is not None:
        axis.axvline(threshold, color=GREY, linestyle="--", linewidth=1, label="threshold")
    axis.set(xlim=(-0.02, 1.02), xlabel="score (between 0 and 1), with its confidence interval")
    axis.set_yticks(np.arange(len(sets)), sets)
    axis.set_ylim(len(sets) - 0.4, -0.6)
    legend_above(figure, axis)
    return figure
