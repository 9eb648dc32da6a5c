"""The paper's figures beside ours: published scores, tests with and without pruning, tests by threshold, programs.

Open markers are published. Both measures look as in `fairlab.themis.score`; instances are named in words.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairlab.checks import optional
from fairlab.papers.figures import published_and_ours
from fairlab.plotting import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_above,
    legend_beside,
    listed,
    log_ticks,
    panels,
    rounded,
    span,
    titled,
)
from fairlab.themis.score import score_intervals

seaborn = optional("seaborn")

# Where a score comes from: its look, and how far from its line.
SERIES = {
    "printed": ({"marker": "o", "color": BLACK, "mfc": "none", "markersize": 7.5, "label": "published"}, 0.0),
    "stored suite": ({"marker": "D", "color": GREEN, "markersize": 3, "label": "stored output"}, 0.0),
    "as released": ({"marker": "v", "color": PURPLE, "markersize": 4, "label": "this run"}, 0.2),
}
# Systems that were trained to be fair have full lines, the others broken ones.
SYSTEMS = {
    system: {"color": color, "marker": marker, "linestyle": line}
    for line, marks, systems in (("-", "osD^", "ABCD"), ("--", "vPX*", "EFGH"))
    for system, marker, color in zip(systems, marks, (BLUE, VERMILION, GREEN, ORANGE), strict=True)
}
WORDS = {"marital": "marital status", "relation": "relationship"}  # what the paper's words are short for
LINEAR = 0.1  # percent; below, the axis of scores is linear, so that it has a zero
SAME, CLOSE = 0.05, 5  # points between scores that are equal as printed, and that are close
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
    """Draw scores on an axis that is logarithmic but for a zero, a line for each cell (figures 1 and 2).

    Parameters
    ----------
    frame : DataFrame
        Columns ``cell``, ``series`` (``printed``, ``stored suite`` or ``as released``; others are not drawn) and
        ``score``; ``low`` and ``high`` where there is an interval, else missing; where there is a ``measure``, each has
        a panel.
    """
    parts = dict(list(frame.groupby("measure", sort=False))) if "measure" in frame else {"causal": frame}
    cells = frame["cell"].unique()
    figure, axes = panels(1, len(parts), width=4.8 / len(parts), height=1.3 + 0.2 * len(cells), sharey=True)
    for axis, (measure, rows) in zip(axes, parts.items(), strict=True):
        axis.hlines(np.arange(len(cells)), 0, 100, color=GREY, linewidth=0.4, zorder=0)
        for series, (look, shift) in SERIES.items():
            own = rows[rows["series"] == series]
            place = pd.Index(cells).get_indexer(own["cell"]) + shift
            axis.plot(own["score"], place, **look, linestyle="", clip_on=False)
            axis.hlines(place, own["low"], own["high"], color=look["color"], linewidth=1)
        axis.set_xscale("symlog", linthresh=LINEAR, linscale=0.6)
        axis.set(xlim=(0, 100), xlabel=f"{measure} score (%)")
        axis.set_xticks([0, LINEAR, 1, 10, 100], ["0", f"{LINEAR:g}", "1", "10", "100"], fontsize=SMALL)
    axes[0].set_yticks(np.arange(len(cells)), map(in_short, cells), fontsize=SMALL)
    axes[0].set_ylim(len(cells) - 0.4, -0.6)
    axes[0].set_ylabel("system, data, trained to be fair by → tested for", fontsize=SMALL)
    legend_above(figure, axes[0])
    wide = frame.pivot(index=[name for name in ("measure", "cell") if name in frame], columns="series")
    score = wide["score"].reindex(columns=list(SERIES))
    stored = (score["stored suite"] - score["printed"]).abs().dropna() <= SAME
    fresh = (wide[bound, "as released"] for bound in ("low", "high"))
    inside = score["printed"].between(*fresh)[score[["printed", "as released"]].notna().all(axis=1)]
    return titled(
        figure,
        f"{stored.sum()} of {len(stored)} stored outputs have the published score to within {SAME:g} points; "
        f"{inside.sum()} of {len(inside)} intervals of this run hold it.",
    )


def in_short(id: str) -> str:
    """Return the name of a cell in short.

    Examples
    --------
    >>> in_short("d.census.gender.race")
    'D, Census, gender → race'
    """
    words = [word.removeprefix("fair by ").removeprefix("tested for ") for word in in_words(id).split(", ", 3)]
    return " → ".join([", ".join(words[:3]), *words[3:]])


def scores_of_search(frame: pd.DataFrame, *, min_score: float) -> Figure:
    """Draw the scores of a search with their intervals; see `fairlab.themis.score.score_intervals`."""
    above = frame[frame["score"] >= min_score].groupby("measure", sort=False)["sensitive_features"].agg(listed)
    said = listed(f"the {measure} score of {names}" for measure, names in above.items()) or "no score"
    return titled(score_intervals(frame, min_score=min_score), f"At or above the threshold of {min_score:g}: {said}.")


def map_of_singles(frame: pd.DataFrame) -> Figure:
    """Draw causal scores of single characteristics as a map; published ones are boxes in its cells (figure 2).

    Parameters
    ----------
    frame : DataFrame
        Columns ``instance``, ``characteristic``, ``score`` and ``printed``, in percent; the last may be missing.
    """
    table = frame.pivot(index="instance", columns="characteristic", values="score")
    table = table.loc[frame["instance"].unique(), frame["characteristic"].unique()]
    printed = frame.pivot(index="instance", columns="characteristic", values="printed").reindex_like(table)
    figure, [axis] = panels(1, 1, width=6.7, height=1.1 + 0.26 * len(table))
    look = {"cmap": "Blues", "vmin": 0, "vmax": 100, "annot": True, "fmt": ".1f", "annot_kws": {"fontsize": SMALL}}
    scale = {"label": "causal score (%); in a box: published", "pad": 0.02}
    seaborn.heatmap(table.rename(index=in_words, columns=WORDS), ax=axis, cbar_kws=scale, linewidths=1, **look)
    colors, texts = axis.collections[0], {text.get_position(): text for text in axis.texts}
    for row, column in zip(*np.nonzero(printed.notna().to_numpy()), strict=True):
        value = printed.iloc[row, column]
        box = {"facecolor": colors.cmap(colors.norm(value)), "edgecolor": BLACK, "linewidth": 1.2}
        axis.add_patch(Rectangle((column + 0.52, row + 0.1), 0.46, 0.8, **box))
        ink = BLACK if value < 50 else "white"
        axis.text(column + 0.75, row + 0.52, f"{value:g}", ha="center", va="center", fontsize=7, color=ink)
        if ours := texts.get((column + 0.5, row + 0.5)):
            ours.set_x(column + 0.26)
    axis.set(xlabel="", ylabel="")
    axis.tick_params(labelsize=SMALL, labelrotation=0)
    apart = (frame["score"] - frame["printed"]).abs().dropna()
    near = f"{(apart <= CLOSE).sum()} of {len(apart)} published scores lie within {CLOSE} points of ours"
    beside = near if len(apart) else "No score is published"
    return titled(figure, f"{beside}; the largest of ours is {rounded(table.max(axis=None))}%.")


def pruning_factors(frame: pd.DataFrame) -> Figure:
    """Draw how many times fewer tests a search needs with pruning, published and ours (figure 3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``measure``, ``instance``, ``factor`` and ``printed factor``; the last may be missing.
    """
    numbers = frame.assign(
        name=frame["instance"].map(in_words), ours=frame["factor"], published=frame["printed factor"]
    )
    quantities = {
        measure: f"tests without pruning over\nthose with it, {measure} score" for measure in frame["measure"].unique()
    }
    options = {"lines": ["name"], "quantity": "measure", "quantities": quantities, "log": list(quantities)}
    said = [
        f"{span(of[side])}, median {rounded(of[side].median())} ({side})"
        for side, of in ((side, numbers.dropna(subset=side)) for side in ("ours", "published"))
        if len(of)
    ]
    return titled(published_and_ours(numbers, **options), f"Pruning divides the number of tests by {listed(said)}.")


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
    least = frame[frame["threshold"] == frame["threshold"].min()].groupby("measure", sort=False)["share"]
    said = [f"{span(of, '{:.0%}'.format)} of the tests ({measure} score)" for measure, of in least]
    return titled(figure, f"At the threshold {frame['threshold'].min():g} pruning leaves {listed(said)}.")


def programs_by_scores(frame: pd.DataFrame, *, title: str) -> Figure:
    """Draw how far apart both scores of a program can be: a point for each pair of scores (theorem 4.3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``group``, ``causal`` and ``programs``, how many have these scores.
    title : str
    """
    figure, [axis] = panels(1, 1, width=5.6, height=3.9)
    axis.plot([0, 1], [0, 1], "--", color=GREY, zorder=0)
    axis.text(0.62, 0.55, "both scores equal", fontsize=SMALL)
    look = {"color": SKY, "edgecolor": BLACK, "sizes": (20, 300), "clip_on": False, "legend": "full"}
    seaborn.scatterplot(frame, x="group", y="causal", size="programs", ax=axis, **look)
    axis.set(xlabel="group score (between 0 and 1)", ylabel="causal score (between 0 and 1)", title=title)
    legend_beside(axis, title="programs", labelspacing=1)
    apart = frame.loc[frame["causal"] - frame["group"] == 1, "programs"].sum()
    below = frame.loc[frame["causal"] < frame["group"], "programs"].sum()
    return titled(
        figure,
        f"{apart} of {frame['programs'].sum()} pairs of a program and a characteristic have the smallest group score "
        f"and the largest causal one; {below or 'none'} a causal score below the group score.",
    )
