"""Plots of this paper alone: its simulated people, its maps over weights, and rates of simulated tests."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from fairlab.individual_fairness.ratio_tests import FOUR_FIFTHS
from fairlab.plotting import BLACK, BLUE, GREY, LINES, ORANGE, legend_above, legend_beside, panels

SCALE = (0.9, 2.2)  # ends of the authors' colour scale


def group_scatter(X: pd.DataFrame, y, groups) -> Figure:
    """Draw people in the plane, marker by group and colour by label (figure 3).

    Parameters
    ----------
    X : DataFrame of shape (n_points, 2)
    y : array-like of shape (n_points,)
        Labels 0 and 1.
    groups : array-like of shape (n_points,)
        Two groups.
    """
    figure, (axis,) = panels(1, 1, width=5.6, height=3.4)
    groups = np.asarray(groups)
    for group, marker in zip(np.unique(groups), "o^", strict=True):
        for label, color in ((0, BLUE), (1, ORANGE)):
            chosen = (groups == group) & (np.asarray(y) == label)
            look = {"color": color, "marker": marker, "linestyle": "", "markersize": 4, "alpha": 0.7}
            axis.plot(*X[chosen].to_numpy().T, **look, label=f"{group}, label {label} ({chosen.sum()})")
    axis.set(xlabel=X.columns[0], ylabel=X.columns[1])
    legend_beside(axis)
    return figure


def weight_maps(maps: Mapping[str, pd.DataFrame], *, limits=SCALE, threshold: float = FOUR_FIFTHS) -> Figure:
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
    figure, axes = panels(1, len(maps), width=3.6, height=3.4, sharey=True)
    norm = TwoSlopeNorm(threshold, *limits)
    for axis, (title, bounds) in zip(axes, maps.items(), strict=True):
        theta_1, theta_2, values = bounds.index.to_numpy(float), bounds.columns.to_numpy(float), bounds.to_numpy()
        image = axis.pcolormesh(theta_1, theta_2, values.T, cmap="RdBu_r", norm=norm, shading="nearest")
        if values.min() < threshold < values.max():
            axis.contour(theta_1, theta_2, values.T, [threshold], colors=BLACK, linewidths=1.2)
        axis.set(title=title, xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set_ylabel(r"$\theta_2$")
    ticks = [limits[0], threshold, limits[1]]
    figure.colorbar(image, ax=list(axes), extend="both", label="lower bound $T_n$", ticks=ticks)
    return figure


def rate_curves(tables: Mapping[str, pd.DataFrame], *, xlabel: str, ylabel: str, reference: float) -> Figure:
    """Draw rates of simulated tests over a log axis with their Monte Carlo error, one panel per setting.

    Parameters
    ----------
    tables : dict of str to DataFrame
        Per panel, its title, and columns ``curve``, ``x``, ``rate`` and ``error`` (half-width of a 95% interval).
    xlabel, ylabel : str
    reference : float
        Nominal rate, drawn as a line.
    """
    figure, axes = panels(1, len(tables), width=3.8, height=3.2, sharey=True)
    order = list(dict.fromkeys(curve for table in tables.values() for curve in table["curve"]))  # alike in all panels
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        for curve, rows in table.groupby("curve", sort=False):
            look = LINES[order.index(curve)]
            axis.errorbar(rows["x"], rows["rate"], rows["error"], **look, markersize=4, capsize=2, label=curve)
        axis.axhline(reference, color=GREY, linewidth=1, label=f"nominal {reference:g}")
        axis.set(title=title, xlabel=xlabel, xscale="log")
        axis.set_xticks(table["x"].unique(), table["x"].unique())
        axis.set_xticks([], minor=True)
    axes[0].set_ylabel(ylabel)
    legend_above(figure, axes[0], n_columns=min(len(order) + 1, 3))
    return figure
