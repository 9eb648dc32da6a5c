"""The whole batch, on Snakemake: parallel notebooks, resumable, on past a failure.

On this machine Snakemake says which experiments are to run and keeps count of what is done; each of its jobs asks the
batch, which decides when its turn is and runs it in a warm process. On a cluster each job runs by itself.
"""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil

from fairlab.checks import required, suggestion
from fairlab.paths import DATA_SCRIPTS, EXPERIMENTS, results_folder, write_text
from fairlab.suite import forks, lifeline, runner
from fairlab.suite.catalogue import specification
from fairlab.suite.machine import n_cores
from fairlab.suite.pool import Pool
from fairlab.suite.progress import Clock, Progress, ended, status
from fairlab.suite.run import failure_file, log_file, run_folder, stage
from fairlab.suite.schedule import Schedule

KILLED = "killed from outside, without a message"
KILL_SECONDS = 0.5  # that killed processes get to go
PATIENCE_SECONDS = 20  # that a turn is kept for an experiment that Snakemake has not asked for yet
# Snakemake ends with the batch, however that ends.
SNAKEMAKE = (
    "import runpy; from fairlab.suite import lifeline; lifeline.tie(); "
    "runpy.run_module('snakemake', run_name='__main__', alter_sys=True)"
)


def run_batch(
    names: list[str],
    profile: str,
    *,
    scheduler: str = "local",
    cores: int | None = None,
    dry_run: bool = False,
) -> dict[str, str]:
    """Run experiments in parallel and return those that failed, each with the reason.

    An experiment whose result is there, from the same notebook, library code and data, is not run again.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``: ``local`` or ``slurm``.
    cores : int or None
        Notebooks at a time, and workers that compute trials; None for all cores.
    dry_run : bool
        Only print what would be run.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted or terminated; the message says what is kept.
    """
    schedulers = sorted(folder.name for folder in (EXPERIMENTS / "profiles").iterdir())
    if scheduler not in schedulers:
        raise KeyError(f"unknown scheduler {scheduler!r}{suggestion(scheduler, schedulers)}")
    required("snakemake")
    for name in names:
        specification(name).parameters(profile)
    stage("batch").rmdir()  # says so at once if the results cannot be written
    log = batch_log(profile)
    write_text(log, "")
    states = forks.answer(_states, names, log=str(log))
    outdated = [name for name in names if not _done(name, profile, states[name])]
    if dry_run:
        for name in sorted(outdated, key=lambda name: planned_minutes(name, profile)):
            print(f"running {name} at {profile}, about {planned_minutes(name, profile):g} min of one core")
        _snakemake(outdated, profile, scheduler, len(outdated), ["--dry-run"])
        return {}
    if not outdated:
        return {}
    for name in outdated:
        marker(name, profile).unlink(missing_ok=True)
        write_text(_state_file(name, profile), states[name])
    if scheduler != "local":
        _snakemake(outdated, profile, scheduler, cores or n_cores(), screen=True)
        return {name: _reason(name, profile) for name in outdated if not marker(name, profile).exists()}
    return _Batch(names, outdated, profile, cores or n_cores()).run()


def marker(name: str, profile: str) -> Path:
    """Return the file that tells Snakemake that an experiment is done.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return results_folder() / ".batch" / profile / f"{name}.done"


def batch_log(profile: str) -> Path:
    """Return the file that takes what Snakemake and workers print."""
    return results_folder() / profile / "batch.log"


def producers(name: str, names: list[str]) -> list[str]:
    """Return which of the experiments `names` must run before `name`, since it takes their trials."""
    return [earlier for earlier in specification(name).after if earlier in names]


def planned_minutes(name: str, profile: str) -> float:
    """Return the planned minutes of an experiment on one core, an hour if its file does not say."""
    minutes = specification(name).minutes
    return getattr(minutes, profile) if minutes else 60


def state(name: str) -> str:
    """Return a digest of what an experiment's result depends on besides its profile: code, numbers, data at hand."""
    from fairlab.data import state_of
    from fairlab.data.registry import project_registry
    from fairlab.suite.fingerprint import notebook_fingerprint
    from fairlab.suite.notebook import code_of

    spec = specification(name)
    files = [EXPERIMENTS / f"{name}.yaml", EXPERIMENTS / spec.paper / "published.yaml"]
    for variant in spec.data:
        files += DATA_SCRIPTS.glob(f"make_{variant.replace('-', '_')}.py")
        files += (DATA_SCRIPTS / "surrogates").glob(f"{variant}.yaml")
    texts = [file.read_text(encoding="utf-8") for file in files]
    texts += [f"{state_of(variant)} {project_registry().variant(variant)}" for variant in spec.data]
    return notebook_fingerprint(code_of(spec.notebook), *texts)


