"""What all figures share: one palette, one style, panels, a title sentence, and a legend.

Colours are Okabe and Ito's, distinguishable without full colour vision; a few kinds also differ in marker, line style
or hatching. Figures are closed for pyplot, so that a notebook shows them once.
"""

from __future__ import annotations

import base64
import io
import textwrap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

GREY, BLUE, VERMILION, GREEN, ORANGE = "#999999", "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, BLACK = "#56B4E9", "#CC79A7", "#000000"

# The same by name, and lightened, for what lies behind text.
COLOURS = {
    "blue": BLUE,
    "green": GREEN,
    "vermilion": VERMILION,
    "purple": PURPLE,
    "orange": ORANGE,
    "grey": GREY,
}
TINTS = {
    "blue": "#b3d4ea",
    "green": "#b3e3d6",
    "vermilion": "#f3c9b0",
    "purple": "#edd5e2",
    "orange": "#f8e2b3",
    "grey": "#e6e6e6",
}

# For lines of a few kinds, in this order.
LINES = (
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": "--", "marker": "^"},
    {"color": GREEN, "linestyle": "-.", "marker": "s"},
    {"color": ORANGE, "linestyle": ":", "marker": "D"},
)
# For published values, whatever our results look like.
PUBLISHED = {
    "marker": "D",
    "linestyle": "",
    "color": BLACK,
    "markerfacecolor": "none",
    "label": "published",
}
# Multiples of powers of ten that a logarithmic axis shows, by the largest number of decades.
BETWEEN = {1.6: (1, 2, 5), 3.0: (1, 3), np.inf: (1,)}
WIDTH_OF_LABELS = 62  # letters in a line
# Of reports as pages: what an audit writes, and what a monitor serves.
# Figures are drawn on white; a dark page, which a notebook may not be, inverts their lightness.
PAGE_STYLE = """
:root {color-scheme: light dark;} body {margin: 0; background: Canvas;}
@media screen and (prefers-color-scheme: dark) {
  main .fairlab img {background: transparent; filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen;}}
"""
REPORT_STYLE = """
.fairlab {color-scheme: light dark; --line: #8886; --mark: #D55E00; font: 15px/1.5 system-ui, sans-serif;
  max-width: 62rem; margin: 0 auto; padding: 0 1rem 2rem;}
.fairlab .summary {font-size: 1.1em;}
.fairlab .verdict {border-left: 6px solid var(--line); padding-left: .8em;}
.fairlab .verdict.found {border-color: var(--mark);} .fairlab .verdict.within {border-color: #009E73;}
.fairlab .word {font-size: 1.8em; font-weight: bold; line-height: 1.2; margin: 0;}
.fairlab dl {display: grid; grid-template-columns: minmax(5.5em, auto) 1fr; gap: .3em .8em; margin: .5em 0;}
.fairlab dt {font-weight: bold; overflow-wrap: anywhere; max-width: 9em;} .fairlab dd {margin: 0;}
.fairlab .bars {width: 100%; max-width: 40rem;} .fairlab .bars th {max-width: 9em; overflow-wrap: anywhere;}
.fairlab .bars tr > :first-child {min-width: 6em;}
.fairlab .bars caption {caption-side: bottom; text-align: left;}
.fairlab .bars .bar {width: 50%;} .fairlab .bars i {display: block; height: 1.2em; background: #0072B2;}
.fairlab .bars .ratio {font-size: 1.4em; line-height: 1;}
.fairlab table {border-collapse: collapse; margin: .5em 0;}
.fairlab th, .fairlab td {text-align: left; vertical-align: top; padding: .2em .7em .2em 0;
  border-bottom: 1px solid var(--line);}
.fairlab td.number, .fairlab th.number {text-align: right; white-space: nowrap;}
.fairlab tr.significant td:first-child {border-left: 4px solid var(--mark); padding-left: .5em;}
.fairlab tr.small td {font-style: italic;}
.fairlab .wide, .fairlab .drawing {overflow-x: auto;}
.fairlab img {max-width: 100%; height: auto; background: white;}
.fairlab summary {cursor: pointer; padding: .2em 0;}
@media (max-width: 30rem) {.fairlab dl {display: block;} .fairlab th, .fairlab td {padding-right: .4em;}
  .fairlab .bars .bar {width: 30%;}
  .fairlab .drawing img {max-width: none;}
  .fairlab .wide {font-size: .8em;} .fairlab .wide .number {white-space: normal;}
  .fairlab .wide td:first-child {min-width: 5em; overflow-wrap: anywhere;}
  .fairlab .rows td, .fairlab .rows th {min-width: 0 !important; overflow-wrap: anywhere;}
  .fairlab .comparisons :is(table, tbody) {display: block;}
  .fairlab .comparisons tr {display: grid; grid-template-columns: 5em 10em 4.6em 1fr 3.6em;
    border-bottom: 1px solid var(--line);}
  .fairlab .comparisons :is(td, th) {border: 0;} .fairlab .comparisons :is(td, th):first-child {grid-column: 1 / -1;}
  .fairlab .comparisons :is(td, th):last-child {grid-column: 5;}}
@media print {.fairlab details::details-content {content-visibility: visible; block-size: auto;}
  .fairlab {max-width: none; font-size: 10pt;} .fairlab .wide {overflow: visible;}
  .fairlab tr, .fairlab img {break-inside: avoid;} .fairlab h2, .fairlab h3 {break-after: avoid;}}
"""


