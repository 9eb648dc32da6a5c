"""Batches on this machine and on a cluster, what they may use of the machine, and what happens when they are killed."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest
from filelock import FileLock
from toy_project import CELLS, SPECIFICATION, add_experiment, slow, write_slow

from fairlab import checks, data
from fairlab.data.project import project
from fairlab.suite import batch, cluster, processes
from fairlab.suite.catalogue import specification
from fairlab.suite.drawing import FORMATS
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


def fairlab(*arguments, before=(), changes=None, **options):
    """Run a command; a variable that is None in `changes` is left out."""
    environment = {name: value for name, value in (os.environ | (changes or {})).items() if value is not None}
    command = [*before, sys.executable, "-m", "fairlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def start(*names, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    """Start a run as a terminal does."""
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", "--jobs", "2"]
    return subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, start_new_session=True)


def test_the_batch_goes_on_past_failures_and_runs_only_what_is_not_done(toy):
    for name, own in BAD.items():
        add_experiment(toy, name, **own)
    names = ["toy/mean", *(f"toy/{name}" for name in BAD)]
    first = fairlab("run", *names, "--profile", "smoke")
    assert first.returncode == 1
    assert re.search(r"toy/bad +failed: cell 3 failed: OSError: no such luck", first.stdout)
    assert failure_file("toy/bad", "smoke").exists()
    for line in (
        "toy/bad: cell 3 failed: OSError: no such luck",
        "toy/waits: not run, since toy/bad failed",
        "toy/killed: the kernel died (out of memory, or killed from outside) (",
        "toy/large: needs 99999.6 GB of memory on 1 core, ",
    ):
        assert f"failed: {line}" in first.stderr
    assert "1 of 5 experiments done at smoke" in first.stdout
    for name in ("waits", "killed", "large"):
        (toy / "experiments" / "toy" / f"{name}.yaml").unlink()

    # Started again, only what is not done runs.
    before = run_folder("toy/mean", "smoke")
    add_experiment(toy, "bad")
    second = fairlab("run", "--all", "--profile", "smoke")
    assert second.returncode == 0, second.stderr
    assert "2 of 2 experiments done" in second.stdout
    assert run_folder("toy/mean", "smoke") == before
    trials = {file: file.stat().st_mtime_ns for file in project().trials.rglob("*.trial")}
    assert fairlab("run", "toy/mean", "--profile", "smoke").returncode == 0
    assert trials == {file: file.stat().st_mtime_ns for file in trials} != {}


def test_what_a_result_rests_on_outdates_it_and_nothing_else(toy):
    batch.run_batch(["toy/mean"], "smoke")
    experiments = toy / "experiments" / "toy"
    places = {
        "published": experiments / "published.yaml",
        "specification": experiments / "mean.yaml",
        "notebook": toy / "notebooks" / "toy" / "mean.ipynb",
        "records": run_folder("toy/mean", "smoke") / "records.json",
    }
    for name, old, new, counts in (
        ("published", "title: Means", "title: Meens", False),
        ("notebook", "exp.compare()", "exp.compare()  # at last", False),
        ("specification", "A toy experiment", "An experiment", False),
        ("published", "value: 0.50", "value: 0.51", True),
        ("published", "value: 0.51", "value: 0.50", False),
        ("notebook", "exp.compare()  #", "exp.compare() or 1  #", True),
        ("notebook", "or 1", "", False),
        ("specification", "n: 10", "n: 11", True),
        ("specification", "n: 11", "n: 10", False),
        ("records", "{", "{ ", True),
    ):
        places[name].write_text(places[name].read_text().replace(old, new, 1))
        assert list(batch.outdated(["toy/mean"], "smoke")) == ["toy/mean"] * counts, (name, new)


def test_two_batches_in_one_folder_take_turns(toy, results):
    results.mkdir()
    with FileLock(results / ".batch.lock"):
        process = start("--all")
        assert process.stdout.readline() == f"another batch runs in {results}; waiting until it ends\n"
    assert "1 of 1 experiments done" in process.communicate()[0]


def test_cores_go_to_what_would_take_longer_than_all_others(toy, monkeypatch):
    monkeypatch.setattr(batch.joblib, "cpu_count", lambda: 8)
    for name, minutes in (("long", 30), ("short", 1), ("other", 1)):
        add_experiment(toy, name, more=f"minutes: {{smoke: {minutes}, quick: 1, paper: 1}}\n")
    names = [f"toy/{name}" for name in ("long", "short", "other")]
    assert batch._Batch(names, "smoke", None, None).cores == {"toy/long": 8, "toy/short": 1, "toy/other": 1}
    assert batch._Batch(names, "quick", 2, None).cores == dict.fromkeys(names, 1)


def test_a_batch_changes_no_file_of_the_project_and_removes_none_of_the_users(toy, monkeypatch):
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=toy, check=True, capture_output=True, text=True).stdout

    monkeypatch.delenv("FAIRLAB_RESULTS")
    for name in ("second", "third"):
        add_experiment(toy, name)
    (toy / "figures" / "toy").mkdir(parents=True)
    for name in ("REPRODUCTION.md", "REPRODUCTION.json", "figures/verdicts.svg", "figures/toy/index.json"):
        (toy / name).write_text("{}")
    shutil.copy(GITIGNORE, toy)
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    own = [toy / "results" / name for name in (".bashrc.20250101", "trials/.env.db_admin", "trials/notes.md")]
    for file in own:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
        os.utime(file, (0, 0))
    assert "3 of 3 experiments done at quick" in fairlab("run", "--all", cwd=toy).stdout
    assert git("status", "--short") == ""
    assert [file.read_text() for file in own] == ["mine"] * len(own)
    fairlab("figures", "--write", cwd=toy)
    changed = {line.split()[1] for line in git("status", "--short").splitlines()}
    assert changed == {"figures/toy/index.json", *(f"figures/toy/figure-1.{suffix}" for suffix in FORMATS)}


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
    spec = SPECIFICATION.replace("n: 10, n_trials: 2", "n: 10, n_trials: 6")
    for name, more in (("mean", ""), ("second", ""), ("third", "after: [toy/second]\n")):
        cells = [cell.replace("n=n", f"n=n + {len(name) % 2}") for cell in slow(0.5)]
        add_experiment(toy, name, cells, more, spec)


def start_batch(names):
    """Start a run and return it when trials are being computed."""
    process, trials = start(*names), project().trials
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


def stop_run(names, number, said):
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
        assert not list(trials.parent.glob(".partial/*/")), "no unfinished run"
        assert not failure_file("toy/mean", "smoke").exists(), "nothing failed"
    kept = {file: file.stat().st_mtime_ns for file in trials.rglob("[0-9a-f]*.trial")}
    first, *others = kept
    for file in others:  # so that the next has something to do
        file.unlink()
    return first, kept[first]


def test_interrupted_or_killed_a_batch_leaves_no_process_and_ends_as_any_other(three):
    stop_run(ALL, signal.SIGINT, OF_ALL)
    trial, written = stop_run(ALL, signal.SIGKILL, "")
    resumed = fairlab("run", "--all", "--profile", "smoke")
    assert resumed.returncode == 0, resumed.stderr
    assert trial.stat().st_mtime_ns == written, "a finished trial is not computed again"
    for name, n in (("mean", 10), ("second", 10), ("third", 11)):
        folder = run_folder(f"toy/{name}", "smoke")
        assert Run.read(folder).records[0]["values"] == [mean(Trial("toy", index), n) for index in range(6)]
        assert [path for path in folder.parent.glob("*Z_*/") if path != folder] == [], "no unfinished run"


def test_a_terminated_experiment_leaves_no_process_and_no_failure(three):
    stop_run(ONE, signal.SIGTERM, OF_ONE)


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
    stop_run(names, number, said)
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
            file = tmp_path / "cgroup" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")

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
    groups("0::/\n", {"memory.max": GB})
    monkeypatch.setenv(checks.MEMORY, "2.5")
    assert checks.memory_left_gb() == 2.5
    monkeypatch.setenv(checks.MEMORY, "2 GB")
    with pytest.raises(ValueError, match="FAIRLAB_MEMORY_GB: expected a number of GB, found '2 GB'"):
        checks.memory_left_gb()


def test_what_does_not_fit_is_refused_with_what_would(toy):
    add_experiment(toy, "mean", more="gigabytes: {smoke: 0.1, quick: 1}\n")
    assert specification("toy/mean").refusal("quick", 2, 3.0) is None
    need = "needs 4.6 GB of memory on 4 cores, 3.0 GB are available; it fits with --cores 1"
    assert specification("toy/mean").refusal("quick", 4, 3.0) == need
    assert specification("toy/mean").refusal("paper", 1, 1.5).endswith("choose a smaller --profile")


def test_nothing_imports_what_windows_lacks():
    code = """