class _Batch:
    """Experiments that run on this machine, in the order of a schedule, on one pool of workers."""

    def __init__(self, names, outdated, profile, cores):
        self.names, self.outdated, self.profile, self.cores = names, outdated, profile, cores
        self.failed: dict[str, str] = {}
        self._asked, self._turn = set(), threading.Condition()
        self._clocks, self._processes = {}, {}
        self._stopped = False
        minutes = {name: planned_minutes(name, profile) for name in outdated}
        after = {name: producers(name, outdated) for name in outdated}
        self._schedule = Schedule(minutes, after, cores)
        self._clock, self._vacant = Clock(), Clock()
        self._pool = Pool(cores, batch_log(profile), {"experiment": self._experiment})
        self._progress = Progress(self._live)

    def run(self) -> dict[str, str]:
        """Run all and return the reasons of those that failed."""
        options = {"environment": self._pool.environment}
        try:
            with lifeline.terminated_as_interrupted(), self._progress, self._pool:
                try:
                    _snakemake(self.outdated, self.profile, "local", len(self.outdated), **options)
                except BaseException:
                    self._stopped = True
                    _kill_trees([process.pid for process in list(self._processes.values())])
                    raise
        except KeyboardInterrupt:
            stage("batch").rmdir()  # and what the ended processes had begun to write
            n_done = self._n_done()
            raise KeyboardInterrupt(
                f"stopped. {n_done} of {len(self.names)} experiments are done and kept, and so is every trial that "
                "had ended; the same command goes on from there"
            ) from None
        left = [name for name in self.outdated if not marker(name, self.profile).exists()]
        return {name: self.failed.get(name) or _reason(name, self.profile) for name in left}

    def _experiment(self, connection, name):
        """Run an experiment when its turn is, and tell Snakemake's job how it ended."""
        with self._turn:
            if not self._asked:  # Snakemake has begun
                self._vacant = Clock()
            self._asked.add(name)
            self._turn.notify_all()
            while self._next() != name:
                self._turn.wait(1.0)
            self._schedule.begin(name)
            self._clocks[name] = Clock()
            self._turn.notify_all()
        good, line, seconds = self._run(name)
        if self._stopped:
            return
        log = str(log_file(name, self.profile))
        took = self._clocks[name]()
        minutes = (seconds + self._pool.seconds_of(log)) / 60
        with batch_log(self.profile).open("a") as file:
            print(
                f"{name} took {minutes:.2f} minutes of one core; planned {planned_minutes(name, self.profile):g}",
                file=file,
            )
        with self._turn:
            self._schedule.end(name, minutes)
            if not good:
                self.failed[name] = line
                for other in self._schedule.drop(name):
                    self.failed[other] = f"not run, since {name} failed"
            self._turn.notify_all()
        shown = line if good else f"failed: {_first_line(line)}"
        self._progress.say(ended(name, shown, took, max(map(len, self.names))))
        connection.send(good)

    def _next(self):
        """Return the experiment whose turn is, or one that was asked for if that one is not for long."""
        spent = {name: self._clocks[name]() / 60 for name in self._schedule.running}
        name = self._schedule.next(spent=spent)
        if name is None or name in self._asked:
            self._vacant = Clock()
        elif self._vacant() > PATIENCE_SECONDS:
            return self._schedule.next(self._asked, spent)
        return name

    def _run(self, name):
        log = log_file(name, self.profile)
        write_text(log, "")
        arguments = name, self.profile, self.cores, self._pool.environment
        connection, process = forks.start(runner.run, *arguments, log=str(log))
        self._processes[name] = process
        try:
            return connection.recv()
        except EOFError:
            return False, KILLED, 0.0
        finally:
            process.join()
            del self._processes[name]

    def _live(self):
        with self._turn:
            running = {name: self._clocks[name]() for name in sorted(self._schedule.running)}
            spent = {name: self._spent(name) / 60 for name in running}
            left = self._schedule.minutes_left(spent, self._clock() / 60)
            return status(running, self._n_done(), len(self.failed), len(self.names), left)

    def _n_done(self):
        return len(self.names) - len(self.outdated) + len(self._schedule.ended.keys() - self.failed.keys())

    def _spent(self, name):
        """Return the processor seconds of an experiment that runs: of its process, its kernel and its trials."""
        seconds = self._pool.seconds_of(str(log_file(name, self.profile)))
        with suppress(KeyError, psutil.Error):
            process = psutil.Process(self._processes[name].pid)
            for part in [process, *process.children(recursive=True)]:
                times = part.cpu_times()
                seconds += times.user + times.system
        return seconds


def _snakemake(names, profile, scheduler, cores, options=(), *, environment=None, screen=False):
    """Let Snakemake make the markers of experiments; raise if it could not even begin."""
    command = [sys.executable, "-c", SNAKEMAKE, *(str(marker(name, profile)) for name in names), "--forceall"]
    command += ["--snakefile", str(EXPERIMENTS / "Snakefile"), "--directory", str(results_folder())]
    command += ["--workflow-profile", str(EXPERIMENTS / "profiles" / scheduler), *options]
    command += ["--cores", str(cores), "--config", f"profile={profile}", f"names={','.join(names)}"]
    log = batch_log(profile)
    with log.open("ab") as file:
        outputs = {} if screen else {"stdout": file, "stderr": file}
        variables = os.environ | (environment or {})
        process = subprocess.Popen(command, env=variables, start_new_session=not screen, **outputs)
        try:
            status = process.wait()
        except BaseException:
            _kill_trees([process.pid])
            raise
    if status and not any(word in log.read_text(errors="replace") for word in ("Error in rule", "rule experiment")):
        raise RuntimeError(f"Snakemake ended with status {status}; its messages stand in {log}")


def _kill_trees(pids):
    """End processes and all that they started, and wait until they are gone."""
    processes = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            processes += [process, *process.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=KILL_SECONDS)


def _states(names):
    return {name: state(name) for name in names}


def _state_file(name, profile):
    return marker(name, profile).with_suffix(".state")


def _done(name, profile, current):
    """Return whether an experiment has a published run, of its present state, and its last run did not fail."""
    file = _state_file(name, profile)
    known = file.exists() and file.read_text(encoding="utf-8") == current
    ran = marker(name, profile).exists() and (run_folder(name, profile) / "run.json").exists()
    return known and ran and not failure_file(name, profile).exists()


def _first_line(text):
    return (text.splitlines() or [""])[0]


def _reason(name, profile):
    file = failure_file(name, profile)
    return file.read_text(encoding="utf-8").strip() if file.exists() else KILLED
