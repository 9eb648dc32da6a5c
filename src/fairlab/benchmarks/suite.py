"""Running experiments: overhead of a notebook, the whole batch at the smallest profile, and the trial cache."""

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
from fairlab.checks import optional
from fairlab.paths import Project, atomic_path, project
from fairlab.suite import cache
from fairlab.suite.catalogue import experiment_names

nbformat = optional("nbformat")

ROOT = project().root
LIGHT = ("fairtest/image_tagger", "themis/theorems", "themis/your_program", "fairtest/berkeley")
FEW = 2  # experiments that are still a batch
PLAIN = 8  # notebooks that do nothing but what every experiment does
PLAIN_PAPER = """
paper: {key: plain, title: Nothing, authors: Nobody, venue: Nowhere, doi: "10.0/0"}
artefacts:
  - {id: figure-1, title: A line, data: [berkeley], protocol: One line., values: [{id: n, value: 2, kind: count}]}
"""
PLAIN_EXPERIMENT = """
title: What every experiment does
artefacts: [figure-1]
data: [berkeley]
minutes: {smoke: 0.02, quick: 0.02, paper: 0.02}
profiles: {smoke: {}, quick: {}, paper: {}}
"""
PLAIN_CELLS = (
    'experiment = "plain/%s"\nprofile = "quick"\nseed = 0',
    """import pandas as pd

from fairlab import Experiment
from fairlab.benchmarks.figures import line

exp = Experiment.open(globals())
people = exp.load("berkeley")
people""",
    """exp.figure("figure-1", line, data=pd.DataFrame({"x": [0, 1], "y": [0, 1]}), caption="One line.")""",
    'exp.record("figure-1", "n", people.features["gender"].nunique())\nexp.compare()',
)
KEPT = {  # how many results of how many numbers
    "small": (300, 100),  # most are
    "large": (10, 1_000_000),
}


@benchmark
def batch(*, quick: bool) -> list[Measurement]:
    """Return the seconds of the batch at smoke from an empty cache, and of one notebook more, plain or light."""
    names = LIGHT[:FEW] if quick else tuple(experiment_names())
    with tempfile.TemporaryDirectory(prefix="fairlab-batch-") as folder:
        first = run_seconds(names, folder)
        light = [] if quick else [light_notebooks(folder)]
    note = f"{len(names)} experiments at smoke, no trial in the cache"
    return [
        Measurement("reproduce_smoke_seconds", first, "s", note=note),
        plain_notebooks(FEW + 1 if quick else PLAIN),
        *light,
    ]


def light_notebooks(folder: str) -> Measurement:
    """Return the seconds of one notebook more with all its own cells, after a batch at smoke in `folder`."""
    note = f"with its own cells and its trials in the cache: {', '.join(LIGHT[FEW:])}"
    return one_more("notebook_light_seconds", LIGHT, folder, note)


def plain_notebooks(n: int) -> Measurement:
    """Return the seconds of one notebook more, of `n`, that loads data, draws a figure and compares one number."""
    with tempfile.TemporaryDirectory(prefix="fairlab-plain-") as folder:
        names, results = plain_project(Path(folder))[:n], str(Path(folder, "results"))
        note = "that loads data, draws a figure and compares a number"
        return one_more("notebook_overhead_seconds", names, results, note, root=folder)


def one_more(row: str, names, folder: str, note: str, *, root: str | Path = ROOT) -> Measurement:
    """Return the seconds by which a batch of notebooks, one at a time, grows with each."""
    few, many = (run_again_seconds(some, folder, root=root) for some in (names[:FEW], names))
    seconds = (many - few) / (len(names) - FEW)
    return Measurement(row, seconds, "s", note=f"one notebook more in a batch, one at a time, {note}")


def plain_project(root: Path) -> tuple[str, ...]:
    """Write a project of plain notebooks that uses this one's data, and return the names of its experiments."""
    experiments, notebooks = root / "experiments", root / "notebooks" / "plain"
    for folder in (experiments / "plain", notebooks):
        folder.mkdir(parents=True)
    Project(root).data_scripts.symlink_to(project().data_scripts)
    (experiments / "plain" / "published.yaml").write_text(PLAIN_PAPER, encoding="utf-8")
    names = [f"number_{k}" for k in range(PLAIN)]
    for name in names:
        (experiments / "plain" / f"{name}.yaml").write_text(PLAIN_EXPERIMENT, encoding="utf-8")
        first, *others = PLAIN_CELLS
        notebook = nbformat.v4.new_notebook()
        notebook.cells = [nbformat.v4.new_code_cell(source) for source in (first % name, *others)]
        notebook.cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(notebook, notebooks / f"{name}.ipynb")
    return tuple(f"plain/{name}" for name in names)


def run_seconds(names: tuple[str, ...], folder: str, *options: str, root: str | Path = ROOT) -> float:
    """Return the seconds of a batch at smoke of the project at `root` that keeps its results in `folder`."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", *options]
    environment = os.environ | {"FAIRLAB_RESULTS": folder, "FAIRLAB_ROOT": str(root)}
    seconds, batch = timed(lambda: subprocess.run(command, env=environment, capture_output=True, text=True))
    if batch.returncode:
        raise RuntimeError(f"the batch failed: {batch.stderr.strip()}")
    return seconds


def run_again_seconds(names: tuple[str, ...], folder: str, *, root: str | Path = ROOT) -> float:
    """Return the seconds of a batch of experiments, one at a time; those that were run before keep their trials."""
    for name in names:
        shutil.rmtree(Path(folder, "smoke", name), ignore_errors=True)
    return run_seconds(names, folder, "--jobs", "1", root=root)


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
