"""Figures of Themis' scores."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.plotting import BLUE, GREY, VERMILION, legend_above, panels

STYLES = {"group": {"marker": "s", "color": VERMILION}, "causal": {"marker": "o", "color": BLUE}}
_SHIFTS = {"group": 0.12, "causal": -0.12}


def score_intervals(table: pd.DataFrame, *, min_score: float | None = None) -> Figure:
    """Draw scores with their confidence intervals, one line of the figure for each set of features.

    Parameters
    ----------
    table : DataFrame
        As `fairlab.themis.Search.to_frame` returns it.
    min_score : float, optional
        Drawn as a line.
    """
    names = table["sensitive_features"].map(", ".join)
    sets = names.unique()
    figure, [axis] = panels(1, 1, width=5.4, height=1.3 + 0.26 * len(sets))
    for measure, rows in table.groupby("measure", sort=False):
        style = STYLES[measure]
        place = pd.Index(sets).get_indexer(names[rows.index]) + _SHIFTS[measure]
        axis.hlines(place, rows["low"], rows["high"], color=style["color"], linewidth=1)
        axis.plot(rows["estimate"], place, **style, linestyle="", markersize=4.5, label=f"{measure} score")
    if min_score is not None:
        axis.axvline(min_score, color=GREY, linestyle="--", linewidth=1, label="threshold")
    axis.set(xlim=(-0.02, 1.02), xlabel="score (between 0 and 1), with its confidence interval")
    axis.set_yticks(np.arange(len(sets)), sets)
    axis.set_ylim(len(sets) - 0.4, -0.6)
    legend_above(figure, axis)
    return figure
