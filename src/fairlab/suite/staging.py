"""Temporary folders: runs are written there before they are published, and partial files of killed processes deleted.

A lock shows whether the owner of a folder is alive (see `fairlab.suite.locks`), also in another container or on another
machine. The temporary files of a command are in such a folder, too.
"""

import multiprocessing.util
import os
import platform
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from fairlab.paths import PARTIAL, results_folder
from fairlab.suite import locks

FORGOTTEN_SECONDS = 24 * 3600  # older folders are deleted if the file system has no locks
PARTIAL_SECONDS = 3600  # older partial files are deleted
SUFFIX = ".lock"
LONGEST_PATH = 49  # of the parent of our temporary folder: paths of sockets have at most 103 characters
LAST = -200  # priority at exit: after multiprocessing has removed its own temporary folder
_held: dict[Path, IO] = {}  # by folder, of this process


def temporary_folder(name: str) -> Path:
    """Return a new, empty folder for a run of `name`, and delete the folders of dead processes.

    Raises
    ------
    PermissionError
        If the results folder cannot be written.
    """
    parent = results_folder() / ".staging"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _clear_partial()
        return _own(parent, f"{platform.node()}-{os.getpid()}-{name.replace('/', '-')}-")
    except OSError as error:
        raise PermissionError(
            f"cannot write to the results folder {results_folder()} ({error.strerror}); "
            "set FAIRLAB_RESULTS to a folder that can be written"
        ) from error


def expect_writable(*paths: Path) -> None:
    """Raise unless this user may write to files and folders, or to their future parents.

    Raises
    ------
    PermissionError
        If one belongs to another user; the message names both.
    """
    for path in paths:
        while not path.exists():
            path = path.parent
        if not os.access(path, os.W_OK | os.X_OK * path.is_dir()):
            raise PermissionError(
                f"cannot write to {path}, which is {_owner(path)}'s: let both write there (a common group and umask "
                "002), or set FAIRLAB_RESULTS to a folder of your own"
            )


def _owner(path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError):  # a user of another machine; Windows
        return f"user {path.stat().st_uid}"


def keep_temporary_files() -> None:
    """Redirect temporary files of this process and its children to a folder of their own.

    It is deleted when this process ends, or by the next command if this one is killed. If it cannot be created, nothing
    changes.
    """
    outer = Path(outer_temporary_folder())
    if Path(tempfile.gettempdir()) in _held or len(str(outer)) > LONGEST_PATH:
        return
    parent = outer / _temporary_name()
    with suppress(OSError):
        parent.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid") and parent.lstat().st_uid != os.getuid():  # another user created it first
            return
        folder = _own(parent, "")
        multiprocessing.util.Finalize(None, cleanup, (folder,), exitpriority=LAST)
        os.environ["TMPDIR"], tempfile.tempdir = str(folder), None


def outer_temporary_folder() -> str:
    """Return the system's temporary folder, for processes that run elsewhere."""
    folder = Path(tempfile.gettempdir())
    return str(folder.parents[1] if folder.parent.name == _temporary_name() else folder)


def _temporary_name() -> str:
    return f"fairlab-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _own(parent, prefix) -> Path:
    """Return a new folder with a lock beside it, and delete the folders of dead processes."""
    _clear(parent)
    while True:
        handle, file = tempfile.mkstemp(prefix=prefix, suffix=SUFFIX, dir=parent)
        os.close(handle)
        folder = Path(file.removesuffix(SUFFIX))
        with suppress(locks.NoLocksError):
            _held[folder] = locks.lock(Path(file))
            if _held[folder] is None:  # another process is testing the lock
                continue
        folder.mkdir()
        return folder


def cleanup(folder: Path) -> None:
    """Delete a temporary folder of this process, if it still exists, and its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        _lock_file(folder).unlink(missing_ok=True)
    if file := _held.pop(folder, None):
        file.close()


def _clear_partial():
    """Delete the partial files of killed processes."""
    for file in (results_folder() / PARTIAL).glob("*"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > PARTIAL_SECONDS:
                file.unlink()


def _clear(parent):
    """Delete the folders of dead processes."""
    for file in parent.glob(f"*{SUFFIX}"):
        folder = file.with_name(file.name.removesuffix(SUFFIX))
        try:
            left = locks.lock(file)
        except OSError:  # no locks here, or another user's
            if time.time() - file.stat().st_mtime > FORGOTTEN_SECONDS:
                cleanup(folder)
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
