"""One run of an experiment on disk: its records, data, seed, code and versions.

A run is written into a temporary folder and exchanged with ``results/<profile>/<paper>/<experiment>/`` when it is
complete, so that a complete run exists at every instant, even if the process is killed.
"""

import ctypes
import hashlib
import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from fairlab.data.dataset import SOURCES, weakest
from fairlab.paths import PARTIAL, results_folder, write_text
from fairlab.suite import locks
from fairlab.suite.catalogue import Specification, specification
from fairlab.suite.staging import cleanup
from fairlab.suite.verdicts import Ours

CUSTOM = "custom"  # profile of a run whose parameters are those of no profile
DEFAULT_SEED = 0
SUMS = "sums.json"  # of what a published run holds
EARLIER = ".earlier"  # how the name of a run ends that is moved aside
MOST_READINGS = MOST_TRIES = 100  # of a run that others replace all the time
WORKING_FOLDER, EXCHANGE = -100, 2  # of renameat2(2); the second of macOS' renamex_np(2), too


class UnreadableRunError(ValueError):
    """A results folder is corrupted or of another version's format; the message says which and what to do."""


class Load(TypedDict):
    """Where a data set came from."""

    __pydantic_config__ = ConfigDict(extra="allow")
    variant: str
    source: Literal[SOURCES]


class Record(TypedDict):
    """A named number, with one value per trial."""

    __pydantic_config__ = ConfigDict(extra="allow")
    artefact: str
    id: str
    reading: str
    values: list


class Claim(TypedDict):
    """A statement of the paper, and whether it holds."""

    __pydantic_config__ = ConfigDict(extra="allow")
    artefact: str
    id: str
    holds: bool


@dataclass
class Run:
    """The recorded content of one run.

    Attributes
    ----------
    name : str
        The experiment.
    profile : str
        A profile, or ``custom``.
    seed : int
    parameters : dict
    data : list of dict
        Every load of a data variant, in order: its provenance with ``variant`` and ``options``.
    records : list of dict
        ``artefact, id, reading, values, note, data``.
    claims : list of dict
        ``artefact, id, holds, detail, data``.
    skipped : list of dict
        ``artefact, id, reason``: published values or claims that this run knowingly leaves out.
    about : dict
        Versions, commit, peak memory, which libraries of the extras were imported, and the seconds that the run takes
        when no trial is on disk yet.
    """

    name: str
    profile: str
    seed: int
    parameters: dict
    data: list[Load] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    skipped: list[dict] = field(default_factory=list)
    about: dict = field(default_factory=dict)

    @cached_property
    def specification(self) -> Specification:
        """The experiment's specification."""
        return specification(self.name)

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.name.split("/")[0]

    def ours(self, artefact: str, id: str, reading: str = "as_published") -> Ours | None:
        """Return the recorded result for one published value, None if there is none."""
        for record in self.records:
            if (record["artefact"], record["id"], record["reading"]) == (artefact, id, reading):
                return Ours(np.asarray(record["values"], dtype=float))
        return None

    def source(self, variants=None) -> str:
        """Return the weakest provenance of `variants` (default: all that were loaded), a word of `SOURCES`.

        What loads nothing draws its inputs itself, by the paper's protocol: "generated".
        """
        used = [load["source"] for load in self.data if variants is None or load["variant"] in variants]
        return weakest(used or ["generated"])

    def note_load(self, provenance: dict, options: dict) -> None:
        """Record the provenance of a data set; the same rows loaded in the same way are recorded once."""
        entry = provenance | {"options": {name: _as_json(value) for name, value in options.items()}}
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
        content = {key: getattr(self, key) for key in ("name", "profile", "seed", "parameters", "data", "skipped")}
        _write_json(folder / "records.json", self.records)
        _write_json(folder / "claims.json", self.claims)
        _write_json(folder / "run.json", content | self.about)

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read the run in `folder`, all of it from one and the same run, if others take its place in the meantime.

        Raises
        ------
        UnreadableRunError
            If it is not a run, has the format of another version, or does not match its checksums.
        """
        home = folder.with_name(folder.name.removeprefix(".").removesuffix(EARLIER))
        for _ in range(MOST_READINGS):
            place = _there(home)
            before = _identity(place)
            try:
                run, error = cls._read(place), None
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as wrong:
                run, error = None, wrong
            if before is not None and place == _there(home) and before == _identity(place):
                break
        else:
            error = error or OSError("it is being replaced continually")
        if error is not None:
            if isinstance(error, ValidationError):
                wrong = error.errors()[0]
                error = f"{wrong['msg']} at {'.'.join(map(str, wrong['loc']))}"
            profile, paper, experiment = folder.parts[-3:]
            raise UnreadableRunError(
                f"{folder} has no run that this version can read, perhaps one of an older version ({error}); run it "
                f"again: fairlab run {paper}/{experiment.partition('.')[0]} --profile {profile}, or delete the folder"
            ) from None
        return run

    @classmethod
    def _read(cls, folder: Path) -> "Run":
        _check_sums(folder)
        texts = [(folder / f"{part}.json").read_text(encoding="utf-8") for part in ("run", "records", "claims")]
        run, records, claims = map(json.loads, texts)
        own = {key: run.pop(key) for key in ("name", "profile", "seed", "parameters", "data", "skipped")}
        return _RUN.validate_python(own | {"records": records, "claims": claims, "about": run})


_RUN = TypeAdapter(Run)


def run_folder(name: str, profile: str, seed: int = DEFAULT_SEED) -> Path:
    """Return the folder of the published run of an experiment under a profile.

    That of another seed than the default stands beside the canonical one, as ``<experiment>.seed-<seed>``.
    """
    return _there(_place(name, profile, seed))


def _there(place) -> Path:
    """Return where the run is that is, or is to be, at a place."""
    earlier = _earlier(place)
    return earlier if earlier.exists() and not place.exists() else place


def _identity(folder) -> tuple | None:
    """Return what tells a folder from one that took its place; None if there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _place(name, profile, seed) -> Path:
    return results_folder() / profile / (name if seed == DEFAULT_SEED else f"{name}.seed-{seed}")


