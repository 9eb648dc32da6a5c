"""A batch on a cluster: each experiment, or each shard of one, is a job that Snakemake submits to SLURM.

Data are fetched before submission, and a job never replaces data that was real then by a surrogate. Work lost with a
node, a limit or a cancelled job is resubmitted up to three times; finished trials are cached.
"""

import argparse
import json
import math
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import asdict, dataclass

import yaml

from fairlab.checks import required
from fairlab.paths import EXPERIMENTS
from fairlab.suite import fitting, heartbeat
from fairlab.suite.catalogue import inputs, specification
from fairlab.suite.progress import Clock, Progress, duration, ended
from fairlab.suite.run import failure_file
from fairlab.suite.staging import outer_temporary_folder
from fairlab.suite.workflow import batch_log, marker, planned_minutes, snakemake

OPTIONS_VARIABLE = "FAIRLAB_SLURM_OPTIONS"
JOB_NAME_VARIABLE = "FAIRLAB_CLUSTER_NAME"  # the file with the job name of a batch
JOB_VARIABLE = "FAIRLAB_CLUSTER_JOB"  # set for jobs: one that failed by itself is not retried
LEAST_SHARD_MINUTES = 5  # of one core: a smaller shard is not worth a job
MEMORY_MB, CORES, JOBS = 6000, 2, 20
MB, SPARE = 2**20, 1.25  # of a job's memory, for the processes of Snakemake
# States of a job that was lost, not failed by itself.
LOST = {
    "BOOT_FAIL": "its node did not boot",
    "CANCELLED": "was cancelled",
    "DEADLINE": "met its deadline",
    "FAILED": "was killed or could not start",
    "NODE_FAIL": "lost its node",
    "OUT_OF_MEMORY": "ran out of memory",
    "PREEMPTED": "was preempted",
    "REQUEUED": "was sent back to the queue",
    "REVOKED": "was revoked",
    "SILENT": "sent no heartbeat",
    "TIMEOUT": "ran out of time",
    "VANISHED": "is no longer known to the cluster",
}
# sbatch options that Snakemake sets by itself, each with SLURM's variable.
OWN = {
    "slurm_partition": (("-p", "--partition"), "SBATCH_PARTITION"),
    "slurm_account": (("-A", "--account"), "SBATCH_ACCOUNT"),
    "qos": (("-q", "--qos"), "SBATCH_QOS"),
    "runtime": (("-t", "--time"), "SBATCH_TIMELIMIT"),
    "mem_mb": (("--mem",), "SBATCH_MEM_PER_NODE"),
}
TAKEN = {"--cpus-per-task": "--cores", "-c": "--cores", "--array": "--shards", "-a": "--shards"}
TAKEN |= dict.fromkeys(("-J", "--job-name", "-o", "--output", "-D", "--chdir", "--wrap", "-n", "--ntasks"), "")


@dataclass(frozen=True)
class Attempt:
    """A job, its SLURM state, and its node."""

    job: str
    state: str
    node: str

    def __str__(self):
        return f"job {self.job} {LOST[self.state]}" + (f" on {self.node}" if self.node else "")


