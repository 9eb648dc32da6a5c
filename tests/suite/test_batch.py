"""Batches on this machine and on a cluster, what they may use of the machine, and what happens when they are killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest
from filelock import FileLock
from toy_project import CELLS, add_experiment, replace_in, write_program, write_slow

from fairlab import checks, data
from fairlab.cli import main
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite import batch, cluster
from fairlab.suite.catalogue import specification
from fairlab.suite.run import Run, failure_file, run_folder
from fairlab.suite.seeds import Trial
from fairlab.transport.maps import require_memory

GITIGNORE = project().root / ".gitignore"
GB = 10**9
BAD = {
    "bad": {"cells": [CELLS[0], "raise OSError('no such luck')"]},
    "killed": {"cells": [CELLS[0], "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]},
    "waits": {"more": "after: [toy/bad]\n"},
    "large": {"more": "gigabytes: {smoke: 99999, quick: 99999, paper: 99999}\n"},
}


def fairlab(*arguments, changes=None, **options):
    """Run a command; a variable that is None in `changes` is left out."""
    environment = {name: value for name, value in (os.environ | (changes or {})).items() if value is not None}
    command = [sys.executable, "-m", "fairlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def start(*names):
    """Start a run as a terminal does."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", "--jobs", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def test_the_batch_goes_on_past_failures_and_runs_only_what_is_not_done(toy):
    for name, own in BAD.items():
        add_experiment(toy, name, **own)
    first = fairlab("run", "toy/mean", *(f"toy/{name}" for name in BAD), "--profile", "smoke")
    assert first.returncode == 1
    assert re.search("toy/bad +failed: cell 3 failed in line 1, raise OSError", first.stdout)
    said = (
        "toy/bad: cell 3 failed in line 1, raise OSError('no such luck'): OSError: no such luck (",
        "toy/waits: not run, since toy/bad failed",
        "toy/killed: the kernel died (out of memory, or killed from outside) (",
        "toy/large: needs 99999.6 GB of memory on 1 core, ",
    )
    assert [line for line in said if f"failed: {line}" not in first.stderr] == []
    assert re.search(r"OSError: no such luck \(\S*toy/bad/failed.ipynb, \S*log.txt\)", first.stderr)
    assert "1 of 5 experiments done at smoke" in first.stdout
    assert not re.search(r"running .* 0:00:", first.stdout), "the status is printed once nothing has ended for a minute"

    # Started again, only what is not done runs.
    before = run_folder("toy/mean", "smoke")
    add_experiment(toy, "bad")
    second = fairlab("run", "toy/mean", "toy/bad", "--profile", "smoke")
    assert "2 of 2 experiments done" in second.stdout, second.stderr
    assert (second.returncode, run_folder("toy/mean", "smoke")) == (0, before)


def test_what_a_result_rests_on_outdates_it_and_nothing_else(toy):
    batch.run_batch(["toy/mean"], "smoke")
    published, own = (toy / "experiments" / "toy" / f"{name}.yaml" for name in ("published", "mean"))
    notebook, records = toy / "notebooks" / "toy" / "mean.ipynb", run_folder("toy/mean", "smoke") / "records.json"
    for file, old, new, counts in (
        (published, "title: Means", "title: Meens", False),
        (notebook, "exp.compare()", "exp.compare()  # at last", False),
        (own, "A toy experiment", "An experiment", False),
        (published, "value: 0.50", "value: 0.51", True),
        (published, "value: 0.51", "value: 0.50", False),
        (notebook, "exp.compare()  #", "exp.compare() or 1  #", True),
        (notebook, "or 1", "", False),
        (own, "n: 10", "n: 11", True),
        (own, "n: 11", "n: 10", False),
        (records, "{", "{ ", True),
    ):
        replace_in(file, old, new)
        assert list(batch.outdated(["toy/mean"], "smoke")) == ["toy/mean"] * counts, (file.name, new)


