"""Interface between the batch and Snakemake: markers of finished experiments, their order, the call."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from fairlab.paths import EXPERIMENTS, results_folder
from fairlab.suite.catalogue import specification

KILL_SECONDS = 0.5  # that killed processes get to go
LOOK_SECONDS = 0.5  # between two looks at whether Snakemake has ended
# Snakemake ends with the batch, however that ends.
SNAKEMAKE = (
    "import runpy; from fairlab.suite import child_process; child_process.exit_with_parent({parent}); {also}"
    "runpy.run_module('snakemake', run_name='__main__', alter_sys=True)"
)


def marker(name: str, profile: str, suffix: str = ".done") -> Path:
    """Return the marker of a finished experiment for Snakemake, or another file of it by its suffix.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return results_folder() / ".batch" / profile / f"{name}{suffix}"


def batch_log(profile: str) -> Path:
    """Return the log file of Snakemake and the workers."""
    return results_folder() / profile / "batch.log"


def producers(name: str, names: list[str]) -> list[str]:
    """Return those of `names` that must run before `name`, because it reuses their trials."""
    return [earlier for earlier in specification(name).after if earlier in names]


def planned_minutes(name: str, profile: str) -> float:
    """Return the planned minutes of an experiment on one core; the default is an hour."""
    minutes = specification(name).minutes
    return getattr(minutes, profile) if minutes else 60


def snakemake(
    names: list[str],
    profile: str,
    scheduler: str,
    arguments: list[str],
    *,
    settings: dict | None = None,
    environment: dict | None = None,
    also: str = "",
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Run Snakemake to create the markers of experiments.

    Parameters
    ----------
    names : list of str
    profile : str
    scheduler : str
        A folder of ``experiments/profiles``.
    arguments : list of str
        Further ones of Snakemake's.
    settings : dict, optional
        Further settings for the Snakefile.
    environment : dict, optional
        Variables set for Snakemake and its jobs.
    also : str
        Python that its process runs first.
    meanwhile : callable
        Called again and again as long as Snakemake runs.

    Raises
    ------
    RuntimeError
        If Snakemake could not start.
    """
    config = {"profile": profile, "names": ",".join(names)} | (settings or {})
    command = [
        sys.executable,
        "-c",
        SNAKEMAKE.format(parent=os.getpid(), also=also),
        *(str(marker(name, profile)) for name in names),
    ]
    command += ["--forceall", "--snakefile", str(EXPERIMENTS / "Snakefile"), "--directory", str(results_folder())]
    command += ["--workflow-profile", str(EXPERIMENTS / "profiles" / scheduler), *arguments]
    command += ["--config", *(f"{key}={value}" for key, value in config.items())]
    log = batch_log(profile)
    with log.open("ab") as file:
        variables = os.environ | (environment or {})
        process = subprocess.Popen(command, env=variables, start_new_session=True, stdout=file, stderr=file)
        try:
            while (status := process.poll()) is None:
                meanwhile()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK_SECONDS)
        except BaseException:
            kill_trees([process.pid])
            raise
    if status and not any(word in log.read_text(errors="replace") for word in ("Error in rule", "rule experiment")):
        raise RuntimeError(f"Snakemake ended with status {status}; see its messages in {log}")


def kill_trees(pids: list[int]) -> None:
    """Kill processes and all their children, and wait until they have ended."""
    processes = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            processes += [process, *process.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=KILL_SECONDS)
