"""Figures of runs: saved with the numbers that they draw, and the committed ones (``fairlab figures``).

A figure is saved as PNG and SVG, with marks on data that is not real. It is at most 7 inches wide, has no text below 7
points, and says on every axis of numbers what they are. Its entry is a dictionary: ``data`` (provenance of the numbers,
one of `fairlab.data.dataset.SOURCES`), ``caption`` (in Markdown) and ``alternative`` (alternative text).
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text

from fairlab.checks import check_kind
from fairlab.data.project import project
from fairlab.paths import atomic_path
from fairlab.plotting import VERMILION
from fairlab.suite.catalogue import CUSTOM, PROFILES, selected
from fairlab.suite.published import paper_keys
from fairlab.suite.run import read_json, run_folder, write_json
from fairlab.suite.scorecard import published_runs, renewing

FORMATS = ("csv", "png", "svg")
INDEX = "index.json"
DOTS_PER_INCH = 150
MAX_WIDTH = 7  # inches, of a saved figure with its margin
MIN_FONT_SIZE = 7  # points
MARGIN = 0.1  # inches
MARKED = ("reconstructed", "surrogate")  # data whose provenance is written into the picture
# What a picture says of data that is not real, by its provenance.
SOURCE_MARKS = {
    "generated": "generated data, by the paper's own protocol",
    "reconstructed": "reconstructed data, fitted to what is public",
    "surrogate": "surrogate data, not the real people",
}
SURROGATE_MARK = SOURCE_MARKS["surrogate"]
TITLE_MARK = "the title was written for the committed run and may not hold here"  # of other sizes or seeds
MARK_GREY = "#666666"  # readable as a line of text
COMMITTED = PROFILES[1:]  # profiles whose runs are committed; titles are written for these
AFTER_SENTENCE = r"(?<=[.!?])\s"
NUMBER = re.compile(r"[-−+]?[\d.,]+\s?[%kM]?|\$\\mathdefault\{.*\}\$")


def keep(run, figure: Figure, stem: Path, caption: str, source: str, numbers: pd.DataFrame) -> dict:
    """Save a figure of a notebook as ``<stem>.png`` and ``.svg``, close it, and return its entry."""
    check_kind(figure, "figure", Figure)
    check_kind(caption, "caption", str)
    titles = [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center")]
    sentence = figure.get_suptitle() or "; ".join(dict.fromkeys(filter(None, titles)))
    if not sentence:
        raise ValueError("figure: expected a title that says what it shows (fig.suptitle or ax.set_title), found none")
    marks = [_mark(source, numbers)] if source in MARKED else []
    marks += [] if run.profile in COMMITTED else [TITLE_MARK]
    save(figure, stem, salt=run.name, marks=marks, title=sentence)
    plt.close(figure)  # or a notebook would show it a second time
    caption = " ".join(filter(None, [caption, *remarks_of(run, source, numbers)]))
    first = re.split(AFTER_SENTENCE, caption, maxsplit=1)[0].replace("*", "").replace("`", "")
    alternative = " ".join([*first.split(), sentence])
    return {"data": source, "caption": caption, "alternative": alternative}


def _mark(source, numbers) -> str:
    """Return what is said of data that is not real; numbers with a column ``data`` have it in some rows only."""
    return ("in part " if "data" in numbers else "") + SOURCE_MARKS[source]


def remarks_of(run, source: str, numbers: pd.DataFrame) -> list[str]:
    """Return what a caption says of unreal data, of other sizes and seeds, and of figures without published numbers."""
    remarks = [_mark(source, numbers)] if source != "real" else []
    if run.profile != "paper" and run.parameters != run.specification.parameters("paper") | run.specification.protocol:
        smaller = f"profile {run.profile}: smaller than the paper profile"
        remarks.append("sizes other than published" if run.profile == CUSTOM else smaller)
    remarks += [] if run.profile in COMMITTED else [TITLE_MARK]
    published = numbers.filter(regex="^(published|printed)").notna()
    if not (published.any(axis=None) or numbers.isin(["published", "printed"]).any(axis=None)):
        remarks.append("the paper has no numbers of what is drawn")
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def save(
    figure: Figure,
    stem: Path,
    *,
    salt: str = "fairlab",
    marks: Sequence[str] = (),
    title: str = "",
    formats: Sequence[str] = FORMATS[1:],
) -> None:
    """Write ``<stem>.png`` and ``<stem>.svg``, the same bytes for a figure drawn in the same way.

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
    with mpl.rc_context({"svg.hashsalt": salt}):
        figure.draw_without_rendering()  # which makes the layout, and gives ticks their labels
        figure.set_layout_engine("none")  # or each format makes it anew, which takes longer than to draw
        for legend in figure.legends:  # stays where it is: it would follow the edges of what is saved
            place = legend.get_window_extent().transformed(figure.transFigure.inverted())
            legend.set_loc("center")
            legend.set_bbox_to_anchor(place, figure.transFigure)
        for mark in marks:
            _write_below(figure, mark)
        box = figure.get_tightbbox()
        _check(figure, box)
        for suffix in formats:
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            metadata |= {"Title": title} if title else {}
            file = stem.with_name(f"{stem.name}.{suffix}")
            figure.savefig(file, dpi=DOTS_PER_INCH, bbox_inches=box.padded(MARGIN), metadata=metadata)
            if suffix == "png":
                _reduce(file)


