from fairlab import cli
from fairlab.cli import main
from fairlab.suite.site import building


def test_command_builds_into_folder(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(building, "build", lambda folder, n_jobs: asked.append((folder, n_jobs)) or "177 pages")
    assert main(["site", "--out", str(tmp_path), "--jobs", "2"]) == 0
    assert asked == [(str(tmp_path), 2)]
    assert capsys.readouterr().out == "177 pages\n"


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "myst_nb" else name)
    assert main(["site"]) == 1
    assert "the site needs myst_nb: pip install 'fairlab[site,labs]'" in capsys.readouterr().err
