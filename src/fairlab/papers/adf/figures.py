"""Figures of the experiments on ADF: counts beside the published ones, other networks, and retraining."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from fairlab.plotting import BLACK, LINES, legend_beside, panels

# One colour and marker for each method, wherever several are drawn.
MARKS = {
    method: {"color": line["color"], "marker": line["marker"]}
    for method, line in zip(("ADF", "Aequitas", "SG"), LINES, strict=False)
}
REFERENCE = {"color": BLACK, "linewidth": 0.8, "linestyle": ":"}


def beside_published(counts: pd.DataFrame, *, label: str, log: bool = True) -> Figure:
    """Draw our counts beside the published ones, a row for each benchmark: open markers are published, filled are ours.

    Parameters
    ----------
    counts : DataFrame
        Columns method (ADF, Aequitas or SG), benchmark, published, ours.
    label : str
        What is counted, with its unit.
    log : bool
        Whether the axis is logarithmic.
    """
    benchmarks = pd.Index(counts["benchmark"].unique())
    methods = counts["method"].unique()
    figure, [axis] = panels(1, 1, width=6.4, height=1.2 + 0.2 * len(benchmarks) * len(methods))
    for number, method in enumerate(methods):
        points, look = counts[counts["method"] == method], MARKS[method]
        place = benchmarks.get_indexer(points["benchmark"]) + 0.25 * (number - (len(methods) - 1) / 2)
        axis.hlines(place, points["published"], points["ours"], color=look["color"], linewidth=0.8)
        edge = {"marker": look["marker"], "facecolors": "white", "edgecolors": look["color"]}
        axis.scatter(points["published"], place, s=44, label=f"{method}, published", **edge)
        axis.scatter(points["ours"], place, s=20, label=f"{method}, ours", **look)
    if log:
        axis.set_xscale("symlog", linthresh=1)  # a count may be 0
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axis.tick_params(axis="x", rotation=30)
    axis.set_yticks(range(len(benchmarks)), benchmarks)
    axis.invert_yaxis()
    axis.set(xlabel=label)
    legend_beside(axis, fontsize="small")
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
    figure, [axis] = panels(1, 1, width=8.8, height=3.4)
    place = ratios["benchmark"].map({name: number for number, name in enumerate(published)})
    authors = ratios["network"] == "authors"
    first, second = MARKS["ADF"], MARKS["Aequitas"]
    axis.scatter(place[authors], ratios["ratio"][authors], s=50, label="authors' network", **first)
    axis.scatter(place[~authors] + 0.15, ratios["ratio"][~authors], s=36, label="trained here", **second)
    axis.scatter(range(len(published)), published.values(), s=260, color=BLACK, marker="_", label="published")
    axis.axhline(1, **REFERENCE)
    axis.set_yscale("log")
    axis.set_xticks(range(len(published)), published)
    axis.set(ylabel="ADF's finds over Aequitas'")
    legend_beside(axis, fontsize="small")
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
    figure, axes = panels(-(-len(after) // 3), 3, width=2.8, height=2.5)
    for axis in axes[len(after) :]:
        axis.set_visible(False)
    for axis, (name, shares) in zip(axes, after.items(), strict=False):
        axis.axhline(100 * before[name], label="before", **REFERENCE)
        for place, column in enumerate(shares):
            axis.scatter([place] * len(shares), 100 * shares[column], s=16, color=MARKS["ADF"]["color"], alpha=0.7)
            axis.scatter(place, 100 * shares[column].mean(), s=180, color=MARKS["Aequitas"]["color"], marker="_")
        axis.set_xticks(range(shares.shape[1]), shares.columns, fontsize="small")
        axis.set(title=name, xlim=(-0.5, shares.shape[1] - 0.5))
        axis.set_ylim(0, 110 * max(before[name], shares.max(axis=None)) or 1)
    for axis in axes[::3]:
        axis.set_ylabel("discriminatory\nshare (%)")
    axes[0].legend(fontsize="small", loc="lower left")
    return figure
