import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from toy_project import CELLS, PUBLISHED, SPECIFICATION, TRIALS, write_notebook

from fairlab.seeds import Trial
from fairlab.suite.run import failure_file, run_folder

SLOW_TRIALS = TRIALS.replace("    return", "    __import__('time').sleep(0.5)\n    return")


@pytest.fixture
def two(toy):
    """The toy project with a second experiment, which fails."""
    (toy / "experiments" / "toy" / "published.yaml").write_text(PUBLISHED)
    spec = SPECIFICATION.replace("mean.ipynb", "bad.ipynb")
    (toy / "experiments" / "toy" / "bad.yaml").write_text(spec)
    write_notebook(toy / "notebooks" / "toy" / "bad.ipynb", [CELLS[0], "raise OSError('no such luck')"])
    return toy


def fairlab(*arguments):
    return subprocess.run([sys.executable, "-m", "fairlab", *arguments], capture_output=True, text=True, check=False)


def test_a_job_killed_from_outside_is_listed_as_failed(two):
    kill_the_runner = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    write_notebook(two / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], kill_the_runner])
    folder = run_folder("toy/mean", "smoke")
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("earlier")
    answer = fairlab("run", "--all", "--profile", "smoke")
    assert answer.returncode == 1
    assert "failed: toy/mean: killed from outside, without a message (" in answer.stderr
    assert "failed: toy/bad: cell 3 failed" in answer.stderr
    assert "0 of 2 experiments done" in answer.stdout
    assert (folder / "run.json").read_text() == "earlier"


def test_results_that_cannot_be_written_are_named(two, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    assert "cannot write to the results folder" in fairlab("run", "--all", "--profile", "smoke").stderr


def test_the_batch_goes_on_past_a_failure_and_lists_it(two):
    first = fairlab("run", "--all", "--profile", "smoke")
    assert first.returncode == 1
    assert "failed: toy/bad: cell 3 failed: OSError: no such luck" in first.stderr
    assert "1 of 2 experiments done at smoke" in first.stdout
    assert (run_folder("toy/mean", "smoke") / "run.json").exists()
    assert failure_file("toy/bad", "smoke").exists()

    # Started again, only what is not done runs.
    before = (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns
    write_notebook(two / "notebooks" / "toy" / "bad.ipynb", [cell.replace("toy/mean", "toy/bad") for cell in CELLS])
    second = fairlab("run", "--all", "--profile", "smoke")
    assert second.returncode == 0, second.stderr
    assert (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns == before
    assert "2 of 2 experiments done" in second.stdout

    # By hand, or one by one, nothing is computed again.
    kept = {file: file.stat().st_mtime_ns for file in (two.parent / "results" / "trials").rglob("*.pickle")}
    assert fairlab("run", "toy/mean", "--profile", "smoke").returncode == 0
    assert kept == {file: file.stat().st_mtime_ns for file in (two.parent / "results" / "trials").rglob("*.pickle")}
    assert kept

    # A changed notebook runs again.
    cells = [*CELLS[:-1], "print('changed')", CELLS[-1]]
    write_notebook(two / "notebooks" / "toy" / "mean.ipynb", cells)
    dry = fairlab("run", "--all", "--profile", "smoke", "--dry-run")
    assert dry.returncode == 0
    assert "running toy/mean at smoke" in dry.stdout + dry.stderr
    assert "running toy/bad" not in dry.stdout + dry.stderr


@pytest.fixture
def three(toy):
    """The toy project with three experiments of slow trials, `third` of which waits for `second`."""
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", "n: 10, n_trials: 12")
    (toy / "notebooks" / "toy" / "toy_trials.py").write_text(SLOW_TRIALS)
    for name, cells in (("mean", CELLS), ("second", CELLS), ("third", CELLS)):
        cells = [cell.replace("toy/mean", f"toy/{name}").replace("n=n", f"n=n + {len(name) % 2}") for cell in cells]
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
        more = "\nafter: [toy/second]\n" if name == "third" else "\n"
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(spec + more)
    return toy


def start_batch():
    """Start a batch as a terminal does, and return it when trials are being computed."""
    command = [sys.executable, "-m", "fairlab", "run", "--all", "--profile", "smoke", "--jobs", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    trials = run_folder("x", "y").parents[1] / "trials"
    deadline = time.monotonic() + 120
    while len(list(trials.rglob("[0-9a-f]*.pickle"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    tree = psutil.Process(process.pid).children(recursive=True)
    assert len(tree) > 5
    return process, tree, trials


def runs(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE  # nobody may be there to reap it
    except psutil.NoSuchProcess:
        return False


def mean(trial, n):
    """Return what the trial of the toy project does."""
    return trial.rng("draw").normal(0.5, 0.1, n).mean()


def test_interrupted_or_killed_a_batch_leaves_no_process_and_ends_as_any_other(three):
    for number, seconds, status in ((signal.SIGINT, 5, 130), (signal.SIGKILL, 2, -9)):
        process, tree, trials = start_batch()
        started = time.monotonic()
        to_group = os.killpg if number == signal.SIGINT else os.kill  # Ctrl-C goes to all that a terminal runs
        to_group(process.pid, number)
        _, errors = process.communicate(timeout=20)
        while (left := [part for part in tree if runs(part)]) and time.monotonic() < started + seconds:
            time.sleep(0.02)
        assert not left
        assert process.returncode == status
        if number != signal.SIGKILL:
            assert "of 3 experiments are done and kept, and so is every trial that had ended" in errors
            assert not list((trials.parent / ".staging").iterdir())
        kept = {file: file.stat().st_mtime_ns for file in trials.rglob("[0-9a-f]*.pickle")}
        assert kept
        for file in list(kept)[1:]:  # so that the next has something to do
            file.unlink()
    resumed = fairlab("run", "--all", "--profile", "smoke")
    assert resumed.returncode == 0, resumed.stderr
    for name, n in (("mean", 10), ("second", 10), ("third", 11)):
        content = json.loads((run_folder(f"toy/{name}", "smoke") / "records.json").read_text())
        assert content[0]["values"] == [mean(Trial("toy", index), n) for index in range(12)]


def test_what_waits_for_a_failure_is_said_not_to_have_run(three):
    write_notebook(three / "notebooks" / "toy" / "second.ipynb", [CELLS[0], "raise OSError('no such luck')"])
    answer = fairlab("run", "toy/second", "toy/third", "--profile", "smoke")
    assert answer.returncode == 1
    assert "failed: toy/third: not run, since toy/second failed" in answer.stderr
    assert "toy/second  failed: cell 3 failed: OSError: no such luck" in answer.stdout
