"""Batches of experiments on Snakemake: parallel, resumable, continuing after a failure.

On this machine Snakemake selects the experiments to run and records the finished ones; each of its jobs requests its
experiment from the batch, which schedules it and runs it in a preloaded process. On a cluster each job runs by itself.
"""

import threading
from contextlib import suppress

import psutil

from fairlab.checks import required, suggestion
from fairlab.paths import DATA_SCRIPTS, EXPERIMENTS, write_text
from fairlab.suite import cluster, fitting, forks, locks, runner
from fairlab.suite.catalogue import specification
from fairlab.suite.machine import n_cores
from fairlab.suite.memory import memory_left_gb
from fairlab.suite.pool import Pool
from fairlab.suite.progress import Clock, Progress, ended, status
from fairlab.suite.run import failure_file, log_file, places, run_folder
from fairlab.suite.schedule import Schedule
from fairlab.suite.staging import cleanup, expect_writable, temporary_folder
from fairlab.suite.workflow import batch_log, kill_trees, marker, planned_minutes, producers, snakemake

KILLED = "killed from outside, without a message"
PATIENCE_SECONDS = 20  # to wait for an experiment that Snakemake has not requested yet


def run_batch(
    names: list[str],
    profile: str,
    *,
    scheduler: str = "local",
    jobs: int | None = None,
    cores: int | None = None,
    options: str = "",
    shards: int = 1,
    dry_run: bool = False,
) -> dict[str, str]:
    """Run experiments in parallel and return those that failed, each with the reason.

    An experiment with a result of the same notebook, library code and data is not run again. An experiment that does
    not fit into the available memory is rejected before the batch starts. If another batch of the profile is running in
    the results folder, this one prints a message and waits.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``: ``local`` or ``slurm``.
    jobs : int or None
        Experiments at a time; None for as many as cores and memory allow, on a cluster for the value of its profile.
    cores : int or None
        Cores for each; None for one, on a cluster for the value of its profile. On this machine all experiments share
        `jobs` times `cores` workers that compute trials.
    options : str
        Of sbatch, for the jobs of a cluster; see `fairlab.suite.cluster.resources`.
    shards : int
        Most cluster jobs per experiment; each computes a shard of its trials.
    dry_run : bool
        Only print what would run.

    Raises
    ------
    ValueError
        If cluster options are given for this machine, or are invalid.
    KeyboardInterrupt
        If it is interrupted or terminated; the message says what is cached.
    """
    schedulers = sorted(folder.name for folder in (EXPERIMENTS / "profiles").iterdir())
    if scheduler not in schedulers:
        raise KeyError(f"unknown scheduler {scheduler!r}{suggestion(scheduler, schedulers)}")
    if scheduler == "local" and (options or shards > 1):
        raise ValueError("--slurm-options and --shards are for a cluster: --scheduler slurm")
    required("snakemake")
    for name in names:
        specification(name).parameters(profile)
    cleanup(temporary_folder("batch"))  # raises at once if the results folder cannot be written
    expect_writable(marker("", profile, "lock"), batch_log(profile))
    expect_writable(*(place for name in names for place in (marker(name, profile), *places(name, profile))))
    of_cluster = {"jobs": jobs, "cores": cores, "options": options, "shards": shards, "dry_run": dry_run}
    if dry_run:
        return _run(names, profile, scheduler, **of_cluster)
    with locks.held(marker("", profile, "lock"), f"a batch at {profile}"):
        return _run(names, profile, scheduler, **of_cluster)


