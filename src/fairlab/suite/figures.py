"""The plot of published numbers and our results, from `Experiment.beside`."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairlab.plotting import LINES, legend_above, log_ticks, panels

PITCH = 0.24  # of a line, between kinds


def published_and_ours(
    frame: pd.DataFrame,
    *,
    lines: Sequence[str],
    quantities: Mapping[str, str],
    quantity: str = "",
    kinds: Mapping[str, str] | None = None,
    kind: str = "",
    log: Sequence[str] = (),
) -> Figure:
    """Draw published numbers (open) and ours (filled), joined: a line for each case, a panel for each quantity.

    Parameters
    ----------
    frame : DataFrame
        Columns ``published`` and ``ours``, and those that are named below. A number that one side lacks is left out.
    lines : sequence of str
        Columns whose values together name a line.
    quantities : dict of str to str
        The label of the axis, with its unit, by value of `quantity`; one alone if there is no such column.
    quantity : str
        Column of what has a panel of its own.
    kinds : dict of str to str, optional
        What to call values of `kind`; the first has the first look, whichever of them are drawn.
    kind : str
        Column of what colour and marker tell apart; at most four kinds.
    log : sequence of str
        Quantities whose axis is logarithmic.
    """
    numbers, kinds = frame.dropna(subset=["published", "ours"]), kinds or {"": ""}
    names = numbers[list(lines)].agg(", ".join, axis=1)
    order = pd.Index(names.unique())
    looks = {key: look for key, look in zip(kinds, LINES, strict=False) if not kind or (numbers[kind] == key).any()}
    width = 6.6 / len(quantities) if len(quantities) > 1 else 5.6
    height = 1.1 + 0.17 * len(order) * max(len(looks), 2)
    figure, axes = panels(1, len(quantities), width=width, height=height, sharey=True)
    for axis, (part, label) in zip(axes, quantities.items(), strict=True):
        own = numbers[numbers[quantity] == part] if quantity else numbers
        for number, (key, look) in enumerate(looks.items()):
            points = own[own[kind] == key] if kind else own
            place = order.get_indexer(names[points.index]) + PITCH * (number - (len(looks) - 1) / 2)
            color, marker = look["color"], look["marker"]
            axis.hlines(place, points["published"], points["ours"], color=color, linewidth=0.8)
            axis.scatter(points["published"], place, s=44, facecolors="white", edgecolors=color, marker=marker)
            axis.scatter(points["ours"], place, s=14, color=color, marker=marker, zorder=3)
        _scale(axis, own[["published", "ours"]].to_numpy(), log=part in log)
        axis.set_xlabel(label)
    axes[0].set_yticks(range(len(order)), [name.capitalize() for name in order])
    axes[0].invert_yaxis()
    sides = ("published", "our result")
    handles = [_handle(kinds[key], side, look) for key, look in looks.items() for side in sides]
    legend_above(figure, handles=handles, n_columns=max(len(looks), 2))
    return figure


def _handle(name, side, look) -> Line2D:
    is_open, color = side == "published", look["color"]
    shape = {"marker": look["marker"], "markersize": 6.5 if is_open else 4, "mfc": "white" if is_open else color}
    return Line2D([], [], linestyle="", color=color, label=", ".join(filter(None, (name, side))), **shape)


def _scale(axis, values: np.ndarray, *, log: bool) -> None:
    """Let an axis of numbers begin at 0, or be logarithmic, with 0 where there is one; write numbers in full."""
    positive = values[values > 0]
    if not log or not len(positive):
        axis.set_xlim(left=min(0, values.min(initial=0)))
        axis.xaxis.set_major_formatter("{x:,.5g}")
    elif (values == 0).any():
        axis.set_xscale("symlog", linthresh=10 ** np.floor(np.log10(positive.min())))
        axis.xaxis.set_major_formatter("{x:,.10g}")
    else:
        axis.set_xscale("log")
        axis.set_xlim(positive.min() / 1.4, positive.max() * 1.4)
        log_ticks(axis.xaxis)
