"""Twenty processes of a batch are killed, one after the other, whichever and whenever; the end is as if none had been.

``FAIRLAB_KILLS`` is the number of kills, ``FAIRLAB_KILL_NAMES`` the experiments, with commas (default: all). Takes the
time of several batches at smoke, and prints a table.
"""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fairlab.suite.catalogue import experiment_names

KILLS = int(os.environ.get("FAIRLAB_KILLS", 20))
NAMES = os.environ.get("FAIRLAB_KILL_NAMES", ",".join(experiment_names())).split(",")
LONGEST_PAUSE = 25  # seconds between two kills
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
NUMBERS = ("records.json", "claims.json", "tables/*.csv", "figures/*.csv")

pytestmark = pytest.mark.slow


class Batch:
    """A batch in the background, that is started again when it has ended."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        self.start()

    def start(self):
        command = [sys.executable, "-m", "fairlab", "run", *NAMES, "--profile", "smoke"]
        environment = os.environ | {"FAIRLAB_RESULTS": str(self.folder)}
        with (self.folder.parent / "batch.out").open("a") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def processes(self):
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        return []


def kind(process):
    """Return in a word what a process of a batch is."""
    line = " ".join(process.cmdline())
    words = {"-m fairlab run": "driver", "snakemake": "Snakemake", "suite.runner": "a job of Snakemake's"}
    words |= {"resource_tracker": "resource tracker", "forkserver": "worker, notebook or what they are forked from"}
    return next((name for word, name in words.items() if word in line), "other")


def numbers(folder):
    """Return the bytes of all numbers of the published runs, by file."""
    found = {}
    for name in NAMES:
        place = folder / "smoke" / name
        found |= {str(file.relative_to(folder)): file.read_bytes() for part in NUMBERS for file in place.glob(part)}
    return found


def left(processes):
    alive = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


def test_killed_again_and_again_a_batch_ends_as_if_it_had_not_been(tmp_path):
    whole = Batch(tmp_path / "whole")
    assert whole.process.wait() == 0, (tmp_path / "batch.out").read_text()
    truth = numbers(tmp_path / "whole")
    assert len({name.split("/")[2] for name in truth}) == len({name.split("/")[1] for name in NAMES})
    chance, rows, folder, rounds = random.Random(0), [], tmp_path / "killed-0", 0
    batch = Batch(folder)
    while len(rows) < KILLS:
        pause = chance.uniform(0.5, LONGEST_PAUSE)
        with contextlib.suppress(subprocess.TimeoutExpired):
            batch.process.wait(pause)
        if batch.process.poll() == 0:  # it was done: all of it must be right, and the next begins from nothing
            assert numbers(folder) == truth
            shutil.rmtree(folder)
            rounds += 1
            folder = tmp_path / f"killed-{rounds}"
            batch = Batch(folder)
            continue
        processes = batch.processes()
        if batch.process.poll() is None and processes:
            victim = chance.choice(processes)
            what = kind(victim)
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
            if what == "driver":
                deadline = time.monotonic() + LEFT_SECONDS
                while (alive := left(processes)) and time.monotonic() < deadline:
                    time.sleep(0.1)
                assert not alive
            done = len(list((folder / "smoke").glob("*/*/run.json")))
            rows.append((f"{len(rows) + 1}", f"{pause:.1f} s", what, f"{done} of {len(NAMES)} done"))
        if batch.process.poll() is not None:
            batch.start()
    for _ in range(3):  # a killed notebook is a failure of its experiment, until the batch is started again
        if batch.process.wait() == 0:
            break
        batch.start()
    print("\n| kill | after | process | experiments |\n|---|---|---|---|")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    assert numbers(folder) == truth
    assert not list(Path(folder, ".staging").iterdir())
