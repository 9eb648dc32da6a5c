import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
from toy_project import CELLS, SPECIFICATION, TRIALS, write_notebook

from fairlab.seeds import Trial
from fairlab.suite.run import failure_file, run_folder

SLOW_TRIALS = TRIALS.replace("    return", "    __import__('time').sleep(0.5)\n    return")
MORE = {
    "waits": "after: [toy/bad]\n",
    "large": "gigabytes: {smoke: 99999, quick: 99999, paper: 99999}\n",
}


@pytest.fixture
def four(toy):
    """The toy project with further experiments: one fails, one waits for it, one is killed, one is far too large."""
    good = [cell.replace("toy/mean", "toy/waits") for cell in CELLS]
    kill_the_runner = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    for name, cells in (
        ("bad", [CELLS[0], "raise OSError('no such luck')"]),
        ("waits", good),
        ("killed", [CELLS[0], kill_the_runner]),
        ("large", good),
    ):
        more = MORE.get(name, "")
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(SPECIFICATION + more)
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
    return toy


def fairlab(*arguments):
    return subprocess.run([sys.executable, "-m", "fairlab", *arguments], capture_output=True, text=True, check=False)


def test_results_that_cannot_be_written_are_named(toy, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    assert "cannot write to the results folder" in fairlab("run", "--all", "--profile", "smoke").stderr


def test_the_batch_goes_on_past_failures_and_lists_them(four):
    earlier = run_folder("toy/killed", "smoke") / "run.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("earlier")
    names = ["toy/mean", "toy/bad", "toy/waits", "toy/killed", "toy/large"]
    first = fairlab("run", *names, "--profile", "smoke")
    assert first.returncode == 1
    assert "failed: toy/bad: cell 3 failed: OSError: no such luck" in first.stderr
    assert re.search(r"toy/bad +failed: cell 3 failed: OSError: no such luck", first.stdout)
    assert failure_file("toy/bad", "smoke").exists()
    assert "failed: toy/waits: not run, since toy/bad failed" in first.stderr
    assert "failed: toy/killed: killed from outside, without a message (" in first.stderr
    assert earlier.read_text() == "earlier"
    assert re.match(r"not run: toy/large needs 99999.6 GB of memory on 1 core, .* GB are available; no", first.stdout)
    assert "failed: toy/large: needs 99999.6 GB of memory" in first.stderr
    assert "1 of 5 experiments done at smoke" in first.stdout
    assert (run_folder("toy/mean", "smoke") / "run.json").exists()
    for name in ("waits", "killed", "large"):
        (four / "experiments" / "toy" / f"{name}.yaml").unlink()
    shutil.rmtree(earlier.parent)

    # Started again, only what is not done runs.
    before = (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns
    write_notebook(four / "notebooks" / "toy" / "bad.ipynb", [cell.replace("toy/mean", "toy/bad") for cell in CELLS])
    second = fairlab("run", "--all", "--profile", "smoke")
    assert second.returncode == 0, second.stderr
    assert (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns == before
    assert "2 of 2 experiments done" in second.stdout

    # By hand, or one by one, nothing is computed again.
    kept = {file: file.stat().st_mtime_ns for file in (four.parent / "results" / "trials").rglob("*.trial")}
    assert fairlab("run", "toy/mean", "--profile", "smoke").returncode == 0
    assert kept == {file: file.stat().st_mtime_ns for file in (four.parent / "results" / "trials").rglob("*.trial")}
    assert kept

    # A changed notebook runs again.
    cells = [*CELLS[:-1], "print('changed')", CELLS[-1]]
    write_notebook(four / "notebooks" / "toy" / "mean.ipynb", cells)
    dry = fairlab("run", "--all", "--profile", "smoke", "--dry-run")
    assert dry.returncode == 0
    assert "running toy/mean at smoke" in dry.stdout + dry.stderr
    assert "running toy/bad" not in dry.stdout + dry.stderr


@pytest.fixture
def heard():
    """Signals are heard by what a test starts, although the tests themselves may run where they are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def three(toy, heard):
    """The toy project with three experiments of slow trials, `third` of which waits for `second`."""
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", "n: 10, n_trials: 12")
    (toy / "notebooks" / "toy" / "toy_trials.py").write_text(SLOW_TRIALS)
    for name, cells in (("mean", CELLS), ("second", CELLS), ("third", CELLS)):
        cells = [cell.replace("toy/mean", f"toy/{name}").replace("n=n", f"n=n + {len(name) % 2}") for cell in cells]
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
        more = "\nafter: [toy/second]\n" if name == "third" else "\n"
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(spec + more)
    return toy


def start_batch(names):
    """Start a run as a terminal does, and return it when trials are being computed."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", "--jobs", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    trials = run_folder("x", "y").parents[1] / "trials"
    deadline = time.monotonic() + 120
    while len(list(trials.rglob("[0-9a-f]*.trial"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    tree = psutil.Process(process.pid).children(recursive=True)
    assert len(tree) > 2
    return process, tree, trials


def runs(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE  # nobody may be there to reap it
    except psutil.NoSuchProcess:
        return False


def mean(trial, n):
    """Return what the trial of the toy project does."""
    return trial.rng("draw").normal(0.5, 0.1, n).mean()


ALL, ONE = ["--all"], ["toy/mean"]
OF_ALL = "of 3 experiments are done, and finished trials are cached"
OF_ONE = "interrupted; finished trials are cached"


def stop(names, number, said):
    """Stop a run by a signal and see that nothing stays of it but trials."""
    process, tree, trials = start_batch(names)
    started = time.monotonic()
    to_group = os.killpg if number == signal.SIGINT else os.kill  # Ctrl-C goes to all that a terminal runs
    to_group(process.pid, number)
    _, errors = process.communicate(timeout=20)
    while (left := [part for part in tree if runs(part)]) and time.monotonic() < started + 10:
        time.sleep(0.02)
    assert not left
    assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    assert said in errors
    assert len(errors.splitlines()) <= 1
    if number != signal.SIGKILL:
        assert not list((trials.parent / ".staging").iterdir())
        assert not failure_file("toy/mean", "smoke").exists(), "nothing failed"
    kept = {file: file.stat().st_mtime_ns for file in trials.rglob("[0-9a-f]*.trial")}
    assert kept
    for file in list(kept)[1:]:  # so that the next has something to do
        file.unlink()


def test_interrupted_or_killed_a_batch_leaves_no_process_and_ends_as_any_other(three):
    stop(ALL, signal.SIGINT, OF_ALL)
    stop(ALL, signal.SIGKILL, "")
    resumed = fairlab("run", "--all", "--profile", "smoke")
    assert resumed.returncode == 0, resumed.stderr
    for name, n in (("mean", 10), ("second", 10), ("third", 11)):
        content = json.loads((run_folder(f"toy/{name}", "smoke") / "records.json").read_text())
        assert content[0]["values"] == [mean(Trial("toy", index), n) for index in range(12)]
    assert not list((run_folder("x", "y").parents[1] / ".staging").iterdir())


def test_a_terminated_experiment_leaves_no_process_and_no_failure(three):
    stop(ONE, signal.SIGTERM, OF_ONE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "number", "said"),
    [
        (ALL, signal.SIGTERM, OF_ALL),
        (ALL, signal.SIGHUP, OF_ALL),
        (ONE, signal.SIGINT, OF_ONE),
        (ONE, signal.SIGHUP, OF_ONE),
        (ONE, signal.SIGKILL, ""),
    ],
)
def test_whichever_signal_stops_a_run_nothing_stays_of_it(three, names, number, said):
    stop(names, number, said)
    assert fairlab("run", "toy/mean", "--profile", "smoke").returncode == 0
    assert not list((run_folder("x", "y").parents[1] / ".staging").iterdir())
