"""What every process of a batch begins with: it ends with the one that started it, and prints to a log."""

import ctypes
import os
import signal
import sys
import threading
import time

SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
LOOK_SECONDS = 0.5


def tie() -> None:
    """End this process as soon as its parent has ended, be it by ``kill -9``.

    On Linux the system sees to it, whatever this process computes; elsewhere a thread looks at the parent.
    """
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent):
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def redirect(log: str) -> None:
    """Append what this process prints from here on, its libraries' C code too, to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
