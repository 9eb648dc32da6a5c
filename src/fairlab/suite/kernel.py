"""The kernel of a notebook in a batch: ``python -m fairlab.suite.kernel PARENT SECONDS FOLDER LOG TASK CONNECTION``.

It works in the notebook's folder, ends with its parent, and is killed by the operating system at its time limit.
"""

import json
import os
import signal
import sys

from fairlab.suite import processes


def main(parent: str, seconds: str, folder: str, log: str, task: str, connection_file: str) -> None:
    """Serve a notebook until it is shut down; `task` has the content of a `KernelTask` as JSON, if it is one's."""
    processes.end_with_parent(int(parent))
    processes.kernel_task = processes.KernelTask(**json.loads(task)) if task else None
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, float(seconds))
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)  # also for what C libraries print
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    os.chdir(folder)
    sys.path[0] = folder
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher"]  # by another name it prints advice for terminals
    IPKernelApp.launch_instance(["-f", connection_file, "--log-level=ERROR"])


if __name__ == "__main__":
    main(*sys.argv[1:])
