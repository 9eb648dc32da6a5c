"""Figures that only the replay of the paper needs, and what is printed as rows beside ours.

The functions that draw take one table each, in which rows whose ``series`` is ``published`` are open marks.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.fairtest.figures import OURS, WIDTH
from fairlab.fairtest.finding import Finding
from fairlab.fairtest.plotted import group_counts, titled_samples
from fairlab.papers.fairtest import contexts
from fairlab.plotting import BLACK, GREEN, GREY, LINES, ORANGE, PUBLISHED, legend_above, panels

BANDS = {10: "under 18", 20: "18–24", 30: "25–34", 40: "35–44", 50: "45–55", 60: "56+"}
GENERATED = (
    "The shoppers are generated from shares by area: a small p-value or a short interval speaks of the generator, "
    "not of people."
)
PARTS = {"train": (GREEN, ""), "test": (ORANGE, "///")}


def context_counts(
    found: Mapping[str, Finding],
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
    found : dict of str to Finding
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
        As `fairlab.fairtest.plotted.group_counts` returns it, with a column ``series``.
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
    """Return printed intervals as rows of `fairlab.fairtest.association_table`, of series ``published``.

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
    """Return printed differences of labels as rows of `fairlab.fairtest.plotted.difference_table` (figure 9).

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
