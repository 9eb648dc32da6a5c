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
from fairlab.papers.figures import published_and_ours
from fairlab.plotting import (
    BLACK,
    BLUE,
    GREY,
    LINES,
    PUBLISHED,
    VERMILION,
    interval_lines,
    legend_above,
    listed,
    panels,
    rounded,
    span,
    titled,
)
from fairlab.statistics import wilson_interval

WIDTH = 6.7  # inches, without the margin
OURS = {"color": BLUE, "marker": "o", "linestyle": "", "label": "ours"}
THIS_RUN = "this run"  # series of our rows
# For labels that are more often in the first group, in the second, and not decided (only where published).
SIDES = ({"color": VERMILION, "fmt": "^"}, {"color": BLUE, "fmt": "v"}, {"color": GREY, "fmt": "o"})
FEWEST = 30  # people in a group that the title speaks of
NAMES = {
    "F": "women",
    "M": "men",
    "Female": "women",
    "Male": "men",
    "<50K": "under 50K dollars",
    ">=50K": "50K dollars or more",
    "Amer-Indian-Eskimo": "American Indian",
    "Asian-Pac-Islander": "Asian",
}
DECADE = 10
BANDS = {10: "under 18", 20: "18–24", 30: "25–34", 40: "35–44", 50: "45–55", 60: "56+"}


def group_shares(table: pd.DataFrame, *, output: str, xlabel: str, ylabel: str, people: str = "people") -> Figure:
    """Draw which share of each group has `output`, a panel for each context, with 95% intervals of each share alone."""
    ours, published = _sides(table)
    contexts, groups = (list(table[name].unique()) for name in ("context", "group"))
    n_lines = max(context.count(", ") for context in contexts) + 2
    height = 1.3 + 0.16 * n_lines + 0.45 * len(groups)
    options = {"width": WIDTH / len(contexts), "height": height, "sharex": True, "sharey": True}
    figure, axes = panels(1, len(contexts), **options)
    for axis, context in zip(axes, contexts, strict=True):
        _draw_shares(axis, ours[ours["context"] == context], output, groups, OURS)
        _draw_shares(axis, published[published["context"] == context], output, groups, PUBLISHED)
        size = ours.loc[ours["context"] == context, "people"].iloc[0]
        axis.set_title(context.replace(", ", "\n") + f"\n({size:,} {people})", fontsize=9)
        axis.set_yticks(range(len(groups)), [NAMES.get(group, group) for group in groups], fontsize=9)
        axis.set_ylim(len(groups) - 0.4, -0.6)
        axis.tick_params(axis="x", labelsize=8)
    axes[0].set_xlim(0, None)
    axes[0].set_ylabel(ylabel)
    legend_above(figure, axes[0])
    figure.supxlabel(xlabel, fontsize=9)
    counts = ours.pivot_table(index=["context", "group"], columns="output", values="count", aggfunc="sum", sort=False)
    shares = (100 * counts[output] / counts.sum(axis=1))[counts.sum(axis=1) >= FEWEST]
    whole, *parts = shares.groupby("context", sort=False).agg(np.ptp)
    said = f"{rounded(whole)} points for everyone" + (f" and {span(parts)} in subpopulations" if parts else "")
    return titled(figure, f"Largest gap between groups of at least {FEWEST} {people}: {said}.")


def box_plots(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None, people: str = "people") -> Figure:
    """Draw boxes with whiskers, means as crosses, and the line of least squares, a panel for each context.

    Points beyond the whiskers are not drawn; each panel says how many people they are, and where all lie. `labels` are
    of columns of the data on the axes, with units.
    """
    contexts = table["context"].unique()
    figure, axes = panels(1, len(contexts), width=WIDTH / len(contexts), height=3.4, sharey=True)
    labels = labels or {}
    for axis, context in zip(axes, contexts, strict=True):
        boxes = table[table["context"] == context].replace({"group": NAMES})
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
    ends = table.groupby("context", sort=False).nth([0, -1])
    ends = ends["mean"].map("{:.3g}".format) + " (" + ends["group"].replace(NAMES) + ")"
    said = [f"{context}: {' to '.join(of)}" for context, of in ends.groupby(table["context"], sort=False)]
    return titled(figure, f"Mean {labels.get(table['output'].iloc[0], table['output'].iloc[0])}, {'; '.join(said)}.")


