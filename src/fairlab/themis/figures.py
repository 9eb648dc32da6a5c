"""The figures of Themis: scores beside printed ones, tests with and without pruning, tests by threshold.

Colours are of Okabe and Ito's palette, and every distinction is also one of marker or line style. Figures are closed
for pyplot, so that a notebook shows them once.
"""

from itertools import cycle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

GREY, BLUE, VERMILION, GREEN, ORANGE = "#999999", "#0072B2", "#D55E00", "#009E73", "#E69F00"
_LOOKS = {"printed": ("x", "black"), "as published": ("o", BLUE), "as described": ("^", VERMILION)}
_OFFSETS = {"printed": 0.0, "as published": -0.2, "as described": 0.2}
FLOOR = 0.01  # percent; scores below are drawn there


def scores_beside_printed(table: pd.DataFrame, *, by: str | None = None) -> Figure:
    """Draw scores on a logarithmic axis, one line of the figure for each cell (figures 1 and 2).

    Parameters
    ----------
    table : DataFrame
        Columns ``cell``, ``series`` (``printed``, ``as published`` or ``as described``) and ``score``, in percent;
        ``low`` and ``high`` where there is an interval, else missing.
    by : str, optional
        A column whose values are panels.

    Raises
    ------
    ValueError
        For an unknown series.
    """
    if unknown := set(table["series"]) - set(_LOOKS):
        raise ValueError(f"series: expected {', '.join(_LOOKS)}, found {', '.join(sorted(unknown))}")
    panels = {None: table} if by is None else dict(list(table.groupby(by, sort=False)))
    cells = table["cell"].unique()
    figure, axes = _panels(1, len(panels), width=4.6, height=1.6 + 0.22 * len(cells), sharey=True)
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        axis.hlines(np.arange(len(cells)), FLOOR, 100, color=GREY, linewidth=0.4, zorder=0)
        for series, (marker, color) in _LOOKS.items():
            rows = panel[panel["series"] == series]
            if len(rows) == 0:
                continue
            place = pd.Index(cells).get_indexer(rows["cell"]) + _OFFSETS[series]
            axis.plot(rows["score"].clip(FLOOR), place, marker, color=color, markersize=4.5, label=series)
            axis.hlines(place, rows["low"].clip(FLOOR), rows["high"].clip(FLOOR), color=color, linewidth=1)
        axis.set(xscale="log", xlim=(FLOOR * 0.8, 120), xlabel="score (%)", title=title or "")
        axis.set_yticks(np.arange(len(cells)), cells)
    axes[0].set_ylim(len(cells) - 0.4, -0.6)
    _legend_above(figure, axes[0])
    return figure


def pruning_counts(table: pd.DataFrame) -> Figure:
    """Draw how many tests each search needs without pruning (right) and with it (left), and what is printed (figure 3).

    Parameters
    ----------
    table : DataFrame
        Columns ``measure``, ``row``, ``without``, ``with``, ``printed without`` and ``printed with``, in tests; the
        printed ones may be missing.
    """
    rows = table["row"].unique()
    measures = table["measure"].unique()
    figure, axes = _panels(1, len(measures), width=4.6, height=1.6 + 0.24 * len(rows), sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        panel = table[table["measure"] == measure]
        place = pd.Index(rows).get_indexer(panel["row"])
        for prefix, shift, color, line, label in (
            ("", -0.16, BLUE, "-", "measured"),
            ("printed ", 0.16, "black", ":", "printed"),
        ):
            low, high = panel[f"{prefix}with"], panel[f"{prefix}without"]
            axis.hlines(place + shift, low, high, color=color, linestyle=line, linewidth=1)
            axis.plot(low, place + shift, "o", color=color, markersize=4, label=f"{label}, with pruning")
            axis.plot(high, place + shift, "s", color=color, markersize=4, mfc="white", label=f"{label}, without")
        axis.set(xscale="log", xlabel="tests", title=measure)
        axis.set_yticks(np.arange(len(rows)), rows)
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    _legend_above(figure, axes[0], n_columns=2)
    return figure


def threshold_lines(table: pd.DataFrame) -> Figure:
    """Draw the tests of pruned searches against the threshold, as shares of all (section 5.4).

    Parameters
    ----------
    table : DataFrame
        Columns ``measure``, ``system``, ``threshold`` and ``share`` (of the tests without pruning).
    """
    measures = table["measure"].unique()
    figure, axes = _panels(1, len(measures), width=4.4, height=3.6, sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        panel = table[table["measure"] == measure]
        looks = cycle([(c, m, s) for s, m in (("-", "o"), ("--", "^")) for c in (BLUE, VERMILION, GREEN, ORANGE)])
        for system, line in panel.groupby("system", sort=False):
            color, marker, style = next(looks)
            look = {"color": color, "marker": marker, "linestyle": style, "markersize": 4}
            axis.plot(line["threshold"], line["share"], label=system, **look)
        axis.set(xlabel="threshold", yscale="log", title=measure)
    axes[0].set_ylabel("tests with pruning / without")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, title="system")
    return figure


def score_map(table: pd.DataFrame, *, unit: str = "%") -> Figure:
    """Draw a table of scores as a map, each with its number.

    Parameters
    ----------
    table : DataFrame
        Scores between 0 and 100; rows and columns are named as they are to be shown.
    unit : str
    """
    figure, axes = _panels(1, 1, width=1.8 + 0.75 * table.shape[1], height=1.2 + 0.3 * table.shape[0])
    axis = axes[0]
    image = axis.imshow(table.to_numpy(), cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for (row, column), score in np.ndenumerate(table.to_numpy()):
        shown = "" if np.isnan(score) else f"{score:.1f}"
        axis.text(column, row, shown, ha="center", va="center", color="white" if score > 60 else "black", fontsize=8)
    axis.set_xticks(np.arange(table.shape[1]), table.columns, rotation=30, ha="right")
    axis.set_yticks(np.arange(table.shape[0]), table.index)
    figure.colorbar(image, label=f"score ({unit})")
    return figure


def _panels(n_rows, n_columns, *, width, height, **options):
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(width * n_columns, height * n_rows),
        squeeze=False,
        layout="constrained",
        **options,
    )
    plt.close(figure)
    return figure, axes.ravel()


def _legend_above(figure, axis, *, n_columns=3):
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=n_columns, frameon=False)
