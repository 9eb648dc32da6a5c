import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairlab import paths
from fairlab.paths import Project, atomic_path, project, write_text


def test_the_project_is_the_clone_above_the_package_or_the_one_of_the_variable(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRLAB_ROOT", raising=False)
    own = project()
    own.check()
    assert Path(paths.__file__).is_relative_to(own.root)
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    assert project() == Project(tmp_path) != own
    with pytest.raises(FileNotFoundError, match=f"no fairlab project found in FAIRLAB_ROOT={tmp_path}: expected data_"):
        project().check()


def test_no_project_is_an_error_that_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRLAB_ROOT", raising=False)
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "fairlab" / "paths.py"))
    with pytest.raises(FileNotFoundError, match=r"above the installed package: .* `pip install -e "):
        project().check()


def test_the_results_folder_is_that_of_the_variable_or_of_the_project(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path))
    assert project().results == tmp_path
    monkeypatch.setenv("FAIRLAB_RESULTS", "")
    assert Project(tmp_path / "clone").results == tmp_path / "clone" / "results"


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
    code = "import fairlab.auditing, fairlab.data.registry as r; print('imported'); r.project_registry()"
    environment = os.environ | {"FAIRLAB_ROOT": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert answer.stdout == "imported\n"
    assert f"no fairlab project found in FAIRLAB_ROOT={tmp_path}" in answer.stderr.splitlines()[-1]
