"""The figures of the replay (figures 2 to 12), and the tables that they are drawn from.

Functions that draw take one table each, in which rows whose ``series`` is ``published`` are open marks.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure

from fairlab.fairtest.report import SIGNIFICANCE, Association, Subgroup
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tree import Node
from fairlab.papers.fairtest.contexts import short
from fairlab.plotting import BLACK, BLUE, GREY, LINES, PUBLISHED, SEQUENTIAL, SKY, VERMILION, legend_above, panels
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


def group_shares(
    table: pd.DataFrame, *, output: str, xlabel: str, ylabel: str, people: str = "people", note: str = ""
) -> Figure:
    """Draw which share of each group has `output`, a panel for each context, with 95% intervals of each share alone."""
    ours, published = _sides(table)
    contexts, groups = (list(table[name].unique()) for name in ("context", "group"))
    n_lines = max(context.count(", ") for context in contexts) + 2
    height = 1.3 + 0.16 * n_lines + 0.4 * len(groups) + (0.3 if note else 0)
    options = {"width": WIDTH / len(contexts), "height": height, "sharex": True, "sharey": True}
    figure, axes = panels(1, len(contexts), **options)
    for axis, context in zip(axes, contexts, strict=True):
        _draw_shares(axis, ours[ours["context"] == context], output, groups, OURS)
        _draw_shares(axis, published[published["context"] == context], output, groups, PUBLISHED)
        size = ours.loc[ours["context"] == context, "people"].iloc[0]
        axis.set_title(context.replace(", ", "\n") + f"\n({size:,} {people})", fontsize=9)
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

    Points beyond the whiskers are not drawn; each panel says how many people they are, and where all lie. `labels` are
    of columns of the data on the axes, with units.
    """
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
    """Draw the corrected intervals of `association_table` from the top down, filled where they are significant.

    Published intervals stand below ours. Rows without anybody are left out.
    """
    table = table[table["size"] > 0].reset_index(drop=True)
    printed = table["published_low"].notna() if "published_low" in table else pd.Series(False, table.index)
    taken = 1 + 0.7 * printed
    lines = (taken.cumsum() - taken).tolist()
    figure, [axis] = panels(1, 1, width=WIDTH, height=1.1 + 0.27 * taken.sum() + (0.3 if note else 0))
    axis.axvline(no_association, color=BLACK, linewidth=0.8, linestyle=":")
    for line, (index, row) in zip(lines, table.iterrows(), strict=True):
        face = BLUE if row["p_value"] <= SIGNIFICANCE else "white"
        _draw_interval(axis, row["low"], row["high"], line, OURS | {"markerfacecolor": face, "linewidth": 2})
        words = f"p = {row['p_value']:.2g}, n = {row['size']:,}"
        axis.text(1.02, line, words, fontsize=8, color=BLUE, transform=axis.get_yaxis_transform(), va="center")
        if printed[index]:
            ends = row["published_low"], row["published_high"]
            _draw_interval(axis, *ends, line + 0.7, PUBLISHED | {"linewidth": 0.8})
    axis.plot([], [], **OURS | {"label": "this run, significant at 0.05"})
    axis.plot([], [], **OURS | {"label": "not significant"}, markerfacecolor="white")
    if printed.any():
        axis.plot([], [], **PUBLISHED)
    axis.set_yticks(lines, [textwrap.fill(name, 34) for name in table["of"]], fontsize=9)
    axis.locator_params(axis="x", nbins=6)
    axis.set_ylim(taken.sum() - 0.4, -0.6)
    legend_above(figure, axis)
    _write_below(figure, xlabel, note)
    return figure


