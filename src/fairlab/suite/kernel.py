"""The kernel of a notebook in a batch: ``python -m fairlab.suite.kernel PARENT SECONDS FOLDER LOG TASK CONNECTION``.

It works in the notebook's folder, ends with its parent, and is killed by the operating system at its time limit. On
Linux the kernels of a batch are forks of one process that has loaded what most notebooks import.
"""

import json
import os
import signal
import sys
import threading
from importlib.metadata import EntryPoint
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from unittest import mock

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from fairlab.suite import processes
from fairlab.suite.processes import KERNEL_ENVIRONMENT

PROVISIONER = "fairlab-preloaded"
PRELOADED = [
    "fairlab.suite.preloaded",
    *("ipykernel.kernelapp", "matplotlib.pyplot", "matplotlib.backends.backend_svg", "pandas.io.formats.style"),
    *("scipy.stats", "sklearn.linear_model", "fairlab.suite.experiment"),
]
_starting = threading.Lock()


class KernelProcess(ForkServerProcess):
    """A forked kernel, with what Jupyter asks of a process."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """Return the exit status, None while the kernel runs."""
        return self.exitcode

    def wait(self) -> int:
        """Return the exit status once there is one."""
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel."""
        os.kill(self.pid, number)


class PreloadedProvisioner(LocalProvisioner):
    """Gives Jupyter a fork with preloaded libraries instead of starting a process."""

    async def launch_kernel(self, cmd, **kwargs):
        """Start the kernel in its environment."""
        with _starting:
            load()
            self.process = KernelProcess(target=_forked, args=(kwargs["env"], *cmd[cmd.index(__name__) + 2 :]))
            self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info


def load() -> None:
    """Start the process that kernels are forks of, unless it runs. It ends with the thread that calls this first."""
    with mock.patch.dict(os.environ, KERNEL_ENVIRONMENT):  # which numerical libraries read when they are loaded
        forkserver.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def register() -> None:
    """Tell Jupyter of the provisioner."""
    entry = EntryPoint(PROVISIONER, f"{__name__}:PreloadedProvisioner", KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[PROVISIONER] = entry


def _forked(environment: dict[str, str], *arguments) -> None:
    os.setsid()  # a terminal's Ctrl-C is for the batch
    os.environ |= environment  # what it is a fork of may have been started by an earlier batch
    os.environ["JPY_PARENT_PID"] = parent = str(os.getppid())
    main(parent, *arguments)


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
