"""The paper's figures beside ours: printed scores, tests with and without pruning, tests by threshold, programs."""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from fairlab.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, legend_above, legend_beside, panels

_LOOKS = {
    "printed": ("x", BLACK),
    "stored suite": ("o", GREEN),
    "as released": ("o", BLUE),
    "as described": ("^", VERMILION),
}
_OFFSETS = {"printed": 0.0, "stored suite": 0.0, "as released": -0.2, "as described": 0.2}
_OPEN = ("stored suite",)  # drawn around the print
FLOOR = 0.01  # percent; scores below are drawn there


def scores_beside_printed(table: pd.DataFrame, *, by: str | None = None) -> Figure:
    """Draw scores on a logarithmic axis, one line of the figure for each cell (figures 1 and 2).

    Parameters
    ----------
    table : DataFrame
        Columns ``cell``, ``series`` (``printed``, ``stored suite``, ``as released`` or ``as described``) and ``score``;
        ``low`` and ``high`` where there is an interval, else missing.
    by : str, optional
        A column whose values have a panel each.

    Raises
    ------
    ValueError
        For an unknown series.
    """
    if unknown := set(table["series"]) - set(_LOOKS):
        raise ValueError(f"series: expected {', '.join(_LOOKS)}, found {', '.join(sorted(unknown))}")
    parts = {None: table} if by is None else dict(list(table.groupby(by, sort=False)))
    cells = table["cell"].unique()
    # A single panel gives some of its width to the names.
    width = 4.6 if len(parts) > 1 else 6.4
    figure, axes = panels(1, len(parts), width=width, height=1.6 + 0.22 * len(cells), sharey=True)
    for axis, (title, panel) in zip(axes, parts.items(), strict=True):
        axis.hlines(np.arange(len(cells)), FLOOR, 100, color=GREY, linewidth=0.4, zorder=0)
        for series, (marker, color) in _LOOKS.items():
            rows = panel[panel["series"] == series]
            if len(rows) == 0:
                continue
            place = pd.Index(cells).get_indexer(rows["cell"]) + _OFFSETS[series]
            look = {"markersize": 8, "mfc": "none"} if series in _OPEN else {"markersize": 4.5}
            axis.plot(rows["score"].clip(FLOOR), place, marker, color=color, label=series, **look)
            axis.hlines(place, rows["low"].clip(FLOOR), rows["high"].clip(FLOOR), color=color, linewidth=1)
        axis.set(xscale="log", xlim=(FLOOR * 0.8, 120), xlabel="score (%)", title=title or "")
        axis.set_yticks(np.arange(len(cells)), cells)
    axes[0].set_ylim(len(cells) - 0.4, -0.6)
    legend_above(figure, axes[0])
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
    figure, axes = panels(1, len(measures), width=4.6, height=1.6 + 0.24 * len(rows), sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        panel = table[table["measure"] == measure]
        place = pd.Index(rows).get_indexer(panel["row"])
        for prefix, shift, color, line, label in (
            ("", -0.16, BLUE, "-", "measured"),
            ("printed ", 0.16, BLACK, ":", "printed"),
        ):
            low, high = panel[f"{prefix}with"], panel[f"{prefix}without"]
            axis.hlines(place + shift, low, high, color=color, linestyle=line, linewidth=1)
            axis.plot(low, place + shift, "o", color=color, markersize=4, label=f"{label}, with pruning")
            axis.plot(high, place + shift, "s", color=color, markersize=7, mfc="none", label=f"{label}, without")
        axis.set(xscale="log", xlabel="tests", title=measure)
        axis.set_yticks(np.arange(len(rows)), rows)
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    legend_above(figure, axes[0], n_columns=2)
    return figure


def threshold_lines(table: pd.DataFrame) -> Figure:
    """Draw the tests of pruned searches against the threshold, as shares of all (section 5.4).

    Parameters
    ----------
    table : DataFrame
        Columns ``measure``, ``system``, ``threshold`` and ``share`` (of the tests without pruning).
    """
    measures = table["measure"].unique()
    figure, axes = panels(1, len(measures), width=4.4, height=3.6, sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        panel = table[table["measure"] == measure]
        looks = cycle([(c, m, s) for s, m in (("-", "o"), ("--", "^")) for c in (BLUE, VERMILION, GREEN, ORANGE)])
        for system, line in panel.groupby("system", sort=False):
            color, marker, style = next(looks)
            look = {"color": color, "marker": marker, "linestyle": style, "markersize": 4}
            axis.plot(line["threshold"], 100 * line["share"], label=system, **look)
        axis.set(xlabel="threshold", yscale="log", title=measure)
        axis.yaxis.set_major_formatter(LogFormatter())
        axis.yaxis.set_minor_formatter(LogFormatter())
    axes[0].set_ylabel("tests with pruning (% of those without)")
    legend_beside(axes[-1], title="system")
    return figure


def programs_by_scores(table: pd.DataFrame, *, title: str) -> Figure:
    """Draw how far apart both scores of a program can be: a point for each pair of scores (theorem 4.3).

    Parameters
    ----------
    table : DataFrame
        Columns ``group``, ``causal`` and ``programs``, how many have these scores.
    title : str
    """
    figure, [axis] = panels(1, 1, width=5, height=4.2)
    axis.plot([0, 1], [0, 1], "--", color=GREY, label="group = causal")
    sizes = 3 * np.sqrt(table["programs"]) + 4
    axis.scatter(table["group"], table["causal"], s=sizes, color=BLUE, label="programs")
    axis.set(xlabel="group score", ylabel="causal score", title=title)
    axis.legend(loc="lower right")
    return figure
