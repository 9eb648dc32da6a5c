"""One experiment and a batch in places where things are odd: names, disks, a home, a language, one core."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from fairlab.suite.run import Run, run_folder

pytestmark = pytest.mark.slow

ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="mounts a file system of its own",
)
RUN = f"{sys.executable} -m fairlab run toy/mean --profile smoke --jobs 1"


def fairlab(*arguments, before=(), **changes):
    """Run a command; a variable that is None is left out."""
    environment = {name: value for name, value in (os.environ | changes).items() if value is not None}
    command = [*before, sys.executable, "-m", "fairlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def mounted(script, results):
    """Run a script that mounts a file system of its own, with results in `results`."""
    environment = os.environ | {"FAIRLAB_RESULTS": str(results)}
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    return done


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


@ROOT_ONLY
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
    done = mounted(script, disk)
    assert "status 1" in done.stdout, done.stdout + done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "stays" in done.stdout
    assert "again" in done.stdout


@ROOT_ONLY
def test_a_disk_that_is_read_only_is_named_before_anything_is_computed(toy, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = mounted(f"mount -t tmpfs -o ro tmpfs {disk} || exit 77; {RUN}", disk)
    assert done.returncode == 1
    assert "cannot write to the results folder" in done.stderr
    assert len(done.stderr.splitlines()) == 1
