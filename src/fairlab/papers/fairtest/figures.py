"""The figures of the replay (figures 2 to 12 and table 2), and the tables that they are drawn from.

Functions that draw take one table each, in which rows whose ``series`` is ``published`` are open marks.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure

from fairlab.fairtest.report import SIGNIFICANCE, Association, Subgroup
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest import contexts
from fairlab.plotting import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    PUBLISHED,
    SEQUENTIAL,
    SKY,
    VERMILION,
    legend_above,
    panels,
)
from fairlab.statistics import wilson_interval

WIDTH = 6.7  # inches, without the margin
WRAPPED = 95  # characters of a note in a line
OURS = {"color": BLUE, "marker": "o", "linestyle": "", "label": "this run"}
# For labels: more often in the first group, in the second, not decided.
SIDES = ({"color": VERMILION, "fmt": "^"}, {"color": SKY, "fmt": "v"}, {"color": GREY, "fmt": "o"})
DECADE = 10
BANDS = {10: "under 18", 20: "18–24", 30: "25–34", 40: "35–44", 50: "45–55", 60: "56+"}
RECONSTRUCTED = (
    "The shoppers are reconstructed from shares by area: a small p-value or a short interval speaks of their model, "
    "not of people."
)
PARTS = {"train": (GREEN, ""), "test": (ORANGE, "///")}


def group_shares(
    table: pd.DataFrame, *, output: str, xlabel: str, ylabel: str, people: str = "people", note: str = ""
) -> Figure:
    """Draw which share of each group has an output, a panel for each context, with 95% intervals of each share alone.

    Parameters
    ----------
    table : DataFrame
        As `group_counts` returns it, with ``series`` where published counts stand beside ours.
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
        As `box_table` returns it.
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
        As `association_table` returns it, from the top down, with ``series`` where published intervals
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
        As `tree_table` returns it.
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
        As `difference_table` returns it, with ``series`` where published intervals are
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
        low, high = (100 * end for end in wilson_interval(rows["count"], rows["total"], alpha=0.05))
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


def titled_samples(findings: Iterable[Subgroup], *, short: Callable[[str], str] = str) -> dict[str, Sample]:
    """Return the samples of some contexts by the conditions of each, joined by commas.

    Parameters
    ----------
    findings : iterable of Subgroup
    short : callable
        Shortens the words of a context.
    """
    return {", ".join(short(str(c)) for c in f.node.conditions or ["everyone"]): f.sample for f in findings}