import builtins, sys
plain = builtins.__import__
def refuse(name, globals=None, *rest):
    if name in ("resource", "fcntl", "pwd") and (globals or {}).get("__name__", "").startswith("fairlab"):
        raise ImportError(name)
    return plain(name, globals, *rest)
builtins.__import__ = refuse
import fairlab.cli, fairlab.suite.experiment, fairlab.suite.batch, fairlab.suite.notebook, fairlab.benchmarks
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Clusters


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    """Record what Snakemake would be called with, and its file, and let it succeed with ``toy/mean``."""
    calls = []

    class Called:
        def __init__(self, command, env):
            calls.append((command, env, json.loads(Path(command[-1]).read_text())))

        def wait(self):
            cluster.marker("toy/mean", "smoke").parent.mkdir(parents=True, exist_ok=True)
            cluster.marker("toy/mean", "smoke").touch()

    program = tmp_path / "snakemake"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("FAIRLAB_SNAKEMAKE", str(program))
    monkeypatch.setattr(cluster.subprocess, "Popen", Called)
    return calls


def test_jobs_have_names_order_memory_and_minutes_in_one_file(toy, snakemake):
    more = "gigabytes: {smoke: 0.1, quick: 1, paper: 10}\nminutes: {smoke: 1, quick: 2, paper: 3}\n"
    add_experiment(toy, "mean", more=more)
    add_experiment(toy, "second", more="after: [toy/mean]\n")
    names = ["toy/mean", "toy/second"]
    assert cluster.run_on_cluster(names, "paper", "slurm", jobs=3, dry_run=True) == {}
    assert "toy/second" in cluster.run_on_cluster(names[1:], "paper", "slurm", cores=4)
    (command, _, both), (_, _, alone) = snakemake
    done = [str(cluster.marker(name, "paper")) for name in names]
    assert command[: 1 + len(done)] == [os.environ["FAIRLAB_SNAKEMAKE"], *done]
    assert command[-5:] == ["--jobs", "3", "--dry-run", "--configfile", command[-1]]
    assert both["jobs"]["toy/mean"] == {"after": [], "mem_mb": 25_750, "runtime": 22}
    assert both["jobs"]["toy/second"]["after"] == done[:1]
    assert both["done"].format(name="toy/mean") == done[0]
    assert both["run"] == f"{sys.executable} -m fairlab run --profile paper"
    assert alone["jobs"]["toy/second"]["after"] == []
    assert (both["cores"], alone["cores"]) == (2, 4)
    assert not list(cluster.marker("", "paper").parent.glob("*.json"))