def _reduce(file: Path) -> None:
    """Write a PNG with a palette of 256 colours: to the eye the same, in a third of the bytes."""
    from PIL import Image, PngImagePlugin  # what matplotlib writes PNG with

    with Image.open(file) as image:
        texts = PngImagePlugin.PngInfo()
        for name, text in image.text.items():
            texts.add_text(name, text)
        reduced = image.convert("RGB").quantize(dither=Image.Dither.NONE)
        reduced.save(file, optimize=True, dpi=image.info["dpi"], pnginfo=texts)


def _check(figure, box) -> None:
    width = box.width + 2 * MARGIN
    if width > MAX_WIDTH:
        raise ValueError(f"a figure is at most {MAX_WIDTH} inches wide, found {width:.2f}")
    if small := [text for text in _shown(figure.findobj(Text)) if text.get_fontsize() < MIN_FONT_SIZE]:
        found = f"{small[0].get_text()!r} with {small[0].get_fontsize():.3g}"
        raise ValueError(f"text in a figure has at least {MIN_FONT_SIZE} points, found {found}")
    for axes, (name, span) in product(figure.axes, (("x", "colspan"), ("y", "rowspan"))):
        numbers = [text.get_text() for text in _shown(getattr(axes, f"get_{name}ticklabels")())]
        if any(map(NUMBER.fullmatch, numbers)) and not _has_label(figure, axes, name, span):
            title = f" of {axes.get_title()!r}" if axes.get_title() else ""
            raise ValueError(f"an axis of numbers says what they are: the {name} axis{title} has no label")


def _shown(texts) -> Iterator[Text]:
    """Yield those of the texts that can be seen."""
    for text in texts:
        is_on = text.axes is None or (text.axes.get_visible() and text.axes.axison)
        if is_on and text.get_visible() and text.get_text().strip():
            yield text


def _has_label(figure, axes, name, span) -> bool:
    """Return whether an axis, another panel of its row or column, or the figure says what it is."""
    spots = {other: other.get_subplotspec() for other in figure.axes}
    cells = {other: {*getattr(spot, span)} if spot else set() for other, spot in spots.items()}
    kin = [other for other in figure.axes if other is axes or cells[other] & cells[axes]]
    labels = [getattr(other, f"get_{name}label")() for other in kin] + [getattr(figure, f"get_sup{name}label")()]
    return any(label.strip() for label in labels)


def _write_below(figure, mark) -> None:
    """Write a line below everything that a figure has, which is laid out."""
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    look = {"color": VERMILION, "weight": "bold"} if mark == SURROGATE_MARK else {"color": MARK_GREY}
    x, y = (box.x0 + box.x1) / 2 / width, (box.y0 - MARGIN / 2) / height
    figure.text(x, y, mark, ha="center", va="top", fontsize=8, **look)


def figures(paper: str, *, to_commit: bool = False) -> dict[str, tuple[Path, dict]]:
    """Return the figures of a paper by name, each with the folder of its files and its entry in ``index.json``.

    An entry has ``experiment``, ``profile``, ``seed`` and ``commit`` of the run that the figure is from, and what
    `fairlab.suite.drawing` describes. Figures of an experiment without a run in the results folder are the committed
    ones, and with `to_commit` those of one whose committed run is of a larger profile.
    """
    runs, folder = published_runs(paper=paper), project().figures / paper
    runs = renewing(runs) if to_commit else runs
    found = {
        stem: (folder, entry) for stem, entry in read_json(folder / INDEX).items() if entry["experiment"] not in runs
    }
    for run in runs.values():
        own = run_folder(run.name, run.profile) / "figures"
        about = {"experiment": run.name, "profile": run.profile, "seed": run.seed}
        for file in own.glob("*.json"):
            found[file.stem] = own, about | read_json(file) | {"commit": run.about.get("commit")}
    return {stem: found[stem] for stem in sorted(found) if (found[stem][0] / f"{stem}.png").exists()}


def copy_figures(names: Sequence[str], target: Path) -> list[str]:
    """Copy figures with their numbers, of runs or else committed, into a folder per paper below `target`.

    Parameters
    ----------
    names : sequence of str
        Papers, or figures as in ``adf/table-4``; all if there are none.
    target : Path

    Returns
    -------
    list of str
        The figures.
    """
    to_commit = target.resolve() == project().figures.resolve()  # in whatever words the folder is named
    known = {
        f"{paper}/{stem}": figure
        for paper in paper_keys()
        for stem, figure in figures(paper, to_commit=to_commit).items()
    }
    chosen = selected(names, list(known), "/")
    for name, suffix in product(chosen, FORMATS):
        with atomic_path(target / f"{name}.{suffix}") as temporary:
            shutil.copyfile(known[name][0] / f"{Path(name).name}.{suffix}", temporary)
    for paper, of_paper in groupby(chosen, lambda name: name.partition("/")[0]):
        own = {Path(name).name: known[name][1] for name in of_paper}
        index = dict(sorted((read_json(target / paper / INDEX) | own).items()))
        write_json(target / paper / INDEX, index)
    return chosen
