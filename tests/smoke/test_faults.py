"""What the page on failure handling guarantees and takes minutes: kills, flipped bits, odd places, two at once."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter

import psutil
import pytest
from toy_project import write_slow

from fairlab.data import DataError, load
from fairlab.data.files import mirror_folder
from fairlab.suite.run import Run, run_folder
from fairlab.suite.seeds import Trial

NAMES = ("mean", "second", "third")
N_TRIALS = 30
KINDS = {"popen_loky": "worker", "fairlab run": "driver", "fairlab.suite.kernel": "kernel"}  # by a word of the command
VICTIMS = ("worker", "kernel", "driver", "worker")
LONGEST_PAUSE = 4.0  # seconds for which a victim lives, at least
LEFT_SECONDS = 10  # after which nothing of a killed driver may be left
ENDINGS = 3  # most commands to the end when all kills are done: what was killed twice has failed until the next

pytestmark = pytest.mark.slow


def start(folder):
    command = [sys.executable, "-m", "fairlab", "run", "--all", "--profile", "smoke", "--jobs", "2", "--cores", "2"]
    with folder.with_suffix(".log").open("a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def processes(folder):
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
    while (left := processes(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def test_a_batch_whose_processes_are_killed_ends_with_the_right_numbers(toy, results):
    write_slow(toy, NAMES, N_TRIALS, 1)
    chance, batch, n_done, killed = random.Random(0), start(results), 0, set()
    for victim in chance.sample(VICTIMS, len(VICTIMS)):
        while victim not in processes(results) and batch.poll() is None:
            time.sleep(0.5)
        time.sleep(chance.uniform(0.5, LONGEST_PAUSE))
        found = processes(results)
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
            batch = start(results)
    assert killed == set(VICTIMS)
    for _ in range(ENDINGS):
        if batch.wait() == 0:
            break
        batch = start(results)
    assert batch.returncode == 0, results.with_suffix(".log").read_text()
    for number, name in enumerate(NAMES):
        values = Run.read(run_folder(f"toy/{name}", "smoke")).records[0]["values"]
        draws = [Trial("toy", index).rng("draw").normal(0.5, 0.1, 10 + number) for index in range(N_TRIALS)]
        assert values == [draw.mean() for draw in draws]
    until_nothing_is_left(results)


FEW_TRIALS = 6


def start_run(*names):
    command = [sys.executable, "-m", "fairlab", "run", *names, "--profile", "smoke", "--jobs", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


def test_two_batches_and_one_experiment_twice_at_once_lose_nothing_and_compute_nothing_again(toy, results):
    write_slow(toy, NAMES, FEW_TRIALS, 0.5)
    alone = [start_run("toy/mean"), start_run("toy/mean")]
    outputs = list(map(end, [start_run("--all"), start_run("--all"), *alone]))
    (waited,) = (output for output in outputs if f"another batch runs in {results}; waiting until it ends\n" in output)
    assert "3 of 3 experiments done" in waited
    assert "toy/mean " not in waited, "it ran nothing"
    for name in NAMES:
        folder = run_folder(f"toy/{name}", "smoke")
        assert len(Run.read(folder).records[0]["values"]) == FEW_TRIALS
        assert all((other / "sums.json").exists() for other in folder.parent.glob("*/")), "none is unfinished"


RUN = f"{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1"


def fairlab(*arguments, before=(), **changes):
    """Run a command; a variable that is None is left out."""
    environment = {name: value for name, value in (os.environ | changes).items() if value is not None}
    command = [*before, sys.executable, "-m", "fairlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def is_whole():
    return len(Run.read(run_folder("toy/mean", "smoke")).records[0]["values"]) == 2


WITHOUT = {"HOME": None, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": None}


@pytest.mark.parametrize(
    ("name", "changes"), [("a folder with spaces, café 日本 ñ", {}), ("x" * 200, {}), ("bare", WITHOUT)]
)
def test_a_project_may_have_any_name_and_no_home_or_language(toy, tmp_path, monkeypatch, name, changes):
    shutil.copytree(toy, tmp_path / name, symlinks=True)
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / name / "results"))
    done = fairlab("run", "--all", "--profile", "smoke", FAIRLAB_ROOT=str(tmp_path / name), **changes)
    assert done.returncode == 0, done.stderr
    assert is_whole()


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


DATA = 200  # flips
VARIANT = "credit-adf"


def flip(file, chance):
    """Flip a bit of a file and return what the file was."""
    whole = file.read_bytes()
    content = bytearray(whole)
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
    return whole


def test_no_corrupted_row_of_data_is_used(tmp_path, monkeypatch):
    if mirror_folder() is None:
        pytest.skip("needs the real data: FAIRLAB_DATA_MIRROR is not set")
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    chance, counts = random.Random(3), Counter()

    def rows():
        data = load(VARIANT, surrogate=False)
        return data.features.to_csv() + data.target.to_csv(), data.provenance.data_hash

    truth = rows()
    files = [file for file in sorted((tmp_path / "cache").rglob("*")) if file.is_file()]
    for number in range(DATA):
        if number == DATA // 2:  # from here on there is no other source
            monkeypatch.delenv("FAIRLAB_DATA_MIRROR")
        file = chance.choice(files)
        whole = flip(file, chance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a surrogate would be one
                counts["right" if rows() == truth else "WRONG"] += 1
        except DataError:
            counts["refused"] += 1
            file.write_bytes(whole)
    print(dict(counts), f"{len(files)} files of {VARIANT}")
    assert counts["WRONG"] == 0
    assert counts["right"] >= DATA // 2
