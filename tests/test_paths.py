import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairlab import paths
from fairlab.paths import atomic_path, find_root, results_folder, write_text


def test_the_root_has_the_registry(monkeypatch):
    monkeypatch.delenv("FAIRLAB_ROOT", raising=False)
    root = find_root()
    assert (root / "data_scripts" / "registry.yaml").is_file()
    assert Path(paths.__file__).is_relative_to(root)


def test_the_root_can_be_told(monkeypatch, tmp_path):
    (tmp_path / "data_scripts").mkdir()
    (tmp_path / "data_scripts" / "registry.yaml").touch()
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    assert find_root() == tmp_path


def test_no_project_is_an_error_that_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=f"no fairlab project found in FAIRLAB_ROOT={tmp_path}: expected data_s"
    ):
        find_root()
    monkeypatch.delenv("FAIRLAB_ROOT")
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "fairlab" / "paths.py"))
    with pytest.raises(FileNotFoundError, match=r"above the installed package: .* `pip install -e "):
        find_root()


def test_results_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
    assert results_folder() == tmp_path
    for unset in ("", None):
        monkeypatch.setenv("FAIRLAB_RESULTS", unset) if unset is not None else monkeypatch.delenv("FAIRLAB_RESULTS")
        assert results_folder() == paths.ROOT / "results"


def test_text_is_written_with_its_folder_and_the_usual_rights(tmp_path):
    path = tmp_path / "new" / "note.txt"
    write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("before")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match=r"No space left on device: '.*note\.txt'"), atomic_path(tmp_path / "note.txt"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_parts_of_the_results_may_be_on_another_disk(monkeypatch, tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as other:
        if Path(other).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("there is no other disk")
        monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
        (tmp_path / "trials").symlink_to(other)
        write_text(tmp_path / "trials" / "a.trial", "whole")
        assert [(file.name, file.read_text()) for file in Path(other).iterdir()] == [("a.trial", "whole")]
        assert list((tmp_path / paths.PARTIAL).iterdir()) == []


def test_nobody_sees_half_a_file(tmp_path):
    path = tmp_path / "table.csv"
    with atomic_path(path) as temporary:
        temporary.write_text("whole")
        assert temporary.parent == path.parent  # on the same disk, so that moving is one step
        assert temporary.suffix == ".csv"  # writers choose the format by it
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_library_without_its_project_is_imported_all_the_same(tmp_path):
    code = "from fairlab import paths; import fairlab.data.registry as r; print(paths.ROOT); r.project_registry()"
    environment = os.environ | {"FAIRLAB_ROOT": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert Path(answer.stdout.strip()) == Path(paths.__file__).parent
    assert f"no fairlab project found in FAIRLAB_ROOT={tmp_path}" in answer.stderr.splitlines()[-1]
