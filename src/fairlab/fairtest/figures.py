"""The figures of FairTest: associations as heat maps, box plots and intervals, and the guided tree.

Colours come from maps that are readable without colour vision, and what they stand for is also written or can be read
off an axis. Figures are closed for pyplot, so that a notebook shows them once.
"""

from collections.abc import Iterable, Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.fairtest.finding import SIGNIFICANCE, Association
from fairlab.fairtest.reporting import contingency_table
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tree import Node

COLORS = "cividis"
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#999999"
DECADE = 10


def associations(samples: Mapping[str, Sample], *, groups: Iterable[str] | None = None) -> Figure:
    """Draw the association in some contexts the way its columns call for: as heat maps, else as box plots.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to write above each.
    groups : iterable of str, optional
        For heat maps, the protected groups to show. Default: all.

    Raises
    ------
    ValueError
        If there is no sample, or for box plots if the output is categorical.
    """
    if not samples:
        raise ValueError("samples: expected at least one, found none")
    columns = [column for sample in samples.values() for column in (sample.output, sample.protected)]
    if all(column.is_categorical for column in columns):
        return contingency_heat_maps(samples, groups=groups)
    return box_plots(samples)


def contingency_heat_maps(samples: Mapping[str, Sample], *, groups: Iterable[str] | None = None) -> Figure:
    """Draw contingency tables side by side: the share of each output within each group as colour, counts as text.

    Parameters are those of `associations`, of samples with categorical columns.
    """
    tables = [contingency_table(sample).drop(index="Total", columns="Total") for sample in samples.values()]
    shown = [table if groups is None else table[list(groups)] for table in tables]
    n_outputs, n_groups = shown[0].shape
    n_lines = max(title.count("\n") for title in samples) + 1
    width, height = max(2.6, 1.0 * n_groups + 0.4), 0.8 + 0.25 * n_lines + 0.6 * n_outputs + 0.6 * (n_groups > 3)
    figure, axes = _panels(len(shown), width=width, height=height, sharey=True)
    for axis, title, table in zip(axes, samples, shown, strict=True):
        counts = table.to_numpy()
        shares = counts / np.maximum(counts.sum(axis=0), 1)
        axis.imshow(shares, cmap=COLORS, vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            text = f"{counts[row, column]:,}\n{share:.0%}"
            axis.text(column, row, text, ha="center", va="center", color="black" if share > 0.5 else "white")
        tilt = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if n_groups > 3 else {}
        axis.set_xticks(range(n_groups), table.columns, **tilt)
        axis.set_yticks(range(n_outputs), table.index)
        axis.set(title=title, xlabel=table.columns.name)
    axes[0].set_ylabel(shown[0].index.name)
    return figure


def box_plots(samples: Mapping[str, Sample]) -> Figure:
    """Draw the distribution of a continuous output by protected group, or by decade of a continuous attribute.

    Boxes span the quartiles, whiskers 1.5 times the quartiles' distance; points beyond are left out. For a continuous
    attribute, a box stands at the mean of its decade's people, and the line is that of least squares. Parameters are
    those of `associations`.
    """
    figure, axes = _panels(len(samples), width=4.2, height=3.4, sharey=True)
    for axis, (title, sample) in zip(axes, samples.items(), strict=True):
        protected, output = sample.protected, sample.output
        if output.is_categorical:
            raise ValueError(f"column {output.name!r} has categories, box plots need a continuous output")
        if protected.is_categorical:
            members = {name: output.values[protected.values == i] for i, name in enumerate(protected.categories)}
            positions = np.arange(len(members), dtype=float)
            width = 0.6
        else:
            decade = np.floor(protected.values / DECADE).astype(int)
            members = {f"{DECADE * d}–{DECADE * (d + 1) - 1}": output.values[decade == d] for d in np.unique(decade)}
            positions = [protected.values[decade == d].mean() for d in np.unique(decade)]
            width = 0.6 * DECADE
            slope, intercept = np.polyfit(protected.values, output.values, 1)
            ends = np.array([protected.values.min(), protected.values.max()])
            axis.plot(ends, intercept + slope * ends, color=VERMILION, linestyle="--", label="least squares")
        look = {"boxprops": {"facecolor": BLUE, "alpha": 0.4}, "medianprops": {"color": "black"}}
        axis.boxplot(
            list(members.values()),
            positions=positions,
            widths=width,
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            **look,
        )
        axis.set_xticks(positions, members, rotation=30 if len(members) > 4 else 0)
        axis.set(title=title, xlabel=protected.name)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(next(iter(samples.values())).output.name)
    if lines := axes[0].get_legend_handles_labels()[0]:
        figure.legend(handles=lines, loc="outside upper right", frameon=False)
    return figure


def intervals(associations: Mapping[str, Association], *, xlabel: str, no_association: float = 0.0) -> Figure:
    """Draw corrected intervals under one another, with their p-values; those that are significant are filled.

    Parameters
    ----------
    associations : dict of str to Association
        By name, from the top down. One without anybody is left out.
    xlabel : str
        What the intervals are of, with its unit.
    no_association : float
        Where to draw the line of no association.
    """
    shown = {name: association for name, association in associations.items() if association.size}
    figure, [axis] = _panels(1, width=6.4, height=1.0 + 0.32 * len(shown), sharey=False)
    for line, association in enumerate(shown.values()):
        significant = association.p_value <= SIGNIFICANCE
        color = VERMILION if significant else BLUE
        axis.plot([association.low, association.high], [line, line], color=color, linewidth=2)
        middle = (association.low + association.high) / 2
        axis.plot(middle, line, "o", color=color, markerfacecolor=color if significant else "white")
        words = f"p = {association.p_value:.2g}, n = {association.size:,}"
        axis.text(1.02, line, words, transform=axis.get_yaxis_transform(), va="center", size=9)
    axis.axvline(no_association, color="black", linewidth=0.8, linestyle=":")
    axis.set_yticks(range(len(shown)), shown)
    axis.set_xlabel(xlabel)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def guided_tree(root: Node, *, max_depth: int = 3, reported: Iterable[Node] = (), strength: str = "effect") -> Figure:
    """Draw a tree from left to right, every subpopulation on a line of its own.

    The area of a mark grows with the number of people in training, its colour with the association; hollow marks have
    none. Names of reported subpopulations are bold.

    Parameters
    ----------
    root : Node
    max_depth : int
        How many levels below the root to draw.
    reported : iterable of Node
    strength : str
        What to call the association, with the metric's name.
    """
    nodes = [node for node in root.walk() if len(node.ancestors) <= max_depth]
    place = {id(node): (len(node.ancestors), -line) for line, node in enumerate(nodes)}
    bold = {id(node) for node in reported}
    figure, axis = plt.subplots(figsize=(8.5, 1.0 + 0.27 * len(nodes)), layout="constrained")
    plt.close(figure)
    for node in nodes:
        if node.parent is not None:
            (depth, line), (_, above) = place[id(node)], place[id(node.parent)]
            axis.plot([depth - 1, depth - 1, depth], [above, line, line], color=GREY, linewidth=0.8, zorder=1)
        words = "everyone" if node.condition is None else str(node.condition)
        look = {"textcoords": "offset points", "va": "center", "size": 9}
        weight = "bold" if id(node) in bold else "normal"
        axis.annotate(f"{words}  ({node.size:,})", place[id(node)], (11, 0), weight=weight, **look)
    x, y = np.array([place[id(node)] for node in nodes]).T
    effect = np.array([node.effect for node in nodes])
    area = 20 + 100 * np.sqrt([node.size / root.size for node in nodes])
    axis.scatter(x, y, s=area, color="white", edgecolors="black", linewidths=0.8, zorder=2)
    if (some := effect > 0).any():
        look = {"cmap": COLORS, "vmin": 0, "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
        marks = axis.scatter(x[some], y[some], s=area[some], c=effect[some], **look)
        shrink = min(0.8, 25 / len(nodes))
        figure.colorbar(marks, ax=axis, label=f"{strength} proved in training", shrink=shrink)
    axis.set_xlim(-0.2, x.max() + 1.6)
    axis.axis("off")
    return figure


def label_differences(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the labels of a `Discovery`: difference of the groups' shares with its corrected interval (figure 9).

    Parameters
    ----------
    tables : dict of str to DataFrame
        By what to write above each, tables as `fairlab.fairtest.label_table` returns them.
    """
    longest = max(len(table) for table in tables.values())
    figure, axes = _panels(len(tables), width=4.4, height=1.2 + 0.22 * longest, sharey=False)
    for axis, (title, table) in zip(axes, tables.items(), strict=True):
        ordered = table.sort_values("low")
        middle = (ordered["low"] + ordered["high"]) / 2
        place = np.arange(len(ordered))
        for side, color in ((ordered["low"] > 0, VERMILION), (ordered["high"] < 0, BLUE), (None, GREY)):
            rows = ~((ordered["low"] > 0) | (ordered["high"] < 0)) if side is None else side
            reach = (ordered["high"] - ordered["low"])[rows] / 2
            axis.errorbar(middle[rows], place[rows], xerr=reach, fmt="o", color=color, markersize=3, linewidth=1)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set_yticks(place, ordered.index, fontsize=8)
        groups = list(table.columns[:2])
        axis.set(title=title, xlabel=f"share of {groups[0]} minus share of {groups[1]}", ylim=(-1, len(ordered)))
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def found_by_size(planted: pd.DataFrame) -> Figure:
    """Draw how many planted effects are found against their size, one line for each strength (figure 5).

    Parameters
    ----------
    planted : DataFrame
        Columns ``size``, ``delta`` (percentage points), ``found`` and ``validated``, one row for each trial.
    """
    panels = {"found": "in the trained tree", "validated": "significant in the test"}
    figure, axes = _panels(2, width=4.2, height=3.4, sharey=True)
    sizes = sorted(planted["size"].unique())
    looks = list(zip((BLUE, VERMILION, "#009E73", "#E69F00"), "os^D", strict=True))
    for axis, (counted, title) in zip(axes, panels.items(), strict=True):
        means = planted.groupby(["delta", "size"])[counted].mean().unstack("size")
        for (delta, row), (color, marker) in zip(means.iterrows(), looks, strict=False):
            axis.plot(sizes, row[sizes], color=color, marker=marker, linewidth=1.2, label=f"Δ = {delta:g}%")
        axis.set(title=title, xlabel="users in a planted context", xscale="log", ylim=(-0.3, 10.5))
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("planted contexts found, of ten")
    axes[0].legend(frameon=False)
    return figure


def time_shares(seconds: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw how analysis time divides into training and testing, with the total beside each bar (figure 6).

    Parameters
    ----------
    seconds : dict of str to DataFrame
        By what to write above each; columns ``train`` and ``test``, one row for each study, from the top down.
    """
    longest = max(len(times) for times in seconds.values())
    figure, axes = _panels(len(seconds), width=4.2, height=1.4 + 0.35 * longest, sharey=True)
    for axis, (title, times) in zip(axes, seconds.items(), strict=True):
        total = times["train"] + times["test"]
        train, place = 100 * times["train"] / total, np.arange(len(times))
        axis.barh(place, train, color=BLUE, label="training")
        axis.barh(place, 100 - train, left=train, color="#E69F00", label="testing")
        for line, value in enumerate(total):
            axis.text(102, line, f"{value:.2g} s" if value < 10 else f"{value:.0f} s", va="center", size=9)
        axis.set_yticks(place, times.index)
        axis.set(title=title, xlabel="share of the time (%)", xlim=(0, 100))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    handles = axes[0].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure


def counts_beside_published(ours: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw numbers of contexts beside the published ones, a panel for each column (table 2).

    Parameters
    ----------
    ours, published : DataFrame
        With the same columns; one row for each study, from the top down. Values are numbers of at least 0.
    """
    figure, axes = _panels(len(ours.columns), width=3.0, height=1.4 + 0.35 * len(ours), sharey=True)
    place = np.arange(len(ours))
    for axis, column in zip(axes, ours, strict=True):
        axis.hlines(place, ours[column], published.loc[ours.index, column], color=GREY, linewidth=1)
        look = {"facecolors": "none", "edgecolors": VERMILION, "s": 70, "linewidths": 1.5}
        axis.scatter(published.loc[ours.index, column], place, label="published", **look)
        axis.scatter(ours[column], place, color=BLUE, s=20, label="this run", zorder=3)
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xlim(-0.3, 2 * max(1, ours[column].max(), published[column].max()))
        ticks = [0, *(10**power for power in range(int(np.log10(axis.get_xlim()[1])) + 1))]
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axis.set_yticks(place, ours.index)
        axis.set_xlabel(column)
        axis.grid(axis="x", color=GREY, alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    handles = axes[0].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure


def _panels(n: int, *, width: float, height: float, sharey: bool) -> tuple[Figure, np.ndarray]:
    figure, axes = plt.subplots(
        1, n, figsize=(width * n + 0.6, height), layout="constrained", squeeze=False, sharey=sharey
    )
    plt.close(figure)
    return figure, axes.ravel()
