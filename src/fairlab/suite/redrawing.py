"""Figures redrawn from their data, without a run, for ``fairlab figures``.

The numbers are those of the best runs in the results folder, and the committed ones of experiments without a run.
"""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock

from fairlab.checks import suggestion
from fairlab.paths import PARTIAL, project
from fairlab.suite.drawing import Drawing
from fairlab.suite.published import paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs, rank

FORMATS = ("csv", "png", "svg")
INDEX, LOCK = "index.json", "lock"


def figures(paper: str) -> dict[str, tuple[Path, dict]]:
    """Return the figures of a paper by name, each with the folder of its files and its entry in ``index.json``.

    An entry has ``experiment``, ``profile``, ``seed``, ``data``, ``commit`` of the run that the figure is from, and
    where that kept it ``draw`` (the name of a function), ``options``, ``caption``, ``sentence`` (its title) and
    ``alternative``. Figures of an experiment without a run in the results folder are the committed ones.
    """
    runs, folder = published_runs(paper=paper), project().figures / paper
    committed = {stem: (folder, entry) for stem, entry in read_index(folder).items() if entry["experiment"] not in runs}
    found = committed | {stem: figure for one in runs.values() for stem, figure in _figures_of(one)}
    return {stem: found[stem] for stem in sorted(found) if (found[stem][0] / f"{stem}.png").exists()}


def chosen(names: list[str]) -> list[str]:
    """Return the figures, as ``<paper>/<figure>``, selected by names of papers or figures; all if there are none.

    Raises
    ------
    KeyError
        For a name that is neither.
    """
    known = [f"{paper}/{stem}" for paper in paper_keys() for stem in figures(paper)]
    papers = list(dict.fromkeys(name.partition("/")[0] for name in known))
    for name in names:
        if name not in known and name not in papers:
            of_paper = [one for one in known if one.partition("/")[0] == name.partition("/")[0]]
            raise KeyError(f"no figure or paper with figures {name!r}{suggestion(name, of_paper or papers)}")
    return [name for name in known if not names or name in names or name.partition("/")[0] in names]


def write(names: list[str], target: Path) -> list[str]:
    """Draw figures from their data into `target`, a folder per paper; return the reasons for failures.

    A figure of a better run stays and is redrawn from its own data. If all figures of a paper are drawn, those that
    their experiment no longer draws are deleted. One process at a time writes, and files are replaced atomically: if
    killed, all figures still exist, and the next call continues.
    """
    left, partial = [], target / PARTIAL
    partial.mkdir(parents=True, exist_ok=True)
    with FileLock(partial / LOCK):
        for file in partial.iterdir():
            if file.name != LOCK:  # of a process that was killed
                file.unlink()
        for paper in dict.fromkeys(name.partition("/")[0] for name in names):
            left += _write_paper(paper, names, target / paper, partial)
    return left


def _write_paper(paper, names, target, partial) -> list[str]:
    left, known, index = [], figures(paper), read_index(target)
    wanted = {stem: figure for stem, figure in known.items() if f"{paper}/{stem}" in names}
    target.mkdir(exist_ok=True)
    for stem, (folder, entry) in wanted.items():
        if stem in index and _rank(index[stem]) > _rank(entry):
            folder, entry = target, index[stem]
        try:
            drawing = Drawing.read(entry).paint(folder / stem, partial / stem, salt=entry["experiment"])
            shutil.copyfile(folder / f"{stem}.csv", partial / f"{stem}.csv")
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else error
            left.append(f"{paper}/{stem}: not redrawn: {message}")
            continue
        for suffix in FORMATS:
            (partial / f"{stem}.{suffix}").replace(target / f"{stem}.{suffix}")
        index[stem] = entry | asdict(drawing)
        _write_index(target, index, partial)
    if wanted == known:
        for stem in _no_longer_drawn(paper, known, index):
            for suffix in FORMATS:
                (target / f"{stem}.{suffix}").unlink(missing_ok=True)
            del index[stem]
            _write_index(target, index, partial)
    return left


def _no_longer_drawn(paper, known, index) -> list[str]:
    """Return the figures of an index whose experiment has a run of at least their rank that does not draw them."""
    runs = {name: rank(one.source(), one.profile) for name, one in published_runs(paper=paper).items()}
    gone = {stem: entry for stem, entry in index.items() if stem not in known and entry["experiment"] in runs}
    return [stem for stem, entry in gone.items() if _rank(entry) <= runs[entry["experiment"]]]


def _write_index(folder, index, partial) -> None:
    file = partial / INDEX
    file.write_text(json.dumps(dict(sorted(index.items())), indent=1) + "\n", encoding="utf-8")
    file.replace(folder / INDEX)


def read_index(folder: Path) -> dict[str, dict]:
    """Return the entries of ``index.json`` of a folder by figure; see `figures`."""
    file = folder / INDEX
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _rank(entry) -> tuple[bool, int]:
    return rank(entry["data"], entry["profile"])


def _figures_of(one):
    """Yield the figures of a run by name, each with its folder and its entry."""
    folder = run_folder(one.name, one.profile) / "figures"
    about = {"experiment": one.name, "profile": one.profile, "seed": one.seed, "data": one.source()}
    for drawing in folder.glob("*.json"):
        kept = json.loads(drawing.read_text(encoding="utf-8"))
        yield drawing.stem, (folder, about | kept | {"commit": one.about.get("commit")})
