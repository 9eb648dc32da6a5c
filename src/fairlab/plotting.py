"""What all figures share: one palette, one style, panels, a title sentence, a legend, and how a figure is saved.

Colours are Okabe and Ito's, told apart without full colour vision; every distinction of a few kinds is also one of
marker, line style or hatching. Figures are closed for pyplot, so that a notebook shows them once. A saved figure is at
most 7 inches wide, has no text below 7 points, and says on every axis of numbers what they are.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

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
# For values that the paper prints, whatever ours look like.
PUBLISHED = {
    "marker": "D",
    "linestyle": "",
    "color": BLACK,
    "markerfacecolor": "none",
    "label": "published",
}
# What else than powers of ten is written on a logarithmic axis of at most so many decades.
BETWEEN = {1.6: (1, 2, 5), 3.0: (1, 3), np.inf: (1,)}
FORMATS = ("png", "svg")
DOTS_PER_INCH = 150
WIDEST = 7  # inches, of a saved figure with its margin
SMALLEST_TEXT = 7  # points
MARGIN = 0.1  # inches
# What a picture says of data that is not real, by its provenance.
SOURCE_MARKS = {
    "generated": "generated data, by the paper's own protocol",
    "reconstructed": "reconstructed data, fitted to what is public",
    "surrogate": "surrogate data, not the real people",
}
SURROGATE_MARK = SOURCE_MARKS["surrogate"]
_MARK_GREY = "#666666"  # readable as a line of text
_NUMBER = re.compile(r"[-−+]?[\d.,]+\s?[%kM]?|\$\\mathdefault\{.*\}\$")
# Of reports as pages: what an audit writes, and what a monitor serves.
# Figures are drawn on white: on a dark page, which a notebook may not be, their lightness is turned around.
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
.fairlab .verdict.found {border-color: var(--mark);}
.fairlab table {border-collapse: collapse; margin: .5em 0;}
.fairlab th, .fairlab td {text-align: left; vertical-align: top; padding: .2em .7em .2em 0;
  border-bottom: 1px solid var(--line);}
.fairlab td.number, .fairlab th.number {text-align: right; white-space: nowrap;}
.fairlab tr.significant td:first-child {border-left: 4px solid var(--mark); padding-left: .5em;}
.fairlab tr.small td {font-style: italic;}
.fairlab .wide {overflow-x: auto;}
.fairlab img {max-width: 100%; height: auto; background: white;}
.fairlab summary {cursor: pointer;}
@media print {.fairlab {max-width: none; font-size: 10pt;} .fairlab .wide {overflow: visible;}
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


def span(numbers, form=rounded) -> str:
    """Return the least and the largest of some numbers in words: 3.1 to 110."""
    low, high = form(np.min(numbers)), form(np.max(numbers))
    return low if low == high else f"{low} to {high}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words: a, b and c."""
    names = list(names)
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


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


