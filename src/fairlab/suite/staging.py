"""Where runs are written before they are published: a folder each, which nobody takes for left while its owner lives.

A lock says whether the owner lives (see `fairlab.suite.locks`), be it in another container or on another machine.
"""

import os
import platform
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from fairlab.paths import results_folder
from fairlab.suite import locks

FORGOTTEN_SECONDS = 24 * 3600  # after which a folder is nobody's where the file system knows no locks
SUFFIX = ".lock"
_held: dict[Path, IO] = {}  # by folder, of this process


def stage(name: str) -> Path:
    """Return a new, empty staging folder for a run of `name`, and remove those whose owners are dead.

    Raises
    ------
    PermissionError
        If the results folder cannot be written.
    """
    parent = results_folder() / ".staging"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _clear(parent)
        prefix = f"{platform.node()}-{os.getpid()}-{name.replace('/', '-')}-"
        while True:
            handle, file = tempfile.mkstemp(prefix=prefix, suffix=SUFFIX, dir=parent)
            os.close(handle)
            folder = Path(file.removesuffix(SUFFIX))
            with suppress(locks.NoLocksError):
                _held[folder] = locks.lock(Path(file))
                if _held[folder] is None:  # somebody looked whether its owner lives
                    continue
            folder.mkdir()
            return folder
    except OSError as error:
        raise PermissionError(
            f"cannot write to the results folder {results_folder()} ({error.strerror}); "
            "set FAIRLAB_RESULTS to a folder that can be written"
        ) from error


def discard(folder: Path) -> None:
    """Remove a staging folder of this process, if it is still there, and its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        _lock_file(folder).unlink(missing_ok=True)
    if file := _held.pop(folder, None):
        file.close()


def _clear(parent):
    """Remove what dead processes left."""
    for file in parent.glob(f"*{SUFFIX}"):
        folder = file.with_name(file.name.removesuffix(SUFFIX))
        try:
            left = locks.lock(file)
        except OSError:  # no locks here, or another user's
            if time.time() - file.stat().st_mtime > FORGOTTEN_SECONDS:
                discard(folder)
            continue
        if left is not None:
            shutil.rmtree(folder, ignore_errors=True)
            file.unlink(missing_ok=True)
            left.close()
    for folder in parent.iterdir():
        if folder.is_dir() and not _lock_file(folder).exists():
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > FORGOTTEN_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


def _lock_file(folder):
    return folder.with_name(folder.name + SUFFIX)