@pytest.mark.parametrize("name", [None, "/nowhere/snakemake"])
def test_a_missing_snakemake_is_said_with_the_way_to_install_it(toy, monkeypatch, name):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("FAIRLAB_SNAKEMAKE", raising=False)
    if name:
        monkeypatch.setenv("FAIRLAB_SNAKEMAKE", name)
    with pytest.raises(
        RuntimeError, match=rf"found no program '{name or 'snakemake'}'; install it by `uv tool install"
    ):
        cluster.run_on_cluster(["toy/mean"], "smoke", "slurm")


def test_data_are_fetched_before_anything_is_submitted_and_stay_what_they_are(toy, snakemake, monkeypatch):
    words = ["real", "generated", "reconstructed", "cached", "surrogate", "missing", "error"]
    asked = []
    monkeypatch.setattr(data, "fetch", lambda names, **_: asked.append(names) or pd.DataFrame({"state": words}, words))
    given = ["--default-resources", "slurm_partition=long"]
    assert cluster.run_on_cluster(["toy/mean"], "smoke", "slurm", arguments=given) == {}
    (command, environment, _), *_ = snakemake
    assert asked == [["berkeley"]]
    assert environment["FAIRLAB_REAL_DATA"] == "real,generated,reconstructed,cached"
    assert str(cluster.marker("toy/mean", "smoke")) in command
    assert command[-4:-1] == [*given, "--configfile"]


def test_a_batch_runs_after_another_of_the_same_process_was_ended(toy):
    assert batch.run_batch(["toy/mean"], "smoke") == {}
    processes.kill_children()
    add_experiment(toy, "added")
    assert batch.run_batch(["toy/added"], "smoke") == {}


# What takes minutes: a random series of kills, odd places, two at once.

NAMES = ("mean", "second", "third")
N_TRIALS = 30
KINDS = {"popen_loky": "worker", "fairlab run": "driver", "fairlab.suite.kernel": "kernel"}  # by a word of the command
VICTIMS = ("worker", "kernel", "driver", "worker")
LONGEST_PAUSE = 4.0  # seconds for which a victim lives, at least
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
ENDINGS = 3  # most commands to the end when all kills are done: what was killed twice has failed until the next


def start_logged(folder):
    with folder.with_suffix(".log").open("a") as log:
        return start("--all", "--cores", "2", stdout=log, stderr=log)


def running(folder):
    """Return all that runs for a results folder, whoever started it, by kind."""
    kinds = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if process.environ().get("FAIRLAB_RESULTS") != str(folder) or process.pid == os.getpid():
                continue
            if process.status() != psutil.STATUS_ZOMBIE:
                command = " ".join(process.cmdline())
                kind = next((kind for word, kind in KINDS.items() if word in command), "other")
                kinds.setdefault(kind, []).append(process)
    return kinds


