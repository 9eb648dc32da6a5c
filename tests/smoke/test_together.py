"""Several batches and experiments at once on one folder of results."""

import subprocess
import sys

import pytest
from toy_project import write_slow

from fairlab.suite.run import Run, run_folder

pytestmark = pytest.mark.slow

NAMES = ("mean", "second", "third")
N_TRIALS = 6


@pytest.fixture
def three(toy):
    """The toy project with three experiments."""
    write_slow(toy, NAMES, N_TRIALS, 0.5)


def start(*names):
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", "--jobs", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


def test_two_batches_and_one_experiment_twice_at_once_lose_nothing_and_compute_nothing_again(three, results):
    alone = [start("toy/mean"), start("toy/mean")]
    outputs = list(map(end, [start("--all"), start("--all"), *alone]))
    (waited,) = (output for output in outputs if f"another batch runs in {results}; waiting until it ends\n" in output)
    assert "3 of 3 experiments done" in waited
    assert "toy/mean " not in waited, "it ran nothing"
    for name in NAMES:
        folder = run_folder(f"toy/{name}", "smoke")
        assert len(Run.read(folder).records[0]["values"]) == N_TRIALS
        assert all((other / "sums.json").exists() for other in folder.parent.glob("*/")), "none is unfinished"
