"""A batch whose driver, kernels and workers are killed at random moments ends with the right numbers."""

import contextlib
import os
import random
import subprocess
import sys
import time

import psutil
import pytest
from toy_project import write_slow

from fairlab.seeds import Trial
from fairlab.suite.run import Run, run_folder

NAMES = ("mean", "second", "third")
N_TRIALS = 30
KINDS = {"popen_loky": "worker", "fairlab run": "driver", "fairlab.suite.kernel": "kernel"}  # by a word of the command
VICTIMS = ("worker", "kernel", "driver", "worker")
LONGEST_PAUSE = 4.0  # seconds for which a victim lives, at least
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
ENDINGS = 3  # most commands to the end when all kills are done: what was killed twice has failed until the next

pytestmark = pytest.mark.slow


def start(folder):
    command = [sys.executable, "-m", "fairlab", "run", "--all", "--profile", "smoke", "--jobs", "2", "--cores", "2"]
    with folder.with_suffix(".log").open("a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def processes(folder):
    """Return all that runs for a results folder, whoever started it, by kind."""
    kinds = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if process.environ().get("FAIRLAB_RESULTS") != str(folder) or process.pid == os.getpid():
                continue
            if process.status() != psutil.STATUS_ZOMBIE:
                command = " ".join(process.cmdline())
                kind = next((kind for word, kind in KINDS.items() if word in command), "other")
                kinds.setdefault(kind, []).append(process)
    return kinds


def until_nothing_is_left(folder):
    deadline = time.monotonic() + LEFT_SECONDS
    while (left := processes(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def test_a_batch_whose_processes_are_killed_ends_with_the_right_numbers(toy, results):
    write_slow(toy, NAMES, N_TRIALS, 1)
    chance, batch, n_done, killed = random.Random(0), start(results), 0, set()
    for victim in chance.sample(VICTIMS, len(VICTIMS)):
        while victim not in processes(results) and batch.poll() is None:
            time.sleep(0.5)
        time.sleep(chance.uniform(0.5, LONGEST_PAUSE))
        found = processes(results)
        if victims := found.get(victim):
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(victims).kill()
                killed.add(victim)
        n_trials = len(list((results / "trials").rglob("[0-9a-f]*.trial")))
        assert n_trials >= n_done, "a trial that was done stays"
        n_done = n_trials
        print(f"{victim} killed: {bool(victims)}; {n_done} of {3 * N_TRIALS} trials done", flush=True)
        if victim == "driver" or batch.poll() is not None:
            batch.wait()
            until_nothing_is_left(results)
            batch = start(results)
    assert killed == set(VICTIMS)
    for _ in range(ENDINGS):
        if batch.wait() == 0:
            break
        batch = start(results)
    assert batch.returncode == 0, results.with_suffix(".log").read_text()
    for number, name in enumerate(NAMES):
        values = Run.read(run_folder(f"toy/{name}", "smoke")).records[0]["values"]
        draws = [Trial("toy", index).rng("draw").normal(0.5, 0.1, 10 + number) for index in range(N_TRIALS)]
        assert values == [draw.mean() for draw in draws]
    until_nothing_is_left(results)
