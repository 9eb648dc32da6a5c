"""Drawing a figure from the numbers that are stored beside it: in a run, and again without one.

The entry of a figure is a dictionary: ``data`` (provenance of the numbers, one of `fairlab.data.dataset.SOURCES`),
``draw`` (full name of a function), ``options`` (its keywords, as JSON has them), ``caption`` (in Markdown),
``sentence`` (title in the picture, made by the function from the numbers) and ``alternative`` (alternative text).
"""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from fairlab import plotting
from fairlab.suite.run import CUSTOM

DRAWS = re.compile(r"fairlab\.(\w+\.)+figures\.[a-zA-Z]\w*")  # the functions that may draw
MARKED = ("reconstructed", "surrogate")  # data whose provenance is written into the picture
MARK_COLUMN = "data"  # column of tables from surrogates
FIRST_SENTENCE = re.compile(r"^.*?[.!?](?=\s|$)", re.DOTALL)


def entry_of(run, draw: Callable, options: dict, caption: str, source: str, numbers: pd.DataFrame) -> dict:
    """Return the entry of a figure of a run, without title; see `Experiment.figure` for the errors."""
    if not isinstance(caption, str):
        raise TypeError(f"caption: expected text, found {caption!r}")
    for key, value in options.items():
        if not _is_plain(value):
            raise TypeError(
                f"{key}: expected a plain value (a number, text, True, False, None, or lists and dictionaries of "
                f"these), found {value!r}; put numbers into `data`"
            )
    caption = " ".join(filter(None, [caption, *remarks_of(run, source, numbers)]))
    return {"data": source, "draw": name_of(draw), "options": options, "caption": caption}


def paint(entry: dict, numbers: Path, stem: Path, *, salt: str) -> dict:
    """Draw a figure from ``<numbers>.csv`` as ``<stem>.png`` and ``.svg``; return its entry with title.

    The same numbers give the same files, independent of matplotlib's current style.
    """
    frame = read_numbers(numbers.with_name(f"{numbers.name}.csv"))
    with plt.style.context("default"):
        figure = function(entry["draw"])(frame, **entry["options"])
        if not isinstance(figure, Figure):
            raise TypeError(f"{entry['draw']}: expected it to return a matplotlib Figure, found {figure!r}")
        marks = [plotting.SOURCE_MARKS[entry["data"]]] if entry["data"] in MARKED else []
        plotting.save(figure, stem, salt=salt, marks=marks)
    plt.close(figure)  # or a notebook would show it a second time
    caption, sentence = entry["caption"], figure.get_label()
    found = FIRST_SENTENCE.match(caption)
    first = " ".join((found[0] if found else caption).replace("*", "").replace("`", "").split())
    return entry | {"sentence": sentence, "alternative": " ".join(filter(None, [first, sentence]))}


def name_of(draw: Callable) -> str:
    """Return the full name of a drawing function.

    Raises
    ------
    TypeError
        If it is not a public function of a module ``figures`` of fairlab.
    """
    name = f"{getattr(draw, '__module__', '')}.{getattr(draw, '__qualname__', '')}"
    if not inspect.isfunction(draw) or not DRAWS.fullmatch(name):
        raise TypeError(f"draw: expected a public function of a module `figures` of fairlab, found {draw!r}")
    return name


def function(name: str) -> Callable:
    """Return a drawing function by its full name.

    Raises
    ------
    ValueError
        If there is none.
    """
    module, _, own = name.rpartition(".")
    found = getattr(importlib.import_module(module), own, None) if DRAWS.fullmatch(name) else None
    if found is None:
        raise ValueError(f"no function {name!r} of a module `figures` of fairlab draws")
    return found


def read_numbers(file: Path) -> pd.DataFrame:
    """Return the stored numbers of a figure: an empty cell is missing, all other text stays text."""
    frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
    marked = MARK_COLUMN in frame and frame[MARK_COLUMN].eq(plotting.SURROGATE_MARK).all()
    return frame.drop(columns=MARK_COLUMN) if marked else frame


def with_mark(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a table, with an added column if its data is a surrogate."""
    return frame.assign(**{MARK_COLUMN: plotting.SURROGATE_MARK}) if source == "surrogate" else frame


def remarks_of(run, source: str, numbers: pd.DataFrame) -> list[str]:
    """Return what a caption says of unreal data, of smaller sizes, and of figures without published numbers."""
    remarks = [plotting.SOURCE_MARKS[source]] if source != "real" else []
    if run.profile != "paper" and run.parameters != run.specification.parameters("paper") | run.specification.protocol:
        smaller = f"profile {run.profile}: smaller than the paper profile"
        remarks.append("sizes other than published" if run.profile == CUSTOM else smaller)
    published = numbers.filter(regex="^(published|printed)").notna()
    if not (published.any(axis=None) or numbers.isin(["published", "printed"]).any(axis=None)):
        remarks.append("the paper has no numbers of what is drawn")
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def _is_plain(value) -> bool:
    """Return whether JSON stores a value as it is."""
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        return False