def intervals(table: pd.DataFrame, *, xlabel: str, no_association: float = 0.0) -> Figure:
    """Draw the corrected intervals of `association_table` from the top down, those that are significant filled.

    An interval that holds `no_association` is never filled. Published intervals stand below ours. Rows without anybody
    are left out.
    """
    table = table[table["size"] > 0].reset_index(drop=True)
    printed = table["published_low"].notna() if "published_low" in table else pd.Series(False, table.index)
    holds = (table["low"] <= no_association) & (table["high"] >= no_association)
    filled = (table["p_value"] <= SIGNIFICANCE) & ~holds
    taken = 1 + 0.7 * printed
    lines = (taken.cumsum() - taken).tolist()
    figure, [axis] = panels(1, 1, width=WIDTH, height=1.1 + 0.27 * taken.sum())
    axis.axvline(no_association, color=BLACK, linewidth=0.8, linestyle=":")
    for line, (index, row) in zip(lines, table.iterrows(), strict=True):
        face = BLUE if filled[index] else "white"
        _draw_interval(axis, row["low"], row["high"], line, OURS | {"markerfacecolor": face, "linewidth": 2})
        words = f"p = {row['p_value']:.3g}, n = {row['size']:,}"
        axis.text(1.02, line, words, fontsize=8, color=BLUE, transform=axis.get_yaxis_transform(), va="center")
        if printed[index]:
            ends = row["published_low"], row["published_high"]
            _draw_interval(axis, *ends, line + 0.7, PUBLISHED | {"linewidth": 0.8})
    axis.plot([], [], **OURS | {"label": f"ours, p ≤ {SIGNIFICANCE:g}, interval without {no_association:g}"})
    axis.plot([], [], **OURS | {"label": "ours, other"}, markerfacecolor="white")
    if printed.any():
        axis.plot([], [], **PUBLISHED)
    axis.set_yticks(lines, [textwrap.fill(name, 34) for name in table["of"]], fontsize=9)
    axis.locator_params(axis="x", nbins=6)
    axis.set_ylim(taken.sum() - 0.4, -0.6)
    axis.set_xlabel(xlabel, fontsize=9)
    legend_above(figure, axis)
    said = f"{(~holds).sum()} of {len(table)} intervals lie clear of {no_association:g}"
    if printed.any():
        both = table[printed]
        meet = (both["low"] <= both["published_high"]) & (both["high"] >= both["published_low"])
        said += f"; {meet.sum()} of {len(both)} published ones overlap with ours"
    return titled(figure, f"{said}.")


def guided_tree(table: pd.DataFrame, *, strength: str = "effect") -> Figure:
    """Draw the tree of `tree_table`, a line for each subpopulation, and beside it the association, `strength`.

    The association is what a 95% interval proves in training. Marks and names of reported subpopulations are filled and
    bold.
    """
    figure, (tree, axis) = panels(
        1, 2, width=WIDTH / 2, height=0.9 + 0.2 * len(table), sharey=True, width_ratios=(3, 2)
    )
    depth, place = table["depth"].to_numpy(), np.arange(len(table))
    for row, node in table.iterrows():
        if node["parent"] >= 0:
            turn = [depth[row] - 0.9, depth[row] - 0.9, depth[row] - 0.1]
            tree.plot(turn, [node["parent"] + 0.4, row, row], color=GREY, linewidth=0.8)
        weight = "bold" if node["reported"] else "normal"
        tree.text(depth[row], row, f"{node['condition']} ({node['size']:,})", va="center", fontsize=8, weight=weight)
    tree.set(xticks=[], xlim=(-0.1, depth.max() + 2.2), ylim=(len(table) - 0.4, -0.6))
    tree.axis("off")
    effect, faces = table["effect"], np.where(table["reported"], BLUE, "white").tolist()
    axis.hlines(place, 0, effect, color=GREY, linewidth=0.8)
    interval_lines(axis, [""] * len(table), effect, effect, effect, colors=[BLUE] * len(table), faces=faces)
    axis.set(xlim=(-0.03 * effect.max(), None), xlabel=f"{strength} proved in training")
    axis.tick_params(axis="y", length=0)
    for look in ({"label": "reported"}, {"label": "not reported", "markerfacecolor": "white"}):
        axis.plot([], [], **OURS | look)
    legend_above(figure, axis)
    top, path = effect.idxmax(), []
    row = top
    while table["parent"][row] >= 0:
        path, row = [table["condition"][row], *path], table["parent"][row]
    return titled(
        figure,
        f"{(effect > 0).sum()} of {len(table)} subpopulations have an association in training; it is largest for "
        f"{listed(path) or 'everyone'} ({rounded(effect[top])}; everyone: {rounded(effect[0])}).",
    )


