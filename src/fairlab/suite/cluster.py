"""A batch on a cluster: each experiment is a job that Snakemake submits to SLURM.

Snakemake is a program of its own, in an environment of its own: it gets the jobs as one file and never imports fairlab.
Data are fetched before submission, and a job never replaces data that was real then by a surrogate. What happens to
jobs that are lost is decided by Snakemake's own executor for SLURM; trials that were computed are cached.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fairlab.checks import suggestion
from fairlab.data.project import project
from fairlab.suite.batch import outdated
from fairlab.suite.catalogue import inputs, specification
from fairlab.suite.run import failure_file

PROGRAM = "FAIRLAB_SNAKEMAKE"
CORES = 2  # of a job


def program() -> str:
    """Return the path of Snakemake: `PROGRAM` names it, else it is on the path."""
    name = os.environ.get(PROGRAM, "snakemake")
    if found := shutil.which(name):
        return found
    raise RuntimeError(
        f"expected Snakemake, with its executor for SLURM, on the path or in {PROGRAM}, found no program {name!r}; "
        "install it by `uv tool install snakemake --with snakemake-executor-plugin-slurm`, "
        "or by `pipx install snakemake` and `pipx inject snakemake snakemake-executor-plugin-slurm`"
    )


def marker(name: str, profile: str) -> Path:
    """Return the file that says to Snakemake that an experiment is done.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return project().results / ".cluster" / profile / f"{name}.done"


def run_on_cluster(
    names: list[str],
    profile: str,
    scheduler: str,
    *,
    jobs: int | None = None,
    cores: int | None = None,
    dry_run: bool = False,
    arguments: list[str] = (),
) -> dict[str, str] | None:
    """Run experiments as jobs and return the reasons of those that failed; None if Snakemake was to run no job.

    Parameters
    ----------
    names : list of str
        Experiments.
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``, which has the settings of Snakemake.
    jobs : int, optional
        How many at once; by default what the folder of the scheduler says.
    cores : int, optional
        Of each job; by default `CORES`.
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
    snakemake = program()
    real = ()
    if not dry_run:
        states = fetch(inputs(names), keep_going=True, requested=False, report=print)["state"]
        real = states.index[~states.isin(["surrogate", "missing", "error"])]
    left = outdated(names, profile)
    if not left:
        return {}
    if not dry_run:
        for file in (file for name in left for file in (marker(name, profile), failure_file(name, profile))):
            file.unlink(missing_ok=True)
    folder = marker("", profile).parent
    folder.mkdir(parents=True, exist_ok=True)
    # A file of this batch alone: jobs read it when they start.
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder, delete=False) as file:
        json.dump(_jobs(left, profile, cores or CORES), file)
    command = [
        *(snakemake, *(str(marker(name, profile)) for name in left)),
        *("--snakefile", str(project().experiments / "Snakefile"), "--directory", str(project().results)),
        *("--workflow-profile", str(project().experiments / "profiles" / scheduler), "--forceall"),
        *(["--jobs", str(jobs)] * bool(jobs)),
        *(["--dry-run"] * dry_run),
        *(*arguments, "--configfile", file.name),
    ]
    process = subprocess.Popen(command, env=os.environ | {REAL_DATA_VARIABLE: ",".join(real)})
    try:
        process.wait()
    except BaseException:
        process.terminate()  # which cancels its jobs
        process.wait()
        raise
    finally:
        Path(file.name).unlink()
    failed = [name for name in left if not marker(name, profile).exists()]
    if process.returncode == 0 and failed:  # as by --dry-run and --unlock: a job that fails gives another status
        return None
    return {name: _reason(name, profile) for name in failed}


def _reason(name, profile) -> str:
    """Return why an experiment has no result."""
    file = failure_file(name, profile)
    return file.read_text(encoding="utf-8").strip() if file.exists() else "its job was lost or not run; see above"


def _jobs(names: list[str], profile: str, cores: int) -> dict:
    """Return what Snakemake has to know: how a job is run, the jobs, their order, and what each needs at first."""
    jobs = {
        name: {
            "after": [str(marker(before, profile)) for before in specification(name).after if before in names],
            "mem_mb": int(1000 * max(2.0, 1.25 * specification(name).need_gb(profile, cores))),
            "runtime": int(specification(name).minutes.least(profile) * 4 + 10),
        }
        for name in names
    }
    run = shlex.join([sys.executable, "-m", "fairlab", "run", "--profile", profile])
    return {"run": run, "done": str(marker("{name}", profile)), "cores": cores, "jobs": jobs}
