"""One run of an experiment on disk: its records, data, seed, code and versions.

A run is written into a work folder. When it is complete, a copy becomes the folder
``results/<profile>/<paper>/<experiment>/<id>/``, which never changes. The file ``current`` beside these folders names
the published one. It is replaced in one step, so that a complete run is there at every instant, whoever is killed.
"""

import hashlib
import json
import platform
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from operator import methodcaller
from pathlib import Path

import joblib
import numpy as np
import psutil
from pydantic import TypeAdapter, ValidationError

from fairlab.checks import check_count, suggestion
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite.catalogue import CUSTOM, Specification, specification
from fairlab.suite.verdicts import Ours

DEFAULT_SEED = 0
OWN = ("name", "profile", "seed", "parameters", "data", "skipped")  # fields of a run in ``run.json``, beside `about`
CURRENT = "current"  # the file that names the published run
LATEST = "latest"  # link to the published run
SUMS = "sums.json"  # SHA-256 of every file of a run
FORGOTTEN_SECONDS = 7 * 24 * 3600  # after which replaced runs are deleted, and what killed processes left


class IncompleteRunError(RuntimeError):
    """A run lacks what its experiment declares; the message says what."""


class UnreadableRunError(ValueError):
    """A run is corrupted or of another version's format; the message says which."""


