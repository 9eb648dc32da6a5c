"""Check that a run wrote all tables and figures that it declares."""

from pathlib import Path

from fairlab.suite import run as runs


def missing_artefacts(folder: Path) -> list[str]:
    """Return the declared tables and figures for which the run in `folder` wrote nothing.

    A figure needs its image file; anything else needs a figure, a table, a record, a claim or a reason for being
    skipped.
    """
    run = runs.Run.unpublished(folder)
    pictures, tables = ([path.stem for path in (folder / kind).glob("*")] for kind in ("figures", "tables"))
    entries = [entry["artefact"] for entry in run.records + run.claims + run.skipped]

    def written(artefact):
        drawn = any(stem == artefact or stem.startswith(f"{artefact}_") for stem in pictures)
        skipped = any(entry["artefact"] == artefact for entry in run.skipped)
        if artefact.startswith("figure-"):
            return drawn or skipped
        return drawn or artefact in entries or any(s == artefact or s.startswith(f"{artefact}_") for s in tables)

    return [artefact for artefact in run.specification.artefacts if not written(artefact)]