def guided_tree(table: pd.DataFrame, *, strength: str = "effect") -> Figure:
    """Draw the tree of `tree_table` from left to right, every subpopulation on a line of its own.

    The area of a mark grows with the number of people in training, its colour with the association, `strength`; hollow
    marks have none. Names of reported subpopulations are bold.
    """
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
    """Draw the labels of `difference_table`: differences of the groups' shares with corrected intervals (figure 9)."""
    titles = table["panel"].unique()
    longest = table.groupby("panel")["label"].nunique().max()
    figure, axes = panels(1, len(titles), width=WIDTH / len(titles), height=1.3 + 0.2 * longest)
    for axis, title in zip(axes, titles, strict=True):
        ours, published = _sides(table[table["panel"] == title])
        ours = ours.sort_values("low")
        place = pd.Series(np.arange(len(ours)), ours["label"])
        undecided = (ours["low"] <= 0) & (ours["high"] >= 0)
        for part, look in zip((ours["low"] > 0, ours["high"] < 0, undecided), SIDES, strict=True):
            some = ours[part]
            middle, reach = 50 * (some["low"] + some["high"]), 50 * (some["high"] - some["low"])
            axis.errorbar(middle, place[some["label"]], xerr=reach, markersize=4, linewidth=1, **look)
        published = published[published["label"].isin(place.index)]
        middle = 50 * (published["low"] + published["high"])
        axis.plot(middle, place[published["label"]], markersize=7, **PUBLISHED | {"label": None})
        axis.axvline(0, color=BLACK, linewidth=0.8)
        axis.set_yticks(place, ours["label"], fontsize=8)
        first, second = ours[["first", "second"]].iloc[0]
        axis.set_xlabel(f"share of {first}\nminus share of {second} (% points)", fontsize=9)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(-1, len(ours))
    words = ("more often in the first group", "in the second", "not decided")
    for look, label in zip(SIDES, words, strict=True):
        axes[0].plot([], [], look["fmt"], color=look["color"], markersize=5, label=label)
    if len(_sides(table)[1]):
        axes[0].plot([], [], **PUBLISHED)
    marks = [line for line in axes[0].get_lines() if not line.get_label().startswith("_")]
    legend_above(figure, handles=marks, n_columns=len(marks) if len(marks) < 4 else 2)
    return figure


