"""Running experiments: a small one alone, and the whole batch at the smallest profile."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fairlab.benchmarks import Measurement, benchmark, timed
from fairlab.suite.catalogue import experiment_names

LIGHT = ("fairtest/image_tagger", "themis/theorems", "themis/your_program", "fairtest/berkeley")
MIN_EXPERIMENTS = 2  # experiments that are still a batch
SMALL_EXPERIMENT = "fairtest/berkeley"


@benchmark
def batch(*, quick: bool) -> list[Measurement]:
    """Return the seconds of the batch at smoke from an empty cache, of a small experiment alone, and of one more."""
    names = LIGHT[:MIN_EXPERIMENTS] if quick else tuple(experiment_names())
    note = f"{len(names)} experiments at smoke, no trial in the cache"
    with tempfile.TemporaryDirectory(prefix="fairlab-batch-") as folder:
        rows = [Measurement("reproduce_smoke_seconds", run_seconds(names, folder), "s", note=note), alone(folder)]
        return rows if quick else [*rows, one_more(folder)]


def alone(folder: str) -> Measurement:
    """Return the CPU seconds of a small experiment alone, whose trials are in the cache or take no time."""
    before = sum(os.times()[2:4])  # of ended children, user and system
    run_again_seconds((SMALL_EXPERIMENT,), folder)
    seconds = sum(os.times()[2:4]) - before
    note = f"fairlab run {SMALL_EXPERIMENT} --profile smoke, user and system"
    return Measurement("experiment_alone_cpu_seconds", seconds, "s", note=note)


def one_more(folder: str) -> Measurement:
    """Return the additional seconds of each notebook in a sequential batch, after a batch in `folder`."""
    few, many = (run_again_seconds(names, folder) for names in (LIGHT[:MIN_EXPERIMENTS], LIGHT))
    note = "one notebook more in a batch, one at a time, with its own cells and its trials in the cache: "
    seconds = (many - few) / (len(LIGHT) - MIN_EXPERIMENTS)
    return Measurement("notebook_light_seconds", seconds, "s", note=note + ", ".join(LIGHT[MIN_EXPERIMENTS:]))


def run_seconds(names: tuple[str, ...], folder: str, *options: str) -> float:
    """Return the seconds of a batch at smoke that keeps its results in `folder`."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", *options]
    environment = os.environ | {"FAIRLAB_RESULTS": folder}
    seconds, batch = timed(lambda: subprocess.run(command, env=environment, capture_output=True, text=True))
    if batch.returncode:
        raise RuntimeError(f"the batch failed: {batch.stderr.strip()}")
    return seconds


def run_again_seconds(names: tuple[str, ...], folder: str) -> float:
    """Return the seconds of a sequential batch of experiments; trials of earlier runs are in the cache."""
    for name in names:
        shutil.rmtree(Path(folder, "smoke", name), ignore_errors=True)
    return run_seconds(names, folder, "--jobs", "1")
