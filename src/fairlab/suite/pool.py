"""One pool of workers for a batch: it computes the trials of all notebooks in processes with preloaded libraries.

The batch owns the pool. Kernels and Snakemake's jobs reach it through an authenticated connection that two environment
variables name. Workers are forked from one process with the libraries (see `fairlab.suite.warm`), so a new one is
cheap; one that dies is replaced and its task retried once.
"""

import itertools
import multiprocessing
import os
import pickle
import queue
import secrets
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Listener
from pathlib import Path

import psutil

from fairlab.suite import child_process, forks

ADDRESS_VARIABLE, KEY_VARIABLE = "FAIRLAB_POOL", "FAIRLAB_POOL_KEY"
LOG_VARIABLE = "FAIRLAB_LOG"  # the file of an experiment that takes what its processes print past the notebook
MOST_GB = 3.0  # a worker that holds more after a task is replaced
BACKLOG = 64  # of Snakemake's jobs that knock at once
MOST_TRIES = 2  # of a task whose worker dies
DIED = "a worker died twice during a trial (out of memory, or killed from outside)"
LOOK_SECONDS = 0.5


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of a task, and so did the one that tried again."""


@dataclass
class Request:
    """The request of one call of `compute`."""

    log: str  # of the experiment; says whose tasks these are
    folder: str
    path: list[str]
    function: bytes
    shared: bytes
    number: int = 0
    answers: queue.Queue = field(default_factory=queue.Queue)
    is_open: bool = True


def address() -> str | None:
    """Return the address of the pool of this process's batch; None outside a batch."""
    return os.environ.get(ADDRESS_VARIABLE) or None


def call(kind: str, *content):
    """Open a connection to the pool and send a request; the caller receives the responses."""
    connection = Client(os.environ[ADDRESS_VARIABLE], authkey=bytes.fromhex(os.environ[KEY_VARIABLE]))
    connection.send((kind, *content))
    return connection


def compute(function: Callable, shared: bytes, tasks: Sequence[bytes]) -> Iterator:
    """Yield ``function(shared, task)`` of every task as it ends, computed by the pool's workers.

    Raises
    ------
    Exception
        Any error of a task, with the worker's traceback as a note; unfinished tasks are cancelled.
    """
    content = {"folder": str(Path.cwd()), "path": sys.path, "function": pickle.dumps(function), "shared": shared}
    with call("compute", {"log": os.environ.get(LOG_VARIABLE, "")} | content, list(tasks)) as connection:
        for _ in tasks:
            good, answer = pickle.loads(connection.recv_bytes())
            if not good:
                raise answer
            yield answer