@dataclass
class Run:
    """The recorded content of one run.

    Attributes
    ----------
    name : str
        The experiment.
    profile : str
        A profile, or ``custom`` for another seed or other parameters.
    seed : int
    parameters : dict
    data : list of dict
        Every load of a data variant, in order: its provenance with ``variant`` and ``options``.
    records : list of dict
        ``artefact, id, reading, values, note, data``.
    claims : list of dict
        ``artefact, id, holds, detail, unsettled, data``.
    skipped : list of dict
        ``artefact, id, reason``: published values or claims that this run knowingly leaves out.
    about : dict
        State of code and data, versions, commit, peak memory, which libraries of the extras were imported, and the
        seconds of one core that the run takes when no trial is on disk yet.
    """

    name: str
    profile: str
    seed: int
    parameters: dict
    data: list[dict] = field(default_factory=list)
    records: list[dict] = field(default_factory=list)
    claims: list[dict] = field(default_factory=list)
    skipped: list[dict] = field(default_factory=list)
    about: dict = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, profile: str, seed: int, others: dict) -> "Run":
        """Return an empty run; it is of the profile if its seed is the default and `others` are the profile's values.

        Raises
        ------
        KeyError, TypeError
            If there is no such experiment, profile or parameter.
        ValueError
            If the seed is no whole number of at least 0, or a parameter has a value that it cannot have.
        """
        spec = specification(name)
        usual = spec.parameters(profile)
        if strange := [key for key in others if key not in usual]:
            raise TypeError(f"{name} has no parameter {strange[0]!r}{suggestion(strange[0], usual)}")
        parameters, seed = spec.checked(usual | others), check_count(seed, "seed", least=0)
        return cls(name, profile if (parameters, seed) == (usual, DEFAULT_SEED) else CUSTOM, seed, parameters)

    @cached_property
    def specification(self) -> Specification:
        """The experiment's specification."""
        return specification(self.name)

    def find(self, part: str, artefact: str, id: str, reading: str = "as_published") -> dict | None:
        """Return the entry about a published number or claim in ``records``, ``claims`` or ``skipped``, None if none.

        Of several records of a number it is the one of a protocol variant.
        """
        entries = (each for each in getattr(self, part) if (each["artefact"], each["id"]) == (artefact, id))
        return next((each for each in entries if each.get("reading", reading) == reading), None)

    def ours(self, artefact: str, id: str, reading: str = "as_published") -> Ours | None:
        """Return the recorded result for one published value, None if there is none."""
        record = self.find("records", artefact, id, reading)
        kind = self.specification.published.artefact(artefact).values[id].kind
        if kind == "std":  # of the trials of the number that it belongs to
            record = self.find("records", artefact, id.removesuffix(".std"), reading) or record
        return record and Ours(np.asarray(record["values"], dtype=float), kind)

    def source(self, variants=None) -> str:
        """Return the weakest provenance of `variants` (default: all that were loaded).

        A word of `fairlab.data.dataset.SOURCES`. What loads nothing draws its inputs itself, by the paper's protocol:
        "generated".
        """
        from fairlab.data.dataset import weakest

        used = [load["source"] for load in self.data if variants is None or load["variant"] in variants]
        return weakest(used or ["generated"])

    def note_load(self, provenance: dict, options: dict) -> None:
        """Record the provenance of a data set; the same rows loaded in the same way are recorded once."""
        plain = json.dumps(options, default=lambda value: getattr(value, "tolist", value.__repr__)())
        entry = provenance | {"options": json.loads(plain)}
        if entry not in self.data:
            self.data.append(entry)

    def sources(self) -> dict[str, str]:
        """Return the provenance of every variant that was loaded, the weakest of its loads."""
        return {load["variant"]: self.source([load["variant"]]) for load in self.data}

    def missing(self, variants=None) -> list[str]:
        """Return the data that a surrogate replaced: of `variants` (default: all that were loaded), or their files."""
        used = [load for load in self.data if load["source"] == "surrogate"]
        lost = [
            load.get("missing") or [load["variant"]] for load in used if variants is None or load["variant"] in variants
        ]
        return list(dict.fromkeys(name for names in lost for name in names))

    def write(self, folder: Path) -> None:
        """Write ``run.json``, ``records.json`` and ``claims.json`` to `folder`."""
        write_json(folder / "records.json", self.records)
        write_json(folder / "claims.json", self.claims)
        write_json(folder / "run.json", {key: getattr(self, key) for key in OWN} | self.about)

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read the published run in `folder`, which may have been moved.

        Raises
        ------
        UnreadableRunError
            If it is not a run, has the format of another version, or a file of it does not match its checksum.
        """
        try:
            _check_sums(folder)
            return cls.unpublished(folder)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ValidationError):
                error = f"{error.errors()[0]['msg']} at {error.errors()[0]['loc'][0]}"
            raise UnreadableRunError(
                f"{folder} has no run that this version can read, perhaps one of an older version ({error})"
            ) from None

    @classmethod
    def unpublished(cls, folder: Path) -> "Run":
        """Read a run that has no checksums yet."""
        texts = [(folder / f"{part}.json").read_text(encoding="utf-8") for part in ("run", "records", "claims")]
        run, records, claims = map(json.loads, texts)
        own = {key: run.pop(key) for key in OWN}
        return TypeAdapter(cls).validate_python(own | {"records": records, "claims": claims, "about": run})


def place(name: str, profile: str) -> Path:
    """Return the folder of all runs of an experiment under a profile."""
    return project().results / profile / name


def run_folder(name: str, profile: str) -> Path:
    """Return the folder of the published run of an experiment; one that does not exist if there is none."""
    home = place(name, profile)
    try:
        return home / (home / CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return home / "none"


def failure_file(name: str, profile: str) -> Path:
    """Return the file with the reason why the last run of an experiment failed."""
    return place(name, profile) / "failed.txt"


def log_file(name: str, profile: str) -> Path:
    """Return the log file of an experiment's last run, for output outside its notebook."""
    return place(name, profile) / "log.txt"


def work_folder() -> Path:
    """Make and return a folder for a run until it is published."""
    folder = project().partial / secrets.token_hex(8)
    folder.mkdir(parents=True)
    return folder


def publish(work: Path) -> Path:
    """Make a copy of the run in a work folder the published one of its experiment, and return the copy.

    Raises
    ------
    IncompleteRunError
        If it lacks a table or figure.
    """
    run = check_complete(work)
    home, id = place(run.name, run.profile), f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}_{secrets.token_hex(3)}"
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=project().partial) as beside:
        copy = shutil.copytree(work, Path(beside, id))
        write_json(copy / SUMS, _sums(copy))
        folder = Path(shutil.move(copy, home))
    write_text(home / CURRENT, f"{folder.name}\n")
    failure_file(run.name, run.profile).unlink(missing_ok=True)
    with suppress(OSError):  # for people, who find the run by it; where links cannot be made it is missing
        link = home / f"{LATEST}-{folder.name}"
        link.symlink_to(folder.name)
        link.replace(home / LATEST)
    _clear(home, folder)
    return folder


