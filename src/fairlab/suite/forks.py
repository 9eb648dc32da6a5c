"""Kernels of a batch, forked from a server that has imported what most notebooks import, which takes two seconds.

``python -m fairlab.suite.forks PARENT`` is the server: for every line of JSON that it reads it forks a kernel, which
prints its process number. On Linux alone: elsewhere not all libraries survive a fork, and every kernel imports them.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from fairlab.suite import kernel
from fairlab.suite.processes import KERNEL_ENVIRONMENT, end_with_parent

# None of the extras: a run tells which of them it has imported.
IMPORTED = (
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    "scipy.stats",
    "sklearn.linear_model",
    "fairlab.suite.experiment",
    "fairlab.fairtest.investigation",
)
server: "Server | None" = None  # that forks the kernels of this process, if it has one


@contextmanager
def forking() -> Iterator[None]:
    """Have the kernels that are started in the block forked, where that can be done."""
    global server
    if sys.platform != "linux" or server:
        yield
        return
    server = Server()
    try:
        yield
    finally:
        server.stop()
        server = None


class Server:
    """The process that forks kernels; it ends with this one, and its kernels with it."""

    def __init__(self):
        self._one_at_a_time = threading.Lock()
        self._start()

    def _start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "JPY_PARENT_PID"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment | KERNEL_ENVIRONMENT,
            start_new_session=True,  # Ctrl-C is for the batch
        )

    def fork(self, arguments: list[str], *, env: dict[str, str], folder: str, log: str) -> "Forked":
        """Start a kernel; arguments are those of `fairlab.suite.kernel.main` but for the parent.

        Raises
        ------
        OSError
            If it cannot be started.
        """
        with self._one_at_a_time:
            if self._process.poll() is not None:  # killed from outside, as when memory is short
                self._start()
            request = {"arguments": arguments, "env": env, "folder": folder, "log": log}
            print(json.dumps(request), file=self._process.stdin, flush=True)
            if number := self._process.stdout.readline():
                with suppress(psutil.NoSuchProcess):
                    return Forked(int(number))
        raise OSError("it ended at once, or the process that forks it")

    def stop(self) -> None:
        """End the server."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what it was not sent in time
                stream.close()
        self._process.wait()


class Forked(psutil.Process):
    """A kernel, with what Jupyter asks of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """Return None while it runs; how it ended only the server knows."""
        return None if self.is_running() else 1

    def send_signal(self, sig: int) -> None:
        """Send it a signal, if it still runs."""
        with suppress(psutil.NoSuchProcess):
            super().send_signal(sig)


def main(parent: str) -> None:
    """Fork a kernel for every request, until there are no more."""
    end_with_parent(int(parent))
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # what is there to stay is not copied because the collector looks at it
    signal.signal(signal.SIGCHLD, _forget_ended)
    for line in sys.stdin:
        if os.fork() == 0:
            _become_kernel(**json.loads(line))
            return


def _forget_ended(*_) -> None:
    """Take note of all kernels that have ended; nobody else waits for them."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become_kernel(arguments, env, folder, log) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()  # Jupyter sends signals to the group
    print(os.getpid(), flush=True)
    for target, file, flags in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_APPEND)):
        os.dup2(os.open(file, flags), target)
    os.dup2(1, 2)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    kernel.main(str(os.getppid()), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
