"""How what a search finds grows with the seeds."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from fairlab.plotting import LINES, legend_beside, panels

CURVES = ("inputs", "discriminatory")


def growth_curves(
    growth: Mapping[str, Sequence[pd.DataFrame]], published: Mapping[str, pd.DataFrame] | None = None
) -> Figure:
    """Draw distinct inputs and discriminatory ones by the number of seeds, one panel per method (figure 3).

    Parameters
    ----------
    growth : dict of str to list of DataFrame
        By the name of the method, one table per run, as `SearchResult.growth` gives it.
    published : dict of str to DataFrame, optional
        The same read off the published figure, drawn as points.
    """
    figure, axes = panels(len(growth), 1, width=8, height=2.9)
    for axis, (method, runs) in zip(axes, growth.items(), strict=True):
        for column, style in zip(CURVES, LINES, strict=False):
            color, linestyle, marker = style["color"], style["linestyle"], style["marker"]
            for number, run in enumerate(runs):
                label = f"{column}, ours" if number == 0 else None
                axis.plot(run.index, run[column], linewidth=1.4, label=label, color=color, linestyle=linestyle)
            if published and method in published:
                points = published[method][column]
                label = f"{column}, published"
                axis.scatter(points.index, points, s=28, label=label, color=color, marker=marker, facecolors="none")
        axis.set(title=method, ylabel="distinct inputs")
        axis.set_ylim(bottom=0)
        legend_beside(axis, fontsize="small")
    axes[-1].set_xlabel("seeds explored")
    return figure
