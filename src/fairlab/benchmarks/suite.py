"""Running experiments: what a notebook costs beside its trials, and the whole batch at the smallest profile."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fairlab.benchmarks import Row, benchmark
from fairlab.suite.catalogue import experiment_names

LIGHT = ("fairtest/image_tagger", "themis/theorems", "themis/your_program", "fairtest/berkeley")
FEW = 2  # experiments that are still a batch


@benchmark
def batch(*, quick: bool) -> list[Row]:
    """Return the seconds of a notebook whose trials are all there, and of the batch at smoke from an empty cache."""
    names = LIGHT if quick else tuple(experiment_names())
    with tempfile.TemporaryDirectory(prefix="fairlab-batch-") as folder:
        first = run_seconds(names, folder)
        few, many = (run_again_seconds(LIGHT[:n], folder) for n in (FEW, len(LIGHT)))
    overhead = (many - few) / (len(LIGHT) - FEW)
    return [
        Row("reproduce_smoke_seconds", first, "s", note=f"{len(names)} experiments at smoke, no trial in the cache"),
        Row(
            "notebook_overhead_seconds",
            overhead,
            "s",
            note=f"one notebook more in a batch whose trials are all in the cache, one at a time: {', '.join(LIGHT)}",
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
