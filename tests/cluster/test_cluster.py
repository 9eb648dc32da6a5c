"""A batch on SLURM's own daemons: `make cluster-test`."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from cluster import daemons
from toy_project import CELLS, SPECIFICATION, TRIALS, write_notebook

from fairlab.suite.run import run_folder

NAMES = ("mean", "second", "third", "fourth", "fifth")
SECONDS = 900  # that a batch may take on a busy machine

pytestmark = [pytest.mark.slow, pytest.mark.skipif(daemons.missing() is not None, reason=str(daemons.missing()))]


@contextlib.contextmanager
def daemons_of(**options):
    folder = Path(tempfile.mkdtemp(prefix="fl-"))
    with daemons.Cluster(folder, **options) as cluster:
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster():
    with daemons_of() as cluster:
        yield cluster


@pytest.fixture
def deaf():
    """A cluster whose controller asks for its nodes only after minutes."""
    with daemons_of(patience=900) as cluster:
        yield cluster


@pytest.fixture
def five(toy, request, monkeypatch):
    """The toy project with five experiments of slow trials, `third` of which waits for `second`."""
    cluster = request.getfixturevalue("deaf" if "deaf" in request.fixturenames else "cluster")
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", "n: 10, n_trials: 12")
    slow = TRIALS.replace("    return", "    __import__('time').sleep(2)\n    return")
    (toy / "notebooks" / "toy" / "toy_trials.py").write_text(slow)
    for number, name in enumerate(NAMES):
        cells = [cell.replace("toy/mean", f"toy/{name}").replace("n=n", f"n=n + {number}") for cell in CELLS]
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
        more = "\nafter: [toy/second]\n" if name == "third" else "\n"
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(spec + more)
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.environment[name])
    return toy


class Batch:
    """``fairlab run`` on the cluster, in the background."""

    def __init__(self, cluster, *arguments):
        command = [sys.executable, "-m", "fairlab", "run", "--profile", "smoke", "--scheduler", "slurm", *arguments]
        self.cluster = cluster
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def running(self):
        """Return ids and nodes of jobs that compute trials."""
        rows = self.cluster.ask("squeue", "--array", "--noheader", "--states=RUNNING", "--format=%i|%N").split()
        return [row.split("|") for row in rows]

    def until(self, condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.5)

    def end(self):
        output, errors = self.process.communicate(timeout=SECONDS)
        print(output, errors, sep="\n")
        return output, errors


def kept():
    return len(list((run_folder("x", "y").parents[1] / "trials").rglob("[0-9a-f]*.trial")))


def noted(kind):
    """Return what is noted of jobs: their signs of life (beat), or what became of those that were lost (jobs)."""
    return [file.read_text() for file in (run_folder("x", "y").parents[1] / ".batch" / "smoke").rglob(f"*.{kind}")]


def numbers(results):
    """Return all that runs recorded and claimed, and the scorecard."""
    command = [sys.executable, "-m", "fairlab", "scorecard", "--json"]
    card = subprocess.run(
        command, env=os.environ | {"FAIRLAB_RESULTS": str(results)}, check=True, capture_output=True, text=True
    )
    runs = {name: results / "smoke" / "toy" / name for name in NAMES}
    parts = [
        {name: json.loads((run / part).read_text()) for name, run in runs.items()}
        for part in ("records.json", "claims.json")
    ]
    return *parts, json.loads(card.stdout)


def test_what_is_lost_with_jobs_nodes_and_the_controller_runs_again(five, cluster, results, tmp_path):
    options = "--partition=main --time=20 --mem=1500M"
    batch = Batch(cluster, "--all", "--jobs", "3", "--cores", "2", "--slurm-options", options)
    batch.until(lambda: len(batch.running()) == 3 and kept() > 2)
    (cancelled, _), (_, node), *_ = batch.running()
    cluster.ask("scancel", cancelled)
    batch.until(lambda: cancelled not in [id for id, _ in batch.running()])
    cluster.kill_controller()  # perhaps before it has written that the job is cancelled
    cluster.kill_node(node)
    time.sleep(3)
    cluster.start_controller()
    output, errors = batch.end()
    cluster.start_node(node)
    assert batch.process.returncode == 0
    assert "5 of 5 experiments done at smoke" in output
    assert re.search(rf"lost: toy/\w+: job {cancelled} [\w ]+; resubmitted", errors)
    assert re.search(rf"lost: toy/\w+: job \d+ .* on {node}; resubmitted", errors)

    local = os.environ | {"FAIRLAB_RESULTS": str(tmp_path / "local")}
    command = [sys.executable, "-m", "fairlab", "run", "--all", "--profile", "smoke"]
    subprocess.run(command, env=local, check=True, capture_output=True)
    assert numbers(results) == numbers(tmp_path / "local")


def test_a_job_that_ran_out_of_time_or_memory_gets_twice_as_much(five, cluster):
    hungry = TRIALS.replace(
        "    return",
        "    import time\n"
        "    if n == 10:\n"
        "        time.sleep(8)\n"
        "    if n == 11 and trial.index == 0:\n"
        "        much = b'x' * 1_300_000_000\n"
        "        time.sleep(10)\n"
        "    return",
    )
    (five / "notebooks" / "toy" / "toy_trials.py").write_text(hungry)
    batch = Batch(cluster, "toy/mean", "toy/second", "--jobs", "2", "--cores", "1", "--slurm-options", "-t 1 --mem 1G")
    output, errors = batch.end()
    assert batch.process.returncode == 0
    assert "2 of 2 experiments done at smoke" in output
    assert re.search(r"lost: toy/mean: job \d+ ran out of time on \w+; resubmitted", errors)
    assert re.search(r"lost: toy/second: job \d+ ran out of memory on \w+; resubmitted", errors)


def test_jobs_that_slurm_believes_in_are_seen_within_a_minute_to_be_dead(five, deaf):
    batch = Batch(deaf, "--all", "--jobs", "3", "--cores", "2", "--slurm-options", "--time=20 --mem=1500M")
    batch.until(lambda: len(batch.running()) == 3 and len(noted("heartbeat")) == 3)
    (ended, alive), (dead, node), *_ = batch.running()
    deaf.kill_jobs(alive)  # as after an scancel that the controller forgot
    deaf.kill_node(node)
    started, seen = time.monotonic(), {}

    def look():
        for id in {ended, dead}.difference(seen):
            if f'"job": "{id}"' in "".join(noted("jobs")):
                seen[id] = round(time.monotonic() - started, 1)
        return len(seen) == 2

    batch.until(look)
    print(f"seen after {seen} s")
    output, errors = batch.end()
    assert batch.process.returncode == 0
    assert "5 of 5 experiments done at smoke" in output
    silent = "sent no heartbeat"  # of a dead node the controller may learn, when it sends it something
    for id, what in ((ended, f"{silent} on {alive}"), (dead, f"({silent}|lost its node) on {node}")):
        assert re.search(rf"lost: toy/\w+: job {id} {what}; resubmitted", errors)
    assert max(seen.values()) < 60


def test_the_trials_of_one_experiment_are_spread_over_an_array(five, cluster, results):
    batch = Batch(
        cluster, "toy/mean", "--jobs", "3", "--cores", "1", "--shards", "3", "--slurm-options", "-t 20 --mem 1G"
    )
    ids = set()
    batch.until(lambda: ids.update(id for id, _ in batch.running()) or len(ids) >= 3)
    output, _ = batch.end()
    assert batch.process.returncode == 0
    assert "1 of 1 experiments done at smoke" in output
    assert len({id.partition("_")[0] for id in ids if "_" in id}) == 1
    assert kept() == 12
    assert len(json.loads((run_folder("toy/mean", "smoke") / "records.json").read_text())[0]["values"]) == 12
