"""What a run wrote of the artefacts that it declares, and the project's own copy of its figures."""

import json
import os
import shutil
from pathlib import Path

from fairlab.paths import FIGURES, atomic_path, write_text
from fairlab.suite import run as runs

KEPT_PROFILES = ("quick", "paper")  # the better one last
KEPT_FORMATS = ("png", "svg", "csv")


def missing_artefacts(folder: Path) -> list[str]:
    """Return the declared artefacts for which the run in `folder` wrote nothing.

    A figure is there when its picture is; anything else when it has a figure, a table, a record, a claim or a stated
    reason for being left out.
    """
    run = runs.Run.read(folder)
    pictures, tables = ([path.stem for path in (folder / kind).glob("*")] for kind in ("figures", "tables"))
    entries = [entry["artefact"] for entry in run.records + run.claims + run.skipped]

    def written(artefact):
        drawn = any(stem == artefact or stem.startswith(f"{artefact}_") for stem in pictures)
        skipped = any(entry["artefact"] == artefact for entry in run.skipped)
        if artefact.startswith("figure-"):
            return drawn or skipped
        return drawn or artefact in entries or any(s == artefact or s.startswith(f"{artefact}_") for s in tables)

    return [artefact for artefact in run.specification.artefacts if not written(artefact)]


def keep_figures(folder: Path) -> list[Path]:
    """Copy the figures of a published run to ``figures/<paper>``, unless those there are from a better run.

    Real data is better than a surrogate, what can be drawn anew better than what cannot, and then the paper profile
    than the quick one; smoke and custom runs, and
    those with another seed than the default, never count. ``index.json`` beside the figures says which run each is
    from, what draws it, and what it shows; figures that their experiment does not draw are removed. Where the project
    cannot be written, as in a container, nothing is copied.
    """
    run = runs.Run.read(folder)
    if run.profile not in KEPT_PROFILES or run.seed != runs.DEFAULT_SEED:
        return []
    target = FIGURES / run.specification.paper
    if not os.access(next(place for place in (target, *target.parents) if place.exists()), os.W_OK):
        return []
    index = read_index(target)
    about = {"experiment": run.name, "profile": run.profile, "seed": run.seed, "data": run.source()}
    drawn = {file.stem for file in (folder / "figures").glob("*.png")}
    kept = []
    for stem in sorted(drawn | {stem for stem, entry in index.items() if entry["experiment"] == run.name}):
        entry = about | (_drawing(folder / "figures" / f"{stem}.json") if stem in drawn else index[stem] | about)
        if stem in index and _rank(index[stem]) > _rank(entry):
            continue
        index.pop(stem, None)
        for name in (f"{stem}.{suffix}" for suffix in KEPT_FORMATS):
            (target / name).unlink(missing_ok=True)
            if stem in drawn:
                with atomic_path(target / name) as temporary:
                    shutil.copyfile(folder / "figures" / name, temporary)
                kept.append(target / name)
        if stem in drawn:
            index[stem] = entry | {"commit": run.about["commit"]}
    write_text(target / "index.json", json.dumps(dict(sorted(index.items())), indent=1) + "\n")
    return kept


def read_index(folder: Path) -> dict[str, dict]:
    """Return which run each figure of `folder` is from and what draws it, by its name; only of figures that are there.

    Where a run kept it, an entry has ``draw`` (the name of a function), ``options``, ``caption``, ``alternative``
    and ``marks`` (lines in the picture).
    """
    file = folder / "index.json"
    index = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {stem: entry for stem, entry in index.items() if (folder / f"{stem}.png").exists()}


def _drawing(file) -> dict:
    """Return what a run kept of how a figure is drawn; runs of earlier versions kept nothing."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _rank(entry) -> tuple[bool, bool, int]:
    return entry["data"] == "real", "draw" in entry, KEPT_PROFILES.index(entry["profile"])
