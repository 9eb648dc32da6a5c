"""Running experiments: a notebook beside its trials, the whole batch at the smallest profile, and kept trials."""

import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.benchmarks import Row, benchmark, measure, speed_up
from fairlab.paths import atomic_path
from fairlab.suite import cache
from fairlab.suite.catalogue import experiment_names

LIGHT = ("fairtest/image_tagger", "themis/theorems", "themis/your_program", "fairtest/berkeley")
FEW = 2  # experiments that are still a batch
KEPT = {  # how many results of how many numbers
    "small": (300, 100),  # most are
    "large": (10, 1_000_000),
}


@benchmark
def batch(*, quick: bool) -> list[Row]:
    """Return the seconds of a notebook whose trials are all there, and of the batch at smoke from an empty cache."""
    light = LIGHT[: FEW + 1] if quick else LIGHT
    names = light if quick else tuple(experiment_names())
    with tempfile.TemporaryDirectory(prefix="fairlab-batch-") as folder:
        first = run_seconds(names, folder)
        few, many = (run_again_seconds(light[:n], folder) for n in (FEW, len(light)))
    overhead = (many - few) / (len(light) - FEW)
    return [
        Row("reproduce_smoke_seconds", first, "s", note=f"{len(names)} experiments at smoke, no trial in the cache"),
        Row(
            "notebook_overhead_seconds",
            overhead,
            "s",
            note=f"one notebook more in a batch whose trials are all in the cache, one at a time: {', '.join(light)}",
        ),
    ]


def run_seconds(names: tuple[str, ...], folder: str, *options: str) -> float:
    """Return the seconds of a batch at smoke that keeps its results in `folder`."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", *options]
    start = time.perf_counter()
    answer = subprocess.run(
        command, env=os.environ | {"FAIRLAB_RESULTS": folder}, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise RuntimeError(f"the batch failed: {answer.stderr.strip()}")
    return time.perf_counter() - start


def run_again_seconds(names: tuple[str, ...], folder: str) -> float:
    """Return the seconds of a batch of experiments that were run before, one at a time; their trials are kept."""
    for name in names:
        Path(folder, ".batch", "smoke", f"{name}.done").unlink()
    return run_seconds(names, folder, "--jobs", "1")


@benchmark
def trial_cache(*, quick: bool) -> list[Row]:
    """Return how fast results of trials are written and read, checked and without code, against pickle."""
    rows = []
    for size, (n_files, n_numbers) in KEPT.items():
        with tempfile.TemporaryDirectory(prefix="fairlab-cache-") as folder:
            rows += kept_rows(size, Path(folder), n_files // (10 if quick else 1), n_numbers)
    return rows


def kept_rows(size: str, folder: Path, n_files: int, n_numbers: int) -> list[Row]:
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
        rows.append(Row(f"trial_cache_{verb}_{size}_mb_per_second", megabytes / ours, "MB/s", note=note))
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
