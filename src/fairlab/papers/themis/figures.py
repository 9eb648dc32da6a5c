"""The paper's figures beside ours: published scores, tests with and without pruning, tests by threshold, programs.

Open markers are published. Both measures look as in `fairlab.themis.score`; instances are named in words.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairlab.checks import optional
from fairlab.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, legend_above, log_ticks, panels
from fairlab.themis.score import LOOKS, score_intervals

seaborn = optional("seaborn")

# Where a score comes from: its look, and how far from its line.
SERIES = {
    "printed": ({"marker": "o", "color": BLACK, "mfc": "none", "markersize": 7.5}, 0.0),
    "stored suite": ({"marker": "D", "color": GREEN, "markersize": 3}, 0.0),
    "as released": ({"marker": "v", "color": PURPLE, "markersize": 4}, -0.24),
    "as described": ({"marker": "^", "color": ORANGE, "markersize": 4}, 0.24),
}
LABELS = {"printed": "published", "as described": "as specified"}  # where another word is drawn
# Systems that were trained to be fair have full lines, the others broken ones.
SYSTEMS = {
    system: {"color": color, "marker": marker, "linestyle": line}
    for line, marks, systems in (("-", "osD^", "ABCD"), ("--", "vPX*", "EFGH"))
    for system, marker, color in zip(systems, marks, (BLUE, VERMILION, GREEN, ORANGE), strict=True)
}
WORDS = {"marital": "marital status", "relation": "relationship"}  # what the paper's words are short for
FLOOR = 0.01  # percent; scores below are drawn there
SMALL = 8  # points, of names of cells


def in_words(id: str) -> str:
    """Return the name of an instance in words, or of a cell: an instance and the set that it is tested for.

    Examples
    --------
    >>> in_words("d.census.gender.race")
    'D, Census, fair by gender, tested for race'
    >>> in_words("h.credit.unaware")
    'H, Credit, unaware'
    """
    system, data, trained_for, *asked = id.split(".")
    fair = trained_for if trained_for == "unaware" else f"fair by {trained_for}"
    names = [WORDS.get(word, word) for words in asked for word in words.split("_")]
    about = (
        [f"tested for {' and '.join([', '.join(names[:-1]), names[-1]]) if names[1:] else names[0]}"] if names else []
    )
    return ", ".join([system.upper(), data.capitalize(), fair, *about])


def scores_beside_printed(frame: pd.DataFrame) -> Figure:
    """Draw scores on a logarithmic axis, one line of the figure for each cell (figures 1 and 2).

    Parameters
    ----------
    frame : DataFrame
        Columns ``cell``, ``series`` (``printed``, ``stored suite``, ``as released`` or ``as described``) and ``score``;
        ``low`` and ``high`` where there is an interval, else missing; where there is a ``measure``, each has a panel.
    """
    parts = dict(list(frame.groupby("measure", sort=False))) if "measure" in frame else {"": frame}
    cells = frame["cell"].unique()
    figure, axes = panels(1, len(parts), width=6.7 / len(parts), height=1.1 + 0.22 * len(cells), sharey=True)
    for axis, (measure, rows) in zip(axes, parts.items(), strict=True):
        axis.hlines(np.arange(len(cells)), FLOOR, 100, color=GREY, linewidth=0.4, zorder=0)
        for series, (look, shift) in SERIES.items():
            own = rows[rows["series"] == series]
            if len(own) == 0:
                continue
            place = pd.Index(cells).get_indexer(own["cell"]) + shift
            axis.plot(own["score"].clip(FLOOR), place, **look, linestyle="", label=LABELS.get(series, series))
            axis.hlines(place, own["low"].clip(FLOOR), own["high"].clip(FLOOR), color=look["color"], linewidth=1)
        axis.set(xscale="log", xlim=(FLOOR * 0.7, 140), title=f"{measure} score" if measure else "")
        axis.set_xlabel("score (%)" if measure else "causal score (%)")
        log_ticks(axis.xaxis)
    axes[0].set_yticks(np.arange(len(cells)), map(in_words, cells), fontsize=SMALL)
    axes[0].set_ylim(len(cells) - 0.4, -0.6)
    legend_above(figure, axes[0])
    return figure


def scores_of_search(frame: pd.DataFrame, *, min_score: float) -> Figure:
    """Draw the scores of a search with their intervals; see `fairlab.themis.score.score_intervals`."""
    return score_intervals(frame, min_score=min_score)


def map_of_singles(frame: pd.DataFrame) -> Figure:
    """Draw causal scores of single characteristics as a map, each with its number and the published one, if any.

    Parameters
    ----------
    frame : DataFrame
        Columns ``instance``, ``characteristic``, ``score`` and ``printed``, in percent; the last may be missing.
    """
    table = frame.pivot(index="instance", columns="characteristic", values="score")
    table = table.loc[frame["instance"].unique(), frame["characteristic"].unique()]
    printed = frame.pivot(index="instance", columns="characteristic", values="printed").reindex_like(table)
    figure, [axis] = panels(1, 1, width=6.7, height=1.1 + 0.24 * len(table))
    scores, known = table.map("{:.1f}".format), printed.map(" ({:g})".format)
    texts = scores.where(table.notna(), "") + known.where(table.notna() & printed.notna(), "")
    scale = {"label": "causal score (%), published in brackets", "pad": 0.02}
    look = {"cmap": "Blues", "vmin": 0, "vmax": 100, "fmt": "", "annot_kws": {"fontsize": SMALL}, "cbar_kws": scale}
    seaborn.heatmap(table.rename(index=in_words, columns=WORDS), ax=axis, annot=texts, **look)
    axis.set(xlabel="", ylabel="")
    axis.tick_params(labelsize=SMALL, labelrotation=0)
    return figure


def pruning_counts(frame: pd.DataFrame) -> Figure:
    """Draw the tests of each search without pruning (bars) and with it (dots), and the published ones (figure 3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``measure``, ``instance``, ``without``, ``with``, ``printed without`` and ``printed with``, in tests;
        the published ones may be missing.
    """
    instances, measures = frame["instance"].unique(), frame["measure"].unique()
    figure, axes = panels(1, len(measures), width=6.7 / len(measures), height=1.3 + 0.28 * len(instances), sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        rows = frame[frame["measure"] == measure]
        place = pd.Index(instances).get_indexer(rows["instance"])
        for prefix, shift, color, line, fill in (
            ("", -0.17, LOOKS[measure]["color"], "-", None),
            ("printed ", 0.17, BLACK, ":", "white"),
        ):
            low, high = rows[f"{prefix}with"], rows[f"{prefix}without"]
            axis.hlines(place + shift, low, high, color=color, linestyle=line, linewidth=1)
            # Upright bars stand out above and below a dot of the same place.
            axis.plot(high, place + shift, "|", color=color, markersize=9, markeredgewidth=1.6)
            axis.plot(low, place + shift, "o", color=color, mfc=fill or color, markersize=4, zorder=3)
        axis.set(xscale="log", xlabel="tests", title=f"{measure} score")
        log_ticks(axis.xaxis)
    axes[0].set_yticks(np.arange(len(instances)), map(in_words, instances), fontsize=SMALL)
    axes[0].set_ylim(len(instances) - 0.4, -0.6)
    legend_above(figure, handles=_ends(), n_columns=2)
    return figure


def threshold_lines(frame: pd.DataFrame) -> Figure:
    """Draw the tests of pruned searches against the threshold, as shares of all (section 5.4).

    Parameters
    ----------
    frame : DataFrame
        Columns ``measure``, ``system``, ``threshold`` and ``share`` (of the tests without pruning).
    """
    measures = frame["measure"].unique()
    figure, axes = panels(1, len(measures), width=6.6 / len(measures), height=3.6, sharey=True)
    for axis, measure in zip(axes, measures, strict=True):
        for system, line in frame[frame["measure"] == measure].groupby("system"):
            axis.plot(
                line["threshold"], 100 * line["share"], label=f"system {system}", markersize=4.5, **SYSTEMS[system]
            )
        axis.set(xlabel="smallest score that the search looks for", yscale="log", title=f"{measure} score")
        log_ticks(axis.yaxis)
    axes[0].set_ylabel("tests with pruning (% of those without)")
    beside = "AEBFCGDH"  # below the first four stand the others
    handles = sorted(axes[0].lines, key=lambda line: beside.index(line.get_label()[-1]))
    legend_above(figure, handles=handles, n_columns=4)
    return figure


def programs_by_scores(frame: pd.DataFrame, *, title: str) -> Figure:
    """Draw how far apart both scores of a program can be: a point for each pair of scores (theorem 4.3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``group``, ``causal`` and ``programs``, how many have these scores.
    title : str
    """
    figure, [axis] = panels(1, 1, width=5, height=4.2)
    axis.plot([0, 1], [0, 1], "--", color=GREY, label="group = causal")
    sizes = 3 * np.sqrt(frame["programs"]) + 4
    axis.scatter(
        frame["group"], frame["causal"], s=sizes, color=SKY, edgecolors=BLACK, linewidths=0.4, label="programs"
    )
    axis.set(xlabel="group score (between 0 and 1)", ylabel="causal score (between 0 and 1)", title=title)
    axis.legend(loc="lower right")
    return figure


def _ends() -> list:
    """Return the legend of `pruning_counts`; what is measured has its measure's colour."""
    looks = {
        "with pruning": {"marker": "o", "color": GREY, "markersize": 4},
        "without": {"marker": "|", "color": GREY, "markersize": 9, "markeredgewidth": 1.6},
        "with pruning, published": {"marker": "o", "color": BLACK, "mfc": "white", "markersize": 4},
        "without, published": {"marker": "|", "color": BLACK, "markersize": 9, "markeredgewidth": 1.6},
    }
    return [
        Line2D([], [], linestyle=":" if "published" in label else "-", linewidth=1, label=label, **look)
        for label, look in looks.items()
    ]
