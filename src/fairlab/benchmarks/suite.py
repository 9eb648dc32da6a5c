"""Running experiments: a small one alone, the whole batch at the smallest profile, and the trial cache."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.benchmarks import Measurement, benchmark, measure, speed_up, timed
from fairlab.paths import atomic_path
from fairlab.suite import cache
from fairlab.suite.catalogue import experiment_names

LIGHT = ("fairtest/image_tagger", "themis/theorems", "themis/your_program", "fairtest/berkeley")
FEW = 2  # experiments that are still a batch
SMALL = "fairtest/berkeley"
KEPT = {  # how many results of how many numbers
    "small": (300, 100),  # most are
    "large": (10, 1_000_000),
}


@benchmark
def batch(*, quick: bool) -> list[Measurement]:
    """Return the seconds of the batch at smoke from an empty cache, of a small experiment alone, and of one more."""
    names = LIGHT[:FEW] if quick else tuple(experiment_names())
    note = f"{len(names)} experiments at smoke, no trial in the cache"
    with tempfile.TemporaryDirectory(prefix="fairlab-batch-") as folder:
        rows = [Measurement("reproduce_smoke_seconds", run_seconds(names, folder), "s", note=note), alone(folder)]
        return rows if quick else [*rows, one_more(folder)]


def alone(folder: str) -> Measurement:
    """Return the processor's seconds of a small experiment alone, whose trials are in the cache or take no time."""
    before = sum(os.times()[2:4])  # of ended children, user and system
    run_again_seconds((SMALL,), folder)
    seconds = sum(os.times()[2:4]) - before
    note = f"fairlab run {SMALL} --profile smoke, user and system"
    return Measurement("experiment_alone_cpu_seconds", seconds, "s", note=note)


def one_more(folder: str) -> Measurement:
    """Return the seconds by which a batch of notebooks, one at a time, grows with each, after a batch in `folder`."""
    few, many = (run_again_seconds(names, folder) for names in (LIGHT[:FEW], LIGHT))
    note = "one notebook more in a batch, one at a time, with its own cells and its trials in the cache: "
    seconds = (many - few) / (len(LIGHT) - FEW)
    return Measurement("notebook_light_seconds", seconds, "s", note=note + ", ".join(LIGHT[FEW:]))


def run_seconds(names: tuple[str, ...], folder: str, *options: str) -> float:
    """Return the seconds of a batch at smoke that keeps its results in `folder`."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", *options]
    environment = os.environ | {"FAIRLAB_RESULTS": folder}
    seconds, batch = timed(lambda: subprocess.run(command, env=environment, capture_output=True, text=True))
    if batch.returncode:
        raise RuntimeError(f"the batch failed: {batch.stderr.strip()}")
    return seconds


def run_again_seconds(names: tuple[str, ...], folder: str) -> float:
    """Return the seconds of a batch of experiments, one at a time; those that were run before keep their trials."""
    for name in names:
        shutil.rmtree(Path(folder, "smoke", name), ignore_errors=True)
    return run_seconds(names, folder, "--jobs", "1")


@benchmark
def trial_cache(*, quick: bool) -> list[Measurement]:
    """Return how fast results of trials are written and read, checked and without code, against pickle."""
    rows = []
    for size, (n_files, n_numbers) in KEPT.items():
        with tempfile.TemporaryDirectory(prefix="fairlab-cache-") as folder:
            rows += kept_rows(size, Path(folder), n_files // (10 if quick else 1), n_numbers)
    return rows


def kept_rows(size: str, folder: Path, n_files: int, n_numbers: int) -> list[Measurement]:
    """Return how fast results of one size are written and read."""
    result = result_of(n_numbers)
    files = [folder / f"{k}{cache.SUFFIX}" for k in range(n_files)]
    pickles = [file.with_suffix(".pickle") for file in files]
    work = {
        "write": (lambda: [cache.write(f, result, {}) for f in files], lambda: [dump(result, f) for f in pickles]),
        "read": (lambda: [cache.read(f) for f in files], lambda: [load(f) for f in pickles]),
    }
    rows = []
    for verb, both in work.items():
        ours, theirs = map(measure, both)
        note = f"{n_files} results of {n_numbers:,} numbers, in an array, a table and a dictionary"
        megabytes = sum(file.stat().st_size for file in files) / 1e6
        rows.append(Measurement(f"trial_cache_{verb}_{size}_mb_per_second", megabytes / ours, "MB/s", note=note))
        rows.append(speed_up(f"trial_cache_{verb}_{size}_vs_pickle", baseline=theirs, ours=ours, note=note))
    return rows


def result_of(n_numbers: int) -> dict:
    """Return a result of a trial as experiments have them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=n_numbers // 8) for name in "abcd"})
    kinds = {str(k): float(value) for k, value in enumerate(rng.normal(size=20))}
    return {"draws": rng.normal(size=n_numbers // 2), "table": table, "means": kinds, "method": "exact"}


def dump(result: dict, file: Path) -> None:
    """Write a result as a pickle, in the same careful way: beside its place, then moved."""
    with atomic_path(file) as temporary:
        temporary.write_bytes(pickle.dumps(result))


def load(file: Path) -> dict:
    """Read a result that `dump` wrote."""
    return pickle.loads(file.read_bytes())
