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
FORMATS = {".csv": "text/csv", ".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml"}
ABOUT_DATA = {"sha256": "data_hash", "description": "note", "citation": "citation"}
FORMATS |= {".ipynb": "application/x-ipynb+json", ".md": "text/markdown"}


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
    runs = published_runs(profile)
    graph = [
        _entity(METADATA, "CreativeWork", conformsTo={"@id": CRATE}, about={"@id": "./"}),
        _entity(PROCESS, "CreativeWork", name="Process Run Crate", version="0.5"),
        _entity(LICENSE, "CreativeWork", name="BSD-3-Clause"),
        _entity("#contributors", "Organization", name="The fairlab contributors"),
    ]
    for file, text in written_files(card, profile).items():
        write_text(folder / file, text)
        graph.append(_file(file))
    for run in runs.values():
        graph += _copied(run, folder)
    graph = list({entity["@id"]: entity for entity in graph}.values())
    actions = [entity["@id"] for entity in graph if entity["@type"] == "CreateAction"]
    root = _entity(
        "./",
        "Dataset",
        name="Runs of fairlab and their scorecard",
        description=f"{len(actions)} runs of experiments that reproduce papers on fairness testing, and a comparison "
        "of every published number with our result.",
        datePublished=max((entity["endTime"] for entity in graph if "endTime" in entity), default=_when(None))[:10],
        license={"@id": LICENSE},
        conformsTo={"@id": PROCESS},
        author={"@id": "#contributors"},
        hasPart=_ids(entity["@id"] for entity in graph if entity["@type"] == "File"),
        mentions=_ids(actions),
    )
    write_text(folder / METADATA, json.dumps({"@context": CONTEXT, "@graph": [*graph, root]}, indent=1) + "\n")
    return folder / METADATA


def _copied(run: Run, folder: Path) -> list[dict]:
    """Copy a run without the name of its machine, and return what describes it."""
    source = run_folder(run.name, run.profile)
    started = source.name.partition("_")[0]
    place = f"{run.profile}/{run.name}"
    shutil.copytree(source, folder / place / started)
    current = (source.parent / CURRENT).read_text(encoding="utf-8")
    write_text(folder / place / CURRENT, current.replace(source.name, started))
    sums = json.loads((source / SUMS).read_text(encoding="utf-8"))
    files = [_file(f"{place}/{started}/{name}", sha256) for name, sha256 in sums.items()]
    files += [_file(f"{place}/{started}/{SUMS}"), _file(f"{place}/{CURRENT}")]
    commit = run.about.get("commit") or "unknown commit"
    version = f"{run.about['fairlab']}, {commit}"
    software = _entity(f"#fairlab-{commit}", "SoftwareApplication", name="fairlab", softwareVersion=version)
    software["softwareRequirements"] = [f"{name}=={number}" for name, number in run.about["libraries"].items()]
    notebook = _entity(f"#{run.name}.ipynb-{commit}", "SoftwareSourceCode", name=f"notebooks/{run.name}.ipynb")
    notebook |= {
        "version": version,
        "programmingLanguage": f"Python {run.about['python']}",
        "runtimePlatform": {"@id": software["@id"]},
    }
    data = [
        _entity(f"#{load['variant']}-{load.get('data_hash', '')[:12]}", "CreativeWork", name=load["variant"])
        | {"additionalType": load["source"]}
        | {theirs: load[own] for theirs, own in ABOUT_DATA.items() if load.get(own)}
        for load in run.data
    ]
    values = [
        _entity(f"#{run.profile}/{run.name}/{name}", "PropertyValue", name=name, value=json.dumps(value))
        for name, value in (run.parameters | {"seed": run.seed}).items()
    ]
    action = _entity(
        f"#{run.profile}/{run.name}",
        "CreateAction",
        name=f"fairlab run {run.name} --profile {run.profile}",
        description=run.specification.title,
        startTime=_when(datetime.strptime(started, "%Y%m%dT%H%M%S%z")),
        endTime=_when(datetime.fromtimestamp((source / SUMS).stat().st_mtime, UTC)),
        actionStatus="http://schema.org/CompletedActionStatus",
        instrument={"@id": notebook["@id"]},
        object=_ids(entity["@id"] for entity in data + values),
        result=_ids(entity["@id"] for entity in files[:-2]),
    )
    return [*files, software, notebook, *data, *values, action]


def _entity(name, kind, /, **properties) -> dict:
    return {"@id": name, "@type": kind, **properties}


def _ids(names) -> list[dict]:
    return [{"@id": name} for name in names]


def _file(path, sha256=None) -> dict:
    about = {"name": path, "encodingFormat": FORMATS.get(Path(path).suffix, "text/plain")}
    return _entity(path, "File", **about | ({"sha256": sha256} if sha256 else {}))


def _when(moment) -> str:
    return (moment or datetime.now(UTC)).isoformat(timespec="seconds")