def group_counts(
    samples: Mapping[str, Sample], *, groups: Iterable[str] | Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Count people by output and protected group in some contexts.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to call each context; with categorical columns.
    groups : iterable of str, dict of str to str, or None
        The protected groups to keep, in a dict with what to call them. None for all.

    Returns
    -------
    DataFrame
        A row for each context, group and output: ``context``, ``people`` (all in it), ``group``, ``output``, ``count``.

    Raises
    ------
    ValueError
        If there is no sample, or a column is continuous.
    """
    if not samples:
        raise ValueError("samples: expected at least one, found none")
    rows = []
    for context, sample in samples.items():
        table = sample.counts()
        people = int(table.loc["Total", "Total"])
        body = table.drop(index="Total", columns="Total")
        kept = list(body.columns) if groups is None else list(groups)
        names = groups if isinstance(groups, Mapping) else dict(zip(kept, kept, strict=True))
        for group in kept:
            for output, count in body[group].items():
                row = {"context": context, "people": people, "group": names[group], "output": output}
                rows.append(row | {"count": int(count)})
    return pd.DataFrame(rows)


def box_table(samples: Mapping[str, Sample], *, bands: Mapping[float, str] | None = None) -> pd.DataFrame:
    """Return the boxes of a continuous output by protected group, or by decade of a continuous attribute.

    Boxes span the quartiles, whiskers reach the last person within 1.5 times the quartiles' distance.

    Parameters
    ----------
    samples : dict of str to Sample
        By what to call each context.
    bands : dict of float to str, optional
        What to call the values of a continuous attribute that has few: a box for each of them instead of decades.

    Returns
    -------
    DataFrame
        A row for each box: ``context``, ``protected``, ``output``, ``group``, ``position``, ``count``, ``mean``,
        ``whislo``, ``q1``, ``med``, ``q3``, ``whishi``, ``beyond`` (people outside of the whiskers), ``least``,
        ``most`` and, for a continuous attribute, ``line``: that of least squares at the box.

    Raises
    ------
    ValueError
        If the output is categorical.
    """
    rows = []
    for context, sample in samples.items():
        protected, output = sample.sensitive_features, sample.output
        if output.is_categorical:
            raise ValueError(f"column {output.name!r} has categories, box plots need a continuous output")
        if protected.is_categorical:
            members = {name: protected.values == code for code, name in enumerate(protected.categories)}
            line = None
        else:
            members = _bands(protected.values, bands)
            line = np.polynomial.Polynomial.fit(protected.values, output.values, 1)
        named = {"context": context, "protected": protected.name, "output": output.name}
        for place, (group, mask) in enumerate(members.items()):
            if not mask.any():
                continue
            [box] = boxplot_stats(output.values[mask])
            position = place if line is None else protected.values[mask].mean()
            numbers = {key: box[key] for key in ("mean", "whislo", "q1", "med", "q3", "whishi")}
            row = named | {"group": group, "position": position, "count": int(mask.sum())} | numbers
            row |= {"beyond": len(box["fliers"]), "least": output.values[mask].min(), "most": output.values[mask].max()}
            rows.append(row | {"line": np.nan if line is None else line(position)})
    return pd.DataFrame(rows)


def association_table(associations: Mapping[str, Association]) -> pd.DataFrame:
    """Return some associations as rows, under the names that they are given in column ``of``."""
    return pd.DataFrame(
        [
            {"of": name, "size": a.size, "low": a.low, "high": a.high, "p_value": a.p_value}
            for name, a in associations.items()
        ]
    )


def tree_table(root: Node, *, max_depth: int = 3, reported: Iterable[Node] = ()) -> pd.DataFrame:
    """List a tree from the top down.

    Parameters
    ----------
    root : Node
    max_depth : int
        How many levels below the root to keep.
    reported : iterable of Node

    Returns
    -------
    DataFrame
        A row for each subpopulation: its last ``condition``, ``depth``, ``parent`` (a row number, -1 for the root),
        people in training ``size``, ``effect``, and whether it is ``reported``.
    """
    nodes = [node for node in root.walk() if len(node.ancestors) <= max_depth]
    row_of, told = {id(node): row for row, node in enumerate(nodes)}, {id(node) for node in reported}
    rows = [
        {
            "condition": "everyone" if node.condition is None else str(node.condition),
            "depth": len(node.ancestors),
            "parent": -1 if node.parent is None else row_of[id(node.parent)],
            "size": node.size,
            "effect": node.effect,
            "reported": id(node) in told,
        }
        for node in nodes
    ]
    return pd.DataFrame(rows)


def difference_table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack label tables of two groups.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By what to call each, tables as `fairlab.fairtest.Subgroup.labels` returns them.

    Returns
    -------
    DataFrame
        A row for each label: ``panel``, ``label``, the groups' names ``first`` and ``second``, the shares of either,
        ``low``, ``high`` and ``p_value``.
    """
    parts = []
    for title, table in tables.items():
        first, second = table.columns[:2]
        shares = {first: "share_of_first", second: "share_of_second"}
        named = {"panel": title, "first": first, "second": second}
        parts.append(table.rename(columns=shares).rename_axis("label").reset_index().assign(**named))
    return pd.concat(parts, ignore_index=True)


def _bands(values: np.ndarray, bands: Mapping[float, str] | None) -> dict[str, np.ndarray]:
    """Return who belongs to each decade, or to each of the named values."""
    if bands is not None:
        if len(strange := np.setdiff1d(values, list(bands))):
            raise ValueError(f"bands: found the value {strange[0]:g}, expected one of {', '.join(map(str, bands))}")
        return {name: values == value for value, name in bands.items()}
    decade = np.floor(values / DECADE).astype(int)
    return {f"{DECADE * d}–{DECADE * (d + 1) - 1}": decade == d for d in np.unique(decade)}


def context_counts(
    found: Mapping[str, Subgroup],
    published: pd.DataFrame,
    *,
    outputs: Mapping[str, str],
    groups: Mapping[str, str],
    prefix: str = "",
    others: bool = False,
) -> pd.DataFrame:
    """Count people of the shown contexts by output and group, and set the printed counts below (figures 2, 10, 11).

    Parameters
    ----------
    found : dict of str to Subgroup
        As `fairlab.papers.fairtest.contexts.find_shown` returns them.
    published : DataFrame
        As `fairlab.Experiment.published` returns it. A context that is not printed has ours alone.
    outputs, groups : dict of str to str
        Those that are printed, by their part of the ids.
    prefix : str
        Of the ids.
    others : bool
        Whether to keep groups that are not printed.

    Returns
    -------
    DataFrame
        As `group_counts` returns it, with a column ``series``.
    """
    samples = titled_samples(found.values(), short=contexts.short)
    names = {group: contexts.short(group) for group in groups.values()}
    ours = group_counts(samples, groups=None if others else names).assign(series=OURS["label"])
    rows = []
    for name, context in zip(found, samples, strict=True):
        of = f"{prefix}{name}"
        if f"{of}.size" not in published.index:
            continue
        size = int(published.loc[f"{of}.size", "value"])
        for group_id, group in groups.items():
            for output_id, output in outputs.items():
                count = int(published.loc[f"{of}.{output_id}.{group_id}", "value"])
                row = {"context": context, "people": size, "group": names[group], "output": output, "count": count}
                rows.append(row | {"series": PUBLISHED["label"]})
    return pd.concat([ours, pd.DataFrame(rows)], ignore_index=True)


def printed_intervals(published: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return printed intervals as rows of `association_table`, of series ``published``.

    Parameters
    ----------
    published : DataFrame
        As `fairlab.Experiment.published` returns it.
    names : dict of str to str
        Ids of intervals, with what to call them. Size and p-value are those of the same prefix. One that is not printed
        is left out.
    """
    rows = []
    for id, name in names.items():
        if id not in published.index:
            continue
        prefix = id.rpartition(".")[0]
        ends = published.loc[id, ["low", "high"]].to_dict()
        size, p_value = (published.loc[f"{prefix}.{key}", "value"] for key in ("size", "p"))
        rows.append({"of": name, "size": int(size), **ends, "p_value": p_value})
    return pd.DataFrame(rows).assign(series=PUBLISHED["label"])


def printed_labels(published: pd.DataFrame, panel: str, groups: tuple[str, str]) -> pd.DataFrame:
    """Return printed differences of labels as rows of `difference_table` (figure 9).

    Parameters
    ----------
    published : DataFrame
        As `fairlab.Experiment.published` returns it.
    panel : str
        What our table of the same photos is called.
    groups : tuple of two str
        What the groups are called.
    """
    found = published[published.index.str.endswith(".diff")]
    labels = found.index.str.removesuffix(".diff").str.replace("_", " ")
    named = {"panel": panel, "first": groups[0], "second": groups[1], "series": PUBLISHED["label"]}
    return found[["low", "high"]].assign(label=labels, **named).reset_index(drop=True)


def found_table(planted: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return how many planted effects are found by size and strength, as means over trials and as printed (figure 5).

    Parameters
    ----------
    planted : DataFrame
        Columns ``size``, ``delta`` (percentage points), ``found`` and ``validated``, one row for each trial.
    published : Series
        Printed means by id, such as ``delta_2_5.size_100``.

    Returns
    -------
    DataFrame
        Columns ``series``, ``stage`` (``found`` or ``validated``), ``delta``, ``size`` and ``contexts``, of ten.
    """
    means = planted.groupby(["delta", "size"])[["found", "validated"]].mean().reset_index()
    ours = means.melt(["delta", "size"], var_name="stage", value_name="contexts").assign(series=OURS["label"])
    rows = []
    for id, value in published.items():
        delta, size = (part.partition("_")[2] for part in id.split("."))
        rows.append({"delta": float(delta.replace("_", ".")), "size": int(size), "stage": "found", "contexts": value})
    return pd.concat([ours, pd.DataFrame(rows).assign(series=PUBLISHED["label"])], ignore_index=True)


def found_by_size(table: pd.DataFrame) -> Figure:
    """Draw how many planted effects are found against their size, one line for each strength (figure 5).

    Parameters
    ----------
    table : DataFrame
        As `found_table` returns it.
    """
    stages = {"found": "in the trained tree", "validated": "significant in the test"}
    figure, axes = panels(1, 2, width=WIDTH / 2, height=3.4, sharey=True)
    sizes = sorted(table["size"].unique())
    looks = dict(zip(sorted(table["delta"].unique()), LINES, strict=False))
    for axis, (stage, title) in zip(axes, stages.items(), strict=True):
        rows = table[table["stage"] == stage].sort_values("size")
        for delta, look in looks.items():
            of_delta = rows[rows["delta"] == delta]
            ours = of_delta[of_delta["series"] == OURS["label"]]
            axis.plot(
                ours["size"], ours["contexts"], linewidth=1.2, markersize=4, label=f"Δ = {delta:g} points", **look
            )
            printed = of_delta[of_delta["series"] == PUBLISHED["label"]]
            mark = {"color": look["color"], "marker": look["marker"], "linestyle": "", "markerfacecolor": "none"}
            axis.plot(printed["size"], printed["contexts"], markersize=9, **mark)
        axis.set(title=title, xscale="log", ylim=(-0.4, 10.6))
        axis.set_xlabel("users in a planted context (number)", fontsize=9)
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45, fontsize=8)
        axis.minorticks_off()
    axes[0].set_ylabel("planted contexts found (of ten)")
    mark = {"color": BLACK, "marker": "o", "linestyle": "", "markerfacecolor": "none", "markersize": 9}
    axes[0].plot([], [], label=f"{PUBLISHED['label']} (open marks)", **mark)
    legend_above(figure, axes[0], n_columns=3)
    return figure


def time_table(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Stack the seconds of training and testing of each study, ours and printed (figure 6).

    Parameters
    ----------
    ours, published : DataFrame
        Columns ``train`` and ``test``, indexed by study.

    Returns
    -------
    DataFrame
        Columns ``series``, ``study``, ``train`` and ``test``.
    """
    parts = {OURS["label"]: ours, PUBLISHED["label"]: published.loc[ours.index]}
    return pd.concat(parts, names=["series", "study"])[["train", "test"]].reset_index()


def time_shares(table: pd.DataFrame) -> Figure:
    """Draw how analysis time divides into training and testing, with the totals beside each bar (figure 6).

    Parameters
    ----------
    table : DataFrame
        As `time_table` returns it: bars are ours, open marks the printed ends of training.
    """
    ours, printed = (table[table["series"] == look["label"]].set_index("study") for look in (OURS, PUBLISHED))
    figure, [axis] = panels(1, 1, width=WIDTH, height=1.2 + 0.36 * len(ours))
    place, left = np.arange(len(ours)), np.zeros(len(ours))
    total = ours["train"] + ours["test"]
    for (part, (color, hatch)), label in zip(PARTS.items(), ("training", "testing"), strict=True):
        width = (100 * ours[part] / total).to_numpy()
        axis.barh(place, width, 0.6, left=left, color=color, hatch=hatch, edgecolor="white", label=label)
        left = left + width
    printed_total = (printed["train"] + printed["test"]).reindex(ours.index)
    ends = 100 * printed["train"].reindex(ours.index) / printed_total
    axis.plot(ends, place, markersize=8, clip_on=False, **PUBLISHED | {"label": "published end of training"})
    for line, (own, theirs) in enumerate(zip(total, printed_total, strict=True)):
        words = f"{_seconds(own)}, published {_seconds(theirs)}"
        axis.text(102, line, words, va="center", fontsize=8)
    axis.set_yticks(place, ours.index)
    axis.set(xlabel="share of the time (%)", xlim=(0, 100), ylim=(len(ours) - 0.5, -0.5))
    legend_above(figure, axis)
    return figure


def contexts_table(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Stack numbers of contexts, ours and printed (table 2).

    Parameters
    ----------
    ours, published : DataFrame
        With the same columns; one row for each study.

    Returns
    -------
    DataFrame
        Columns ``series``, ``study``, ``stage`` (the column of `ours`) and ``contexts``.
    """
    parts = {OURS["label"]: ours, PUBLISHED["label"]: published.loc[ours.index, ours.columns]}
    stacked = pd.concat(parts, names=["series", "study"]).reset_index()
    return stacked.melt(["series", "study"], var_name="stage", value_name="contexts")


def counts_beside_published(table: pd.DataFrame) -> Figure:
    """Draw numbers of contexts beside the published ones, a panel for each stage (table 2).

    Parameters
    ----------
    table : DataFrame
        As `contexts_table` returns it. Values are numbers of at least 0.
    """
    stages, studies = table["stage"].unique(), table["study"].unique()
    figure, axes = panels(1, len(stages), width=WIDTH / len(stages), height=1.3 + 0.3 * len(studies), sharey=True)
    place = np.arange(len(studies))
    for axis, stage in zip(axes, stages, strict=True):
        of_stage = table[table["stage"] == stage].pivot(index="study", columns="series", values="contexts")
        ours, printed = (of_stage.loc[studies, look["label"]] for look in (OURS, PUBLISHED))
        axis.hlines(place, ours, printed, color=GREY, linewidth=1)
        axis.plot(printed, place, markersize=9, **PUBLISHED)
        axis.plot(ours, place, markersize=4, zorder=3, **OURS)
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xlim(-0.3, 2 * max(1, of_stage.to_numpy().max()))
        ticks = [0, *(10**power for power in range(int(np.log10(axis.get_xlim()[1])) + 1))]
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=8)
        axis.set_xlabel(f"{stage} (number)", fontsize=9)
        axis.grid(axis="x", color=GREY, alpha=0.3)
    axes[0].set_yticks(place, studies)
    axes[0].set_ylim(len(studies) - 0.5, -0.5)
    legend_above(figure, axes[0])
    return figure


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
