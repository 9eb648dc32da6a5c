"""How a figure of a run is saved: as PNG and SVG, with marks on data that is not real, and held to rules for readers.

It is at most 7 inches wide, has no text below 7 points, and says on every axis of numbers what they are.
"""

import re
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Text

from fairlab.plotting import VERMILION

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


@contextmanager
def _laid_out(figure):
    """Make the layout of a figure and keep it for the time of a block: it takes longer than to draw."""
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
