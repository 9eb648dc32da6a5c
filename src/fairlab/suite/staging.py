"""Where runs are written before they are published: a folder each, which nobody takes for left while its owner lives.

A lock says whether the owner lives (see `fairlab.suite.locks`), be it in another container or on another machine. A
command's temporary files are in such a folder, too, so that the next command removes what a killed one left.
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

FORGOTTEN_SECONDS = 24 * 3600  # after which a folder is nobody's where the file system knows no locks
PARTIAL_SECONDS = 3600  # after which a file that was being written is nobody's
SUFFIX = ".lock"
LONGEST_PATH = 49  # of a temporary folder in which ours may be: sockets in that have at most 103 characters
LAST = -200  # of what is done at a process's end: after multiprocessing has removed its own temporary folder
_held: dict[Path, IO] = {}  # by folder, of this process


def stage(name: str) -> Path:
    """Return a new, empty staging folder for a run of `name`, and remove what dead processes left of theirs.

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
    """Raise unless this user may write to files and folders, or to where they are to be.

    Raises
    ------
    PermissionError
        If one is another user's; the message says which and whose.
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
    """Let what this process and those that it starts write to the temporary folder be in one of its own.

    It is removed when this process ends, or by the next command if this one is killed. Where none can be made, all
    stays as it is.
    """
    outer = Path(outer_temporary_folder())
    if Path(tempfile.gettempdir()) in _held or len(str(outer)) > LONGEST_PATH:
        return
    parent = outer / _temporary_name()
    with suppress(OSError):
        parent.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid") and parent.lstat().st_uid != os.getuid():  # somebody else made it first
            return
        folder = _own(parent, "")
        multiprocessing.util.Finalize(None, discard, (folder,), exitpriority=LAST)
        os.environ["TMPDIR"], tempfile.tempdir = str(folder), None


def outer_temporary_folder() -> str:
    """Return the temporary folder that there is without one of our own, for what runs elsewhere."""
    folder = Path(tempfile.gettempdir())
    return str(folder.parents[1] if folder.parent.name == _temporary_name() else folder)


def _temporary_name() -> str:
    return f"fairlab-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


def _own(parent, prefix) -> Path:
    """Return a new folder with a lock beside it, and remove those whose owners are dead."""
    _clear(parent)
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


def discard(folder: Path) -> None:
    """Remove a staging folder of this process, if it is still there, and its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        _lock_file(folder).unlink(missing_ok=True)
    if file := _held.pop(folder, None):
        file.close()


def _clear_partial():
    """Remove the files that killed processes had begun to write."""
    for file in (results_folder() / PARTIAL).glob("*"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > PARTIAL_SECONDS:
                file.unlink()


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