def label_differences(table: pd.DataFrame, *, people: str = "{}") -> Figure:
    """Draw the labels of `difference_table`: differences of the groups' shares with corrected intervals (figure 9).

    Labels whose interval holds 0 are drawn only if the paper has them. `people` makes a name of a group.
    """
    panes, said = dict(list(table.groupby("panel", sort=False))), []
    for title, pane in panes.items():
        ours, published = _sides(pane)
        ours = ours.sort_values("low")
        decided = (ours["low"] > 0) | (ours["high"] < 0)
        names = [people.format(NAMES.get(name, name)) for name in ours[["first", "second"]].iloc[0]]
        panes[title] = ours[decided | ours["label"].isin(published["label"])], published, (~decided).sum(), names
    longest = max(len(ours) for ours, *_ in panes.values())
    figure, axes = panels(1, len(panes), width=WIDTH / len(panes), height=1.4 + 0.2 * longest)
    for axis, (title, (ours, published, left, (first, second))) in zip(axes, panes.items(), strict=True):
        place = pd.Series(np.arange(len(ours)), ours["label"])
        parts = ours["low"] > 0, ours["high"] < 0, (ours["low"] <= 0) & (ours["high"] >= 0)
        for part, look in zip(parts, SIDES, strict=True):
            some = ours[part]
            middle, reach = 50 * (some["low"] + some["high"]), 50 * (some["high"] - some["low"])
            axis.errorbar(middle, place[some["label"]], xerr=reach, markersize=4, linewidth=1, **look)
        published = published[published["label"].isin(place.index)]
        middle = 50 * (published["low"] + published["high"])
        axis.plot(middle, place[published["label"]], markersize=7, **PUBLISHED)
        axis.axvline(0, color=BLACK, linewidth=0.8)
        axis.set_yticks(place, ours["label"], fontsize=8)
        axis.set_xlabel("difference of shares (% points)", fontsize=9)
        axis.set_title(f"{title}\n{left} labels undecided\n", fontsize=9)
        axis.set_title(f"◂ {second}", fontsize=8, loc="left")
        axis.set_title(f"{first} ▸", fontsize=8, loc="right")
        axis.set_ylim(-1, len(ours))
        said.append(f"{parts[0].sum()} for {first}, {parts[1].sum()} for {second} ({title.partition(' (')[0]})")
    marks = [axes[0].plot([], [], "o", color=BLACK, markersize=4, label="ours")[0]]
    if len(_sides(table)[1]):
        marks.append(axes[0].plot([], [], markersize=7, **PUBLISHED)[0])
    legend_above(figure, handles=marks)
    return titled(figure, f"Labels that one group has more often: {'; '.join(said)}.")


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
        axis.text(0.99, line + 0.4, words, transform=axis.get_yaxis_transform(), ha="right", fontsize=7)


def _draw_interval(axis, low: float, high: float, line: float, look: dict) -> None:
    """Draw an interval with a mark in its middle."""
    axis.plot([low, high], [line, line], color=look["color"], linewidth=look["linewidth"])
    mark = {key: value for key, value in look.items() if key not in ("label", "linewidth")}
    axis.plot((low + high) / 2, line, markersize=6, zorder=3, **mark)


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
        parts.append(counts.reset_index().assign(people=people, series=THIS_RUN, **context))
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
    ours = means.melt(["delta", "size"], var_name="stage", value_name="contexts").assign(series=THIS_RUN)
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
            ours = of_delta[of_delta["series"] == THIS_RUN]
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
    ours = table[table["series"] == THIS_RUN]
    own = sorted(ours["size"].unique())  # of the published sizes a small run has some
    size = own[len(own) // 2 - 1]
    of_size = ours[ours["size"] == size].groupby("stage")["contexts"]
    said = [f"{span(of_size.get_group(stage))} {title}" for stage, title in stages.items()]
    return titled(figure, f"Of ten contexts of {size:,} users, {listed(said)}, by their strength.")


def seconds_by_phase(table: pd.DataFrame) -> Figure:
    """Draw the seconds of training and of testing of each study, published and ours (figure 6).

    Parameters
    ----------
    table : DataFrame
        Columns ``study``, ``quantity`` (``total`` in seconds, ``train_share`` and ``test_share`` in percent),
        ``published`` and ``ours``.
    """
    wide = table.pivot(index="study", columns="quantity", values=["published", "ours"])
    wide = wide.loc[table["study"].unique()]
    phases = {"train_share": "training", "test_share": "testing"}
    seconds = {
        phase: pd.DataFrame({side: wide[side, "total"] * wide[side, share] / 100 for side in ("published", "ours")})
        for share, phase in phases.items()
    }
    numbers = pd.concat(seconds, names=["phase"]).reset_index()
    kinds = {phase: phase for phase in seconds}
    look = {"lines": ["study"], "quantities": {"": "time (s)"}, "log": [""], "kind": "phase", "kinds": kinds}
    longer = seconds["testing"] > seconds["training"]
    sums = pd.concat(seconds).groupby("study").sum()
    return titled(
        published_and_ours(numbers, **look),
        f"Testing takes longer than training in {longer['ours'].sum()} of {len(longer)} studies (published: "
        f"{longer['published'].sum()}); a study takes {span(sums['ours'])} seconds (published: "
        f"{span(sums['published'])}).",
    )
