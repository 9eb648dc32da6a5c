"""How the bound on a model's unfairness grows with the length of the attack."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from fairlab.individual_fairness.ratio_tests import FOUR_FIFTHS
from fairlab.plotting import BLACK, LINES, legend_beside, panels

_TICKS = (1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of bounds, as far as they are within the axis


def stopping_time_curves(
    bounds: pd.DataFrame, *, labels: Mapping[str, str] | None = None, threshold: float = FOUR_FIFTHS
) -> Figure:
    """Draw lower bounds against the stopping time on log-log axes, with their range over splits (figure 2).

    Parameters
    ----------
    bounds : DataFrame
        Columns ``method``, ``time`` and ``lower_bound``, one row per split.
    labels : dict of str to str, optional
        What to call a method; the first has the first look, whichever of them are drawn. Default: its name.
    threshold : float
        Drawn as a line.
    """
    figure, (axis,) = panels(1, 1, width=6.2, height=3.6)
    labels = labels or {method: method for method in bounds["method"].unique()}
    for (method, label), look in zip(labels.items(), LINES, strict=False):
        rows = bounds[bounds["method"] == method]
        if len(rows) == 0:
            continue
        over_splits = rows.groupby("time")["lower_bound"].agg(["mean", "min", "max"])
        axis.plot(over_splits["mean"], **look, markersize=4, label=label)
        axis.fill_between(over_splits.index, over_splits["min"], over_splits["max"], color=look["color"], alpha=0.15)
    axis.axhline(threshold, color=BLACK, linewidth=1, label=f"threshold {threshold:g}")
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="stopping time $T$ (step size × steps)",
        ylabel="lower bound $T_n$ (ratio of losses)",
    )
    _plain_log_ticks(axis)
    legend_beside(axis)
    return figure


def _plain_log_ticks(axis) -> None:
    """Write the numbers of two log axes as they are; the upright one spans little."""
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")
    axis.yaxis.set_major_formatter("{x:g}")
    low, high = axis.get_ylim()
    axis.set_yticks([tick for tick in _TICKS if low <= tick <= high])
    axis.set_yticks([], minor=True)
