"""Figures of the experiments on ADF: growth with the seeds, other networks, and retraining.

Open markers are published, filled ones ours.
"""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairlab.plotting import (
    BLACK,
    BLUE,
    GREY,
    LINES,
    PURPLE,
    SKY,
    legend_above,
    listed,
    log_ticks,
    panels,
    rounded,
    span,
    titled,
)

# What methods are called, and the colour and marker of each, wherever several are drawn.
KINDS = {"adf": "ADF", "aequitas": "Aequitas", "sg": "SG"}
BY_METHOD = {"lines": ["data", "feature"], "kind": "method", "kinds": KINDS}  # of `published_and_ours`
MARKS = {method: {"color": line["color"], "marker": line["marker"]} for method, line in zip(KINDS, LINES, strict=False)}
CURVES = {"inputs": ("-", 40), "discriminatory": ("--", 16)}  # line, and size of what is published


def growth_curves(frame: pd.DataFrame) -> Figure:
    """Draw distinct inputs and discriminatory ones by the number of seeds, one panel per method (figure 3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``method`` (a key of `KINDS`), ``series`` (ours, or published: drawn as open markers), ``run``,
        ``seeds``, ``inputs`` and ``discriminatory``.
    """
    methods = frame["method"].unique()
    figure, axes = panels(1, len(methods), width=6.6 / len(methods), height=3.4, sharey=True)
    for axis, method in zip(axes, methods, strict=True):
        color, marker = MARKS[method]["color"], MARKS[method]["marker"]
        of_method = frame[frame["method"] == method]
        ours, published = (of_method[of_method["series"] == series] for series in ("ours", "published"))
        for column, (line, size) in CURVES.items():
            for _, run in ours.groupby("run"):
                axis.plot(run["seeds"], run[column], color=color, linestyle=line, linewidth=1.2)
            edge = {"marker": marker, "facecolors": "white", "edgecolors": BLACK, "zorder": 3}
            axis.scatter(published["seeds"], published[column], s=size, **edge)
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.set(title=KINDS[method], xlabel="seeds explored")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("distinct inputs")
    legend_above(figure, handles=_explained(), n_columns=2)
    counts = frame[frame["series"] == "ours"].groupby(["method", "seeds"])["inputs"].mean().unstack("method").dropna()
    half, last = counts.index[(len(counts) - 1) // 2], counts.index[-1]
    times = [f"{rounded(of)} ({KINDS[method]})" for method, of in (counts.loc[last] / counts.loc[half]).items()]
    return titled(
        figure, f"From {half} to {last} seeds the number of distinct inputs is multiplied by {listed(times)}."
    )


def _explained() -> list[Line2D]:
    """Return what the legend shows, in black: colours are those of the panels' methods."""
    handles = []
    for column, (line, size) in CURVES.items():
        handles.append(Line2D([], [], color=BLACK, linestyle=line, label=f"{column}, ours (a line per run)"))
        edge = {"marker": "o", "mfc": "white", "mec": BLACK, "markersize": size**0.5}
        handles.append(Line2D([], [], linestyle="", **edge, label=f"{column}, published"))
    return handles


# Whose networks were searched, and how long: the look of a ratio, and how far from its line.
NETWORKS = {
    "published": ({"color": BLACK, "marker": "o", "size": 6.5, "opened": True}, 0.0, "published"),
    "ours": ({"color": BLUE, "marker": "o", "size": 4}, 0.0, "ours, means over runs"),
    "authors": ({"color": PURPLE, "marker": "D", "size": 3.5}, 0.25, "authors' network, one short search"),
    "trained here": ({"color": SKY, "marker": "v", "size": 4}, 0.25, "network trained here, one short search"),
}
REFERENCE = {"color": BLACK, "linewidth": 0.8, "linestyle": ":"}
# What a network was trained on with, and its colour. The axis names it: the marker tells published from ours.
ADDED = {"before": BLACK, "nothing": GREY} | {method: MARKS[method]["color"] for method in ("aequitas", "sg", "adf")}


def benchmark_name(benchmark: str) -> str:
    """Return the name of a benchmark in words: ``census.age`` is "Census, age"."""
    return benchmark.replace(".", ", ").capitalize()


def ratios_by_network(frame: pd.DataFrame) -> Figure:
    """Draw how many times as much ADF finds as Aequitas: published, by full searches, and network by network.

    Parameters
    ----------
    frame : DataFrame
        Columns ``benchmark``, ``network`` (published, ours, authors, or a number) and ``ratio``.
    """
    benchmarks = pd.Index(frame["benchmark"].unique())
    series = frame["network"].where(frame["network"].isin(list(NETWORKS)), "trained here")
    figure, [axis] = panels(1, 1, width=5.6, height=1.1 + 0.4 * len(benchmarks))
    handles = [Line2D([], [], **REFERENCE, label="as many")]
    for name, (look, aside, label) in NETWORKS.items():
        own = frame[series == name]
        handles.insert(-1, _handle(label, **look))
        axis.plot(own["ratio"], benchmarks.get_indexer(own["benchmark"]) + aside, **_mark(**look))
    axis.axvline(1, **REFERENCE)
    axis.set_xscale("log")
    axis.set_xlim(min(frame["ratio"].min(), 1) / 1.4, frame["ratio"].max() * 1.4)
    log_ticks(axis.xaxis)
    axis.set_yticks(range(len(benchmarks)), map(benchmark_name, benchmarks))
    axis.invert_yaxis()
    axis.set_xlabel("ADF's discriminatory inputs over Aequitas' (ratio)")
    legend_above(figure, handles=handles, n_columns=2)
    drawn = {label: frame["ratio"][series == name] for name, (*_, label) in NETWORKS.items()}
    said = [f"{label}: {span(ratios)}" for label, ratios in drawn.items() if len(ratios)]
    return titled(figure, f"ADF finds so many times the inputs of Aequitas: {'; '.join(said)}.")


def shares_by_method(frame: pd.DataFrame) -> Figure:
    """Draw the share of discriminatory inputs before and after retraining, one panel per benchmark (table 10).

    Parameters
    ----------
    frame : DataFrame
        Columns ``benchmark``, ``added`` (before, nothing, or a key of `KINDS`), ``series`` (ours, one row per
        repetition, or published) and ``share``, between 0 and 1.
    """
    benchmarks = frame["benchmark"].unique()
    figure, axes = panels(-(-len(benchmarks) // 2), 2, width=3.3, height=1.9, sharex=True)
    for axis in axes[len(benchmarks) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, benchmarks, strict=False):
        of_benchmark = frame[frame["benchmark"] == name]
        for place, (added, color) in enumerate(ADDED.items()):
            rows = of_benchmark[of_benchmark["added"] == added]
            ours, published = (100 * rows["share"][rows["series"] == series] for series in ("ours", "published"))
            axis.scatter([place - 0.14] * len(ours), ours, s=14, alpha=0.7, linewidths=0, color=color)
            axis.hlines(ours.mean(), place - 0.3, place + 0.02, color=color, linewidth=1.4)
            axis.plot([place + 0.2] * len(published), published, **_mark(color, "o", 6, opened=True))
            if added == "before" and len(ours):
                axis.axhline(ours.mean(), zorder=0, **REFERENCE)
        axis.set(title=benchmark_name(name), xlim=(-0.5, len(ADDED) - 0.5))
        axis.set_ylim(0, 112 * of_benchmark["share"].max() or 1)
        axis.set_xticks(range(len(ADDED)), [KINDS.get(added, added) for added in ADDED], fontsize="small")
    for axis in axes[::2]:
        axis.set_ylabel("discriminatory\ninputs (% of domain)")
    handles = [
        _handle("published", BLACK, "o", opened=True),
        _handle("ours, one point per repetition", BLACK, "o"),
        Line2D([], [], color=BLACK, linewidth=1.4, label="their mean"),
        Line2D([], [], **REFERENCE, label="before"),
    ]
    legend_above(figure, handles=handles, n_columns=2)
    means = frame[frame["series"] == "ours"].groupby(["benchmark", "added"])["share"].mean().unstack("added")
    left = means.div(means["before"], axis=0).median().drop("before").sort_values(ascending=False)
    said = [f"{share:.0%} with {KINDS.get(added, added)} added" for added, share in left.items()]
    return titled(figure, f"Of the discriminatory inputs, retraining leaves {listed(said)} (median over benchmarks).")


def _mark(color, marker, size=4, *, opened=False) -> dict:
    faces = {"markerfacecolor": "white" if opened else color, "markeredgecolor": color}
    return {"linestyle": "", "marker": marker, "markersize": size} | faces


def _handle(label, color, marker, size=None, *, opened=False) -> Line2D:
    return Line2D([], [], label=label, **_mark(color, marker, size or (6.5 if opened else 4), opened=opened))