class Pool:
    """Worker processes and their connections.

    Parameters
    ----------
    n_workers : int
    log : Path
        Output of workers between tasks.
    endpoints : dict of str to callable, optional
        Further requests by name: ``endpoint(connection, *content)``, called in its own thread.
    """

    def __init__(self, n_workers: int, log: Path, endpoints: dict[str, Callable] | None = None):
        self.n_workers = n_workers
        self.log = str(log)
        self._endpoints = (endpoints or {}) | {"compute": self._compute}
        self._queues: dict[str, deque] = {}  # of tasks, by the log of their experiment
        self._waiting = threading.Condition()
        self._numbers = itertools.count()
        self._crew = [_Worker(self) for _ in range(n_workers)]
        self._key = secrets.token_bytes(32)
        self._listener = Listener(backlog=BACKLOG, authkey=self._key)
        self.seconds: dict[str, float] = {}  # of a core, that ended tasks of each experiment took
        self.is_open = True

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which other processes find the pool."""
        return {ADDRESS_VARIABLE: str(self._listener.address), KEY_VARIABLE: self._key.hex()}

    def __enter__(self):
        for work in (self._answer_the_door, *(worker.work for worker in self._crew)):
            threading.Thread(target=work, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_open = False
        with self._waiting:
            self._waiting.notify_all()
        for worker in self._crew:
            worker.end()
        self._listener.close()

    def seconds_of(self, log: str) -> float:
        """Return the seconds of a core that the tasks of an experiment took so far, those in flight included."""
        return self.seconds.get(log, 0.0) + sum(worker.flying() for worker in self._crew if worker.log == log)

    def next_task(self, worker: "_Worker") -> tuple[Request, bytes, int] | None:
        """Return the task that a worker is to compute, waiting for one; None when the pool closes.

        It is one of the experiment that the fewest workers compute for, so that none waits for all of another's.
        """
        with self._waiting:
            while self.is_open:
                busy = Counter(other.log for other in self._crew)
                for log in sorted(self._queues, key=busy.__getitem__):  # of equals, the one that asked first
                    tasks = self._queues[log]
                    while tasks:
                        request, task, tries = tasks.popleft()
                        if request.is_open:
                            worker.request = request
                            return request, task, tries
                self._waiting.wait()
        return None

    def add(self, request: Request, task: bytes, tries: int = 0) -> None:
        """Queue a task."""
        with self._waiting:
            self._queues.setdefault(request.log, deque()).append((request, task, tries))
            self._waiting.notify()

    def _answer_the_door(self):
        while self.is_open:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, multiprocessing.AuthenticationError):
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                kind, *content = connection.recv()
                self._endpoints[kind](connection, *content)
            except (EOFError, OSError):  # the client has disconnected
                pass

    def _compute(self, connection, content, tasks):
        request = Request(**content, number=next(self._numbers))
        try:
            for task in tasks:
                self.add(request, task)
            for _ in tasks:
                while True:
                    try:
                        answer = request.answers.get(timeout=LOOK_SECONDS)
                        break
                    except queue.Empty:
                        if connection.poll():  # nothing is sent on it after the request: its kernel is gone
                            raise EOFError from None
                connection.send_bytes(answer)
        finally:
            request.is_open = False
            for worker in self._crew:
                worker.give_up(request)


class _Worker:
    """One worker process and the thread that gives it tasks."""

    def __init__(self, pool):
        self._pool = pool
        self._process = self._connection = None
        self.request: Request | None = None  # whose task is being computed
        self._started = 0.0  # processor seconds of the process when its task began
        self._known = -1  # number of the request whose shared parameters the process holds

    @property
    def log(self) -> str | None:
        """Log of the experiment whose task is being computed."""
        request = self.request
        return request.log if request else None

    def work(self):
        """Compute tasks until the pool closes."""
        while (work := self._pool.next_task(self)) is not None:
            request, task, tries = work
            try:
                answer, seconds, gigabytes = self._compute(request, task)
            except (EOFError, OSError):
                self.end()
                if not request.is_open or not self._pool.is_open:
                    continue
                if tries + 1 < MOST_TRIES:
                    self._pool.add(request, task, tries + 1)
                else:
                    request.answers.put(pickle.dumps((False, WorkerDiedError(DIED))))
                continue
            finally:
                self.request = None
            totals = self._pool.seconds
            totals[request.log] = totals.get(request.log, 0.0) + seconds
            request.answers.put(answer)
            if gigabytes > MOST_GB:
                self.end()

    def _compute(self, request, task):
        if self._process is None:
            self._connection, self._process = forks.start(_work, self._pool.log, log=self._pool.log)
            self._known = -1
        self._started = _seconds(self._process.pid)
        shared = None if self._known == request.number else request.shared
        self._connection.send((request.log, request.folder, request.path, request.function, shared, task))
        self._known = request.number
        return self._connection.recv()

    def flying(self) -> float:
        """Return the processor seconds of the task in flight."""
        process = self._process
        return max(0.0, _seconds(process.pid) - self._started) if process else 0.0

    def give_up(self, request):
        """End the process if it computes for `request`, which nobody waits for."""
        if self.request is request and (process := self._process):
            process.kill()

    def end(self):
        """End the process; the next task starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            self._connection.close()


def _work(log, connection):
    """Run as a worker: compute tasks until the connection closes."""
    shared, folder = None, None
    while True:
        try:
            own_log, new_folder, path, function, new_shared, task = connection.recv()
        except EOFError:
            return
        child_process.redirect(own_log or log)
        if new_folder != folder:
            _forget_modules_of(folder)
            os.chdir(new_folder)
            folder = new_folder
        sys.path[:] = path
        shared = shared if new_shared is None else new_shared
        started = _seconds(os.getpid())
        try:
            answer = True, pickle.loads(function)(shared, task)
        except BaseException as error:
            answer = False, _portable(error)
        # Packed here: only the kernel that asked is sure to know the classes.
        memory = psutil.Process().memory_info().rss / 1e9
        connection.send((pickle.dumps(answer), _seconds(os.getpid()) - started, memory))


def _forget_modules_of(folder):
    """Drop the modules beside another experiment's notebook: one of the same name may stand beside this one."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if folder and file and Path(file).parent == Path(folder):
            del sys.modules[name]


def _portable(error) -> BaseException:
    """Return an error that another process can read, with the traceback as a note."""
    note = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an error's own class makes of it
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(note)
    return error


def _seconds(pid) -> float:
    """Return the processor seconds of a process so far."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system