def _clear(home, published) -> None:
    """Delete what was replaced or left unfinished long ago; the run before the published one stays."""
    with suppress(OSError):  # another process clears it, too
        finished = sorted(home.glob(f"[0-9]*/{SUMS}"), key=lambda file: file.stat().st_mtime_ns)
        replaced = [file.parent for file in finished if file.parent != published]
        for folder in [*replaced[:-1], *project().partial.glob("*/")]:
            if time.time() - folder.stat().st_mtime > FORGOTTEN_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _sums(folder) -> dict[str, str]:
    """Return the SHA-256 of every file of a run, by its path in the folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / SUMS)
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def check_complete(folder: Path) -> Run:
    """Return the run in `folder`; raise an `IncompleteRunError` unless it has something for every table and figure.

    A figure needs its image file; anything else needs a figure, a table, a record, a claim or a reason for being
    skipped.
    """
    if not (folder / "run.json").exists():
        raise IncompleteRunError("the notebook ended without calling compare(), so no run was written")
    run = Run.unpublished(folder)
    paths = (folder.glob(f"{kind}/*") for kind in ("figures", "tables"))
    figures, tables = ({path.stem.partition("_")[0] for path in of_kind} for of_kind in paths)
    shown = figures | {entry["artefact"] for entry in run.skipped}
    other = tables | {entry["artefact"] for entry in run.records + run.claims}
    left = sorted(set(run.specification.artefacts) - shown)
    if missing := [artefact for artefact in left if artefact.startswith("figure-") or artefact not in other]:
        raise IncompleteRunError(f"nothing was written for {', '.join(missing)}")
    return run


def _check_sums(folder) -> None:
    """Raise unless all files of a run match its checksums."""
    sums, found = read_json(folder / SUMS), _sums(folder)
    if wrong := sorted(name for name in sums | found if sums.get(name) != found.get(name)):
        raise ValueError(f"{', '.join(wrong)}: corrupted or changed since publication")


def read_json(path: Path) -> dict:
    """Return what a JSON file has; nothing if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_json(path: Path, content) -> None:
    """Write what JSON has, and arrays as lists, to a file."""
    write_text(path, json.dumps(content, indent=1, default=methodcaller("tolist"), allow_nan=False) + "\n")


def peak_memory_gb(*, children: bool = True) -> float:
    """Return the peak memory of this process and, if known and asked for, of its largest ended child, in GB."""
    try:
        import resource
    except ImportError:  # Windows
        return psutil.Process().memory_info().peak_wset / 1e9
    unit = 1 if sys.platform == "darwin" else 1024
    of = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)[: 1 + children]
    parts = (resource.getrusage(who).ru_maxrss for who in of)
    return sum(parts) * unit / 1e9


@cache
def environment() -> dict:
    """Return versions, platform and commit: what a number may depend on besides data, seed and parameters.

    Later calls return the values of the first, which match the loaded code.
    """
    return {
        "fairlab": metadata.version("fairlab"),
        "python": platform.python_version(),
        "libraries": libraries(),
        "platform": f"{sys.platform} {platform.machine()}, {joblib.cpu_count()} cores",
        "commit": _commit(),
    }


@cache
def libraries() -> dict[str, str]:
    """Return the versions of what the project requires, as far as it is installed."""
    versions = {}
    for name in {re.match(r"[\w.-]+", requirement)[0] for requirement in metadata.requires("fairlab")}:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return dict(sorted(versions.items(), key=lambda pair: pair[0].lower()))


def _commit() -> str | None:
    """Return the project's commit, with ``+`` if the tree differs from it; None if it is not known."""
    try:
        git = ["git", "-C", str(project().root)]
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        code = ["src", "experiments", "notebooks", "data_scripts"]
        changed = subprocess.run([*git, "status", "--porcelain", *code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        built = project().root / ".commit"  # written when a container is built
        return built.read_text(encoding="utf-8").strip() if built.exists() else None
    return commit.stdout.strip() + "+" * bool(changed.stdout.strip())
