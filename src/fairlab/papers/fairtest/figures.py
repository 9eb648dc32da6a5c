"""Figures that only the replay of the paper needs: planted effects, shares of time, counts, and age bands."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab.fairtest.figures import box_plots
from fairlab.fairtest.sample import Sample
from fairlab.plotting import BLUE, GREY, LINES, ORANGE, VERMILION, legend_above, panels

BANDS = {10: "under 18", 20: "18–24", 30: "25–34", 40: "35–44", 50: "45–55", 60: "56+"}


def found_by_size(planted: pd.DataFrame) -> Figure:
    """Draw how many planted effects are found against their size, one line for each strength (figure 5).

    Parameters
    ----------
    planted : DataFrame
        Columns ``size``, ``delta`` (percentage points), ``found`` and ``validated``, one row for each trial.
    """
    counted = {"found": "in the trained tree", "validated": "significant in the test"}
    figure, axes = panels(1, 2, width=4.2, height=3.4, extra_width=0.6, sharey=True)
    sizes = sorted(planted["size"].unique())
    for axis, (column, title) in zip(axes, counted.items(), strict=True):
        means = planted.groupby(["delta", "size"])[column].mean().unstack("size")
        for (delta, row), look in zip(means.iterrows(), LINES, strict=False):
            axis.plot(sizes, row[sizes], linewidth=1.2, label=f"Δ = {delta:g}%", **look)
        axis.set(title=title, xlabel="users in a planted context", xscale="log", ylim=(-0.3, 10.5))
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        axis.minorticks_off()
    axes[0].set_ylabel("planted contexts found, of ten")
    legend_above(figure, axes[0])
    return figure


def time_shares(seconds: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw how analysis time divides into training and testing, with the total beside each bar (figure 6).

    Parameters
    ----------
    seconds : dict of str to DataFrame
        By what to write above each; columns ``train`` and ``test``, one row for each study, from the top down.
    """
    longest = max(len(times) for times in seconds.values())
    figure, axes = panels(1, len(seconds), width=4.2, height=1.4 + 0.35 * longest, extra_width=0.6, sharey=True)
    for axis, (title, times) in zip(axes, seconds.items(), strict=True):
        total = times["train"] + times["test"]
        train, place = 100 * times["train"] / total, np.arange(len(times))
        axis.barh(place, train, color=BLUE, label="training")
        axis.barh(place, 100 - train, left=train, color=ORANGE, label="testing")
        for line, value in enumerate(total):
            axis.text(102, line, f"{value:.2g} s" if value < 10 else f"{value:.0f} s", va="center", size=9)
        axis.set_yticks(place, times.index)
        axis.set(title=title, xlabel="share of the time (%)", xlim=(0, 100))
    axes[0].invert_yaxis()
    legend_above(figure, axes[0])
    return figure


def counts_beside_published(ours: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw numbers of contexts beside the published ones, a panel for each column (table 2).

    Parameters
    ----------
    ours, published : DataFrame
        With the same columns; one row for each study, from the top down. Values are numbers of at least 0.
    """
    figure, axes = panels(1, len(ours.columns), width=3.0, height=1.4 + 0.35 * len(ours), extra_width=0.6, sharey=True)
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
    axes[0].invert_yaxis()
    legend_above(figure, axes[0])
    return figure


def boxes_by_band(samples: Mapping[str, Sample]) -> Figure:
    """Draw box plots by group with the first panel's ages as MovieLens' bands (figure 12).

    Parameters
    ----------
    samples : dict of str to Sample
        By what to write above each; the first one by age.
    """
    figure = box_plots(samples)
    ages = np.unique(next(iter(samples.values())).protected.values)
    figure.axes[0].set_xticks(ages, [BANDS[age] for age in ages], rotation=30)
    return figure