def run(
    names: list[str],
    outdated: list[str],
    profile: str,
    scheduler: str,
    *,
    real: list[str],
    jobs: int | None,
    cores: int | None,
    options: str,
    shards: int,
    dry_run: bool = False,
) -> dict[str, str]:
    """Run `outdated` of the experiments `names` as jobs and return the reasons of those that failed.

    Parameters
    ----------
    names, outdated : list of str
    profile, scheduler : str
    real : list of str
        Data variants and files that no surrogate may replace; see `fetched`.
    jobs : int or None
        Jobs at once; None takes the value of the scheduler's profile.
    cores : int or None
        Cores of each, likewise.
    options : str
        Of sbatch; see `resources`.
    shards : int
        Most jobs per experiment; each computes a shard of the trials.
    dry_run : bool
        Only print what Snakemake would do.
    """
    from fairlab.data.files import REAL_DATA_VARIABLE

    required("snakemake_executor_plugin_slurm")
    if shutil.which("sbatch") is None:
        raise RuntimeError("sbatch not found: submit from a login node of the cluster, or omit --scheduler")
    jobs, cores = jobs or _known(scheduler).get("jobs", JOBS), cores or _cores(_known(scheduler))
    asked = resources(options)
    counts = {name: n_shards(name, profile, shards, cores) for name in outdated}
    settings = {"shards": ",".join(f"{name}:{n}" for name, n in counts.items() if n > 1) or "none"}
    settings |= {key: asked.pop(key) for key in ("runtime", "mem_mb") if key in asked} | {"cores": cores}
    arguments = ["--jobs", str(jobs), "--set-threads", f"experiment={cores}", f"shard={cores}"]
    for key, value in asked.items():
        arguments += ["--set-resources", f"experiment:{key}={value}", f"shard:{key}={value}"]
    also = "from fairlab.suite import slurm; slurm.install(); "
    if dry_run:
        snakemake(outdated, profile, scheduler, [*arguments, "--dry-run"], settings=settings, also=also)
        return {}
    cancel(profile)
    for name in outdated:
        failure_file(name, profile).unlink(missing_ok=True)
        _attempts_file(name, profile).unlink(missing_ok=True)
    for file in marker("", profile).parent.rglob(f"*{heartbeat.SUFFIX}"):
        file.unlink(missing_ok=True)
    environment = {REAL_DATA_VARIABLE: ",".join(real), JOB_VARIABLE: "1"}
    environment[JOB_NAME_VARIABLE] = str(_job_name_file(profile))
    environment["TMPDIR"] = outer_temporary_folder()
    watch = _Watch(names, outdated, profile)
    try:
        with Progress(watch.live) as watch.progress:
            snakemake(
                outdated,
                profile,
                scheduler,
                arguments,
                settings=settings,
                environment=environment,
                also=also,
                meanwhile=watch.look,
            )
    except BaseException:
        cancel(profile)
        raise
    watch.look()
    return {name: reason(name, profile) for name in outdated if not marker(name, profile).exists()}


def refusals(names: list[str], profile: str, scheduler: str, cores: int | None, options: str) -> dict[str, str]:
    """Return the experiments that do not fit into the requested memory, each with the reason."""
    given = resources(options).get("mem_mb")
    if given is None:  # each job requests what it needs
        return {}
    return fitting.refusals(names, profile, cores or _cores(_known(scheduler)), given * MB / 1e9, flag="--cores")


def fetched(names: list[str]) -> list[str]:
    """Fetch the data and files of experiments; return the real variants and the available files."""
    from fairlab.data import fetch

    states = fetch(inputs(names), keep_going=True, report=print)["state"]
    return list(states.index[~states.isin(["surrogate", "missing", "error"])])


def resources(options: str = "") -> dict[str, str | int]:
    """Return the resources of a job in Snakemake's terms, from sbatch's options.

    Parameters
    ----------
    options : str
        As on sbatch's command line. Missing ones are taken from ``FAIRLAB_SLURM_OPTIONS``, then from SLURM's own
        variables, such as ``SBATCH_PARTITION``.

    Raises
    ------
    ValueError
        If fairlab sets an option itself, or a time or memory is invalid.
    """
    found, extra = {}, []
    for text in (os.environ.get(OPTIONS_VARIABLE, ""), options):
        own, rest = _parse(text)
        found |= own
        extra += rest
    for key, (_, variable) in OWN.items():
        if key not in found and os.environ.get(variable):
            found[key] = os.environ[variable]
    if "runtime" in found:
        found["runtime"] = minutes(found["runtime"])
    if "mem_mb" in found:
        found["mem_mb"] = megabytes(found["mem_mb"])
    return found | ({"slurm_extra": shlex.join(extra)} if extra else {})


def _parse(text):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for key, (flags, _) in OWN.items():
        parser.add_argument(*flags, dest=key)
    try:
        own, rest = parser.parse_known_args(shlex.split(text))
    except argparse.ArgumentError as error:
        raise ValueError(f"--slurm-options: {error}") from None
    for option in rest:
        flag = option.partition("=")[0]
        if flag in TAKEN:
            raise ValueError(f"--slurm-options: {flag} is set by fairlab" + f"; see {TAKEN[flag]}" * bool(TAKEN[flag]))
    return {key: value for key, value in vars(own).items() if value is not None}, rest


def minutes(text: str) -> int:
    """Return a time of sbatch's in minutes: ``90``, ``1:30:00``, ``2-12``, ``1-00:30:00``."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text.strip())
    if match is None:
        raise ValueError(f"--slurm-options: expected a time such as 90, 2:00:00 or 1-12:00:00, found {text!r}")
    days, *parts = (int(part) if part else 0 for part in match.groups())
    given = sum(part is not None for part in match.groups()[1:])
    first, second, third = parts
    if match[1] is not None:
        return days * 24 * 60 + first * 60 + second + bool(third)
    return first * 60 + second + bool(third) if given == 3 else first + bool(second)


def megabytes(text: str) -> int:
    """Return a memory of sbatch's in MB: ``4000``, ``8G``, ``500M``."""
    match = re.fullmatch(r"(\d+)([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"--slurm-options: expected a memory such as 8G or 4000, found {text!r}")
    factor = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2}[match[2].upper()]
    return math.ceil(int(match[1]) * factor)


