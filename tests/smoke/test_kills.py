"""Twenty processes of a batch are killed, one after the other, whichever and whenever; the end is as if none had been.

``FAIRLAB_KILLS`` is the number of kills, ``FAIRLAB_KILL_NAMES`` the experiments, with commas (default: all),
``FAIRLAB_KILL_PAUSE`` the most seconds between two kills, ``FAIRLAB_KILL_WHOLE`` the results of an undisturbed batch of
this code, if there are any. Takes the time of several batches at smoke, and prints a table.
"""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pandas as pd
import psutil
import pytest

from fairlab.paths import PARTIAL
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.published import load_paper

KILLS = int(os.environ.get("FAIRLAB_KILLS", 20))
NAMES = os.environ.get("FAIRLAB_KILL_NAMES", ",".join(experiment_names())).split(",")
LONGEST_PAUSE = float(os.environ.get("FAIRLAB_KILL_PAUSE", 25))
WHOLE = os.environ.get("FAIRLAB_KILL_WHOLE")
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
END_SECONDS = 2  # that a batch gets to end after a kill
ENDINGS = 4  # most commands to the end when all kills are done: a killed notebook is a failure until the next

pytestmark = pytest.mark.slow


class Batch:
    """A batch in the background, that is started again when it has ended."""

    def __init__(self, folder, temporary):
        self.folder, self.log = folder, folder.with_suffix(".log")
        changes = {"FAIRLAB_RESULTS": str(folder), "TMPDIR": str(temporary)}
        self.environment = os.environ | changes
        self.process = None

    def start(self):
        self.process = self.run("run", *NAMES, "--profile", "smoke")

    def run(self, *arguments, **options):
        command = [sys.executable, "-m", "fairlab", *arguments]
        with self.log.open("a") as log:
            streams = {"stdout": log, "stderr": log} | options
            return subprocess.Popen(command, env=self.environment, start_new_session=True, **streams)

    def processes(self):
        """Return all that runs for this folder, whoever started it, by kind."""
        own = [process for process in psutil.process_iter() if self._is_ours(process)]
        kinds = {}
        for process in own:
            with contextlib.suppress(psutil.Error):
                kinds.setdefault(self._kind(process), []).append(process)
        return kinds

    def _is_ours(self, process):
        with contextlib.suppress(psutil.Error):
            is_ours = process.environ().get("FAIRLAB_RESULTS") == str(self.folder)
            return is_ours and process.status() != psutil.STATUS_ZOMBIE
        return False

    def _kind(self, process):
        line = " ".join(process.cmdline())
        if process.pid == self.process.pid:
            return "driver"
        if "forkserver" not in line:
            words = {"resource_tracker": "resource tracker", "suite.runner": "job of Snakemake's"}
            words |= {"-m snakemake": "Snakemake", "run_module('snakemake'": "Snakemake"}
            return next((kind for word, kind in words.items() if word in line), "other")
        parents = [parent.pid for parent in process.parents()]
        if self.process.pid not in parents:
            return "left over"
        depth = parents.index(self.process.pid)
        if depth == 1:
            return "runner of a notebook" if process.children() else "worker"
        return "what all are forked from" if depth == 0 else "kernel of a notebook"


def of_the_clock(paper, artefact):
    """Return whether an artefact has seconds, or shares of seconds, among its numbers."""
    return any(value.kind == "seconds" for value in load_paper(paper).artefact(artefact).values.values())


def artefacts(name):
    return specification(name).artefacts


def numbers(batch):
    """Return all numbers of the published runs, and the rows of the scorecard, without those that are of the clock."""
    found = {}
    for name in NAMES:
        place, paper = batch.folder / "smoke" / name, name.split("/")[0]
        ours = [artefact for artefact in artefacts(name) if not of_the_clock(paper, artefact)]
        for part in ("records", "claims"):
            rows = json.loads((place / f"{part}.json").read_text())
            found |= {
                (name, part, row["artefact"], row["id"], row.get("reading")): row
                for row in rows
                if row["artefact"] in ours
            }
        for file in sorted([*place.glob("tables/*.csv"), *place.glob("figures/*.csv")]):
            if file.stem.split("_")[0] in ours:
                frame = pd.read_csv(file)
                found[name, file.name] = frame.drop(columns=frame.filter(like="seconds").columns).to_csv()
    card = batch.run("scorecard", "--json", "--profile", "smoke", stdout=subprocess.PIPE)
    rows = json.loads(card.communicate()[0])
    return found | {
        ("scorecard", row["paper"], row["artefact"], row["id"]): row
        for row in rows
        if not of_the_clock(row["paper"], row["artefact"])
    }


