from pathlib import Path

import pytest

from fairlab.cli import main
from fairlab.paths import ROOT
from fairlab.suite import running


@pytest.mark.parametrize("flag", ["--jobs", "--cores", "--spread"])
def test_numbers_below_one_are_refused(flag, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", "--all", flag, "0"])
    assert stop.value.code == 2
    assert "invalid" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--spread", "4"], ["--slurm-options", "-p long"]])
def test_what_is_for_a_cluster_is_refused_here(toy, flags, capsys):
    assert main(["run", "--all", "--profile", "smoke", *flags]) == 1
    assert "are for a cluster: --scheduler slurm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "n_jobs"), [(["--jobs", "3"], 3), (["--cores", "2"], 2), (["--jobs", "3", "--cores", "2"], 6), ([], 7)]
)
def test_an_experiment_gets_as_many_workers_as_jobs_and_cores_make(toy, monkeypatch, tmp_path, flags, n_jobs):
    given = []
    monkeypatch.setattr("fairlab.suite.machine.n_cores", lambda: 7)
    monkeypatch.setattr(
        "fairlab.suite.notebook.run_experiment", lambda *_, **o: given.append(o["n_jobs"]) or tmp_path / "no"
    )
    assert main(["run", "toy/mean", *flags]) == 0
    assert given == [n_jobs]


def test_paths_of_the_project_are_short():
    assert running.short(ROOT / "a" / "b") == str(Path("a", "b"))
    assert running.short("/elsewhere/a") == str(Path("/elsewhere/a"))
