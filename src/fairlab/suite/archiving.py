"""The runs behind a scorecard as an RO-Crate, to archive.

The crate follows RO-Crate 1.1 and the Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5): each run is an
action, with its notebook as instrument, data and parameters as objects, files with their SHA-256 as results.
"""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

from fairlab.paths import write_text
from fairlab.suite.comparison import Comparison
from fairlab.suite.run import CURRENT, SUMS, Run, run_folder
from fairlab.suite.scorecard import published_runs, written_files

METADATA = "ro-crate-metadata.json"
CRATE, PROCESS = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun/process/0.5"
LICENSE = "https://spdx.org/licenses/BSD-3-Clause"
CONTEXT = [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
FORMATS = {
    ".csv": "text/csv",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
ABOUT_DATA = {"sha256": "data_hash", "description": "note", "citation": "citation"}


class Crate(dict):
    """The entities of a crate's metadata by their ids."""

    def add(self, name: str, kind: str, /, **properties) -> dict[str, str]:
        """Add an entity, and return the reference to it that others hold."""
        self[name] = {"@id": name, "@type": kind, **properties}
        return {"@id": name}

    def add_file(self, name: str, /, **properties) -> dict[str, str]:
        """Add a file of the crate by its path in it."""
        kind = FORMATS.get(Path(name).suffix, "text/plain")
        return self.add(name, "File", name=name, encodingFormat=kind, **properties)


def write_crate(folder: Path, card: Comparison, profile: str | None = None) -> Path:
    """Copy a scorecard and the runs behind it into a folder that is an RO-Crate; return the file of its metadata.

    The folder is a results folder, too: with ``FAIRLAB_RESULTS`` set to it, ``fairlab scorecard`` reads its runs.

    Raises
    ------
    FileExistsError
        If the folder is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: expected a new or empty folder, found one with files")
    crate, runs = Crate(), published_runs(profile)
    for file, text in written_files(card, profile).items():
        write_text(folder / file, text)
        crate.add_file(file)
    actions = [_copy(run, folder, crate) for run in runs.values()]
    crate.add(METADATA, "CreativeWork", conformsTo={"@id": CRATE}, about={"@id": "./"})
    crate.add(
        "./",
        "Dataset",
        name="Runs of fairlab and their scorecard",
        description=f"{len(runs)} runs of experiments that reproduce papers on fairness testing, and a comparison "
        "of every published number with our result.",
        datePublished=datetime.now(UTC).date().isoformat(),
        license=crate.add(LICENSE, "CreativeWork", name="BSD-3-Clause"),
        conformsTo=crate.add(PROCESS, "CreativeWork", name="Process Run Crate", version="0.5"),
        author=crate.add("#contributors", "Organization", name="The fairlab contributors"),
        hasPart=[{"@id": name} for name, entity in crate.items() if entity["@type"] == "File"],
        mentions=actions,
    )
    write_text(folder / METADATA, json.dumps({"@context": CONTEXT, "@graph": [*crate.values()]}, indent=1) + "\n")
    return folder / METADATA


def _copy(run: Run, folder: Path, crate: Crate) -> dict[str, str]:
    """Copy a run without the name of its machine, describe it, and return the reference to it."""
    source, place = run_folder(run.name, run.profile), f"{run.profile}/{run.name}"
    started, commit = source.name.partition("_")[0], run.about.get("commit") or "unknown commit"
    shutil.copytree(source, folder / place / started)
    current = (source.parent / CURRENT).read_text(encoding="utf-8")
    write_text(folder / place / CURRENT, current.replace(source.name, started))
    crate.add_file(f"{place}/{CURRENT}")
    crate.add_file(f"{place}/{started}/{SUMS}")
    sums = json.loads((source / SUMS).read_text(encoding="utf-8"))
    software = crate.add(
        f"#fairlab-{commit}",
        "SoftwareApplication",
        name="fairlab",
        softwareVersion=f"{run.about['fairlab']}, {commit}",
        softwareRequirements=[f"{name}=={number}" for name, number in run.about["libraries"].items()],
    )
    notebook = crate.add(
        f"#{run.name}.ipynb-{commit}",
        "SoftwareSourceCode",
        name=f"notebooks/{run.name}.ipynb",
        programmingLanguage=f"Python {run.about['python']}",
        runtimePlatform=software,
    )
    data = [
        crate.add(
            f"#{load['variant']}-{load.get('data_hash', '')[:12]}",
            "CreativeWork",
            name=load["variant"],
            additionalType=load["source"],
            **{theirs: load[own] for theirs, own in ABOUT_DATA.items() if load.get(own)},
        )
        for load in run.data
    ]
    values = [
        crate.add(f"#{place}/{name}", "PropertyValue", name=name, value=json.dumps(value))
        for name, value in (run.parameters | {"seed": run.seed}).items()
    ]
    return crate.add(
        f"#{place}",
        "CreateAction",
        name=f"fairlab run {run.name} --profile {run.profile}",
        description=run.specification.title,
        startTime=datetime.strptime(started, "%Y%m%dT%H%M%S%z").isoformat(),
        endTime=datetime.fromtimestamp((source / SUMS).stat().st_mtime, UTC).isoformat(timespec="seconds"),
        actionStatus="http://schema.org/CompletedActionStatus",
        instrument=notebook,
        object=data + values,
        result=[crate.add_file(f"{place}/{started}/{name}", sha256=sha256) for name, sha256 in sums.items()],
    )
