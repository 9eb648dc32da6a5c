"""Processes with preloaded libraries: forked from a process that loaded them, and ended with the batch."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager

from fairlab.suite import child_process, memory

# Parallel trials share the cores, so each gets one thread of every numerical library; and TensorFlow keeps its chatter
# about the processor to itself, and the order of its sums the same on every processor. A lone trial gets the same, or
# its last digits would differ from those of one of many.
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}
PRELOADED = "fairlab.suite.warm"
PARENT_VARIABLE = "FAIRLAB_PARENT"  # of the process that all are forked from
_starting = threading.Lock()
# Libraries read these when they are loaded, so they must stand before the process that all are forked from begins.
ENVIRONMENT = WORKER_ENVIRONMENT | {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    # Python would count, on the screen, what killed processes left, and remove it all the same.
    "PYTHONWARNINGS": "ignore::UserWarning:multiprocessing.resource_tracker",
}


def answer(function: Callable, *arguments, log: str):
    """Return ``function(*arguments)``, computed in a forked process; its output goes to `log`.

    Raises
    ------
    Exception
        Any error of the function.
    RuntimeError
        If the fork ended without a result.
    """
    reader, process = start(_answer, function, arguments, log=log)
    try:
        good, value = reader.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} ended without a result; see {log}") from None
    finally:
        process.kill()  # its result was received, or is no longer needed
        process.join()
    if not good:
        raise value
    return value


def start(function: Callable, *arguments, log: str):
    """Start ``function(*arguments, connection)`` in a fork, and return our end of the connection and the process."""
    ours, theirs = multiprocessing.Pipe()
    # Where processes cannot be forked, as on Windows, each loads the libraries itself.
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    process = context.Process(target=_begin, args=(function, arguments, theirs, log))
    with _starting, variables(ENVIRONMENT | {PARENT_VARIABLE: str(os.getpid())}):
        context.set_forkserver_preload([PRELOADED])
        process.start()
    theirs.close()
    return ours, process


def _begin(function, arguments, connection, log):
    child_process.exit_with_parent()
    child_process.redirect(log)
    memory.begin_fork()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the batch decides
    function(*arguments, connection)


def _answer(function, arguments, connection):
    try:
        connection.send((True, function(*arguments)))
    except Exception as error:  # the caller handles it
        connection.send((False, error))


@contextmanager
def variables(values: dict[str, str]):
    """Set environment variables during a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
