"""Kernels of notebooks that are forked from a process which has imported what most notebooks import.

These imports take a kernel two seconds. Tests in `tests/suite` start kernels as users do.
"""

import contextlib
import multiprocessing
import os
import runpy
import sys
from multiprocessing import forkserver
from unittest import mock

from fairlab.suite.processes import KERNEL_ENVIRONMENT

FORKS = multiprocessing.get_context("forkserver")
IMPORTED = ["fairlab.suite.experiment", "fairlab.fairtest.investigation", "ipykernel.kernelapp", "scipy.stats"]


class ForkedKernel:
    """A process with what Jupyter asks of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command, *, env, cwd=None, stdout=None, **_):
        started, log = FORKS.Event(), stdout and stdout.name
        self._process = FORKS.Process(target=_become_kernel, args=(command, dict(env), cwd, log, os.getpid(), started))
        self._process.start()
        started.wait()  # Jupyter asks for the process group at once, and kills it in the end
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self):
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


def _become_kernel(command, environment, folder, log, parent, started):
    os.setsid()
    started.set()
    for output in (1, 2) if log else ():
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), output)
    own_parent = str(os.getppid())
    os.environ.clear()
    os.environ.update(environment | {"JPY_PARENT_PID": own_parent})
    os.chdir(folder or ".")
    _, _, module, *arguments = command  # python -m module ...
    sys.argv = [module, *(own_parent if argument == str(parent) else argument for argument in arguments)]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@contextlib.contextmanager
def forked_kernels():
    """Fork the kernels that are started in the block."""
    _stop()
    FORKS.set_forkserver_preload(IMPORTED)
    with mock.patch.dict(os.environ, KERNEL_ENVIRONMENT):
        forkserver.ensure_running()
    try:
        with mock.patch("jupyter_client.provisioning.local_provisioner.launch_kernel", ForkedKernel):
            yield
    finally:
        _stop()  # other tests kill all that this process has started


def _stop():
    """Stop the server of forks, and forget one that something else has killed and waited for."""
    server = forkserver._forkserver
    try:
        server._stop()
    except ChildProcessError:
        server._forkserver_pid = server._forkserver_address = None
