"""The figures of FairTest: associations as heat maps, box plots and intervals, and the guided tree.

What colours stand for is also written or can be read off an axis.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.fairtest.finding import SIGNIFICANCE, Association, Finding
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.summaries import contingency_table
from fairlab.fairtest.tree import Node
from fairlab.plotting import BLUE, GREY, SEQUENTIAL, VERMILION, legend_above, panels

DECADE = 10


def titled_samples(
    findings: Iterable[Finding], *, people: str = "people", short: Callable[[str], str] = str
) -> dict[str, Sample]:
    """Return the samples of some contexts by a title: a condition on each line, and below the number of people.

    Parameters
    ----------
    findings : iterable of Finding
    people : str
        What to call them.
    short : callable
        Shortens the words of a context.
    """
    return {
        "\n".join([*(short(str(c)) for c in f.node.conditions or ["everyone"]), f"({f.size:,} {people})"]): f.sample
        for f in findings
    }


def associations(samples: Mapping[str, Sample], *, groups: Iterable[str] | Mapping[str, str] | None = None) -> Figure:
    """Draw the association in some contexts the way its columns call for: as heat maps, else as box plots.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to write above each.
    groups : iterable of str, dict of str to str, or None
        For heat maps, the protected groups to show, in a dict with what to write below each. None for all.

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


def contingency_heat_maps(
    samples: Mapping[str, Sample], *, groups: Iterable[str] | Mapping[str, str] | None = None
) -> Figure:
    """Draw contingency tables side by side: the share of each output within each group as colour, counts as text.

    Parameters are those of `associations`, of samples with categorical columns.
    """
    tables = [contingency_table(sample).drop(index="Total", columns="Total") for sample in samples.values()]
    shown = [table if groups is None else table[list(groups)] for table in tables]
    names = groups.values() if isinstance(groups, Mapping) else shown[0].columns
    n_outputs, n_groups = shown[0].shape
    n_lines = max(title.count("\n") for title in samples) + 1
    width, height = max(2.6, 1.0 * n_groups + 0.4), 0.8 + 0.25 * n_lines + 0.6 * n_outputs + 0.6 * (n_groups > 3)
    figure, axes = panels(1, len(shown), width=width, height=height, extra_width=0.6, sharey=True)
    for axis, title, table in zip(axes, samples, shown, strict=True):
        counts = table.to_numpy()
        shares = counts / np.maximum(counts.sum(axis=0), 1)
        axis.imshow(shares, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            text = f"{counts[row, column]:,}\n{share:.0%}"
            axis.text(column, row, text, ha="center", va="center", color="black" if share > 0.5 else "white")
        tilt = {"rotation": 20, "ha": "right", "rotation_mode": "anchor"} if n_groups > 3 else {}
        axis.set_xticks(range(n_groups), names, **tilt)
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
    figure, axes = panels(1, len(samples), width=4.2, height=3.4, extra_width=0.6, sharey=True)
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
    axes[0].set_ylabel(next(iter(samples.values())).output.name)
    if axes[0].get_legend_handles_labels()[0]:
        legend_above(figure, axes[0])
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
    figure, [axis] = panels(1, 1, width=7.0, height=1.0 + 0.32 * len(shown))
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
    axis.locator_params(axis="x", nbins=6)
    axis.set_xlabel(xlabel)
    axis.invert_yaxis()
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
    figure, [axis] = panels(1, 1, width=8.5, height=1.0 + 0.27 * len(nodes))
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
        look = {"cmap": SEQUENTIAL, "vmin": 0, "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
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
    figure, axes = panels(1, len(tables), width=4.4, height=1.2 + 0.22 * longest, extra_width=0.6)
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
    return figure