def _earlier(place) -> Path:
    """Return where a published run is while another takes its place, on file systems that cannot exchange them."""
    return place.with_name(f".{place.name}{EARLIER}")


def failure_file(name: str, profile: str, seed: int = DEFAULT_SEED) -> Path:
    """Return the file with the reason why the last run of an experiment failed."""
    place = _place(name, profile, seed)
    return place.with_name(f"{place.name}.failed.txt")


def log_file(name: str, profile: str, seed: int = DEFAULT_SEED) -> Path:
    """Return the log file of an experiment's last run, for output outside its notebook."""
    place = _place(name, profile, seed)
    return place.with_name(f"{place.name}.log")


def places(name: str, profile: str, seed: int = DEFAULT_SEED) -> list[Path]:
    """Return the files and folders that a run of an experiment writes to or replaces."""
    place, trials = _place(name, profile, seed), results_folder() / "trials" / name.split("/")[0]
    files = [log_file(name, profile, seed), failure_file(name, profile, seed)]
    return [results_folder() / PARTIAL, place.parent, place, *files, trials, *trials.glob("*/")]


def publish(staged: Path, name: str, profile: str, seed: int = DEFAULT_SEED) -> Path:
    """Move a complete staged run into place, replacing the earlier one, and return its folder.

    Where the file system can, both change places in one step. Elsewhere, as on NFS, the earlier one is moved aside
    first, to where `run_folder` looks for it as long as there is no other.
    """
    target = _place(name, profile, seed)
    target.parent.mkdir(parents=True, exist_ok=True)
    _write_json(staged / SUMS, _sums(staged))
    if not (_exchange(staged, target) or _first(staged, target)):
        # One at a time: another would take for left what this one moved aside.
        busy = target.with_name(f".{target.name}.publishing")
        with locks.held(busy, f"the publishing of {name}", log=lambda _: None):
            _replace(staged, target)
    cleanup(staged)
    failure_file(name, profile, seed).unlink(missing_ok=True)
    return target


def _first(staged, target) -> bool:
    """Move a run to where there is none; return whether there was none."""
    if target.exists() or _earlier(target).exists():
        return False
    try:
        staged.replace(target)
    except OSError:
        if target.exists():  # another was faster
            return False
        raise
    return True


def _replace(staged, target) -> None:
    """Move a run aside and another one into its place; where there are no locks, again if another was faster."""
    earlier = _earlier(target)
    for left in reversed(range(MOST_TRIES)):
        try:
            if target.exists():
                shutil.rmtree(earlier, ignore_errors=True)
                target.replace(earlier)
            staged.replace(target)
        except OSError:
            if not left:
                raise
        else:
            break
    shutil.rmtree(earlier, ignore_errors=True)


def _sums(folder) -> dict[str, str]:
    """Return the SHA-256 of all numbers of a run, by file; notebooks and pictures may be written anew."""
    files = [
        *folder.glob("*.json"),
        *folder.glob("tables/*.csv"),
        *folder.glob("figures/*.csv"),
        *folder.glob("figures/*.json"),
    ]
    known = {file.relative_to(folder).as_posix(): file for file in sorted(files) if file.name != SUMS}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in known.items()}


def _check_sums(folder):
    """Raise unless a published run matches its checksums; runs of versions without checksums are accepted."""
    if not (folder / SUMS).exists():
        return
    sums, found = json.loads((folder / SUMS).read_text(encoding="utf-8")), _sums(folder)
    if wrong := sorted(name for name in sums | found if sums.get(name) != found.get(name)):
        raise ValueError(f"{', '.join(wrong)}: corrupted or changed since publication")


def _exchange(one, other) -> bool:
    """Let two folders change places in one step; return whether they did."""
    places = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return library.renamex_np(*places, EXCHANGE) == 0
        return library.renameat2(WORKING_FOLDER, places[0], WORKING_FOLDER, places[1], EXCHANGE) == 0
    except (AttributeError, TypeError):  # no such call, as on Windows
        return False


def _write_json(path, content):
    write_text(path, json.dumps(content, indent=1, default=_plain, allow_nan=False) + "\n")


def _as_json(value):
    """Return a value as JSON can hold it, in words where it cannot."""
    try:
        return json.loads(json.dumps(value, default=_plain))
    except TypeError:
        return repr(value)


def _plain(value):
    """Turn NumPy's scalars and arrays into what JSON knows."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} to JSON")
