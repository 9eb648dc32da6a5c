import os
import signal
import subprocess
import sys

import pytest

from fairlab.suite import locks, staging
from fairlab.suite.staging import discard, stage

# Its number is this process's, as that of a process in another container may be.
OWNER = "import os, sys, time; os.getpid = lambda: int(sys.argv[1]); from fairlab.suite.staging import stage; "
OWNER += "print(stage('toy/mean'), flush=True); time.sleep(60)"


@pytest.fixture
def other(results):
    """A process of another container with a staging folder, whose number nobody has here."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, "99999999"], stdout=subprocess.PIPE, text=True)
    yield process, results / ".staging" / os.path.basename(process.stdout.readline().strip())  # noqa: PTH119
    process.kill()
    process.wait()


def test_a_folder_is_its_owners_as_long_as_that_lives_whatever_its_number(other, results):
    process, folder = other
    (folder / "word").touch()
    discard(stage("toy/mean"))
    assert (folder / "word").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    discard(stage("toy/mean"))
    assert list((results / ".staging").iterdir()) == []


def test_an_owner_keeps_all_of_its_folders(results):
    first, second = stage("toy/mean"), stage("toy/mean")
    assert first != second
    assert first.is_dir()
    discard(first)
    assert second.is_dir()
    discard(second)
    assert list((results / ".staging").iterdir()) == []


def test_other_files_stay_and_what_has_no_lock_goes_after_a_day(results, monkeypatch):
    old = results / ".staging" / "host-1-toy-mean-x"
    old.mkdir(parents=True)
    (results / ".staging" / ".DS_Store").touch()
    discard(stage("toy/mean"))
    assert old.exists()
    os.utime(old, (0, 0))
    discard(stage("toy/mean"))
    assert [path.name for path in (results / ".staging").iterdir()] == [".DS_Store"]


def test_without_locks_nothing_young_is_removed(results, monkeypatch):
    def refuse(path):
        raise locks.NoLocksError

    monkeypatch.setattr(staging.locks, "lock", refuse)
    folder = stage("toy/mean")
    discard(stage("toy/mean"))
    assert folder.is_dir()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    with pytest.raises(PermissionError, match=r"cannot write to the results folder .*; set FAIRLAB_RESULTS"):
        stage("toy/mean")
