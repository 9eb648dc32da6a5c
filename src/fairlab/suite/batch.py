"""Batches of experiments on this machine: parallel, resumable, continuing after a failure."""

import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import timedelta
from graphlib import TopologicalSorter

import joblib
from filelock import FileLock, Timeout

from fairlab.checks import memory_left_gb
from fairlab.data.project import project
from fairlab.suite.catalogue import specification
from fairlab.suite.comparison import compare, short_line
from fairlab.suite.fingerprint import state
from fairlab.suite.forks import forking
from fairlab.suite.notebook import run_experiment
from fairlab.suite.processes import kill_children, stopping
from fairlab.suite.run import Run, UnreadableRunError, failure_file, run_folder

STATUS_SECONDS = 60.0  # between lines on what is running
KILL_SECONDS = 0.2  # between looks for processes that a stopped batch has left


def run_batch(
    names: list[str], profile: str, *, jobs: int | None = None, cores: int | None = None, dry_run: bool = False
) -> dict[str, str]:
    """Run experiments in parallel and return those that failed, each with the reason.

    An experiment with a result of the same notebook, library code and data is not run again. One that does not fit into
    the available memory is not started. If another batch runs in the results folder, this one says so and waits.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    jobs : int or None
        Experiments at a time; None for as many as there are cores.
    cores : int or None
        Cores of each; None for one, or more where an experiment would take longer than all others together.
    dry_run : bool
        Only print what would run.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted or terminated; the message says what is cached.
    """
    if dry_run:
        left = outdated(names, profile)
        for name in left:
            minutes = specification(name).minutes.least(profile)
            print(f"{name}: about {minutes:g} min of one core at {profile}")
        if not left:
            print(f"nothing to run: {len(names)} of {len(names)} experiments are done at {profile}")
        return {}
    with _lock():
        return _Batch(names, profile, jobs, cores).run()


def outdated(names: Iterable[str], profile: str) -> list[str]:
    """Return the experiments that need to be run."""
    return [name for name in names if not _is_done(name, profile)]


def _is_done(name, profile) -> bool:
    """Whether an experiment has a published run of its present code and data, and its last run did not fail."""
    if failure_file(name, profile).exists():
        return False
    try:
        return Run.read(run_folder(name, profile)).about.get("state") == state(name)
    except UnreadableRunError:
        return False


def _lock():
    """Take the lock of the results folder; return a context that releases it."""
    lock = FileLock(project().results / ".batch.lock")
    project().results.mkdir(parents=True, exist_ok=True)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        print(f"another batch runs in {project().results}; waiting until it ends", flush=True)
        return lock.acquire()


class _Batch:
    """Experiments that run on this machine, the longest first."""

    def __init__(self, names, profile, jobs, cores):
        self.names, self.profile = names, profile
        left = outdated(names, profile)
        self.minutes = {name: specification(name).minutes.least(profile) for name in left}
        self.after = {name: [one for one in specification(name).after if one in left] for name in left}
        self.order = TopologicalSorter(self.after)
        self.free = self.all_cores = jobs * (cores or 1) if jobs else joblib.cpu_count()
        wall = max(sum(self.minutes.values()) / self.all_cores, 1e-9)
        self.cores = {
            name: cores or min(self.all_cores, max(1, round(minutes / wall))) for name, minutes in self.minutes.items()
        }
        self.failed: dict[str, str] = {}
        self.done = set(names).difference(left)
        self.started, self.running = time.monotonic(), {}  # with the time at which each started

    def run(self) -> dict[str, str]:
        """Run all and return the reasons of those that failed."""
        ready, futures = [], {}
        stopping.clear()
        self.order.prepare()
        with forking(), ThreadPoolExecutor(max(1, self.all_cores)) as threads:
            try:
                while self.order.is_active():
                    ready = sorted([*ready, *self.order.get_ready()], key=self._chain, reverse=True)
                    ready = [name for name in ready if not self._start(name, threads, futures)]
                    ended, _ = wait(futures, timeout=STATUS_SECONDS, return_when=FIRST_COMPLETED)
                    for future in ended:
                        self._end(futures.pop(future), future)
                    if not ended and futures:
                        print(self._status(), flush=True)
            except KeyboardInterrupt:
                threads.shutdown(wait=False, cancel_futures=True)
                kill_children()
                while wait(futures, timeout=KILL_SECONDS).not_done:
                    kill_children()  # a kernel that was just starting
                raise KeyboardInterrupt(
                    f"stopped. {len(self.done)} of {len(self.names)} experiments are done, and finished trials are "
                    "cached; the same command continues from there"
                ) from None
        return self.failed

    def _chain(self, name) -> float:
        """Return the minutes of an experiment and of the longest chain of those that wait for it."""
        followers = [other for other, earlier in self.after.items() if name in earlier]
        return self.minutes[name] / self.cores[name] + max(map(self._chain, followers), default=0.0)

    def _start(self, name, threads, futures) -> bool:
        """Start an experiment if it may run and there are cores and memory; return whether it left the queue."""
        spec = specification(name)
        if blocked := [earlier for earlier in self.after[name] if earlier in self.failed]:
            return self._leave_out(name, f"not run, since {blocked[0]} failed")
        if not self.running:
            self.left_gb = memory_left_gb()
        used = sum(specification(other).need_gb(self.profile, self.cores[other]) for other in self.running)
        if self.cores[name] > self.free or spec.refusal(self.profile, self.cores[name], self.left_gb - used):
            if self.running:
                return False
            self.cores[name] = 1
            if reason := spec.refusal(self.profile, 1, self.left_gb):
                return self._leave_out(name, reason)
        self.free -= self.cores[name]
        self.running[name] = time.monotonic()
        futures[threads.submit(run_experiment, spec, self.profile, n_jobs=self.cores[name])] = name
        return True

    def _leave_out(self, name, reason) -> bool:
        print(f"not run: {name} {reason}", flush=True)
        self.failed[name] = reason
        self.order.done(name)
        return True

    def _end(self, name, future) -> None:
        """Note the end of an experiment and print its line."""
        self.free += self.cores[name]
        seconds = time.monotonic() - self.running.pop(name)
        try:
            line = short_line(compare(Run.read(future.result())))
            self.done.add(name)
        except Exception as error:  # whatever it is, the batch goes on and says so
            self.failed[name] = str(error) or type(error).__name__
            line = f"failed: {self.failed[name].splitlines()[0]}"
        self.order.done(name)
        width = max(map(len, self.names))
        print(f"{name:<{width}}  {line:<44}  {duration(seconds):>7}  {self._left()}", flush=True)

    def _left(self) -> str:
        """Return how many experiments are done, and about how long the others will take."""
        now = time.monotonic()
        took, planned = (now - self.started) / 60 * self.all_cores, sum(self.minutes.values())
        ended = self.done.union(self.failed)
        left = {name: minutes for name, minutes in self.minutes.items() if name not in ended}
        for name, since in self.running.items():
            left[name] = max(left[name] - (now - since) / 60 * self.cores[name], 0)
        behind, some = planned - sum(left.values()), min(planned / 10, 1)  # planned minutes that count as measured ones
        minutes = (some + took) / max(some + behind, 1e-9) * sum(left.values()) / self.all_cores
        ahead = f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left" if left else ""
        return f"({len(ended)} of {len(self.names)}{ahead})"

    def _status(self) -> str:
        now = time.monotonic()
        running = ", ".join(f"{name} {duration(now - since)}" for name, since in self.running.items())
        return f"running {running}  {self._left()}"


def duration(seconds: float) -> str:
    """Return seconds as ``0:00:21``."""
    return str(timedelta(seconds=round(seconds)))