def differences(batch, truth):
    """Return the keys of what is not as in the undisturbed batch."""
    found = numbers(batch)
    return [key for key in truth.keys() | found.keys() if truth.get(key) != found.get(key)]


def test_killed_again_and_again_a_batch_ends_as_if_it_had_not_been(tmp_path):
    with tempfile.TemporaryDirectory(prefix="fl-") as temporary:  # short: sockets are in it
        whole = Batch(Path(WHOLE or tmp_path / "whole"), temporary)
        if not WHOLE:
            whole.start()
            assert whole.process.wait() == 0, whole.log.read_text()
        truth = numbers(whole)
        all_seconds = {name for name in NAMES if all(map(partial(of_the_clock, name.split("/")[0]), artefacts(name)))}
        assert {key[0] for key in truth} == {*NAMES, "scorecard"} - all_seconds
        print(f"\n{len(NAMES)} experiments, {len(truth)} numbers and tables", flush=True)

        chance, rounds = random.Random(0), 0
        print("\n| kill | after | process | experiments done | the batch |\n|---|---|---|---|---|", flush=True)
        batch, n_kills = Batch(tmp_path / "killed-0", temporary), 0
        batch.start()
        while n_kills < KILLS:
            pause = chance.uniform(0.5, LONGEST_PAUSE)
            with contextlib.suppress(subprocess.TimeoutExpired):
                batch.process.wait(pause)
            if batch.process.poll() == 0:  # it was done: all of it must be right, and the next begins from nothing
                assert differences(batch, truth) == []
                shutil.rmtree(batch.folder)
                rounds += 1
                batch = Batch(tmp_path / f"killed-{rounds}", temporary)
                batch.start()
                continue
            kinds = batch.processes()
            if kinds:
                what = chance.choice(sorted(kinds))
                with contextlib.suppress(psutil.NoSuchProcess):
                    chance.choice(kinds[what]).kill()
                n_kills += 1
                done = len(list((batch.folder / "smoke").glob("*/*/run.json")))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    batch.process.wait(END_SECONDS)
                outcome = "goes on" if batch.process.poll() is None else f"ends with {batch.process.returncode}"
                if batch.process.poll() is not None:
                    outcome += f", nothing left after {until_nothing_is_left(batch):.1f} s"
                row = (str(n_kills), f"{pause:.1f} s", what, f"{done} of {len(NAMES)}", outcome)
                print(f"| {' | '.join(row)} |", flush=True)
            if batch.process.poll() is not None:
                batch.start()

        for _ in range(ENDINGS):
            if batch.process.wait() == 0:
                break
            batch.start()
        assert batch.process.returncode == 0, batch.log.read_text()
        assert differences(batch, truth) == []
        print(f"\n{rounds} batches ended between the kills, one after them: all equal", flush=True)

        until_nothing_is_left(batch)
        assert not list((batch.folder / ".staging").iterdir())
        assert [list(folder.iterdir()) for folder in Path(temporary).iterdir()] == [[]]
        age(batch.folder)
        batch.start()
        assert batch.process.wait() == 0
        assert list((batch.folder / PARTIAL).iterdir()) == []


def until_nothing_is_left(batch):
    """Wait until no process of a batch is left, and return the seconds."""
    started = time.monotonic()
    while (left := batch.processes()) and time.monotonic() < started + LEFT_SECONDS:
        time.sleep(0.1)
    assert not left
    return time.monotonic() - started


def age(folder):
    """Let all files be of yesterday: a partial file is nobody's after an hour."""
    yesterday = time.time() - 86400
    for file in folder.rglob("*"):
        os.utime(file, (yesterday, yesterday), follow_symlinks=False)