def use_style() -> None:
    """Draw all further figures in the look of this project: the style sheet ``fairlab.style`` of matplotlib."""
    from matplotlib import pyplot as plt  # here and below: most who import this module draw nothing

    plt.style.use("fairlab.style")


def panels(n_rows: int, n_columns: int, *, width: float, height: float, **options) -> tuple[Figure, np.ndarray]:
    """Return a figure of equal panels and its axes, shape (n_rows * n_columns,), row by row.

    Parameters
    ----------
    n_rows, n_columns : int
    width, height : float
        Of one panel, in inches.
    **options
        Of `matplotlib.pyplot.subplots`, such as ``sharey``.
    """
    from matplotlib import pyplot as plt

    size = (width * n_columns, height * n_rows)
    figure, axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options)
    plt.close(figure)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes.ravel()


def wrapped(text: str) -> str:
    """Return a label in two lines at most; a dollar in it is a dollar, not mathematics."""
    return "\n".join(textwrap.wrap(text.replace("$", r"\$"), WIDTH_OF_LABELS, max_lines=2, placeholder=" ..."))


def interval_lines(axis, labels, estimates, lows, highs, *, colors, faces=None, markers=None) -> None:
    """Draw estimates with their intervals, one a line from the top; an interval with an unknown end is left out."""
    rows = zip(estimates, lows, highs, colors, faces or colors, markers or "o" * len(labels), strict=True)
    for place, (estimate, low, high, color, face, marker) in enumerate(rows):
        if np.isfinite([low, high]).all():
            axis.plot([low, high], [place, place], color=color, linewidth=2, solid_capstyle="butt")
        axis.plot(estimate, place, marker, color=color, markerfacecolor=face, markersize=6)
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_ylim(max(len(labels), 1) - 0.4, -0.6)


def legend_above(figure: Figure, axis=None, *, handles=None, n_columns: int | None = None) -> None:
    """Put one legend above all panels: that of `axis`, or of `handles`."""
    if handles is None:
        handles, labels = axis.get_legend_handles_labels()
    else:
        labels = [handle.get_label() for handle in handles]
    columns = n_columns or len(labels)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)


def legend_below(figure: Figure, *, n_columns: int | None = None) -> None:
    """Put one legend below all panels, with each label once."""
    found = [part for axes in figure.axes for part in zip(*axes.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in reversed(found)}
    handles = {label: handles[label] for _, label in found}
    columns = n_columns or len(handles)
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, frameon=False)


def rounded(number: float) -> str:
    """Return a number in two significant digits, for a title: 0.0042, 3.1, 110."""
    return f"{float(f'{number:.2g}'):,.10g}".replace("-", "−")


def span(numbers) -> str:
    """Return the least and the largest of some numbers in words: 3.1 to 110."""
    low, high = rounded(np.min(numbers)), rounded(np.max(numbers))
    return low if low == high else f"{low} to {high}"


def legend_beside(axis, **options) -> None:
    """Put the legend of `axis` to its right, where it covers nothing."""
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, **options)


def log_ticks(axis: Axis) -> None:
    """Write few numbers on a logarithmic axis with its final limits, as they are: 0.5, 20, 3k, 10M.

    Parameters
    ----------
    axis : matplotlib.axis.Axis
        ``axes.xaxis`` or ``axes.yaxis``.
    """
    from matplotlib import ticker

    decades = float(np.ptp(np.log10(axis.get_view_interval())))
    axis.set_major_locator(
        ticker.LogLocator(subs=next(subs for most, subs in BETWEEN.items() if decades <= most), numticks=7)
    )
    axis.set_major_formatter(ticker.FuncFormatter(_in_short))
    axis.set_minor_locator(ticker.NullLocator())


def _in_short(number, _) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:,.10g}{letter}"
    return f"{number:.10g}"


def as_html(figure: Figure, alt: str = "") -> str:
    """Return a figure as HTML that needs no other file; on a phone it is as wide as it was drawn, and scrolls."""
    from PIL import Image  # what matplotlib writes PNG with

    drawn, buffer = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=100, bbox_inches="tight")
    # A third of the size: drawings have few colours.
    few = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(buffer, "png", optimize=True)
    code = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<div class="drawing"><img alt="{alt}" src="data:image/png;base64,{code}"></div>'
