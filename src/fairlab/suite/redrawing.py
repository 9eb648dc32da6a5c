"""Figures redrawn from their data, without a run, for ``fairlab figures``.

The numbers are those of the best runs in the results folder, and the committed ones of experiments without a run.
"""

import json
import shutil
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


def chosen(names: list[str]) -> list[str]:
    """Return the figures, as ``<paper>/<figure>``, selected by names of papers or figures; all if there are none."""
    return selected(names, [f"{paper}/{stem}" for paper in paper_keys() for stem in figures(paper)], "/")


def write(names: list[str], target: Path) -> list[str]:
    """Draw figures from their data into `target`, a folder per paper; return the reasons for failures.

    One process at a time writes, and files are replaced one by one, complete: if killed, all figures still exist, and
    the next call continues.
    """
    left, partial = [], target / PARTIAL
    partial.mkdir(parents=True, exist_ok=True)
    with FileLock(partial / "lock"):
        new = partial / "new"
        shutil.rmtree(new, ignore_errors=True)  # of a process that was killed
        new.mkdir()
        for paper in dict.fromkeys(name.partition("/")[0] for name in names):
            for stem, figure in figures(paper).items():
                if f"{paper}/{stem}" in names:
                    try:
                        _write(stem, *figure, target / paper, new)
                    except (ValueError, LookupError, TypeError, AttributeError, ImportError, OSError) as error:
                        message = error.args[0] if isinstance(error, KeyError) and error.args else error
                        left.append(f"{paper}/{stem}: not redrawn: {message}")
        shutil.rmtree(new)
    return left


def _write(stem, folder, entry, target, new) -> None:
    """Draw one figure into the folder `new`, then move its files into place."""
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