def test_a_dry_run_says_what_the_same_command_would_do(toy, capsys):
    batch.run_batch(["toy/mean"], "smoke")
    capsys.readouterr()
    for names, said in (
        (["toy/mean"], "toy/mean: about 60 min of one core at the sizes of smoke"),  # which runs whatever is done
        (["--all"], "nothing to run: 1 of 1 experiments are done at smoke"),
    ):
        assert main(["run", *names, "--profile", "smoke", "--dry-run"]) == 0
        assert capsys.readouterr().out == f"{said}\n"


def test_two_batches_in_one_folder_take_turns(toy, results):
    results.mkdir()
    with FileLock(results / ".batch.lock"):
        process = start("--all")
        assert process.stdout.readline() == f"another batch runs in {results}; waiting until it ends\n"
    assert "1 of 1 experiments done" in process.communicate()[0]


def test_cores_go_to_what_would_take_longer_than_all_others(toy, monkeypatch):
    monkeypatch.setattr(batch.joblib, "cpu_count", lambda: 8)
    names = ["toy/long", "toy/short", "toy/other"]
    for name, minutes in zip(names, (30, 1, 1), strict=True):
        add_experiment(toy, name.removeprefix("toy/"), more=f"minutes: {{smoke: {minutes}, quick: 1, paper: 1}}\n")
    assert batch._Batch(names, "smoke", None, None).cores == {"toy/long": 8, "toy/short": 1, "toy/other": 1}
    assert batch._Batch(names, "quick", 2, None).cores == dict.fromkeys(names, 1)
    left_out = batch._Batch(names, "smoke", None, None)
    left_out.failed = dict.fromkeys(names, "needs more memory")
    assert left_out._left() == "(3 of 3)", "what is left out takes no minutes"


def test_the_time_left_follows_a_machine_that_is_slower_than_planned(toy, monkeypatch):
    monkeypatch.setattr(batch.joblib, "cpu_count", lambda: 1)
    names = [f"toy/e{number}" for number in range(8)]
    for name in names:
        add_experiment(toy, name.removeprefix("toy/"), more="minutes: {smoke: 0.1, quick: 1, paper: 1}\n")
    found = batch._Batch(names, "smoke", 1, None)
    assert found._left() == "(0 of 8, less than a minute left)"
    found.done.update(names[:2])
    found.started -= 4 * 60  # 2 planned as 0.2 took 3 minutes, the next runs for one
    found.running[names[2]] = time.monotonic() - 60
    assert found._left() == "(2 of 8, about 5 min left)", (
        "0.5 planned minutes at (0.08 + 4) / (0.08 + 0.3) of them each"
    )


def test_a_batch_changes_no_file_of_the_project_and_removes_none_of_the_users(toy, monkeypatch):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=toy, check=True, capture_output=True, text=True).stdout

    monkeypatch.delenv("FAIRLAB_RESULTS")
    (toy / "REPRODUCTION.json").write_text("{}")
    shutil.copy(GITIGNORE, toy)
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    own = [toy / "results" / name for name in (".bashrc.20250101", "trials/.env.db_admin", "trials/notes.md")]
    for file in own:
        write_text(file, "mine")
        os.utime(file, (0, 0))
    assert "1 of 1 experiments done at quick" in fairlab("run", "--all", cwd=toy).stdout
    assert (git("status", "--short"), [file.read_text() for file in own]) == ("", ["mine"] * len(own))


