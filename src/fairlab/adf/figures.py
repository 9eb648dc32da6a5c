"""How what a search finds grows with the seeds, and the look of each method in all figures."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairlab.plotting import BLACK, LINES, legend_above, panels

# One colour and marker for each method, wherever several are drawn.
MARKS = {
    method: {"color": line["color"], "marker": line["marker"]}
    for method, line in zip(("ADF", "Aequitas", "SG"), LINES, strict=False)
}
CURVES = {"inputs": ("-", 40), "discriminatory": ("--", 16)}  # line, and size of what is published


def growth_curves(frame: pd.DataFrame) -> Figure:
    """Draw distinct inputs and discriminatory ones by the number of seeds, one panel per method (figure 3).

    Parameters
    ----------
    frame : DataFrame
        Columns ``method`` (ADF, Aequitas or SG), ``series`` (ours, or published: drawn as open markers), ``run``,
        ``seeds``, ``inputs`` and ``discriminatory``.
    """
    methods = frame["method"].unique()
    figure, axes = panels(1, len(methods), width=6.6 / len(methods), height=3.4)
    for axis, method in zip(axes, methods, strict=True):
        color, marker = MARKS[method]["color"], MARKS[method]["marker"]
        of_method = frame[frame["method"] == method]
        ours, published = (of_method[of_method["series"] == series] for series in ("ours", "published"))
        for column, (line, size) in CURVES.items():
            for _, run in ours.groupby("run"):
                axis.plot(run["seeds"], run[column], color=color, linestyle=line, linewidth=1.2)
            edge = {"marker": marker, "facecolors": "white", "edgecolors": color, "zorder": 3}
            axis.scatter(published["seeds"], published[column], s=size, **edge)
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.set(title=method, xlabel="seeds explored")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("distinct inputs")
    legend_above(figure, handles=_explained(), n_columns=2)
    return figure


def _explained() -> list[Line2D]:
    """Return what the legend shows, in black: colours are those of the panels' methods."""
    handles = []
    for column, (line, size) in CURVES.items():
        handles.append(Line2D([], [], color=BLACK, linestyle=line, label=f"{column}, ours (a line per run)"))
        edge = {"marker": "o", "mfc": "white", "mec": BLACK, "markersize": size**0.5}
        handles.append(Line2D([], [], linestyle="", **edge, label=f"{column}, published"))
    return handles
