import pytest

from fairlab import cli
from fairlab.cli import main
from fairlab.suite.site import building
from fairlab.suite.site.building import build


def test_command_builds_into_folder(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(building, "build", lambda folder, n_jobs: asked.append((folder, n_jobs)) or tmp_path)
    (tmp_path / "index.html").write_bytes(b" " * 2_000_000)
    assert main(["site", "--out", str(tmp_path), "--jobs", "2"]) == 0
    assert asked == [(str(tmp_path), 2)]
    assert capsys.readouterr().out == f"1 pages, 2 MB: open {tmp_path / 'index.html'}\n"


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "myst_nb" else name)
    assert main(["site"]) == 1
    assert "the site needs myst_nb: pip install 'fairlab[site,labs]'" in capsys.readouterr().err


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new folder or an earlier site"):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
