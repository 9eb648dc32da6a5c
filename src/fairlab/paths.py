"""Where the project keeps its parts, and how it writes files."""

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path


def find_root() -> Path:
    """Return the project's root: ``FAIRLAB_ROOT`` if set, else the folder above this package that has the registry.

    Raises
    ------
    FileNotFoundError
        If no such folder exists, as when the package was copied without its project.
    """
    override = os.environ.get("FAIRLAB_ROOT")
    candidates = [Path(override)] if override else Path(__file__).resolve().parents
    for folder in candidates:
        if (folder / "data_scripts" / "registry.yaml").exists():
            return folder
    raise FileNotFoundError(
        "no fairlab project found"
        + (f" in FAIRLAB_ROOT={override}" if override else " above the installed package")
        + ": expected data_scripts/registry.yaml. Without a clone there is the library alone, without notebooks, "
        "experiments and data sets: `pip install -e .` in a clone, or set FAIRLAB_ROOT to one"
    )


def _root_if_any() -> Path:
    """Return the project's root, or where none is the folder of this package: it holds none of the folders below."""
    try:
        return find_root()
    except FileNotFoundError:
        return Path(__file__).resolve().parent


ROOT = _root_if_any()
EXPERIMENTS = ROOT / "experiments"
FIGURES = ROOT / "figures"
DATA_SCRIPTS = ROOT / "data_scripts"
PARTIAL = ".partial"  # in the results folder: files that are being written, and nothing else


def results_folder() -> Path:
    """Return the folder of all results: ``FAIRLAB_RESULTS`` if set, else ``results`` in the project."""
    return Path(os.environ.get("FAIRLAB_RESULTS") or ROOT / "results")


@contextmanager
def atomic_path(path: Path | str):
    """Yield a temporary path; move it to `path` when the block ends well, remove it otherwise.

    A reader never sees half a file. A failed write leaves the earlier file as it was; its error names the file. What a
    killed process leaves lies in the folder `PARTIAL` of the results, or beside a `path` that is elsewhere.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent
    if path.is_relative_to(results_folder()):
        folder = results_folder() / PARTIAL
        folder.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        _move(temporary, path)
    except OSError as error:  # that of a full disk names no file
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _move(file, path):
    """Move a file into place in one step, also where a part of the results is on another disk."""
    try:
        file.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = path.with_name(file.name)
        try:
            shutil.copy(file, copy)
            copy.replace(path)
        finally:
            copy.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Write `text` to `path` atomically, in UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
