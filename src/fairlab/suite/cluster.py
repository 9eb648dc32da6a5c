"""A batch on a cluster: each experiment, or each shard of one, is a job that Snakemake submits to SLURM.

Data are fetched before submission, and a job never replaces data that was real then by a surrogate. What happens to
jobs that are lost is decided by Snakemake's own executor for SLURM; trials that were computed are cached.
"""

import os
import subprocess
import sys
from pathlib import Path

from fairlab.checks import required, suggestion
from fairlab.paths import project
from fairlab.suite.catalogue import inputs, specification
from fairlab.suite.planning import need_gb, outdated, planned_minutes
from fairlab.suite.run import failure_file

LEAST_SHARD_MINUTES = 5  # of one core: a smaller shard is not worth a job


def marker(name: str, profile: str, part: str = "") -> Path:
    """Return the file that says to Snakemake that an experiment is done, or a part of it.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return project().results / ".cluster" / profile / f"{name}{part}.done"


def run_on_cluster(
    names: list[str], profile: str, scheduler: str, *, shards: int = 1, dry_run: bool = False, arguments: list[str] = ()
) -> dict[str, str]:
    """Run experiments as jobs and return the reasons of those that failed.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``, which has the settings of Snakemake.
    shards : int
        Most jobs per experiment; each computes a shard of the trials.
    dry_run : bool
        Only print what Snakemake would do.
    arguments : list of str
        Further ones of Snakemake's, such as ``--default-resources slurm_partition=long``.
    """
    from fairlab.data import fetch
    from fairlab.data.files import REAL_DATA_VARIABLE

    known = sorted(folder.name for folder in (project().experiments / "profiles").iterdir())
    if scheduler not in known:
        raise KeyError(f"unknown scheduler {scheduler!r}{suggestion(scheduler, ['local', *known])}")
    required("snakemake_executor_plugin_slurm")
    states = fetch(inputs(names), keep_going=True, report=print)["state"]
    real = states.index[~states.isin(["surrogate", "missing", "error"])]
    left = list(outdated(names, profile))
    if not left:
        return {}
    if not dry_run:
        for file in (file for name in left for file in (marker(name, profile), failure_file(name, profile))):
            file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "snakemake", *(str(marker(name, profile)) for name in left)]
    command += ["--snakefile", str(project().experiments / "Snakefile"), "--directory", str(project().results)]
    command += ["--workflow-profile", str(project().experiments / "profiles" / scheduler), "--forceall"]
    command += [*["--dry-run"] * dry_run, *arguments]
    command += ["--config", f"profile={profile}", f"shards={shards}", f"names={','.join(left)}"]
    project().results.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(command, env=os.environ | {REAL_DATA_VARIABLE: ",".join(real)})
    try:
        process.wait()
    except BaseException:
        process.terminate()  # which cancels its jobs
        process.wait()
        raise
    return {} if dry_run else {name: _reason(name, profile) for name in left if not marker(name, profile).exists()}


def _reason(name, profile) -> str:
    """Return why an experiment has no result."""
    file = failure_file(name, profile)
    return file.read_text(encoding="utf-8").strip() if file.exists() else "its job was lost or not run; see above"


def n_shards(name: str, profile: str, shards: int) -> int:
    """Return the number of shards of an experiment's trials; 1 if it is too small for more."""
    return max(1, min(shards, int(planned_minutes(name, profile) / LEAST_SHARD_MINUTES)))


def resources(name: str, profile: str, threads: int, attempt: int) -> dict[str, int]:
    """Return memory in MB and minutes of a job; both double with each attempt."""
    memory = max(2.0, 1.25 * need_gb(name, profile, threads))
    minutes = planned_minutes(name, profile) * 4 + 10
    return {"mem_mb": int(1000 * memory * 2 ** (attempt - 1)), "runtime": int(minutes * 2 ** (attempt - 1))}


def producers(name: str, names: list[str]) -> list[str]:
    """Return those of `names` that must run before `name`, because it reuses their trials."""
    return [earlier for earlier in specification(name).after if earlier in names]
