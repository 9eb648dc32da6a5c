"""A batch whose driver, kernels and workers are killed at random moments ends with the right numbers."""

import contextlib
import os
import random
import subprocess
import sys
import time

import psutil
import pytest
from toy_project import CELLS, SPECIFICATION, TRIALS, write_notebook

from fairlab.seeds import Trial
from fairlab.suite.run import Run, run_folder

NAMES = ("toy/mean", "toy/second", "toy/third")
N_TRIALS = 30
VICTIMS = ("worker", "kernel", "driver", "worker")
LONGEST_PAUSE = 4.0  # seconds for which a victim lives, at least
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
ENDINGS = 3  # most commands to the end when all kills are done: what was killed twice has failed until the next

pytestmark = pytest.mark.slow


@pytest.fixture
def three(toy):
    """The toy project with three experiments of slow trials, each with numbers of its own."""
    slow = TRIALS.replace("    return", "    __import__('time').sleep(1)\n    return")
    (toy / "notebooks" / "toy" / "toy_trials.py").write_text(slow)
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", f"n: 10, n_trials: {N_TRIALS}")
    for number, name in enumerate(NAMES):
        cells = [cell.replace("toy/mean", name).replace("n=n", f"n=n + {number}") for cell in CELLS]
        write_notebook(toy / "notebooks" / f"{name}.ipynb", cells)
        (toy / "experiments" / f"{name}.yaml").write_text(spec)
    return toy


def start(folder):
    command = [sys.executable, "-m", "fairlab", "run", *NAMES, "--profile", "smoke", "--jobs", "2", "--cores", "2"]
    with folder.with_suffix(".log").open("a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def processes(folder):
    """Return all that runs for a results folder, whoever started it, by kind."""
    kinds = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("FAIRLAB_RESULTS") != str(folder) or process.pid == os.getpid():
                continue
            if process.status() != psutil.STATUS_ZOMBIE:
                kinds.setdefault(kind(" ".join(process.cmdline())), []).append(process)
    return kinds


def kind(command):
    words = {"fairlab.suite.kernel": "kernel", "popen_loky": "worker", "fairlab run": "driver"}
    return next((kind for word, kind in words.items() if word in command), "other")


def until_nothing_is_left(folder):
    deadline = time.monotonic() + LEFT_SECONDS
    while (left := processes(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def mean(trial, n):
    """Return what the trial of the toy project does."""
    return trial.rng("draw").normal(0.5, 0.1, n).mean()


def test_a_batch_whose_processes_are_killed_ends_with_the_right_numbers(three, results):
    chance, batch, n_done = random.Random(0), start(results), 0
    for victim in chance.sample(VICTIMS, len(VICTIMS)):
        while victim not in processes(results) and batch.poll() is None:
            time.sleep(0.5)
        time.sleep(chance.uniform(0.5, LONGEST_PAUSE))
        found = processes(results)
        if victims := found.get(victim):
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(victims).kill()
        n_trials = len(list((results / "trials").rglob("[0-9a-f]*.trial")))
        assert n_trials >= n_done, "a trial that was done stays"
        n_done = n_trials
        print(f"{victim} killed: {bool(victims)}; {n_done} of {3 * N_TRIALS} trials done", flush=True)
        if victim == "driver" or batch.poll() is not None:
            batch.wait()
            until_nothing_is_left(results)
            batch = start(results)
    for _ in range(ENDINGS):
        if batch.wait() == 0:
            break
        batch = start(results)
    assert batch.returncode == 0, results.with_suffix(".log").read_text()
    for number, name in enumerate(NAMES):
        values = Run.read(run_folder(name, "smoke")).records[0]["values"]
        assert values == [mean(Trial("toy", index), 10 + number) for index in range(N_TRIALS)]
    until_nothing_is_left(results)