@pytest.fixture
def heard():
    """Signals are heard by what a test starts, although the tests themselves may run where they are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


NAMES = ("mean", "second", "third")
N_TRIALS = 6


@pytest.fixture
def three(toy, heard):
    """The toy project with three experiments of slow trials, `third` of which waits for `second`."""
    write_slow(toy, NAMES, N_TRIALS, 0.5)


def start_batch(names):
    """Start a run and return it when trials are being computed."""
    process, trials = start(*names), project().trials
    deadline = time.monotonic() + 120
    while len(list(trials.rglob("[0-9a-f]*.trial"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    tree = psutil.Process(process.pid).children(recursive=True)
    assert len(tree) >= len(names), "kernels"
    return process, tree, trials


def runs(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE  # nobody may be there to reap it
    except psutil.NoSuchProcess:
        return False


ALL, ONE = ["--all"], ["toy/mean"]
OF_ALL = "of 3 experiments are done, and finished trials are cached"
OF_ONE = "interrupted; finished trials are cached"


def stop_run(names, number, said):
    """Stop a run by a signal and see that nothing stays of it but trials."""
    process, tree, trials = start_batch(names)
    started = time.monotonic()
    to_group = os.killpg if number == signal.SIGINT else os.kill  # Ctrl-C goes to all that a terminal runs
    to_group(process.pid, number)
    _, errors = process.communicate(timeout=20)
    while (left := [part for part in tree if runs(part)]) and time.monotonic() < started + 10:
        time.sleep(0.02)
    assert (left, process.returncode) == ([], -9 if number == signal.SIGKILL else 130)
    assert said in errors
    if number != signal.SIGKILL:
        assert len(errors.splitlines()) <= 1
        assert [*trials.parent.glob(".partial/*/")] == [], "no unfinished run"
        assert not failure_file("toy/mean", "smoke").exists(), "nothing failed"
    first, *others = trials.rglob("[0-9a-f]*.trial")
    for file in others:  # so that the next has something to do
        file.unlink()
    return first, first.stat().st_mtime_ns


def check_resumed():
    """The batch is ended by another command, with the numbers of one that was never disturbed."""
    resumed = fairlab("run", "--all", "--profile", "smoke")
    assert resumed.returncode == 0, resumed.stderr
    for number, name in enumerate(NAMES):
        folder = run_folder(f"toy/{name}", "smoke")
        draws = [Trial("toy", index).rng("draw").normal(0.5, 0.1, 10 + number) for index in range(N_TRIALS)]
        assert Run.read(folder).records[0]["values"] == [draw.mean() for draw in draws]
        assert [path for path in folder.parent.glob("*Z_*/") if path != folder] == [], "no unfinished run"


def test_interrupted_or_killed_a_batch_leaves_no_process_and_ends_as_any_other(three):
    stop_run(ALL, signal.SIGINT, OF_ALL)
    trial, written = stop_run(ALL, signal.SIGKILL, "")
    check_resumed()
    assert trial.stat().st_mtime_ns == written, "a finished trial is not computed again"


@pytest.mark.slow
def test_a_batch_whose_worker_and_kernel_are_killed_ends_with_the_right_numbers(toy, three):
    write_slow(toy, NAMES, N_TRIALS, 8)
    process, tree, _ = start_batch([*ALL, "--cores", "2"])
    while not any("popen_loky" in " ".join(part.cmdline()) for part in tree if runs(part)):  # it works alone at first
        time.sleep(0.1)
        tree = psutil.Process(process.pid).children(recursive=True)
    for word in ("popen_loky", "-m fairlab.suite."):  # the last of these is a kernel, the first may fork them
        [part for part in tree if runs(part) and word in " ".join(part.cmdline())][-1].kill()
    _, errors = process.communicate(timeout=300)
    assert "the kernel died" in errors
    check_resumed()


@pytest.mark.parametrize(
    ("names", "number", "said"),
    [
        (ONE, signal.SIGTERM, OF_ONE),
        pytest.param(ALL, signal.SIGTERM, OF_ALL, marks=pytest.mark.slow),
        pytest.param(ALL, signal.SIGHUP, OF_ALL, marks=pytest.mark.slow),
        pytest.param(ONE, signal.SIGINT, OF_ONE, marks=pytest.mark.slow),
        pytest.param(ONE, signal.SIGHUP, OF_ONE, marks=pytest.mark.slow),
        pytest.param(ONE, signal.SIGKILL, "", marks=pytest.mark.slow),
    ],
)
def test_whichever_signal_stops_a_run_nothing_stays_of_it(three, names, number, said):
    stop_run(names, number, said)


def test_a_kernel_that_starts_while_the_batch_is_stopped_is_stopped_too_and_the_next_batch_runs(
    toy, heard, monkeypatch
):
    printed = []

    def late(*_, **__):
        time.sleep(1)  # until the batch waits for it
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        command = [sys.executable, "-c", "import time; time.sleep(60); print('lived on')"]
        printed.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="0 of 1 experiments are done"):
        patch.setattr(batch, "run_experiment", late)
        batch.run_batch(["toy/mean"], "smoke")
    assert printed == [""]
    add_experiment(toy, "bad", **BAD["bad"])
    assert [*batch.run_batch(["toy/mean", "toy/bad"], "smoke")] == ["toy/bad"]
    assert failure_file("toy/bad", "smoke").exists(), "what fails now is a failure"


# What a machine has


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Control groups that a test makes up: a function of their files and of what this process belongs to."""
    monkeypatch.delenv(checks.MEMORY, raising=False)
    monkeypatch.setattr(checks, "CONTROL_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(checks, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=16 * GB))

    def make(membership, files):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            write_text(tmp_path / "cgroup" / name, f"{text}\n")

    return make


@pytest.mark.parametrize(
    ("membership", "files", "left"),
    [
        # what the system can drop does not count as used
        (
            "0::/\n",
            {"memory.max": 2 * GB, "memory.current": GB, "memory.stat": f"anon 5\ninactive_file {GB // 2}"},
            1.5,
        ),
        # the limit of a group above
        (
            "0::/slurm/job_7/step_0\n",
            {"slurm/job_7/step_0/memory.max": "max", "slurm/job_7/memory.max": 3 * GB, "memory.max": "max"},
            3,
        ),
        # beside groups of the first version, in a container: the host's name of a group that is not there
        ("4:memory:/docker/abc\n0::/docker/abc\n", {"memory.max": 2 * GB}, 2),
        ("nonsense\n", {}, 16),
    ],
)
def test_the_limits_of_control_groups_count(groups, membership, files, left):
    groups(membership, files)
    assert checks.memory_left_gb() == left


def test_what_a_map_takes_is_held_against_the_limit_of_its_container(groups):
    groups("0::/\n", {"memory.max": GB})
    with pytest.raises(MemoryError, match=r"needs about 1.9 GiB, found 0.93 GiB free"):
        require_memory(2 * GB, "a plan", advice="take fewer points")


def test_the_available_memory_may_be_given(groups, monkeypatch):
    monkeypatch.setenv(checks.MEMORY, "2.5")
    assert checks.memory_left_gb() == 2.5
    monkeypatch.setenv(checks.MEMORY, "2 GB")
    with pytest.raises(ValueError, match="FAIRLAB_MEMORY_GB: expected a number of GB, found '2 GB'"):
        checks.memory_left_gb()


def test_what_does_not_fit_is_refused_with_what_would(toy):
    add_experiment(toy, "mean", more="gigabytes: {smoke: 0.1, quick: 1}\n")
    need = "needs 4.6 GB of memory on 4 cores, 3.0 GB are available; it fits with --cores 1"
    assert [specification("toy/mean").refusal("quick", cores, 3.0) for cores in (2, 4)] == [None, need]
    assert specification("toy/mean").refusal("paper", 1, 1.5).endswith("choose a smaller --profile")


# Clusters


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    """Record what Snakemake would be called with, and its file, and let it succeed with ``toy/mean``."""
    calls = []

    class Called:
        def __init__(self, command, env):
            calls.append((command, env, json.loads(Path(command[-1]).read_text())))
            self.returncode = int(not {"--dry-run", "--unlock"}.intersection(command))

        def wait(self):
            if not self.returncode:
                return
            cluster.marker("toy/mean", "smoke").parent.mkdir(parents=True, exist_ok=True)
            cluster.marker("toy/mean", "smoke").touch()

    monkeypatch.setenv("FAIRLAB_SNAKEMAKE", str(write_program(tmp_path / "snakemake")))
    monkeypatch.setattr(cluster.subprocess, "Popen", Called)
    return calls


def test_jobs_have_names_order_memory_and_minutes_in_one_file_and_a_dry_run_changes_nothing(
    toy, snakemake, monkeypatch
):
    monkeypatch.setattr(data, "fetch", lambda *given, **more: pytest.fail("fetches data"))
    more = "gigabytes: {smoke: 0.1, quick: 1, paper: 10}\nminutes: {smoke: 1, quick: 2, paper: 3}\n"
    add_experiment(toy, "mean", more=more)
    add_experiment(toy, "second", more="after: [toy/mean]\n")
    names = ["toy/mean", "toy/second"]
    write_text(failure_file("toy/mean", "paper"), "it failed")
    assert cluster.run_on_cluster(names, "paper", "slurm", jobs=3, dry_run=True) is None
    assert cluster.run_on_cluster(names[1:], "paper", "slurm", cores=4, dry_run=True) is None
    assert failure_file("toy/mean", "paper").exists()
    (command, _, both), (_, _, alone) = snakemake
    first, second = (str(cluster.marker(name, "paper")) for name in names)
    options = ["--jobs", "3", "--dry-run", "--configfile"]
    assert (command[:3], command[-5:-1]) == ([os.environ["FAIRLAB_SNAKEMAKE"], first, second], options)
    assert both["jobs"]["toy/mean"] == {"after": [], "mem_mb": 25_750, "runtime": 22}
    assert [(each["jobs"]["toy/second"]["after"], each["cores"]) for each in (both, alone)] == [([first], 2), ([], 4)]
    run = f"{sys.executable} -m fairlab run --profile paper"
    assert (both["done"].format(name="toy/mean"), both["run"]) == (first, run)
    assert not list(Path(first).parent.parent.glob("*.json"))


def test_nothing_failed_where_snakemake_was_to_run_nothing(toy, snakemake, capsys):
    assert main(["run", "toy/mean", "--scheduler", "slurm", "--snakemake", "--unlock"]) == 0
    output = capsys.readouterr()
    assert "done" not in output.out and "failed" not in output.err
    assert "toy/mean" in cluster.run_on_cluster(["toy/mean"], "quick", "slurm")


@pytest.mark.parametrize(("variable", "name"), [("NONE", "snakemake"), ("FAIRLAB_SNAKEMAKE", "/nowhere/snakemake")])
def test_a_missing_snakemake_is_said_with_the_way_to_install_it(toy, monkeypatch, variable, name):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("FAIRLAB_SNAKEMAKE", raising=False)
    monkeypatch.setenv(variable, name)
    with pytest.raises(RuntimeError, match=rf"found no program '{name}'; install it by `uv tool install"):
        cluster.run_on_cluster(["toy/mean"], "smoke", "slurm")


def test_data_are_fetched_before_anything_is_submitted_and_stay_what_they_are(toy, snakemake, monkeypatch):
    words = ["real", "generated", "reconstructed", "cached", "surrogate", "missing", "error"]
    asked = []
    monkeypatch.setattr(data, "fetch", lambda names, **_: asked.append(names) or pd.DataFrame({"state": words}, words))
    given = ["--default-resources", "slurm_partition=long"]
    assert cluster.run_on_cluster(["toy/mean"], "smoke", "slurm", arguments=given) == {}
    (command, environment, _), *_ = snakemake
    assert (asked, environment["FAIRLAB_REAL_DATA"]) == ([["berkeley"]], "real,generated,reconstructed,cached")
    assert str(cluster.marker("toy/mean", "smoke")) in command
    assert command[-4:-1] == [*given, "--configfile"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("a folder with spaces, café 日本 ñ", {}),
        ("x" * 200, {}),
        ("bare", {"HOME": None, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": None}),
    ],
)
def test_a_project_may_have_any_name_and_no_home_or_language(toy, tmp_path, name, changes):
    root = shutil.copytree(toy, tmp_path / name, symlinks=True)
    changes |= {"FAIRLAB_ROOT": str(root), "FAIRLAB_RESULTS": str(root / "results")}
    done = fairlab("run", "--all", "--profile", "smoke", changes=changes)
    assert "1 of 1 experiments done" in done.stdout, done.stderr