def save(
    figure: Figure,
    stem: Path,
    *,
    salt: str = "fairlab",
    marks: Sequence[str] = (),
    title: str = "",
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Write ``<stem>.png`` and ``<stem>.svg``, the same bytes for a figure drawn in the same way, and return both.

    Parameters
    ----------
    figure : Figure
    stem : Path
        Without a suffix.
    salt : str
        Makes the ids inside the SVG; without one, and with a date, every run would write another file.
    marks : sequence of str
        What a reader must see on the picture itself, a line each below everything else.
    title : str
        The picture in words, kept in the files for who does not see it.
    formats : sequence of {"png", "svg"}

    Raises
    ------
    ValueError
        If the figure is wider than 7 inches, has text below 7 points, or an axis of numbers without a label.
    """
    import matplotlib as mpl

    files = []
    with mpl.rc_context({"svg.hashsalt": salt}), _laid_out(figure):
        for mark in marks:
            _write_below(figure, mark)
        box = figure.get_tightbbox()
        _check(figure, box)
        for suffix in formats:
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            metadata |= {"Title": title} if title else {}
            files.append(stem.with_name(f"{stem.name}.{suffix}"))
            figure.savefig(files[-1], dpi=DOTS_PER_INCH, bbox_inches=box.padded(MARGIN), metadata=metadata)
            if suffix == "png":
                _reduce(files[-1])
    return files


def _reduce(file: Path) -> None:
    """Write a PNG with a palette of 256 colours: to the eye the same, in a third of the bytes."""
    from PIL import Image, PngImagePlugin  # what matplotlib writes PNG with

    with Image.open(file) as image:
        texts = PngImagePlugin.PngInfo()
        for name, text in image.text.items():
            texts.add_text(name, text)
        reduced = image.convert("RGB").quantize(dither=Image.Dither.NONE)
        reduced.save(file, optimize=True, dpi=image.info["dpi"], pnginfo=texts)


def check(figure: Figure) -> None:
    """Refuse a figure that is wider than 7 inches, has text below 7 points, or an axis of numbers without a label.

    Raises
    ------
    ValueError
        With what was found.
    """
    figure.draw_without_rendering()
    _check(figure, figure.get_tightbbox())


@contextmanager
def _laid_out(figure):
    """Make the layout of a figure and keep it for the time of a block: it takes longer than to draw."""
    import matplotlib as mpl

    figure.draw_without_rendering()  # ticks have their labels, too
    engine = figure.get_layout_engine()
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
        for legend in figure.legends:  # stays where it is: it would follow the edges of what is saved
            place = legend.get_window_extent().transformed(figure.transFigure.inverted())
            legend.set_loc("center")
            legend.set_bbox_to_anchor(place, figure.transFigure)
        try:
            yield
        finally:
            figure.set_layout_engine(engine)


def _check(figure, box) -> None:
    from matplotlib.text import Text

    width = box.width + 2 * MARGIN
    if width > WIDEST:
        raise ValueError(f"a figure is at most {WIDEST} inches wide, found {width:.2f}")
    small = [text for text in _shown(figure.findobj(Text)) if text.get_fontsize() < SMALLEST_TEXT]
    if small:
        found = f"{small[0].get_text()!r} with {small[0].get_fontsize():.3g}"
        raise ValueError(f"text in a figure has at least {SMALLEST_TEXT} points, found {found}")
    for axes in figure.axes:
        for name in ("x", "y"):
            numbers = [text.get_text() for text in _shown(getattr(axes, f"get_{name}ticklabels")())]
            if any(map(_NUMBER.fullmatch, numbers)) and not _label(figure, axes, name):
                title = f" of {axes.get_title()!r}" if axes.get_title() else ""
                raise ValueError(f"an axis of numbers says what they are: the {name} axis{title} has no label")


def _shown(texts) -> list[Text]:
    """Return those of the texts that can be seen."""
    return [
        text
        for text in texts
        if text.get_visible() and text.get_text().strip() and (text.axes is None or _is_drawn(text.axes))
    ]


def _is_drawn(axes) -> bool:
    return axes.get_visible() and axes.axison


def _label(figure, axes, name) -> str:
    """Return what an axis is called: its own label, that of another panel of its row or column, or the figure's."""
    place, span = axes.get_subplotspec(), {"x": "colspan", "y": "rowspan"}[name]
    kin = [axes]
    if place is not None:
        own = set(getattr(place, span))
        places = [(other, other.get_subplotspec()) for other in figure.axes]
        kin += [other for other, spot in places if spot is not None and own & set(getattr(spot, span))]
    labels = [getattr(other, f"get_{name}label")() for other in kin] + [getattr(figure, f"get_sup{name}label")()]
    return next((label for label in labels if label.strip()), "")


def _write_below(figure, mark) -> None:
    """Write a line below everything that a figure has, which is laid out."""
    box = figure.get_tightbbox()
    look = {"color": VERMILION, "weight": "bold"} if mark == SURROGATE_MARK else {"color": _MARK_GREY}
    _write(figure, (box.x0 + box.x1) / 2, box.y0 - MARGIN / 2, mark, ha="center", va="top", fontsize=8, **look)


def _write(figure, x, y, text, **look) -> None:
    """Write text at a place in inches."""
    width, height = figure.get_size_inches()
    figure.text(x / width, y / height, text, **look)


def as_html(figure: Figure, alt: str = "") -> str:
    """Return a figure as an ``<img>`` element that needs no other file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    code = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{alt}" src="data:image/png;base64,{code}">'
