"""The forest plot of an audit: estimates with their intervals, a panel for each method."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairlab.auditing.exports import legal
from fairlab.plotting import BLACK, GREEN, GREY, VERMILION, interval_lines, legend_above, panels, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINDINGS_SHOWN = 12  # findings of one method, the first ones of the report
LOOKS = {"better": (GREEN, "s"), "worse": (VERMILION, "^"), "ruled out": (GREY, "D"), "undecided": (GREY, "o")}


def forest(report) -> "Figure":
    """Return a forest plot of a report: methods as they ran, each on a scale of its own, significant findings first.

    Filled marks are significant after correction, hollow ones are not. At most twelve findings of a method are shown;
    its panel says how many are left out. A dotted line marks the limit above which a ratio counts.
    """
    from matplotlib.lines import Line2D

    known = report.frame[np.isfinite(report.frame["low"].astype(float))]
    as_they_ran = dict.fromkeys(finding.method for result in report.results for finding in result.findings)
    shown = {method: rows for method in as_they_ran if len(rows := known[known["method"] == method])}
    if not shown:
        figure, (axis,) = panels(1, 1, width=6, height=1)
        axis.axis("off")
        axis.text(0.5, 0.5, "no findings", ha="center", va="center")
        return figure
    heights = [min(len(rows), FINDINGS_SHOWN) for rows in shown.values()]
    size = (0.42 * sum(heights) + 0.55 * len(heights)) / len(heights)
    figure, axes = panels(len(shown), 1, width=9, height=max(size, 1.0), height_ratios=[h + 1.3 for h in heights])
    for axis, (method, rows) in zip(axes, shown.items(), strict=True):
        _panel(axis, method, rows)
    marks: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6}
    handles = [
        Line2D([], [], color=VERMILION, label="significant after correction", **marks),
        Line2D([], [], color=GREY, markerfacecolor="white", label="not significant", **marks),
    ]
    legend_above(figure, handles=handles)
    return figure


def changes(rows: pd.DataFrame) -> "Figure":
    """Return the changes of a comparison with their intervals; what is left of 0 has become smaller, which is better.

    Parameters
    ----------
    rows : DataFrame
        As returned by `ModelComparison.to_frame`.
    """
    from matplotlib.lines import Line2D

    figure, (axis,) = panels(1, 1, width=9, height=0.45 * max(len(rows), 1) + 1.1)
    labels = [wrapped(legal(f"{row.where}: {row.measure}")) for row in rows.itertuples()]
    interval_lines(
        axis,
        labels,
        *(rows[name] for name in ("change", "low", "high")),
        colors=[LOOKS[verdict][0] for verdict in rows["verdict"]],
        markers=[LOOKS[verdict][1] for verdict in rows["verdict"]],
    )
    axis.axvline(0, color=BLACK, linewidth=0.8)
    axis.set_xlabel("change; less than 0 is better")
    handles = [
        Line2D([], [], color=colour, marker=mark, linestyle="none", label=verdict)
        for verdict, (colour, mark) in LOOKS.items()
    ]
    legend_above(figure, handles=handles)
    return figure


def _panel(axis, method, rows):
    left_out = len(rows) - FINDINGS_SHOWN
    rows = rows.head(FINDINGS_SHOWN)
    interval_lines(
        axis,
        [wrapped(legal(finding.comparison)) for finding in rows["finding"]],
        *(rows[name] for name in ("estimate", "low", "high")),
        colors=[VERMILION if is_so else GREY for is_so in rows["significant"]],
        faces=[VERMILION if is_so else "white" for is_so in rows["significant"]],
    )
    if limits := {finding.limit for finding in rows["finding"]} - {0.0}:
        axis.axvline(max(limits), color=BLACK, linewidth=0.8, linestyle=":")
    low, high = axis.get_xlim()
    if low <= 0 <= high or min(abs(low), abs(high)) < high - low:
        axis.axvline(0, color=BLACK, linewidth=0.8)
    axis.set_title(legal(method) + f" ({left_out} more not shown)" * (left_out > 0), loc="left", fontsize=10)
