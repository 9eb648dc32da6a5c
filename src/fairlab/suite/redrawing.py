"""Figures redrawn from their data, without a run, for ``fairlab figures``.

The numbers are those of the best runs in the results folder, and the committed ones of experiments without a run.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from fairlab.paths import PARTIAL, project
from fairlab.suite.catalogue import selected
from fairlab.suite.drawing import paint
from fairlab.suite.published import paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs

FORMATS = ("csv", "png", "svg")
INDEX = "index.json"


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


def redraw(names: Sequence[str], target: Path) -> tuple[int, list[str]]:
    """Draw figures from their data into `target`, a folder per paper.

    One process at a time writes, and files are replaced one by one, complete: if killed, all figures still exist, and
    the next call continues.

    Parameters
    ----------
    names : sequence of str
        Papers, or figures as in ``adf/table-4``; all if there are none.
    target : Path

    Returns
    -------
    n_figures : int
        That were to be drawn.
    left : list of str
        Those that could not be drawn, each with the reason.
    """
    known = {f"{paper}/{stem}": figure for paper in paper_keys() for stem, figure in figures(paper).items()}
    chosen, left = selected(names, list(known), "/"), []
    new = target / PARTIAL / "new"
    new.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(new.with_name("lock")):
        shutil.rmtree(new, ignore_errors=True)  # of a process that was killed
        new.mkdir()
        for name in chosen:
            try:
                _redraw(target / name, *known[name], new)
            except (ValueError, LookupError, TypeError, AttributeError, ImportError, OSError) as error:
                message = error.args[0] if isinstance(error, KeyError) and error.args else error
                left.append(f"{name}: not redrawn: {message}")
        shutil.rmtree(new)
    return len(chosen), left


def _redraw(place, folder, entry, new) -> None:
    """Draw one figure into the folder `new`, then move its files into place."""
    target, stem = place.parent, place.name
    entry = paint(entry, folder / stem, new / stem, salt=entry["experiment"])
    shutil.copyfile(folder / f"{stem}.csv", new / f"{stem}.csv")
    index = dict(sorted((read_index(target) | {stem: entry}).items()))
    (new / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    target.mkdir(exist_ok=True)
    for name in (*(f"{stem}.{suffix}" for suffix in FORMATS), INDEX):
        (new / name).replace(target / name)


def read_index(folder: Path) -> dict[str, dict]:
    """Return the entries of ``index.json`` of a folder by figure; see `figures`."""
    file = folder / INDEX
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
