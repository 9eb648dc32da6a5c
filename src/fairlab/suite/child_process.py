"""Set-up of child processes: they exit with their parent and write their output to a log."""

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
LOOK_SECONDS = 0.5
_forking: int | None = None  # id of the process that forked last
_forked_from: int | None = None  # id of the process from which this one was forked; it may have ended since


def exit_with_parent(parent: int | None = None) -> None:
    """Make this process exit as soon as its parent ends, also by ``kill -9`` or if it has ended already.

    On Linux the operating system kills this process; elsewhere a thread watches the parent.

    Parameters
    ----------
    parent : int or None
        Process id of the parent, for a process that starts so slowly that its parent may end before this call.
    """
    parent = parent or _forked_from or os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _about_to_fork():
    global _forking
    _forking = os.getpid()


def _was_forked():
    global _forked_from
    _forked_from = _forking


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_about_to_fork, after_in_child=_was_forked)


def _watch(parent):
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def redirect(log: str) -> None:
    """Append all further output of this process, also of C libraries, to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)


@contextmanager
def terminated_as_interrupted():
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt in the block, as Ctrl-C does; ignored signals stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_):
        for number in before:  # one is enough
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    numbers = {getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)}
    before = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
