"""The whole batch, on Snakemake: parallel notebooks, resumable, on past a failure."""

import subprocess
import sys
from pathlib import Path

from fairlab.checks import required, suggestion
from fairlab.paths import DATA_SCRIPTS, EXPERIMENTS, results_folder
from fairlab.suite.catalogue import specification
from fairlab.suite.fingerprint import notebook_fingerprint
from fairlab.suite.machine import n_cores
from fairlab.suite.notebook import code_of
from fairlab.suite.run import failure_file, run_folder, stage


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
        Notebooks at a time; None for all cores.
    dry_run : bool
        Only print what would be run.
    """
    schedulers = sorted(folder.name for folder in (EXPERIMENTS / "profiles").iterdir())
    if scheduler not in schedulers:
        raise KeyError(f"unknown scheduler {scheduler!r}{suggestion(scheduler, schedulers)}")
    required("snakemake")
    stage("batch").rmdir()  # says so at once if the results cannot be written
    for name in names:
        specification(name).parameters(profile)
        if not dry_run and not _done(name, profile):
            marker(name, profile).unlink(missing_ok=True)
    results = results_folder()
    command = [sys.executable, "-m", "snakemake", *(str(marker(name, profile)) for name in names)]
    command += ["--snakefile", str(EXPERIMENTS / "Snakefile"), "--directory", str(results)]
    command += ["--workflow-profile", str(EXPERIMENTS / "profiles" / scheduler)]
    command += ["--cores", str(cores or n_cores())] + ["--dry-run"] * dry_run
    command += ["--config", f"profile={profile}", f"names={','.join(names)}"]
    status = subprocess.run(command, check=False).returncode
    if dry_run:
        if status:
            raise RuntimeError(f"Snakemake ended with status {status}; its messages stand above")
        return {}
    failed = {name: _reason(name, profile) for name in names if not marker(name, profile).exists()}
    if status and not failed:
        raise RuntimeError(f"Snakemake ended with status {status}; its messages stand above")
    return failed


def marker(name: str, profile: str) -> Path:
    """Return the file that tells Snakemake that an experiment is done.

    Not the run itself: Snakemake deletes a rule's output before it starts, and an earlier result must outlive a
    failure.
    """
    return results_folder() / ".batch" / profile / f"{name}.done"


def producers(name: str, names: list[str]) -> list[str]:
    """Return which of the experiments `names` must run before `name`, since it takes their trials."""
    return [earlier for earlier in specification(name).after if earlier in names]


def planned_minutes(name: str, profile: str) -> float:
    """Return the rough minutes of an experiment, an hour if its file does not say."""
    minutes = specification(name).minutes
    return getattr(minutes, profile) if minutes else 60


def state(name: str) -> str:
    """Return a digest of what an experiment's result depends on besides its profile: code, numbers, data at hand."""
    from fairlab.data import state_of
    from fairlab.data.registry import project_registry

    spec = specification(name)
    files = [EXPERIMENTS / f"{name}.yaml", EXPERIMENTS / spec.paper / "published.yaml"]
    for variant in spec.data:
        files += DATA_SCRIPTS.glob(f"make_{variant.replace('-', '_')}.py")
        files += (DATA_SCRIPTS / "surrogates").glob(f"{variant}.yaml")
    texts = [file.read_text(encoding="utf-8") for file in files]
    texts += [f"{state_of(variant)} {project_registry().variant(variant)}" for variant in spec.data]
    return notebook_fingerprint(code_of(spec.notebook), *texts)


def _reason(name: str, profile: str) -> str:
    file = failure_file(name, profile)
    return file.read_text(encoding="utf-8").strip() if file.exists() else "killed from outside, without a message"


def _done(name: str, profile: str) -> bool:
    """Return whether an experiment has a published run and its last run did not fail."""
    return (run_folder(name, profile) / "run.json").exists() and not failure_file(name, profile).exists()
