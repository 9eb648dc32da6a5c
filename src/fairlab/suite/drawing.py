"""Drawing a figure from the numbers that are stored beside it."""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from fairlab import plotting
from fairlab.paths import write_text
from fairlab.suite.catalogue import PROFILES

MODULE = "figures"  # name of the modules with drawing functions
MARKED = ("reconstructed", "surrogate")  # data whose provenance is written into the picture
MARK_COLUMN = "data"  # column of tables from surrogates
FIRST_SENTENCE = re.compile(r"^.*?[.!?](?=\s|$)", re.DOTALL)


@dataclass(frozen=True)
class Drawing:
    """Function and options of a figure, its caption, and what its numbers say.

    Attributes
    ----------
    draw : str
        Full name of the function.
    options : dict
        Its keywords, as JSON has them.
    caption : str
        In Markdown, with remarks on the data, the sizes and what was published.
    data : str
        Provenance of the data behind the numbers, one of `fairlab.data.dataset.SOURCES`; written into the picture if
        it is one of `MARKED`.
    sentence : str
        Title in the picture, made by the function from the numbers.
    alternative : str
        Alternative text: the first sentence of the caption and the title.
    """

    draw: str
    options: dict
    caption: str
    data: str = "real"
    sentence: str = ""
    alternative: str = ""

    @classmethod
    def of(cls, draw, options, caption, source, remarks) -> "Drawing":
        """Return the drawing of an experiment's figure; see `Experiment.figure` for the errors."""
        if not isinstance(caption, str):
            raise TypeError(f"caption: expected text, found {caption!r}")
        name = name_of(draw)
        _check_options(name, options)
        return cls(name, options, " ".join(filter(None, [caption, *remarks])), source)

    @classmethod
    def read(cls, entry: dict) -> "Drawing":
        """Return the drawing of an entry of ``index.json``.

        Raises
        ------
        ValueError
            If the entry does not name a function, as in runs of earlier versions.
        """
        if not entry.get("draw"):
            raise ValueError("its run did not store the drawing function; run its experiment again")
        return cls(**{name: entry[name] for name in cls.__dataclass_fields__ if name in entry})

    def write(self, stem: Path) -> None:
        """Write ``<stem>.json``."""
        text = json.dumps(asdict(self), indent=1, allow_nan=False)
        write_text(stem.with_name(f"{stem.name}.json"), text + "\n")

    def paint(self, numbers: Path, stem: Path | None = None, *, salt: str) -> "Drawing":
        """Draw the figure from ``<numbers>.csv`` as ``<stem>.png`` and ``.svg``; return the drawing with its title.

        The same numbers give the same files, independent of matplotlib's current style.
        """
        frame = read_numbers(numbers.with_name(f"{numbers.name}.csv"))
        with plt.style.context("default"):
            figure = function(self.draw)(frame, **self.options)
            if not isinstance(figure, Figure):
                raise TypeError(f"{self.draw}: expected it to return a matplotlib Figure, found {figure!r}")
            marks = [plotting.SOURCE_MARKS[self.data]] if self.data in MARKED else []
            plotting.save(figure, stem or numbers, salt=salt, marks=marks)
        plt.close(figure)  # or a notebook would show it a second time
        sentence = figure.get_label()
        alternative = " ".join(filter(None, [first_sentence(self.caption), sentence]))
        return replace(self, sentence=sentence, alternative=alternative)


def first_sentence(caption: str) -> str:
    """Return the first sentence of a caption without its Markdown."""
    found = FIRST_SENTENCE.match(caption)
    return " ".join((found[0] if found else caption).replace("*", "").replace("`", "").split())


def name_of(draw: Callable) -> str:
    """Return the full name of a drawing function.

    Raises
    ------
    TypeError
        If it is not a public function of a module ``figures`` of fairlab.
    """
    name = f"{getattr(draw, '__module__', '')}.{getattr(draw, '__qualname__', '')}"
    if not inspect.isfunction(draw) or not _may_draw(name):
        raise TypeError(f"draw: expected a public function of a module `{MODULE}` of fairlab, found {draw!r}")
    return name


def function(name: str) -> Callable:
    """Return a drawing function by its full name.

    Raises
    ------
    ValueError
        If there is none.
    """
    module, _, own = name.rpartition(".")
    if _may_draw(name):
        try:
            return getattr(importlib.import_module(module), own)
        except (ModuleNotFoundError, AttributeError):
            pass
    raise ValueError(f"no function {name!r} of a module `{MODULE}` of fairlab draws")


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
    published = run.specification.parameters("paper") | run.specification.protocol
    if run.profile in PROFILES and run.profile != "paper" and run.parameters != published:
        remarks.append(f"profile {run.profile}: smaller than the paper profile")
    elif run.profile != "paper" and run.parameters != published:
        remarks.append("sizes other than published")
    if not shows_published(numbers):
        remarks.append("the paper has no numbers of what is drawn")
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def shows_published(numbers: pd.DataFrame) -> bool:
    """Return whether a table has published numbers, in columns or rows of their own."""
    columns = numbers.filter(regex="^(published|printed)")
    return bool(columns.notna().any(axis=None) or numbers.isin(["published", "printed"]).any(axis=None))


def _may_draw(name) -> bool:
    module, _, own = name.rpartition(".")
    inside = module.startswith("fairlab.") and module.endswith(f".{MODULE}")
    return inside and own.isidentifier() and not own.startswith("_")


def _check_options(name, options) -> None:
    """Reject options that JSON cannot store, or that the function does not take."""
    for key, value in options.items():
        try:
            same = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            raise TypeError(
                f"{key}: expected a plain value (a number, text, True, False, None, or lists and dictionaries of "
                f"these), found {value!r}; put numbers into `data`"
            )
    taken = list(inspect.signature(function(name)).parameters)[1:]
    if odd := [key for key in options if key not in taken]:
        raise TypeError(f"{name} takes the options {', '.join(taken) or 'none'}, found {', '.join(odd)}")
