"""The kernel of a notebook that runs in batch: ``python -m fairlab.suite.kernel PARENT TASK OPTIONS``."""

import gc
import json
import sys

from fairlab.suite import processes


def main(parent: str, task: str, *options: str) -> None:
    """Serve a notebook until it is shut down or the parent ends; `task` is `kernel_task` of `processes` as JSON."""
    processes.end_with_parent(int(parent))
    processes.kernel_task = json.loads(task)
    gc.set_threshold(30_000)  # as in the command line
    sys.modules["debugpy"] = None  # a kernel loads it unless it is missing, and nobody debugs a batch
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher"]  # by another name it prints advice for terminals
    IPKernelApp.exec_lines = ["from fairlab.suite.tables import use_tables as _; _()"]
    IPKernelApp.launch_instance([*options, "--log-level=ERROR"])
    gc.freeze()  # or Python looks through all that was loaded before it ends, which takes a third of a second


if __name__ == "__main__":
    main(*sys.argv[1:])
