"""The kernel of a notebook in a batch: it exits with its runner, which forks it with preloaded libraries.

The fork is made before the runner has any thread or socket, and waits for the connection file that Jupyter writes.
"""

import atexit
import json
import os
import signal
import sys
import time
from importlib.metadata import EntryPoint
from pathlib import Path

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from fairlab.suite import child_process, memory
from fairlab.suite.pool import LOG_VARIABLE

PROVISIONER = "fairlab-forked"
COMMAND = [sys.executable, "-m", "fairlab.suite.kernel", "{connection_file}"]  # the parent's process id may precede it
_waiting: list["ForkedKernel"] = []


class ForkedKernel:
    """A fork of this process that becomes a kernel on request, with the interface of `subprocess.Popen` for Jupyter."""

    stdin = stdout = stderr = returncode = None

    def __init__(self):
        read_end, self._write_end = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._write_end)
            _become(read_end)
        os.close(read_end)

    def begin(self, folder: Path | str, connection_file: str) -> None:
        """Start the fork as the kernel of a connection file."""
        with os.fdopen(self._write_end, "w", encoding="utf-8") as pipe:
            json.dump([str(folder), connection_file], pipe)

    def poll(self) -> int | None:
        """Return the exit status, None while the kernel runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int:
        """Return the exit status once there is one."""
        while self.poll() is None:
            time.sleep(0.05)
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel at once."""
        self.send_signal(signal.SIGKILL)


class ForkedProvisioner(LocalProvisioner):
    """Gives Jupyter the forked kernel instead of starting a process."""

    async def launch_kernel(self, cmd, **kwargs):
        """Start the waiting kernel."""
        self.process = _waiting.pop()
        self.process.begin(kwargs.get("cwd") or Path.cwd(), cmd[-1])
        self.pid = self.pgid = self.process.pid
        return self.connection_info


def fork() -> None:
    """Fork the kernel of the next notebook, and register it with Jupyter."""
    entry = EntryPoint(PROVISIONER, "fairlab.suite.kernel:ForkedProvisioner", KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[PROVISIONER] = entry
    _waiting.append(ForkedKernel())


def _become(read_end):
    """Run as a kernel until it ends; never return to the code of the runner."""
    status = 1
    try:
        child_process.exit_with_parent()
        memory.begin_fork()
        os.setsid()
        with os.fdopen(read_end, encoding="utf-8") as pipe:
            text = pipe.read()
        if text:  # empty if the runner ended
            folder, connection_file = json.loads(text)
            os.chdir(folder)
            _serve(connection_file)
            status = 0
    finally:
        atexit._run_exitfuncs()
        os._exit(status)


def _serve(connection_file):
    from ipykernel.kernelapp import IPKernelApp

    if log := os.environ.get(LOG_VARIABLE):
        child_process.redirect(log)
    sys.argv = ["ipykernel_launcher"]  # by another name it prints advice for terminals
    IPKernelApp.launch_instance(["-f", connection_file, "--log-level=ERROR"])


if __name__ == "__main__":
    child_process.exit_with_parent(*map(int, sys.argv[1:-1]))
    _serve(sys.argv[-1])