def n_shards(name: str, profile: str, shards: int, cores: int) -> int:
    """Return the number of shards of an experiment's trials; 1 if it is too small for more."""
    return max(1, min(shards, int(planned_minutes(name, profile) / (LEAST_SHARD_MINUTES * cores))))


def need(name: str, profile: str, settings: dict) -> dict[str, int]:
    """Return MB and minutes for a job of an experiment: doubled each time it ran out of them."""
    states = [attempt.state for attempt in attempts(name, profile)]
    least = fitting.need_gb(name, profile, int(settings.get("cores", CORES))) * SPARE * 1e9 / MB
    memory = int(settings.get("mem_mb") or max(MEMORY_MB, least))
    time = int(settings.get("runtime", planned_minutes(name, profile) * 4 + 10))
    return {
        "mem_mb": memory * 2 ** states.count("OUT_OF_MEMORY"),
        "runtime": time * 2 ** states.count("TIMEOUT"),
    }


def _attempts_file(name, profile):
    return marker(name, profile, ".jobs")


def note(name: str, profile: str, attempt: Attempt) -> None:
    """Record that a job was lost, unless it failed by itself; its error message is dropped."""
    if attempt.state == "FAILED" and failure_file(name, profile).exists():
        return
    failure_file(name, profile).unlink(missing_ok=True)
    if attempts(name, profile)[-1:] == [attempt]:  # seen before
        return
    with _attempts_file(name, profile).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(attempt)) + "\n")


def attempts(name: str, profile: str) -> list[Attempt]:
    """Return the jobs that were lost in the last batch on a cluster, in their order."""
    file = _attempts_file(name, profile)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Attempt(**json.loads(line)) for line in lines]


def lost(names: list[str], profile: str) -> list[str]:
    """Return a line for every lost job: experiment, state, action taken."""
    return [
        f"{name}: {attempt}; " + ("resubmitted" if marker(name, profile).exists() else "given up")
        for name in names
        for attempt in attempts(name, profile)
    ]


def reason(name: str, profile: str) -> str:
    """Return why an experiment has no result."""
    file = failure_file(name, profile)
    if file.exists():
        return file.read_text(encoding="utf-8").strip()
    lost_jobs = attempts(name, profile)
    after = [earlier for earlier in specification(name).after if not marker(earlier, profile).exists()]
    if after and not lost_jobs:
        return f"not run, since {after[0]} failed"
    return str(lost_jobs[-1]) if lost_jobs else f"its job could not be submitted; see {batch_log(profile)}"


def cancel(profile: str) -> None:
    """Cancel the jobs of a batch that was stopped or killed."""
    file = _job_name_file(profile)
    if file.exists():
        subprocess.run(["scancel", f"--name={file.read_text(encoding='utf-8')}"], check=False, timeout=60)
        file.unlink(missing_ok=True)


def _known(scheduler) -> dict:
    """Return the settings of a scheduler's profile."""
    return yaml.safe_load((EXPERIMENTS / "profiles" / scheduler / "config.yaml").read_text(encoding="utf-8"))


def _cores(known) -> int:
    """Return the cores of a job by a scheduler's profile."""
    threads = known.get("set-threads", {})
    threads = threads if isinstance(threads, dict) else dict(part.split("=") for part in threads)
    return int(threads.get("experiment", CORES))


def _job_name_file(profile):
    return marker("slurm", profile, ".name")


class _Watch:
    """Progress display of a batch on a cluster."""

    def __init__(self, names, outdated, profile):
        self.progress, self._clock = None, Clock()
        self._names, self._left, self._profile = names, list(outdated), profile
        self._told = set()

    def look(self):
        """Print a line for every finished experiment and every lost job, once each."""
        for line in lost(self._names, self._profile):
            if (what := line.rpartition(";")[0]) not in self._told:
                self._told.add(what)
                self.progress.log(what)
        for name in [name for name in self._left if marker(name, self._profile).exists()]:
            self._left.remove(name)
            self.progress.log(ended(name, "done", self._clock(), max(map(len, self._names))))

    def live(self):
        """Return the status line."""
        n_done = len(self._names) - len(self._left)
        return f"{n_done} of {len(self._names)} done · {duration(self._clock())} on the cluster"
