"""One experiment and a batch in places where things are odd: names, disks, a home, a language, one core."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LONG = "x" * 200
ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="mounts a file system of its own",
)


def fairlab(*arguments, results, before=(), **changes):
    """Run a command; a variable that is None is left out."""
    environment = os.environ | {"FAIRLAB_RESULTS": str(results)} | changes
    environment = {name: value for name, value in environment.items() if value is not None}
    command = [*before, sys.executable, "-m", "fairlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def run(results, name="toy/mean", **options):
    return fairlab("run", name, "--profile", "smoke", "--jobs", "2", results=results, **options)


def is_whole(results):
    records = json.loads((results / "smoke" / "toy" / "mean" / "records.json").read_text())
    return len(records[0]["values"]) == 2


@pytest.mark.parametrize("name", ["a folder with spaces", "café 日本 ñ", LONG])
def test_a_results_folder_may_have_any_name(toy, tmp_path, name):
    done = run(tmp_path / name)
    assert done.returncode == 0, done.stderr
    assert is_whole(tmp_path / name)


def test_a_batch_runs_in_a_folder_with_spaces_and_foreign_letters(toy, tmp_path):
    project = tmp_path / "ein Projekt für alle"
    shutil.copytree(toy, project, symlinks=True)
    done = run(tmp_path / "die Ergebnisse ü", name="--all", FAIRLAB_ROOT=str(project))
    assert done.returncode == 0, done.stderr
    assert is_whole(tmp_path / "die Ergebnisse ü")


@pytest.mark.parametrize("changes", [{"HOME": None}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": None}])
def test_home_and_language_may_be_missing(toy, tmp_path, changes):
    done = run(tmp_path / "results", **changes)
    assert done.returncode == 0, done.stderr
    assert is_whole(tmp_path / "results")


def test_results_may_lie_on_another_file_system(toy, tmp_path):
    place = Path("/dev/shm")
    if not place.is_dir() or place.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other file system")
    results = place / f"fairlab-test-{os.getpid()}"
    try:
        done = run(results)
        assert done.returncode == 0, done.stderr
        assert is_whole(results)
    finally:
        shutil.rmtree(results, ignore_errors=True)


@pytest.mark.skipif(shutil.which("taskset") is None, reason="takes cores away")
def test_one_core_is_enough(toy, tmp_path):
    done = fairlab("run", "--all", "--profile", "smoke", results=tmp_path / "results", before=["taskset", "-c", "0"])
    assert done.returncode == 0, done.stderr
    assert is_whole(tmp_path / "results")


def test_a_clock_that_was_set_back_makes_nothing_anew(toy, tmp_path):
    results = tmp_path / "results"
    assert run(results, name="--all").returncode == 0
    file = results / "smoke" / "toy" / "mean" / "run.json"
    for path in results.rglob("*"):
        os.utime(path, (time.time() + 86400,) * 2)
    before = file.stat().st_mtime_ns
    assert run(results, name="--all").returncode == 0
    assert file.stat().st_mtime_ns == before


@ROOT_ONLY
def test_on_a_full_disk_the_reason_is_told_and_what_was_published_stays(toy, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"""
mount -t tmpfs -o size=3m tmpfs {disk} || exit 77
{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1 || exit 78
cp {disk}/smoke/toy/mean/records.json {tmp_path}/before.json
head -c 5m /dev/zero > {disk}/full 2> /dev/null
rm -rf {disk}/trials
{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1
echo status $?
cmp {disk}/smoke/toy/mean/records.json {tmp_path}/before.json && echo stays
rm {disk}/full
{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1 && echo again
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


@ROOT_ONLY
def test_a_disk_that_is_read_only_is_named_before_anything_is_computed(toy, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"mount -t tmpfs -o ro tmpfs {disk} || exit 77; {sys.executable} -m fairlab run toy/mean --profile smoke"
    environment = os.environ | {"FAIRLAB_RESULTS": str(disk)}
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 1
    assert "cannot write to the results folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@ROOT_ONLY
def test_shared_memory_may_be_missing(toy, tmp_path):
    script = f"mount -t tmpfs -o ro tmpfs /dev/shm || exit 77; {sys.executable} -m fairlab run --all --profile smoke"
    environment = os.environ | {"FAIRLAB_RESULTS": str(tmp_path / "results")}
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 0, done.stderr
    assert is_whole(tmp_path / "results")
