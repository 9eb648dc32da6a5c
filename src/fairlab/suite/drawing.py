"""Figures of runs, with the numbers that are stored beside them, and the committed ones (``fairlab figures``).

The entry of a figure is a dictionary: ``data`` (provenance of the numbers, one of `fairlab.data.dataset.SOURCES`),
``caption`` (in Markdown), ``sentence`` (its title) and ``alternative`` (alternative text).
"""

import json
import re
import shutil
from collections.abc import Sequence
from itertools import groupby, product
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from fairlab.data.project import project
from fairlab.paths import atomic_path, write_text
from fairlab.suite import pictures
from fairlab.suite.catalogue import CUSTOM, selected
from fairlab.suite.published import paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs

FORMATS = ("csv", "png", "svg")
INDEX = "index.json"
MARKED = ("reconstructed", "surrogate")  # data whose provenance is written into the picture
MARK_COLUMN = "data"  # column of tables from surrogates
AFTER_SENTENCE = r"(?<=[.!?])\s"


def keep(run, figure: Figure, stem: Path, caption: str, source: str, numbers: pd.DataFrame) -> dict:
    """Save a figure of a notebook as ``<stem>.png`` and ``.svg``, close it, and return its entry."""
    if not isinstance(figure, Figure):
        raise TypeError(f"figure: expected a matplotlib Figure, found {figure!r}")
    if not isinstance(caption, str):
        raise TypeError(f"caption: expected text, found {caption!r}")
    titles = [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center")]
    sentence = figure.get_suptitle() or "; ".join(dict.fromkeys(filter(None, titles)))
    if not sentence:
        raise ValueError("figure: expected a title that says what it shows (fig.suptitle or ax.set_title), found none")
    marks = [pictures.SOURCE_MARKS[source]] if source in MARKED else []
    pictures.save(figure, stem, salt=run.name, marks=marks, title=sentence)
    plt.close(figure)  # or a notebook would show it a second time
    caption = " ".join(filter(None, [caption, *remarks_of(run, source, numbers)]))
    first = re.split(AFTER_SENTENCE, caption, maxsplit=1)[0].replace("*", "").replace("`", "")
    alternative = " ".join([*first.split(), sentence])
    return {"data": source, "caption": caption, "sentence": sentence, "alternative": alternative}


def with_mark(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a table, with an added column if its data is a surrogate."""
    return frame.assign(**{MARK_COLUMN: pictures.SURROGATE_MARK}) if source == "surrogate" else frame


def remarks_of(run, source: str, numbers: pd.DataFrame) -> list[str]:
    """Return what a caption says of unreal data, of smaller sizes, and of figures without published numbers."""
    remarks = [pictures.SOURCE_MARKS[source]] if source != "real" else []
    if run.profile != "paper" and run.parameters != run.specification.parameters("paper") | run.specification.protocol:
        smaller = f"profile {run.profile}: smaller than the paper profile"
        remarks.append("sizes other than published" if run.profile == CUSTOM else smaller)
    published = numbers.filter(regex="^(published|printed)").notna()
    if not (published.any(axis=None) or numbers.isin(["published", "printed"]).any(axis=None)):
        remarks.append("the paper has no numbers of what is drawn")
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def figures(paper: str) -> dict[str, tuple[Path, dict]]:
    """Return the figures of a paper by name, each with the folder of its files and its entry in ``index.json``.

    An entry has ``experiment``, ``profile``, ``seed`` and ``commit`` of the run that the figure is from, and what
    `fairlab.suite.drawing` describes. Figures of an experiment without a run in the results folder are the committed
    ones.
    """
    runs, folder = published_runs(paper=paper), project().figures / paper
    found = {stem: (folder, entry) for stem, entry in read_index(folder).items() if entry["experiment"] not in runs}
    for run in runs.values():
        own = run_folder(run.name, run.profile) / "figures"
        about = {"experiment": run.name, "profile": run.profile, "seed": run.seed}
        for file in own.glob("*.json"):
            entry = json.loads(file.read_text(encoding="utf-8"))
            found[file.stem] = own, about | entry | {"commit": run.about.get("commit")}
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
    known = {f"{paper}/{stem}": figure for paper in paper_keys() for stem, figure in figures(paper).items()}
    chosen = selected(names, list(known), "/")
    for name, suffix in product(chosen, FORMATS):
        with atomic_path(target / f"{name}.{suffix}") as temporary:
            shutil.copyfile(known[name][0] / f"{Path(name).name}.{suffix}", temporary)
    for paper, of_paper in groupby(chosen, lambda name: name.partition("/")[0]):
        own = {Path(name).name: known[name][1] for name in of_paper}
        index = dict(sorted((read_index(target / paper) | own).items()))
        write_text(target / paper / INDEX, json.dumps(index, indent=1) + "\n")
    return chosen


def read_index(folder: Path) -> dict[str, dict]:
    """Return the entries of ``index.json`` of a folder by figure; see `figures`."""
    file = folder / INDEX
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
