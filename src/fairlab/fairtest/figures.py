"""The figures of FairTest: shares by group, box plots, intervals, the guided tree, labels (figures 2 to 12).

Each is drawn from one table of numbers, which `fairlab.fairtest.plotted` makes, or `fairlab.fairtest.association_table`
for intervals. Rows whose ``series`` is ``published`` are open marks.
"""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from statsmodels.stats.proportion import proportion_confint

from fairlab.fairtest.finding import SIGNIFICANCE
from fairlab.plotting import BLACK, BLUE, GREY, PUBLISHED, SEQUENTIAL, SKY, VERMILION, legend_above, panels

WIDTH = 6.7  # inches, without the margin
WRAPPED = 95  # characters of a note in a line
OURS = {"color": BLUE, "marker": "o", "linestyle": "", "label": "this run"}
# For labels: more often in the first group, in the second, not decided.
SIDES = ({"color": VERMILION, "fmt": "^"}, {"color": SKY, "fmt": "v"}, {"color": GREY, "fmt": "o"})


def group_shares(
    table: pd.DataFrame, *, output: str, xlabel: str, ylabel: str, people: str = "people", note: str = ""
) -> Figure:
    """Draw which share of each group has an output, a panel for each context, with 95% intervals of each share alone.

    Parameters
    ----------
    table : DataFrame
        As `fairlab.fairtest.plotted.group_counts` returns it, with ``series`` where published counts stand beside ours.
    output : str
        The output whose shares are drawn.
    xlabel, ylabel : str
        What the shares and the groups are.
    people : str
        What to call the people.
    note : str
        What a reader must know, written below.
    """
    table = _with_series(table, {"context", "people", "group", "output", "count"})
    if output not in (known := table["output"].astype(str).unique()):
        raise ValueError(f"output: expected one of {', '.join(known)}, found {output!r}")
    keys = ["series", "context", "group"]
    totals = table.groupby(keys, sort=False)["count"].sum()
    counts = table[table["output"].astype(str) == output].set_index(keys)["count"]
    counts = counts.to_frame().assign(total=totals).query("total > 0").sort_index()
    contexts, groups = (list(table[name].unique()) for name in ("context", "group"))
    size_of = table[table["series"] == OURS["label"]].groupby("context")["people"].first()
    n_columns = min(3, len(contexts))
    n_rows = -(-len(contexts) // n_columns)
    n_lines = max(context.count(", ") for context in contexts) + 2
    height = 1.3 + 0.16 * n_lines + 0.4 * len(groups) + (0.3 if note else 0)
    figure, axes = panels(n_rows, n_columns, width=WIDTH / n_columns, height=height, sharex=True, sharey=True)
    for axis in axes[len(contexts) :]:
        axis.remove()
    for axis, context in zip(axes, contexts, strict=False):
        _draw_shares(axis, counts, context, groups)
        size = f"\n({size_of[context]:,} {people})" if context in size_of else ""
        axis.set_title(context.replace(", ", "\n") + size, fontsize=9)
        axis.set_yticks(range(len(groups)), groups, fontsize=9)
        axis.set_ylim(len(groups) - 0.4, -0.6)
        axis.tick_params(axis="x", labelsize=8)
    axes[0].set_xlim(0, None)
    axes[0].set_ylabel(ylabel)
    legend_above(figure, axes[0])
    _write_below(figure, xlabel, note)
    return figure


def box_plots(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None, people: str = "people") -> Figure:
    """Draw boxes with whiskers, means as crosses, and the line of least squares, a panel for each context.

    Points beyond the whiskers are not drawn; each panel says how many people they are, and where all lie.

    Parameters
    ----------
    table : DataFrame
        As `fairlab.fairtest.plotted.box_table` returns it.
    labels : dict of str to str, optional
        What to call columns of the data on the axes, with units.
    people : str
        What to call the people.
    """
    _check_columns(table, {"context", "group", "position", "count", "beyond", "least", "most", "line"})
    contexts = table["context"].unique()
    figure, axes = panels(1, len(contexts), width=WIDTH / len(contexts), height=3.4, sharey=True)
    labels = labels or {}
    for axis, context in zip(axes, contexts, strict=True):
        boxes = table[table["context"] == context]
        place = boxes["position"].to_numpy(dtype=float)
        gap = np.diff(place).min() if len(place) > 1 else 1.0
        look = {"boxprops": {"facecolor": BLUE, "alpha": 0.35}, "medianprops": {"color": BLACK}}
        look |= {"meanprops": {"marker": "x", "markeredgecolor": BLACK, "markersize": 4}}
        stats = boxes.rename(columns={"group": "label"}).to_dict("records")
        options = {"widths": 0.6 * gap, "patch_artist": True, "showfliers": False, "showmeans": True}
        drawn = axis.bxp(stats, place, manage_ticks=False, **options, **look)
        drawn["means"][0].set_label("mean")
        if boxes["line"].notna().any():
            axis.plot(place, boxes["line"], color=VERMILION, linestyle="--", label="least squares")
        many = len(boxes) > 3
        tilt = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if many else {}
        axis.set_xticks(place, boxes["group"], fontsize=8, **tilt)
        n, beyond = boxes["count"].sum(), boxes["beyond"].sum()
        ends = f"{boxes['least'].min():.3g} to {boxes['most'].max():.3g}"
        words = f"{n:,} {people}, from {ends};\nbeyond the whiskers, not drawn: {beyond / n:.1%}"
        axis.set_title(f"{context}\n{words}", fontsize=9)
        axis.set_xlabel(labels.get(boxes["protected"].iloc[0], boxes["protected"].iloc[0]))
    axes[0].set_ylabel(labels.get(table["output"].iloc[0], table["output"].iloc[0]))
    handles = {h.get_label(): h for axis in axes for h in axis.get_legend_handles_labels()[0]}
    legend_above(figure, handles=list(handles.values()))
    return figure


def intervals(table: pd.DataFrame, *, xlabel: str, no_association: float = 0.0, note: str = "") -> Figure:
    """Draw corrected intervals under one another, with their p-values; those that are significant are filled.

    Parameters
    ----------
    table : DataFrame
        As `fairlab.fairtest.association_table` returns it, from the top down, with ``series`` where published intervals
        stand beside ours. Rows without anybody are left out.
    xlabel : str
        What the intervals are of, with its unit.
    no_association : float
        Where to draw the line of no association.
    note : str
        What a reader must know, written below.
    """
    table = _with_series(table, {"of", "size", "low", "high", "p_value"}).query("size > 0")
    published = table[table["series"] == PUBLISHED["label"]].set_index("of")
    ours = table[table["series"] != PUBLISHED["label"]].reset_index(drop=True)
    names = [textwrap.fill(name, 34) for name in ours["of"]]
    taken = 1 + 0.7 * ours["of"].isin(published.index)  # a printed interval stands below ours
    lines = (taken.cumsum() - taken).tolist()
    figure, [axis] = panels(1, 1, width=WIDTH, height=1.1 + 0.27 * taken.sum() + (0.3 if note else 0))
    axis.axvline(no_association, color=BLACK, linewidth=0.8, linestyle=":")
    for line, (_, row) in zip(lines, ours.iterrows(), strict=True):
        face = BLUE if row["p_value"] <= SIGNIFICANCE else "white"
        _draw_interval(axis, row, line, OURS | {"markerfacecolor": face, "linewidth": 2})
        if row["of"] in published.index:
            _draw_interval(axis, published.loc[row["of"]], line + 0.7, PUBLISHED | {"linewidth": 0.8})
    axis.plot([], [], **OURS | {"label": "this run, significant at 0.05"})
    axis.plot([], [], **OURS | {"label": "not significant"}, markerfacecolor="white")
    if len(published):
        axis.plot([], [], **PUBLISHED)
    axis.set_yticks(lines, names, fontsize=9)
    axis.locator_params(axis="x", nbins=6)
    axis.set_ylim(taken.sum() - 0.4, -0.6)
    legend_above(figure, axis)
    _write_below(figure, xlabel, note)
    return figure


def guided_tree(table: pd.DataFrame, *, strength: str = "effect") -> Figure:
    """Draw a tree from left to right, every subpopulation on a line of its own.

    The area of a mark grows with the number of people in training, its colour with the association; hollow marks have
    none. Names of reported subpopulations are bold.

    Parameters
    ----------
    table : DataFrame
        As `fairlab.fairtest.plotted.tree_table` returns it.
    strength : str
        What to call the association, with the metric's name.
    """
    _check_columns(table, {"condition", "depth", "parent", "size", "effect", "reported"})
    figure, [axis] = panels(1, 1, width=WIDTH, height=0.8 + 0.24 * len(table))
    x, y = table["depth"].to_numpy(), -table.index.to_numpy()
    for row, node in table.iterrows():
        if node["parent"] >= 0:
            turn = [x[row] - 1, x[row] - 1, x[row]]
            axis.plot(turn, [y[node["parent"]], y[row], y[row]], color=GREY, linewidth=0.8, zorder=1)
        look = {"textcoords": "offset points", "va": "center", "fontsize": 8}
        weight = "bold" if node["reported"] else "normal"
        axis.annotate(f"{node['condition']}  ({node['size']:,})", (x[row], y[row]), (10, 0), weight=weight, **look)
    effect = table["effect"].to_numpy()
    area = 20 + 80 * np.sqrt(table["size"] / table["size"].iloc[0]).to_numpy()
    axis.scatter(x, y, s=area, color="white", edgecolors=BLACK, linewidths=0.8, zorder=2)
    if (some := effect > 0).any():
        look = {"cmap": SEQUENTIAL, "vmin": 0, "edgecolors": BLACK, "linewidths": 0.8, "zorder": 3}
        marks = axis.scatter(x[some], y[some], s=area[some], c=effect[some], **look)
        bar = figure.colorbar(marks, ax=axis, shrink=min(0.8, 25 / len(table)), aspect=30, pad=0.01)
        bar.set_label(f"{strength} proved in training", fontsize=9)
        bar.ax.tick_params(labelsize=8)
    axis.set_xlim(-0.1, x.max() + 1.25)
    axis.set(xticks=[], yticks=[])
    axis.axis("off")
    return figure


def label_differences(table: pd.DataFrame) -> Figure:
    """Draw the labels of a `Discovery`: difference of the groups' shares with its corrected interval (figure 9).

    Parameters
    ----------
    table : DataFrame
        As `fairlab.fairtest.plotted.difference_table` returns it, with ``series`` where published intervals are
        ours.
    """
    table = _with_series(table, {"panel", "label", "first", "second", "low", "high"})
    titles = table["panel"].unique()
    longest = table.groupby("panel")["label"].nunique().max()
    figure, axes = panels(1, len(titles), width=WIDTH / len(titles), height=1.3 + 0.2 * longest)
    for axis, title in zip(axes, titles, strict=True):
        rows = table[table["panel"] == title]
        ours = rows[rows["series"] != PUBLISHED["label"]].sort_values("low")
        place = pd.Series(np.arange(len(ours)), ours["label"])
        undecided = (ours["low"] <= 0) & (ours["high"] >= 0)
        for part, look in zip((ours["low"] > 0, ours["high"] < 0, undecided), SIDES, strict=True):
            some = ours[part]
            middle, reach = (some["low"] + some["high"]) / 2, (some["high"] - some["low"]) / 2
            axis.errorbar(100 * middle, place[some["label"]], xerr=100 * reach, markersize=4, linewidth=1, **look)
        printed = rows[(rows["series"] == PUBLISHED["label"]) & rows["label"].isin(place.index)]
        middle = 100 * (printed["low"] + printed["high"]) / 2
        axis.plot(middle, place[printed["label"]], markersize=7, **PUBLISHED | {"label": None})
        axis.axvline(0, color=BLACK, linewidth=0.8)
        axis.set_yticks(place, ours["label"], fontsize=8)
        first, second = rows[["first", "second"]].iloc[0]
        axis.set_xlabel(f"share of {first}\nminus share of {second} (% points)", fontsize=9)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(-1, len(ours))
    words = ("more often in the first group", "in the second", "not decided")
    for look, label in zip(SIDES, words, strict=True):
        axes[0].plot([], [], look["fmt"], color=look["color"], markersize=5, label=label)
    if (table["series"] == PUBLISHED["label"]).any():
        axes[0].plot([], [], **PUBLISHED)
    marks = [line for line in axes[0].get_lines() if not line.get_label().startswith("_")]
    legend_above(figure, handles=marks, n_columns=len(marks) if len(marks) < 4 else 2)
    return figure


def _check_columns(table: pd.DataFrame, expected: set[str]) -> None:
    if missing := expected - {*table.columns}:
        raise ValueError(f"table: no column {', '.join(sorted(missing))}")


def _with_series(table: pd.DataFrame, expected: set[str]) -> pd.DataFrame:
    """Return a table that has a column ``series``; without one, all is ours."""
    _check_columns(table, expected)
    series = table["series"].fillna(OURS["label"]) if "series" in table else OURS["label"]
    return table.assign(series=series)


def _draw_shares(axis, counts: pd.DataFrame, context: str, groups: list[str]) -> None:
    axis.hlines(range(len(groups)), 0, 1, transform=axis.get_yaxis_transform(), color=GREY, linewidth=0.3, zorder=0)
    for look in (OURS, PUBLISHED):
        if (look["label"], context) not in counts.index.droplevel("group"):
            continue
        rows = counts.loc[look["label"], context]
        place, share = pd.Index(groups).get_indexer(rows.index), 100 * rows["count"] / rows["total"]
        if look is PUBLISHED:
            axis.plot(share, place, markersize=9, **PUBLISHED)
            continue
        low, high = (100 * end for end in proportion_confint(rows["count"], rows["total"], method="wilson"))
        axis.hlines(place, low, high, color=BLUE, linewidth=1.2)
        axis.plot(share, place, markersize=5, **OURS)
        for line, count, total in zip(place, rows["count"], rows["total"], strict=True):
            words = f"{count:,} of {total:,}"
            axis.text(0.99, line + 0.36, words, transform=axis.get_yaxis_transform(), ha="right", fontsize=7)


def _draw_interval(axis, row: pd.Series, line: float, look: dict) -> None:
    """Draw an interval with a mark in its middle, and its p-value and size to the right."""
    bar = {"color": look["color"], "linewidth": look["linewidth"]}
    axis.plot([row["low"], row["high"]], [line, line], **bar)
    mark = {key: value for key, value in look.items() if key not in ("label", "linewidth")}
    axis.plot((row["low"] + row["high"]) / 2, line, markersize=6, zorder=3, **mark)
    words = f"p = {row['p_value']:.2g}, n = {row['size']:,}"
    place = {"transform": axis.get_yaxis_transform(), "va": "center"}
    axis.text(1.02, line, words, fontsize=8, color=BLACK if look["color"] == BLACK else BLUE, **place)


def _write_below(figure: Figure, xlabel: str, note: str) -> None:
    figure.supxlabel("\n".join([xlabel, *([""] if note else []), *textwrap.wrap(note, WRAPPED)]), fontsize=9)
