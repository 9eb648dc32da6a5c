import errno
import signal
import subprocess
import sys

import pytest

from fairlab.suite import locks

OWNER = "import sys, time; from pathlib import Path; from fairlab.suite import locks; "
OWNER += (
    "held = locks.held(Path(sys.argv[1]), 'a batch'); held.__enter__(); print('has it', flush=True); time.sleep(60)"
)


@pytest.fixture
def owner(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "a.lock")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "has it\n"
    yield process
    process.kill()
    process.wait()


def test_second_process_reports_owner_and_waits(owner, tmp_path, monkeypatch):
    said = []

    def kill(seconds):
        owner.send_signal(signal.SIGKILL)
        owner.wait()

    monkeypatch.setattr(locks.time, "sleep", kill)
    with locks.held(tmp_path / "a.lock", "a batch", said.append):
        assert locks.lock(tmp_path / "a.lock") is None  # held here now
    (line,) = said
    assert line.startswith(f"a batch is already running, process {owner.pid} on ")
    assert line.endswith("; waiting until it ends")


def test_a_lock_is_free_after_its_block(tmp_path):
    said = []
    for _ in range(2):
        with locks.held(tmp_path / "new" / "a.lock", "a batch", said.append):
            pass
    assert said == []


def test_removed_lock_is_created_again(tmp_path):
    first = locks.lock(tmp_path / "a.lock")
    (tmp_path / "a.lock").unlink()
    second = locks.lock(tmp_path / "a.lock")
    assert second is not None
    assert locks.lock(tmp_path / "a.lock") is None
    first.close()
    second.close()


def test_missing_locks_are_reported(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    said = []
    with locks.held(tmp_path / "a.lock", "a batch", said.append):
        said.append("worked")
    assert said == [
        f"the file system of {tmp_path} has no locks; make sure that only one runs there: a batch",
        "worked",
    ]


def test_other_faults_are_not_hidden(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with pytest.raises(OSError, match="disk"):
        locks.lock(tmp_path / "a.lock")