def _sides(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part a table into our rows and the published ones."""
    published = table["series"] == PUBLISHED["label"] if "series" in table else pd.Series(False, table.index)
    return table[~published], table[published]


def _draw_shares(axis, rows: pd.DataFrame, output: str, groups: list[str], look: Mapping) -> None:
    counts = rows.pivot_table(index="group", columns="output", values="count", aggfunc="sum")
    counts = counts[counts.sum(axis=1) > 0]
    if counts.empty:
        return
    count, total = counts[output], counts.sum(axis=1)
    place = pd.Index(groups).get_indexer(counts.index)
    axis.plot(100 * count / total, place, markersize=9 if look is PUBLISHED else 5, **look)
    if look is PUBLISHED:
        return
    axis.hlines(range(len(groups)), 0, 1, transform=axis.get_yaxis_transform(), color=GREY, linewidth=0.3, zorder=0)
    low, high = wilson_interval(count, total, alpha=0.05)
    axis.hlines(place, 100 * low, 100 * high, color=BLUE, linewidth=1.2)
    for line, part, whole in zip(place, count, total, strict=True):
        words = f"{part:,.0f} of {whole:,.0f}"
        axis.text(0.99, line + 0.36, words, transform=axis.get_yaxis_transform(), ha="right", fontsize=7)


def _draw_interval(axis, low: float, high: float, line: float, look: dict) -> None:
    """Draw an interval with a mark in its middle."""
    axis.plot([low, high], [line, line], color=look["color"], linewidth=look["linewidth"])
    mark = {key: value for key, value in look.items() if key not in ("label", "linewidth")}
    axis.plot((low + high) / 2, line, markersize=6, zorder=3, **mark)


def _write_below(figure: Figure, xlabel: str, note: str) -> None:
    figure.supxlabel("\n".join([xlabel, *([""] if note else []), *textwrap.wrap(note, WRAPPED)]), fontsize=9)


def box_table(samples: Mapping[str, Sample], *, bands: Mapping[float, str] | None = None) -> pd.DataFrame:
    """Return the boxes of a continuous output, by context, and by protected group or decade of a continuous attribute.

    Boxes span the quartiles, whiskers reach the last person within 1.5 times the quartiles' distance; ``line`` is that
    of least squares at the box. `bands` are the names of the values of a continuous attribute that has few.
    """
    rows = []
    for context, sample in samples.items():
        protected, output = sample.sensitive_features, sample.output
        if protected.is_categorical:
            members = {name: protected.values == code for code, name in enumerate(protected.categories)}
            line = None
        else:
            members = _bands(protected.values, bands)
            line = np.polynomial.Polynomial.fit(protected.values, output.values, 1)
        for place, (group, mask) in enumerate(members.items()):
            if not mask.any():
                continue
            values = output.values[mask]
            [box] = boxplot_stats(values)
            position = place if line is None else protected.values[mask].mean()
            row = {
                "context": context,
                "protected": protected.name,
                "output": output.name,
                "group": group,
                "position": position,
                "count": len(values),
                **{key: box[key] for key in ("mean", "whislo", "q1", "med", "q3", "whishi")},
                "beyond": len(box["fliers"]),
                "least": values.min(),
                "most": values.max(),
                "line": np.nan if line is None else line(position),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def association_table(associations: Mapping[str, Association], published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return associations as rows, by name in column ``of``, beside the published intervals of the same names.

    `published` has ``low`` and ``high``, as `fairlab.Experiment.published` returns them, indexed by name.
    """
    columns = ["size", "low", "high", "p_value"]
    rows = {name: [getattr(one, column) for column in columns] for name, one in associations.items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("of")
    if published is not None:
        table = table.join(published[["low", "high"]].add_prefix("published_"))
    return table.reset_index()


def tree_table(root: Node, *, max_depth: int = 3, reported: Iterable[Node] = ()) -> pd.DataFrame:
    """List a tree from the top down; ``parent`` is a row number, -1 for the root."""
    nodes = [node for node in root.walk() if len(node.ancestors) <= max_depth]
    row_of, in_report = {id(node): row for row, node in enumerate(nodes)}, {id(node) for node in reported}
    rows = [
        {
            "condition": "everyone" if node.condition is None else str(node.condition),
            "depth": len(node.ancestors),
            "parent": -1 if node.parent is None else row_of[id(node.parent)],
            "size": node.size,
            "effect": node.effect,
            "reported": id(node) in in_report,
        }
        for node in nodes
    ]
    return pd.DataFrame(rows)


def difference_table(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack label tables of two groups, as `fairlab.fairtest.Subgroup.labels` returns them, by the title of a panel."""
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
    """Count people of shown contexts by output and group, and set the published counts below (figures 2, 10 and 11).

    `found` is what `fairlab.papers.fairtest.contexts.find_shown` returns; `outputs` and `groups` are those that are
    printed, by their part of the ids, which begin with `prefix`; `others`: whether to keep groups that are not printed.
    """
    parts = []
    for name, subgroup in found.items():
        table = subgroup.sample.counts()
        context = {"context": short(", ".join(map(str, subgroup.node.conditions))) or "everyone"}
        kept = table.drop(index="Total")[table.columns.drop("Total") if others else list(groups.values())]
        counts = kept.rename_axis(index="output").melt(ignore_index=False, var_name="group", value_name="count")
        people = table.loc["Total", "Total"]
        parts.append(counts.reset_index().assign(people=people, series=OURS["label"], **context))
        if f"{prefix}{name}.size" in published.index:
            value = published["value"].filter(regex=f"^{re.escape(prefix + name)}[.]")
            value.index = value.index.str.removeprefix(f"{prefix}{name}.")
            rows = [(group, output, value[f"{o}.{g}"]) for g, group in groups.items() for o, output in outputs.items()]
            counts = pd.DataFrame(rows, columns=["group", "output", "count"])
            parts.append(counts.assign(people=value["size"], series=PUBLISHED["label"], **context))
    table = pd.concat(parts, ignore_index=True).assign(group=lambda table: table["group"].astype(str).map(short))
    return table.astype({"count": int, "people": int, "output": str})


def found_table(planted: pd.DataFrame, published: pd.Series) -> pd.DataFrame:
    """Return how many of ten planted effects are found, and validated: means over trials, and printed (figure 5)."""
    means = planted.groupby(["delta", "size"])[["found", "validated"]].mean().reset_index()
    ours = means.melt(["delta", "size"], var_name="stage", value_name="contexts").assign(series=OURS["label"])
    ids = published.index.str.extract(r"delta_(?P<delta>\w+)[.]size_(?P<size>\d+)")
    printed = ids.assign(delta=ids["delta"].str.replace("_", ".").astype(float), size=ids["size"].astype(int))
    printed = printed.assign(stage="found", contexts=published.to_numpy(), series=PUBLISHED["label"])
    return pd.concat([ours, printed], ignore_index=True)


def found_by_size(table: pd.DataFrame) -> Figure:
    """Draw the planted effects of `found_table` against their size, one line for each strength (figure 5)."""
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
