"""The figures of inference for individual fairness: simulated people, maps over weights, statistics against time.

Colours are safe for colour-blind readers, and every distinction of a few kinds is also one of marker or line style.
Figures are closed for pyplot, so that a notebook shows them once.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from fairlab.fliptest.figures import BLUE, GREEN, GREY, ORANGE, VERMILION
from fairlab.individual_fairness.ratio_tests import FOUR_FIFTHS

_LINES = (
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": "--", "marker": "^"},
    {"color": GREEN, "linestyle": "-.", "marker": "s"},
    {"color": ORANGE, "linestyle": ":", "marker": "D"},
)


def group_scatter(X: pd.DataFrame, y, groups) -> Figure:
    """Draw people in the plane, marker by group and colour by label (figure 3).

    Parameters
    ----------
    X : DataFrame of shape (n_points, 2)
    y : array-like of shape (n_points,)
        Labels 0 and 1.
    groups : array-like of shape (n_points,)
    """
    figure, axis = _panels(1, width=5.6, height=3.4)
    groups = np.asarray(groups)
    for group, marker in zip(np.unique(groups), "o^", strict=True):
        for label, color in ((0, BLUE), (1, ORANGE)):
            chosen = (groups == group) & (np.asarray(y) == label)
            look = {"color": color, "marker": marker, "linestyle": "", "markersize": 4, "alpha": 0.7}
            axis[0].plot(*X[chosen].to_numpy().T, **look, label=f"{group}, label {label} ({chosen.sum()})")
    axis[0].set(xlabel=X.columns[0], ylabel=X.columns[1])
    axis[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def weight_maps(maps: Mapping[str, pd.DataFrame], *, limits=(0.9, 2.2), threshold: float = FOUR_FIFTHS) -> Figure:
    """Draw the lower bounds of models over a grid of their weights, with the boundary of acceptance (figure 1).

    Parameters
    ----------
    maps : dict of str to DataFrame
        Per panel, its title, and bounds with theta_1 in the index and theta_2 in the columns.
    limits : (float, float)
        Ends of the colour scale; values beyond have the colour of the end.
    threshold : float
        Centre of the scale, where the contour is.
    """
    figure, axes = _panels(len(maps), width=3.6, height=3.4, sharey=True)
    norm = TwoSlopeNorm(threshold, *limits)
    for axis, (title, bounds) in zip(axes, maps.items(), strict=True):
        theta_1, theta_2 = bounds.index.to_numpy(float), bounds.columns.to_numpy(float)
        image = axis.pcolormesh(theta_1, theta_2, bounds.to_numpy().T, cmap="RdBu_r", norm=norm, shading="nearest")
        if bounds.to_numpy().min() < threshold < bounds.to_numpy().max():
            axis.contour(theta_1, theta_2, bounds.to_numpy().T, [threshold], colors="black", linewidths=1.2)
        axis.set(title=title, xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set_ylabel(r"$\theta_2$")
    figure.colorbar(image, ax=axes, extend="both", label="lower bound $T_n$", ticks=[limits[0], threshold, limits[1]])
    return figure


def stopping_time_curves(
    bounds: pd.DataFrame, *, labels: Mapping[str, str] | None = None, threshold: float = FOUR_FIFTHS
) -> Figure:
    """Draw lower bounds against the stopping time on log-log axes, with their range over splits (figure 2).

    Parameters
    ----------
    bounds : DataFrame
        Columns ``method``, ``time`` and ``lower_bound``, one row per split.
    labels : dict of str to str, optional
        What to call a method. Default: its name.
    threshold : float
        Drawn as a line.
    """
    figure, (axis,) = _panels(1, width=5.2, height=3.6)
    for (method, rows), look in zip(bounds.groupby("method", sort=False), _LINES, strict=False):
        over_splits = rows.groupby("time")["lower_bound"].agg(["mean", "min", "max"])
        axis.plot(over_splits["mean"], **look, markersize=4, label=(labels or {}).get(method, method))
        axis.fill_between(over_splits.index, over_splits["min"], over_splits["max"], color=look["color"], alpha=0.15)
    axis.axhline(threshold, color="black", linewidth=1, label=f"threshold {threshold:g}")
    axis.set(xscale="log", yscale="log", xlabel="stopping time T", ylabel="lower bound $T_n$")
    _plain_log_ticks(axis)
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def rate_curves(
    panels: Mapping[str, pd.DataFrame], *, xlabel: str, ylabel: str, reference: float, styles: Sequence[str] = ()
) -> Figure:
    """Draw rates of simulated tests over a log axis with their Monte Carlo error, one panel per setting.

    Parameters
    ----------
    panels : dict of str to DataFrame
        Per panel, its title, and columns ``curve``, ``x``, ``rate`` and ``error`` (half-width of a 95% interval).
    xlabel, ylabel : str
    reference : float
        Nominal rate, drawn as a line.
    styles : sequence of str
        Order of the curves, so that all panels show them alike. Default: as they occur.
    """
    figure, axes = _panels(len(panels), width=3.8, height=3.2, sharey=True)
    order = list(styles) or list(dict.fromkeys(c for table in panels.values() for c in table["curve"]))
    for axis, (title, table) in zip(axes, panels.items(), strict=True):
        for curve, rows in table.groupby("curve", sort=False):
            look = _LINES[order.index(curve)]
            axis.errorbar(rows["x"], rows["rate"], rows["error"], **look, markersize=4, capsize=2, label=curve)
        axis.axhline(reference, color=GREY, linewidth=1, label=f"nominal {reference:g}")
        axis.set(title=title, xlabel=xlabel, xscale="log")
        axis.set_xticks(table["x"].unique(), table["x"].unique())
        axis.set_xticks([], minor=True)
    axes[0].set_ylabel(ylabel)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(len(names), 3), frameon=False)
    return figure


def _panels(n_columns: int, *, width: float, height: float, **share) -> tuple[Figure, np.ndarray]:
    figure, axes = plt.subplots(1, n_columns, figsize=(width * n_columns, height), layout="constrained", **share)
    plt.close(figure)
    axes = np.atleast_1d(axes)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _plain_log_ticks(axis) -> None:
    """Write the numbers of two log axes as they are; the upright one spans little."""
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")
    axis.yaxis.set_major_formatter("{x:g}")
    low, high = axis.get_ylim()
    ticks = [tick for tick in (1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32) if low <= tick <= high]
    axis.set_yticks(ticks)
    axis.set_yticks([], minor=True)
