"""Several at once on one folder of results: batches, users, hosts."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from toy_project import CELLS, SPECIFICATION, TRIALS, write_notebook

pytestmark = pytest.mark.slow

NAMES = ("mean", "second", "third")
N_TRIALS = 6
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
# Root may write anywhere; without these rights it is a user as any other.
AS_A_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"] if IS_ROOT else []
OTHER_USER = 12345


@pytest.fixture
def three(toy):
    """The toy project with three experiments of slow trials."""
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", f"n: 10, n_trials: {N_TRIALS}")
    slow = TRIALS.replace("    return", "    __import__('time').sleep(0.5)\n    return")
    (toy / "notebooks" / "toy" / "toy_trials.py").write_text(slow)
    for number, name in enumerate(NAMES):
        cells = [cell.replace("toy/mean", f"toy/{name}").replace("n=n", f"n=n + {number}") for cell in CELLS]
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(spec)
    return toy


def start(*arguments, before=()):
    command = [*before, sys.executable, "-m", "fairlab", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(process):
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


def run_all(before=()):
    return start("run", "--all", "--profile", "smoke", "--jobs", "2", before=before)


def trials(results):
    return {file.name: file.stat().st_mtime_ns for file in (results / "trials").rglob("[0-9a-f]*.trial")}


def until(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_whole(results):
    for name in NAMES:
        content = json.loads((results / "smoke" / "toy" / name / "records.json").read_text())
        assert len(content[0]["values"]) == N_TRIALS
    assert not list((results / ".staging").iterdir())
    return True


def test_of_two_batches_the_second_waits_and_computes_nothing_again(three, results):
    first = run_all()
    until(lambda: len(trials(results)) > 2)
    second = run_all()
    assert end(first)[0] == 0
    kept = trials(results)
    status, output, errors = end(second)
    assert status == 0, errors
    pattern = rf"a batch at smoke is already running, process {first.pid} on \S+ since [\d :-]+; waiting until"
    assert re.search(pattern, output)
    assert "3 of 3 experiments done" in output
    assert trials(results) == kept
    assert len(kept) == 3 * N_TRIALS
    assert is_whole(results)


def test_one_experiment_twice_at_once_and_beside_a_batch_loses_nothing(three, results):
    processes = [start("run", "toy/mean", "--profile", "smoke", "--jobs", "1") for _ in range(2)]
    for process in [*processes, run_all()]:
        status, _, errors = end(process)
        assert status == 0, errors
    assert is_whole(results)


def test_the_lock_of_a_killed_batch_is_free_also_of_one_on_another_host(three, results):
    if not IS_ROOT or shutil.which("unshare") is None:
        pytest.skip("names a host of its own")
    first = run_all(before=["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"])
    until(lambda: first.poll() is not None or len(trials(results)) > 2)
    if first.poll() == 1:
        pytest.skip("a host cannot be named here")
    assert " on elsewhere since " in (results / ".batch" / "smoke" / "lock").read_text()
    assert list((results / ".staging").glob("elsewhere-*"))
    first.send_signal(signal.SIGKILL)
    first.communicate()
    kept = trials(results)
    status, output, errors = end(run_all())
    assert status == 0, errors
    assert "waiting" not in output
    assert kept.items() <= trials(results).items()
    assert is_whole(results)


def refused(results, *commands):
    """Return what a batch and a run say to a user who may not write, after a look that nothing was changed."""
    if IS_ROOT and shutil.which("setpriv") is None:
        pytest.skip("takes rights away")
    before = {file: file.stat().st_mtime_ns for file in results.rglob("*") if ".staging" not in file.parts}
    said = []
    for names in commands:
        status, output, errors = end(start("run", *names, "--profile", "smoke", before=AS_A_USER))
        assert status == 1
        assert (output, len(errors.splitlines())) == ("", 1), output + errors
        said.append(errors)
    status, output, errors = end(start("scorecard", "toy", "--profile", "smoke", before=AS_A_USER))
    assert status == 0, errors
    assert before == {file: file.stat().st_mtime_ns for file in results.rglob("*") if ".staging" not in file.parts}
    return said


def test_who_may_not_write_is_told_before_anything_is_computed_and_may_read(three, results):
    assert end(run_all())[0] == 0
    folders = [results, *(folder for folder in results.rglob("*") if folder.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        for errors in refused(results, ["--all"], ["toy/mean"]):
            assert "cannot write to the results folder" in errors
            assert "set FAIRLAB_RESULTS to a folder that can be written" in errors
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert is_whole(results)


@pytest.mark.skipif(not IS_ROOT or not AS_A_USER, reason="gives files to another user")
def test_users_of_one_group_go_on_with_each_others_results(three, results):
    shared = ["sh", "-c", 'umask 002 && exec "$@"', "sh"]
    results.mkdir(exist_ok=True)
    results.chmod(0o775)
    status, _, errors = end(run_all(before=shared))
    assert status == 0, errors
    for file in [results, *results.rglob("*")]:
        os.chown(file, OTHER_USER, -1)
    next((results / "trials").rglob("[0-9a-f]*.trial")).unlink()
    shutil.rmtree(results / "smoke" / "toy" / "second")
    for names in (["toy/mean"], ["--all"]):
        status, output, errors = end(start("run", *names, "--profile", "smoke", before=[*AS_A_USER, *shared]))
        assert status == 0, output + errors
    assert (results / "smoke" / "toy" / "mean").stat().st_uid == 0
    assert is_whole(results)


@pytest.mark.skipif(not IS_ROOT, reason="gives files to another user")
@pytest.mark.parametrize("part", [".batch", "smoke", "trials"])
def test_files_of_another_user_are_named_before_anything_is_computed(three, results, part):
    for folder in (".batch/smoke/toy", "smoke/toy", "trials/toy/mean"):
        (results / folder).mkdir(parents=True)
    (results / ".batch" / "smoke" / "lock").touch()
    for file in [results / part, *(results / part).rglob("*")]:
        os.chown(file, OTHER_USER, OTHER_USER)
    for errors in refused(results, ["--all"], *([["toy/mean"]] if part != ".batch" else [])):
        assert f"cannot write to {results / part}" in errors
        assert f"which is user {OTHER_USER}'s: let both write there" in errors
