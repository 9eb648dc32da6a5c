"""A batch on SLURM's own daemons: `make cluster-test`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from cluster import daemons
from toy_project import CELLS, add_experiment, write_slow

from fairlab.suite.run import Run, run_folder

NAMES = ("mean", "second", "third")
N_TRIALS = 12
SECONDS = 900  # that a batch may take on a busy machine

MISSING = daemons.missing()
WHERE = "on Debian: apt-get install slurm-wlm munge; `make cluster-test` installs Snakemake"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not found; {WHERE}")]


@pytest.fixture
def cluster(monkeypatch):
    folder = Path(tempfile.mkdtemp(prefix="fl-"))
    with daemons.Cluster(folder) as cluster:
        for name in ("SLURM_CONF", "PATH"):
            monkeypatch.setenv(name, cluster.environment[name])
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def four(toy):
    """The toy project with four experiments: of slow trials, `third` of which waits for `second`, and `bad` fails."""
    write_slow(toy, NAMES, N_TRIALS, 2)
    minutes = "minutes: {smoke: 1, quick: 1, paper: 1}\n"
    add_experiment(toy, "bad", [CELLS[0], "raise OSError('no such luck')"], more=minutes)


def numbers(results, monkeypatch):
    """Return all that runs recorded and claimed."""
    monkeypatch.setenv("FAIRLAB_RESULTS", str(results))
    found = [Run.read(run_folder(f"toy/{name}", "smoke")) for name in NAMES]
    return json.dumps([(run.records, run.claims) for run in found])


def test_a_cancelled_job_runs_again_and_one_that_fails_leaves_the_others(four, cluster, results, tmp_path, monkeypatch):
    command = [sys.executable, "-m", "fairlab", "run", "--profile", "smoke"]
    on_cluster = ["--scheduler", "slurm", "--jobs", "3", "--cores", "2"]
    quick = ["--slurm-init-seconds-before-status-checks", "5", "--seconds-between-status-checks", "5"]
    batch = subprocess.Popen(
        [*command, "--all", *on_cluster, "--snakemake", "--retries", "1", *quick],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + SECONDS
    while not list((results / "trials").rglob("[0-9a-f]*.trial")):
        assert batch.poll() is None, batch.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.5)
    cancelled, *_ = cluster.ask("squeue", "--array", "--noheader", "--states=RUNNING", "--format=%i").split()
    cluster.ask("scancel", cancelled)
    output, errors = batch.communicate(timeout=SECONDS)
    print(output, errors, sep="\n")
    assert batch.returncode == 1
    assert "3 of 4 experiments done at smoke" in output
    assert "failed: toy/bad: cell 3 failed in line 1, raise OSError('no such luck'): OSError: no such luck" in errors
    assert "mem_mb=2000" in errors
    assert "mem_mb=4000" in errors  # when it is tried again
    assert f"SLURM-job '{cancelled}' failed, SLURM status is: 'CANCELLED" in errors
    assert len(list((results / "trials").rglob("[0-9a-f]*.trial"))) == len(NAMES) * N_TRIALS

    names = [f"toy/{name}" for name in NAMES]
    local = os.environ | {"FAIRLAB_RESULTS": str(tmp_path / "local")}
    subprocess.run([*command, *names], env=local, check=True, capture_output=True)
    assert numbers(results, monkeypatch) == numbers(tmp_path / "local", monkeypatch)
