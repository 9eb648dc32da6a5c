"""Processes of a run: they end with their parent."""

import ctypes
import os
import platform
import signal
import sys
import threading
from contextlib import suppress

import psutil

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
# OpenBLAS sums in another order on every kind of processor, which moves numbers after hundreds of training steps. So
# x86-64 runs the kernels that all such processors of the last decade have; other architectures have one kind.
if platform.machine() in ("x86_64", "AMD64"):
    WORKER_ENVIRONMENT["OPENBLAS_CORETYPE"] = "Haswell"
KERNEL_ENVIRONMENT = WORKER_ENVIRONMENT | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
KILL_SECONDS = 5.0  # that killed processes get to go
# Of this process, if it is the kernel of a batch's notebook: the `folder` of the run, which the batch publishes, and
# `n_jobs` for trials.
kernel_task: dict | None = None
stopping = threading.Event()  # that this process ends its children: what they leave undone is no failure


def end_with_parent(parent: int) -> None:
    """Let Linux kill this process when its parent ends, in whatever way; elsewhere Jupyter and loky look after it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it has ended already
            os._exit(1)


def kill_children() -> None:
    """Kill all processes that this one started, and those that they started."""
    stopping.set()
    children = psutil.Process().children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children, timeout=KILL_SECONDS)
