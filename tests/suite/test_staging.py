import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairlab import paths
from fairlab.suite import locks, staging
from fairlab.suite.staging import cleanup, keep_temporary_files, outer_temporary_folder, temporary_folder

# Its number is this process's, as that of a process in another container may be.
OWNER = (
    "import os, sys, time; os.getpid = lambda: int(sys.argv[1]); from fairlab.suite.staging import temporary_folder; "
)
OWNER += "print(temporary_folder('toy/mean'), flush=True); time.sleep(60)"


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
    cleanup(temporary_folder("toy/mean"))
    assert (folder / "word").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    cleanup(temporary_folder("toy/mean"))
    assert list((results / ".staging").iterdir()) == []


def test_an_owner_keeps_all_of_its_folders(results):
    first, second = temporary_folder("toy/mean"), temporary_folder("toy/mean")
    assert first != second
    assert first.is_dir()
    cleanup(first)
    assert second.is_dir()
    cleanup(second)
    assert list((results / ".staging").iterdir()) == []


def test_other_files_stay_and_what_has_no_lock_goes_after_a_day(results, monkeypatch):
    old = results / ".staging" / "host-1-toy-mean-x"
    old.mkdir(parents=True)
    (results / ".staging" / ".DS_Store").touch()
    cleanup(temporary_folder("toy/mean"))
    assert old.exists()
    os.utime(old, (0, 0))
    cleanup(temporary_folder("toy/mean"))
    assert [path.name for path in (results / ".staging").iterdir()] == [".DS_Store"]


def test_without_locks_nothing_young_is_removed(results, monkeypatch):
    def refuse(path):
        raise locks.NoLocksError

    monkeypatch.setattr(staging.locks, "lock", refuse)
    folder = temporary_folder("toy/mean")
    cleanup(temporary_folder("toy/mean"))
    assert folder.is_dir()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    with pytest.raises(PermissionError, match=r"cannot write to the results folder .*; set FAIRLAB_RESULTS"):
        temporary_folder("toy/mean")


WRITES = """
import os, sys
from fairlab.paths import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), 9)
"""


def test_old_partial_files_are_deleted_and_user_files_kept(results):
    own = [
        ".bashrc.20250101",
        ".env.db_admin",
        ".notes.md.a1b2c3d4.md",
        "trials/.notes.a1b2c3d4",
        "quick/toy/.x.abcdefgh",
    ]
    for name in own:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("mine")
        os.utime(results / name, (0, 0))
    for name in ("trials/toy/a.trial", "REPRODUCTION.json"):
        killed = subprocess.run([sys.executable, "-c", WRITES, str(results / name)], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not (results / name).exists()
    old, young = sorted((results / paths.PARTIAL).iterdir(), key=lambda file: file.suffix)
    os.utime(old, (0, 0))
    cleanup(temporary_folder("toy/mean"))
    assert list((results / paths.PARTIAL).iterdir()) == [young]
    assert [(results / name).read_text() for name in own] == ["mine"] * len(own)


KILLED = """
import os, tempfile
from fairlab.suite.staging import keep_temporary_files
for _ in range(2):
    keep_temporary_files()
print(tempfile.mkdtemp())
if {killed}:
    os.kill(os.getpid(), 9)
"""


def test_temporary_files_of_a_killed_command_go_with_the_next():
    with tempfile.TemporaryDirectory() as outer:  # its name is short, as sockets need it
        for killed in (True, False):
            command = [sys.executable, "-c", KILLED.format(killed=killed)]
            environment = os.environ | {"TMPDIR": outer}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            place = Path(done.stdout.strip())
            assert place.parents[2] == Path(outer)
            assert place.exists() == killed, done.stderr
        assert [list(folder.iterdir()) for folder in Path(outer).iterdir()] == [[]]


def test_a_temporary_folder_that_cannot_be_ours_stays_the_systems(tmp_path, monkeypatch):
    def stays(folder):
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", None)
        keep_temporary_files()
        return tempfile.gettempdir() == os.environ["TMPDIR"] == str(folder) == outer_temporary_folder()

    long = tmp_path / ("x" * staging.LONGEST_PATH)
    long.mkdir()
    with tempfile.TemporaryDirectory() as outer:
        assert stays(long)
        another = os.getuid() + 1
        Path(outer, f"fairlab-{another}").mkdir()  # is ours
        monkeypatch.setattr(staging.os, "getuid", lambda: another)
        assert stays(outer)
