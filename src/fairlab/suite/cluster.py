"""A batch on a cluster: each experiment is a job that Snakemake submits to SLURM.

Data are fetched before submission, and a job never replaces data that was real then by a surrogate. What happens to
jobs that are lost is decided by Snakemake's own executor for SLURM; trials that were computed are cached.
"""

import os
import subprocess
import sys
from pathlib import Path

from fairlab.checks import required, suggestion
from fairlab.paths import project
from fairlab.suite.batch import outdated
from fairlab.suite.catalogue import inputs, specification
from fairlab.suite.run import failure_file


def marker(name: str, profile: str) -> Path:
    """Return the file that says to Snakemake that an experiment is done.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return project().results / ".cluster" / profile / f"{name}.done"


def run_on_cluster(
    names: list[str], profile: str, scheduler: str, *, dry_run: bool = False, arguments: list[str] = ()
) -> dict[str, str]:
    """Run experiments as jobs and return the reasons of those that failed.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``, which has the settings of Snakemake.
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
    states = fetch(inputs(names), keep_going=True, requested=False, report=print)["state"]
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
    command += ["--config", f"profile={profile}", f"names={','.join(left)}"]
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


def resources(name: str, profile: str, threads: int, attempt: int) -> dict[str, int]:
    """Return memory in MB and minutes of a job; both double with each attempt."""
    memory = max(2.0, 1.25 * specification(name).need_gb(profile, threads))
    minutes = specification(name).minutes.least(profile) * 4 + 10
    return {"mem_mb": int(1000 * memory * 2 ** (attempt - 1)), "runtime": int(minutes * 2 ** (attempt - 1))}
