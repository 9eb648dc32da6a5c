"""Figures of ADF: how what a search finds grows, and counts beside the published ones.

Colours are of Okabe and Ito's palette, and every distinction is also one of line style or marker. Figures are closed
for pyplot, so that a notebook shows them once.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
_CURVES = {
    "inputs": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "discriminatory": {"color": VERMILION, "linestyle": "--", "marker": "^"},
}
_METHODS = {
    "ADF": {"color": BLUE, "marker": "o"},
    "Aequitas": {"color": VERMILION, "marker": "^"},
    "SG": {"color": GREEN, "marker": "s"},
}


def growth_curves(
    growth: Mapping[str, Sequence[pd.DataFrame]], published: Mapping[str, pd.DataFrame] | None = None
) -> Figure:
    """Draw distinct inputs and discriminatory ones by the number of seeds, one panel per method (figure 3).

    Parameters
    ----------
    growth : dict of str to list of DataFrame
        By the name of the method, one table per run, as `SearchResult.growth` gives it.
    published : dict of str to DataFrame, optional
        The same read off the published figure, drawn as points.
    """
    figure, axes = plt.subplots(len(growth), 1, figsize=(8, 2.9 * len(growth)), layout="constrained", squeeze=False)
    for axis, (method, runs) in zip(axes[:, 0], growth.items(), strict=True):
        for column, style in _CURVES.items():
            line = {key: style[key] for key in ("color", "linestyle")}
            for number, run in enumerate(runs):
                label = f"{column}, ours" if number == 0 else None
                axis.plot(run.index, run[column], linewidth=1.4, label=label, **line)
            if published and method in published:
                points = published[method][column]
                mark = {"color": style["color"], "marker": style["marker"], "facecolors": "none"}
                axis.scatter(points.index, points, s=28, label=f"{column}, published", **mark)
        axis.set(title=method, ylabel="distinct inputs")
        axis.set_ylim(bottom=0)
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    axes[-1, 0].set_xlabel("seeds explored")
    plt.close(figure)
    return figure


def beside_published(counts: pd.DataFrame, *, label: str, log: bool = True) -> Figure:
    """Draw our counts against the published ones, one point per benchmark and method, with the line of equality.

    Parameters
    ----------
    counts : DataFrame
        Columns method (ADF, Aequitas or SG), benchmark, published, ours.
    label : str
        What is counted, with its unit.
    log : bool
        Whether both axes are logarithmic.
    """
    figure, axis = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
    for method, points in counts.groupby("method", sort=False):
        axis.scatter(points["published"], points["ours"], s=36, label=method, alpha=0.85, **_METHODS[method])
    if log:
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1)  # a count may be 0
        axis.xaxis.set_minor_formatter(NullFormatter())
    ends = counts["published"].agg(["min", "max"])
    axis.plot(ends, ends, color="black", linewidth=0.8, linestyle=":", label="equal")
    axis.set(xlabel=f"{label}, published", ylabel=f"{label}, ours")
    axis.legend(fontsize="small", loc="upper left")
    plt.close(figure)
    return figure


def ratios_by_network(ratios: pd.DataFrame, published: Mapping[str, float]) -> Figure:
    """Draw how many times as much ADF finds as another method, network by network.

    Parameters
    ----------
    ratios : DataFrame
        Columns benchmark, network, ratio; the network named authors is marked apart from the others.
    published : dict of str to float
        By benchmark; drawn as a line.
    """
    figure, axis = plt.subplots(figsize=(8.8, 3.4), layout="constrained")
    place = ratios["benchmark"].map({name: number for number, name in enumerate(published)})
    authors = ratios["network"] == "authors"
    axis.scatter(place[authors], ratios["ratio"][authors], s=50, color=BLUE, marker="o", label="authors' network")
    axis.scatter(
        place[~authors] + 0.15, ratios["ratio"][~authors], s=36, color=VERMILION, marker="^", label="trained here"
    )
    axis.scatter(range(len(published)), published.values(), s=260, color="black", marker="_", label="published")
    axis.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axis.set_yscale("log")
    axis.set_xticks(range(len(published)), published)
    axis.set(ylabel="ADF's finds over Aequitas'")
    axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    plt.close(figure)
    return figure


def shares_by_method(before: Mapping[str, float], after: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the share of discriminatory inputs before and after retraining, one panel per benchmark (table 10).

    Parameters
    ----------
    before : dict of str to float
        By benchmark; drawn as a line.
    after : dict of str to DataFrame
        By benchmark: one row per repetition, one column per kind of inputs that were added.
    """
    n_rows = -(-len(after) // 3)
    figure, axes = plt.subplots(n_rows, 3, figsize=(8.4, 2.5 * n_rows), layout="constrained", squeeze=False)
    for axis in axes.flat[len(after) :]:
        axis.set_visible(False)
    for axis, (name, shares) in zip(axes.flat, after.items(), strict=False):
        axis.axhline(100 * before[name], color="black", linewidth=0.8, linestyle=":", label="before")
        for place, column in enumerate(shares):
            axis.scatter([place] * len(shares), 100 * shares[column], s=16, color=BLUE, alpha=0.7)
            axis.scatter(place, 100 * shares[column].mean(), s=180, color=VERMILION, marker="_")
        axis.set_xticks(range(shares.shape[1]), shares.columns, fontsize="small")
        axis.set(title=name, xlim=(-0.5, shares.shape[1] - 0.5))
        axis.set_ylim(0, 110 * max(before[name], shares.max(axis=None)) or 1)
    for axis in axes[:, 0]:
        axis.set_ylabel("discriminatory\nshare (%)")
    axes[0, 0].legend(fontsize="small", loc="lower left")
    plt.close(figure)
    return figure
