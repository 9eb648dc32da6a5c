"""Figures of the experiments on ADF: counts beside the published ones, other networks, and retraining."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from fairlab.plotting import BLACK, LINES, legend_beside, panels

# One colour and marker for each method, wherever several are drawn.
MARKS = {
    method: {"color": line["color"], "marker": line["marker"]}
    for method, line in zip(("ADF", "Aequitas", "SG"), LINES, strict=False)
}
REFERENCE = {"color": BLACK, "linewidth": 0.8, "linestyle": ":"}


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
    figure, [axis] = panels(1, 1, width=5.2, height=4.6)
    for method, points in counts.groupby("method", sort=False):
        axis.scatter(points["published"], points["ours"], s=36, label=method, alpha=0.85, **MARKS[method])
    if log:
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1)  # a count may be 0
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(LogLocator(subs=(1, 2, 5)))
            side.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            side.set_minor_formatter(NullFormatter())
    ends = counts["published"].agg(["min", "max"])
    axis.plot(ends, ends, label="equal", **REFERENCE)
    axis.set(xlabel=f"{label}, published", ylabel=f"{label}, ours")
    axis.legend(fontsize="small", loc="upper left")
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
