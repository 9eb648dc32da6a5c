"""The plot of published numbers and our results, from `Experiment.beside`."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairlab.plotting import LINES, legend_above, listed, log_ticks, panels, rounded, span, titled

PITCH = 0.24  # of a line, between kinds
CLOSE = 0.1  # relative difference of numbers that the title counts as close


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
        Columns ``published`` and ``ours``, and those that are named below; one of the two may be missing.
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
    numbers, kinds = frame.dropna(subset=["published", "ours"], how="all"), kinds or {"": ""}
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
    axes[0].set_yticks(range(len(order)), [name[:1].upper() + name[1:] for name in order])
    axes[0].invert_yaxis()
    sides = ("published", "ours")
    handles = [_handle(kinds[key], side, look) for key, look in looks.items() for side in sides]
    legend_above(figure, handles=handles, n_columns=max(len(looks), 2))
    label = numbers[quantity].map(quantities) if quantity else next(iter(quantities.values()))
    both = numbers.assign(line=names, label=label).dropna(subset=["published", "ours", "label"])
    return titled(figure, _factors(both, kind, {key: kinds[key] for key in looks}) or _closeness(both))


def _closeness(numbers: pd.DataFrame) -> str:
    """Say how many of our numbers are close to the published ones, and which is furthest off."""
    published, ours = numbers["published"], numbers["ours"]
    far = (ours - published).abs() / published.abs().clip(lower=np.finfo(float).tiny)
    far[ours == published] = 0.0
    said = f"{(far <= CLOSE).sum()} of {len(far)} numbers lie within {CLOSE:.0%} of the published ones"
    if far.max() <= CLOSE or not len(far):
        return f"{said}."
    worst = numbers.loc[far.idxmax()]
    name = ", ".join([worst["line"], worst["label"].partition(" (")[0]][: numbers["label"].nunique()])
    return f"{said}; furthest off is {name}: {rounded(worst['ours'])}, published {rounded(worst['published'])}."


def _factors(numbers: pd.DataFrame, kind: str, names: Mapping[str, str]) -> str:
    """Say how many times the numbers of the others the first kind has, where that is most; nothing without others."""
    if not kind:
        return ""
    sides = numbers.pivot(index=["label", "line"], columns=kind, values=["published", "ours"])
    first, *others = [key for key in names if key in sides.columns.levels[1]]
    times = {other: (sides.xs(first, axis=1, level=1) / sides.xs(other, axis=1, level=1)).dropna() for other in others}
    if not any(len(factor) for factor in times.values()):
        return ""
    label = pd.concat(times)["published"].groupby(level="label").median().idxmax()
    of_label = {names[key]: factor.loc[label] for key, factor in times.items() if label in factor.index}
    said = [
        f"{span(factor['ours'])} times those of {name} (published: {span(factor['published'])})"
        for name, factor in of_label.items()
    ]
    return f"{label[:1].upper()}{label[1:]}: those of {names[first]} are {listed(said)}."


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