def until_nothing_is_left(folder):
    deadline = time.monotonic() + LEFT_SECONDS
    while (left := running(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


@pytest.mark.slow
def test_a_batch_whose_processes_are_killed_ends_with_the_right_numbers(toy, results):
    write_slow(toy, NAMES, N_TRIALS, 1)
    chance, batch, n_done, killed = random.Random(0), start_logged(results), 0, set()
    for victim in chance.sample(VICTIMS, len(VICTIMS)):
        while victim not in running(results) and batch.poll() is None:
            time.sleep(0.5)
        time.sleep(chance.uniform(0.5, LONGEST_PAUSE))
        found = running(results)
        if victims := found.get(victim):
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(victims).kill()
                killed.add(victim)
        n_trials = len(list((results / "trials").rglob("[0-9a-f]*.trial")))
        assert n_trials >= n_done, "a trial that was done stays"
        n_done = n_trials
        print(f"{victim} killed: {bool(victims)}; {n_done} of {3 * N_TRIALS} trials done", flush=True)
        if victim == "driver" or batch.poll() is not None:
            batch.wait()
            until_nothing_is_left(results)
            batch = start_logged(results)
    assert killed == set(VICTIMS)
    for _ in range(ENDINGS):
        if batch.wait() == 0:
            break
        batch = start_logged(results)
    assert batch.returncode == 0, results.with_suffix(".log").read_text()
    for number, name in enumerate(NAMES):
        values = Run.read(run_folder(f"toy/{name}", "smoke")).records[0]["values"]
        draws = [Trial("toy", index).rng("draw").normal(0.5, 0.1, 10 + number) for index in range(N_TRIALS)]
        assert values == [draw.mean() for draw in draws]
    until_nothing_is_left(results)


FEW_TRIALS = 6


def end(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


@pytest.mark.slow
def test_two_batches_and_one_experiment_twice_at_once_lose_nothing_and_compute_nothing_again(toy, results):
    write_slow(toy, NAMES, FEW_TRIALS, 0.5)
    alone = [start("toy/mean"), start("toy/mean")]
    outputs = list(map(end, [start("--all"), start("--all"), *alone]))
    (waited,) = (output for output in outputs if f"another batch runs in {results}; waiting until it ends\n" in output)
    assert "3 of 3 experiments done" in waited
    assert "toy/mean " not in waited, "it ran nothing"
    for name in NAMES:
        folder = run_folder(f"toy/{name}", "smoke")
        assert len(Run.read(folder).records[0]["values"]) == FEW_TRIALS
        assert all((other / "sums.json").exists() for other in folder.parent.glob("*/")), "none is unfinished"


RUN = f"{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1"


def is_whole():
    return len(Run.read(run_folder("toy/mean", "smoke")).records[0]["values"]) == 2


WITHOUT = {"HOME": None, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes"), [("a folder with spaces, café 日本 ñ", {}), ("x" * 200, {}), ("bare", WITHOUT)]
)
def test_a_project_may_have_any_name_and_no_home_or_language(toy, tmp_path, monkeypatch, name, changes):
    shutil.copytree(toy, tmp_path / name, symlinks=True)
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / name / "results"))
    done = fairlab("run", "--all", "--profile", "smoke", changes={"FAIRLAB_ROOT": str(tmp_path / name)} | changes)
    assert done.returncode == 0, done.stderr
    assert is_whole()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("taskset") is None, reason="takes cores away")
def test_one_core_is_enough_and_a_clock_that_was_set_back_makes_nothing_anew(toy, results):
    run = ["run", "--all", "--profile", "smoke"]
    done = fairlab(*run, before=["taskset", "-c", "0"])
    assert done.returncode == 0, done.stderr
    assert is_whole()
    before = run_folder("toy/mean", "smoke")
    for path in results.rglob("*"):
        os.utime(path, (time.time() + 86400,) * 2)
    assert fairlab(*run).returncode == 0
    assert run_folder("toy/mean", "smoke") == before


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="mounts a file system of its own",
)
def test_on_a_full_disk_the_reason_is_reported_and_the_published_run_stays(toy, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
mount -t tmpfs -o size=4m tmpfs {disk} || exit 77
{RUN} || exit 78
cp {disk}/smoke/toy/mean/current {tmp_path}/before
head -c 9m /dev/zero > {disk}/full 2> /dev/null
rm -rf {disk}/trials
{RUN}
echo status $?
cmp {disk}/smoke/toy/mean/current {tmp_path}/before && echo stays
rm {disk}/full
{RUN} && echo again
"""
    environment = os.environ | {"FAIRLAB_RESULTS": str(disk)}
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert "status 1" in done.stdout, done.stdout + done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "stays" in done.stdout
    assert "again" in done.stdout