def _run(names, profile, scheduler, *, jobs, cores, options, shards, dry_run):
    """Run the unfinished experiments; one batch per profile and folder at a time."""
    log = batch_log(profile)
    write_text(log, "")
    real = cluster.fetched(names) if scheduler != "local" and not dry_run else []
    states = forks.answer(_states, names, log=str(log))
    outdated = [name for name in names if not _done(name, profile, states[name])]
    if scheduler == "local":
        jobs, cores, refused = _fitting(outdated, profile, jobs, cores)
    else:
        refused = cluster.refusals(outdated, profile, scheduler, cores, options)
    for name, reason in refused.items():
        print(f"not run: {name} {reason}")
    outdated = [name for name in outdated if name not in refused]
    if dry_run:
        for name in sorted(outdated, key=lambda name: planned_minutes(name, profile)):
            print(f"running {name} at {profile}, about {planned_minutes(name, profile):g} min of one core")
    if not outdated:
        return refused
    if scheduler == "local" and dry_run:
        snakemake(outdated, profile, scheduler, ["--cores", str(len(outdated)), "--dry-run"])
        return refused
    if not dry_run:
        for name in outdated:
            marker(name, profile).unlink(missing_ok=True)
            write_text(_state_file(name, profile), states[name])
    if scheduler != "local":
        of_cluster = {"real": real, "jobs": jobs, "cores": cores, "options": options, "shards": shards}
        return refused | cluster.run(names, outdated, profile, scheduler, **of_cluster, dry_run=dry_run)
    return refused | _Batch(names, outdated, profile, jobs, cores).run()


def _fitting(names, profile, jobs, cores) -> tuple[int, int, dict[str, str]]:
    """Return the number of experiments at a time, the cores of each, and the reasons of those that do not fit.

    Requested numbers are not reduced.
    """
    left, wished = memory_left_gb(), jobs or max(1, n_cores() // (cores or 1))
    flag, cores = "--cores 1 --jobs" if cores and cores > 1 else "--jobs", cores or 1
    if jobs is None:
        jobs = max(1, fitting.most_cores(names, profile, wished * cores, left, len(names)) // cores)
        if jobs < wished:
            print(f"{jobs} at a time: for {wished} there is too little memory, {left:.1f} GB")
        return jobs, cores, fitting.refusals(names, profile, cores, left, len(names), flag)
    return jobs, cores, fitting.refusals(names, profile, jobs * cores, left, len(names), flag)


def state(name: str) -> str:
    """Return a digest of what a result depends on besides its profile: code, published numbers, available data."""
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
    """Experiments on this machine, in the order of a schedule, with one pool of workers."""

    def __init__(self, names, outdated, profile, jobs, cores):
        self.names, self.outdated, self.profile, self.cores = names, outdated, profile, jobs * cores
        self.failed: dict[str, str] = {}
        self._asked, self._turn = set(), threading.Condition()
        self._clocks, self._processes = {}, {}
        self._stopped = False
        minutes = {name: planned_minutes(name, profile) for name in outdated}
        after = {name: producers(name, outdated) for name in outdated}
        self._schedule = Schedule(minutes, after, jobs)
        self._clock, self._vacant = Clock(), Clock()
        self._pool = Pool(self.cores, batch_log(profile), {"experiment": self._experiment})
        self._progress = Progress(self._live)

    def run(self) -> dict[str, str]:
        """Run all and return the reasons of those that failed."""
        cores = ["--cores", str(len(self.outdated))]  # the schedule decides when each runs
        try:
            with self._progress, self._pool:
                try:
                    snakemake(self.outdated, self.profile, "local", cores, environment=self._pool.environment)
                except BaseException:
                    self._stopped = True
                    kill_trees([process.pid for process in list(self._processes.values())])
                    raise
        except KeyboardInterrupt:
            cleanup(temporary_folder("batch"))  # partial files of the processes that ended
            n_done = self._n_done()
            raise KeyboardInterrupt(
                f"stopped. {n_done} of {len(self.names)} experiments are done, and finished trials are cached; "
                "the same command continues from there"
            ) from None
        left = [name for name in self.outdated if not marker(name, self.profile).exists()]
        return {name: self.failed.get(name) or _reason(name, self.profile) for name in left}

    def _experiment(self, connection, name):
        """Run an experiment when it is scheduled, and report the outcome to Snakemake's job."""
        with self._turn:
            if not self._asked:  # Snakemake has started
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
        self._progress.log(ended(name, shown, took, max(map(len, self.names))))
        connection.send(good)

    def _next(self):
        """Return the scheduled experiment, or a requested one if the scheduled one is not requested in time."""
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


def _states(names):
    return {name: state(name) for name in names}


def _state_file(name, profile):
    return marker(name, profile, ".state")


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
