"""The paper's plots: bounds over stopping times and over weights, simulated people, and rates of simulated tests."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from fairlab.individual_fairness.auditing import FOUR_FIFTHS
from fairlab.plotting import (
    BLACK,
    BLUE,
    GREY,
    LINES,
    ORANGE,
    legend_above,
    legend_beside,
    listed,
    log_ticks,
    panels,
    titled,
)

SCALE = (0.9, 2.2)  # ends of the authors' colour scale
ASIDE = 1.04  # the next curve stands so many times further right, that none hides another


def group_scatter(frame: pd.DataFrame) -> Figure:
    """Draw people in the plane, marker by group and colour by label (figure 3).

    Parameters
    ----------
    frame : DataFrame
        Two columns of coordinates, then ``group`` (two of them) and ``label`` (0 or 1).
    """
    figure, (axis,) = panels(1, 1, width=6.2, height=3.4)
    across, up = frame.columns[:2]
    for group, marker in zip(np.unique(frame["group"]), "o^", strict=True):
        for label, color in ((0, BLUE), (1, ORANGE)):
            chosen = frame[(frame["group"] == group) & (frame["label"] == label)]
            look = {"color": color, "marker": marker, "linestyle": "", "markersize": 4, "alpha": 0.7}
            axis.plot(chosen[across], chosen[up], **look, label=f"{group}, label {label} ({len(chosen)})")
    axis.set(xlabel=f"coordinate {across} (no unit)", ylabel=f"coordinate {up} (no unit)")
    legend_beside(axis)
    means = frame.groupby(["group", "label"])[across].mean().unstack("label")
    zero, one = means.columns
    sides = np.where(means[one] < means[zero], "left", "right")
    said = [f"to the {side} in the {group}" for group, side in zip(means.index, sides, strict=True)]
    return titled(figure, f"On average label {one} lies, seen from label {zero}, {listed(said)}.")


def weight_maps(frame: pd.DataFrame, *, limits: Sequence[float] = SCALE, threshold: float = FOUR_FIFTHS) -> Figure:
    """Draw the lower bounds of models over a grid of their weights, with the boundary of acceptance (figure 1).

    Parameters
    ----------
    frame : DataFrame
        Columns ``degrees`` (that the metric is turned by; one panel each), ``theta_1``, ``theta_2``, ``lower_bound``.
    limits : (float, float)
        Ends of the colour scale; values beyond have the colour of the end.
    threshold : float
        Centre of the scale, where the contour is.
    """
    maps = {degrees: rows.pivot(index="theta_1", columns="theta_2") for degrees, rows in frame.groupby("degrees")}
    figure, axes = panels(1, len(maps), width=6.6 / len(maps), height=3.1, sharey=True)
    norm = TwoSlopeNorm(threshold, *limits)
    for axis, (degrees, rows) in zip(axes, maps.items(), strict=True):
        bounds = rows["lower_bound"]
        theta_1, theta_2, values = bounds.index.to_numpy(float), bounds.columns.to_numpy(float), bounds.to_numpy()
        image = axis.pcolormesh(theta_1, theta_2, values.T, cmap="RdBu_r", norm=norm, shading="nearest")
        if values.min() < threshold < values.max():
            axis.contour(theta_1, theta_2, values.T, [threshold], colors=BLACK, linewidths=1.2)
        axis.set_title(f"metric turned by {degrees:g}°", fontsize="medium")
        axis.set(xlabel=r"weight $\theta_1$", aspect="equal")
    axes[0].set_ylabel(r"weight $\theta_2$")
    label, ticks = "lower bound $T_n$ (ratio of losses)", [limits[0], threshold, limits[1]]
    figure.colorbar(
        image, ax=list(axes), extend="both", label=label, ticks=ticks, location="bottom", shrink=0.5, pad=0.03
    )
    accepted = frame["lower_bound"].le(threshold).groupby(frame["degrees"]).mean()
    said = [f"{share:.0%} ({degrees:g}°)" for degrees, share in accepted.items()]
    return titled(figure, f"Models accepted, with a lower bound of at most {threshold:g}: {listed(said)}.")


def rate_curves(frame: pd.DataFrame, *, xlabel: str, ylabel: str, reference: float) -> Figure:
    """Draw rates of simulated tests over a log axis with their Monte Carlo error, one panel per setting.

    Parameters
    ----------
    frame : DataFrame
        Columns ``panel`` (its title), ``curve``, ``x``, ``rate`` and ``error`` (half-width of a 95% interval).
    xlabel, ylabel : str
    reference : float
        Nominal rate, drawn as a line.
    """
    titles, order = frame["panel"].unique(), list(frame["curve"].unique())  # curves look alike in all panels
    rows = -(-len(titles) // 3)
    columns = -(-len(titles) // rows)
    figure, axes = panels(rows, columns, width=6.6 / columns, height=2.2 if rows > 1 else 3, sharex=True, sharey=True)
    for axis, title in zip(axes, titles, strict=False):
        of_panel = frame[frame["panel"] == title]
        for curve, points in of_panel.groupby("curve", sort=False):
            look, aside = LINES[order.index(curve)], ASIDE ** (order.index(curve) - (len(order) - 1) / 2)
            axis.errorbar(
                points["x"] * aside, points["rate"], points["error"], **look, markersize=4, capsize=2, label=curve
            )
        axis.axhline(reference, color=GREY, linewidth=1, label=f"nominal {reference:g}")
        axis.set_xscale("log")
        axis.set_title(title, fontsize="medium")
        axis.set_xticks(of_panel["x"].unique(), [f"{x:,}" for x in of_panel["x"].unique()], rotation=30)
        axis.set_xticks([], minor=True)
    for axis in axes[len(titles) :]:
        axis.set_visible(False)
    for axis in axes[::columns]:
        axis.set_ylabel(ylabel)
    for axis in axes[-columns:]:
        axis.set_xlabel(xlabel)
    legend_above(figure, axes[0], n_columns=min(len(order) + 1, 3))
    above = (frame["rate"] - frame["error"] > reference).groupby(frame["x"]).agg(["sum", "count"])
    said = [f"{n} of {of} with {people:,} people" for people, (n, of) in above.iloc[[0, -1]].iterrows()]
    return titled(figure, f"Rates above {reference:g} by more than their error: {listed(said)}.")


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
    log_ticks(axis.xaxis)
    log_ticks(axis.yaxis)
    legend_beside(axis)
    means = bounds.groupby(["method", "time"])["lower_bound"].mean().groupby("method").last()
    sides = {"above": means > threshold, "below": means <= threshold}
    names = {side: listed([labels[method] for method in labels if of.get(method)]) for side, of in sides.items()}
    return titled(
        figure,
        f"At the longest time the mean bound is above {threshold:g} for {names['above'] or 'no model'} and not for "
        f"{names['below'] or 'any other'}.",
    )
