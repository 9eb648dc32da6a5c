"""Locks in a folder of results that processes, containers, machines and users may share.

A lock is an open file that the operating system locks: it is released as soon as its owner ends, in any way, and on NFS
soon after the owner's machine is gone. Process ids, which two containers may share, are only shown in messages.
"""

import errno
import os
import platform
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LOOK_SECONDS = 1.0
UNKNOWN = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)  # of file systems without locks


class NoLocksError(OSError):
    """The system or the file system has no locks."""


def lock(path: Path) -> IO | None:
    """Return an open file that holds the lock `path`, until it is closed; None if another process holds it.

    Raises
    ------
    NoLocksError
        If there are no locks.
    """
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            if fcntl is None:
                raise NoLocksError("no locks on this system")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        except OSError as error:
            file.close()
            if isinstance(error, NoLocksError) or error.errno in UNKNOWN:
                raise NoLocksError(f"the file system of {path.parent} has no locks") from error
            raise
        if os.fstat(file.fileno()).st_nlink:  # otherwise another process has deleted it
            return file
        file.close()


@contextmanager
def held(path: Path, what: str, log: Callable[[str], object] = print):
    """Hold a lock during a block; if another process holds it, log a message and wait.

    Parameters
    ----------
    path : Path
    what : str
        Action of the holder, for the message.
    log : callable
        Called with the message.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file = lock(path)
    except NoLocksError as error:
        log(f"{error}; make sure that only one runs there: {what}")
        yield
        return
    if file is None:
        log(f"{what} is already running, {_owner(path)}; waiting until it ends")
    while file is None:
        time.sleep(LOOK_SECONDS)
        file = lock(path)
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
        yield


def _owner(path) -> str:
    try:
        return path.read_text(encoding="utf-8") or "just begun"
    except OSError:
        return "of another user"
