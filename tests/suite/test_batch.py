import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from filelock import FileLock
from toy_project import CELLS, SPECIFICATION, TRIALS, write_notebook

from fairlab.seeds import Trial
from fairlab.suite import batch, processes
from fairlab.suite.run import Run, failure_file, run_folder

SLOW_TRIALS = TRIALS.replace("    return", "    __import__('time').sleep(0.5)\n    return")
MORE = {"waits": "after: [toy/bad]\n", "large": "gigabytes: {smoke: 99999, quick: 99999, paper: 99999}\n"}


def add(toy, name, cells=CELLS, more=""):
    """Add an experiment to the toy project."""
    (toy / "experiments" / "toy" / f"{name}.yaml").write_text(SPECIFICATION + more)
    own = [cell.replace("toy/mean", f"toy/{name}") for cell in cells]
    write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", own)


def fairlab(*arguments):
    return subprocess.run([sys.executable, "-m", "fairlab", *arguments], capture_output=True, text=True, check=False)


def test_results_that_cannot_be_written_are_named(toy, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    with pytest.raises(PermissionError, match="cannot write to the results folder"):
        batch.run_batch(["toy/mean"], "smoke")


def test_the_batch_goes_on_past_failures_and_runs_only_what_is_not_done(toy):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    for name, cells in (("bad", [CELLS[0], "raise OSError('no such luck')"]), ("killed", [CELLS[0], kill])):
        add(toy, name, cells)
    for name, more in MORE.items():
        add(toy, name, more=more)
    names = ["toy/mean", "toy/bad", "toy/waits", "toy/killed", "toy/large"]
    first = fairlab("run", *names, "--profile", "smoke")
    assert first.returncode == 1
    assert "failed: toy/bad: cell 3 failed: OSError: no such luck" in first.stderr
    assert re.search(r"toy/bad +failed: cell 3 failed: OSError: no such luck", first.stdout)
    assert failure_file("toy/bad", "smoke").exists()
    assert "failed: toy/waits: not run, since toy/bad failed" in first.stderr
    assert "failed: toy/killed: the kernel died twice (out of memory, or killed from outside) (" in first.stderr
    assert re.search(r"not run: toy/large needs 99999.6 GB of memory on 1 core, .* GB are available; ch", first.stdout)
    assert "failed: toy/large: needs 99999.6 GB of memory" in first.stderr
    assert "1 of 5 experiments done at smoke" in first.stdout
    for name in ("waits", "killed", "large"):
        (toy / "experiments" / "toy" / f"{name}.yaml").unlink()

    # Started again, only what is not done runs.
    before = run_folder("toy/mean", "smoke")
    add(toy, "bad")
    second = fairlab("run", "--all", "--profile", "smoke")
    assert second.returncode == 0, second.stderr
    assert "2 of 2 experiments done" in second.stdout
    assert run_folder("toy/mean", "smoke") == before
    trials = {file: file.stat().st_mtime_ns for file in (toy.parent / "results" / "trials").rglob("*.trial")}
    assert trials
    assert fairlab("run", "toy/mean", "--profile", "smoke").returncode == 0
    assert trials == {file: file.stat().st_mtime_ns for file in trials}


def test_what_a_result_rests_on_outdates_it_and_nothing_else(toy, capsys):
    batch.run_batch(["toy/mean"], "smoke")
    published = toy / "experiments" / "toy" / "published.yaml"

    def outdated():
        return list(batch.outdated(["toy/mean"], "smoke"))

    assert outdated() == []
    published.write_text(published.read_text().replace("title: Means", "title: Meens"))
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    notebook.write_text(notebook.read_text().replace("exp.compare()", "exp.compare()  # at last"))
    specification = toy / "experiments" / "toy" / "mean.yaml"
    specification.write_text(specification.read_text().replace("A toy experiment", "An experiment"))
    assert outdated() == []
    published.write_text(published.read_text().replace("value: 0.50", "value: 0.51"))
    assert outdated() == ["toy/mean"]
    published.write_text(published.read_text().replace("value: 0.51", "value: 0.50"))
    assert outdated() == []
    records = run_folder("toy/mean", "smoke") / "records.json"
    records.write_text(records.read_text() + " ")
    assert outdated() == ["toy/mean"], "damaged"
    capsys.readouterr()
    batch.run_batch(["toy/mean"], "smoke", dry_run=True)
    assert capsys.readouterr().out == "toy/mean: about 60 min of one core at smoke\n"


def test_two_batches_in_one_folder_take_turns(toy, results):
    results.mkdir()
    with FileLock(results / ".batch.lock"):
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlab", "run", "--all", "--profile", "smoke"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == f"another batch runs in {results}; waiting until it ends\n"
    assert "1 of 1 experiments done" in process.communicate()[0]


def test_cores_go_to_what_would_take_longer_than_all_others(toy, monkeypatch):
    monkeypatch.setattr(batch, "n_cores", lambda: 8)
    for name, minutes in (("long", 30), ("short", 1), ("other", 1)):
        add(toy, name, more=f"minutes: {{smoke: {minutes}, quick: 1, paper: 1}}\n")
    names = [f"toy/{name}" for name in ("long", "short", "other")]
    assert batch._Batch(names, "smoke", None, None).cores == {"toy/long": 8, "toy/short": 1, "toy/other": 1}
    assert batch._Batch(names, "smoke", 2, 3).cores == dict.fromkeys(names, 3)
    assert batch._Batch(names, "quick", 2, None).cores == dict.fromkeys(names, 1)


@pytest.mark.parametrize(("seconds", "text"), [(21.4, "0:21"), (3723, "1:02:03")])
def test_durations_are_short(seconds, text):
    assert batch.duration(seconds) == text


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
    trials = Path(os.environ["FAIRLAB_RESULTS"]) / "trials"
    deadline = time.monotonic() + 120
    while len(list(trials.rglob("[0-9a-f]*.trial"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    tree = psutil.Process(process.pid).children(recursive=True)
    assert len(tree) >= 2, "kernels"
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
    if number != signal.SIGKILL:
        assert len(errors.splitlines()) <= 1
        assert not list(trials.parent.glob("smoke/toy/*/*Z_*")), "no unfinished run"
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
        folder = run_folder(f"toy/{name}", "smoke")
        assert Run.read(folder).records[0]["values"] == [mean(Trial("toy", index), n) for index in range(12)]
        assert [path for path in folder.parent.glob("*/") if path != folder] == [], "no unfinished run"


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


def test_a_kernel_that_starts_while_the_batch_is_stopped_is_stopped_too(toy, heard, monkeypatch):
    def late(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        if subprocess.call([sys.executable, "-c", "import time; time.sleep(60)"]):
            raise RuntimeError("killed")

    monkeypatch.setattr(batch, "run_experiment", late)
    monkeypatch.setattr(processes, "stopping", threading.Event())
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="0 of 1 experiments are done"):
        batch.run_batch(["toy/mean"], "smoke")
    assert time.monotonic() - started < 50
