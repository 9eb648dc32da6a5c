import os
import shutil
import subprocess
import sys

import pytest
from toy_project import CELLS, SPECIFICATION, write_notebook

from fairlab.cli import main
from fairlab.paths import project
from fairlab.suite.redrawing import FORMATS

ROOT = project().root


@pytest.mark.parametrize("flag", ["--jobs", "--cores", "--shards"])
def test_numbers_below_one_are_refused(flag, capsys):
    assert main(["run", "--all", flag, "0"]) == 2
    assert f"Invalid value for '{flag}': 0 is not in the range x>=1" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--shards", "4"], ["--snakemake", "--forceall"]])
def test_cluster_options_are_rejected_locally(toy, flags, capsys):
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


def test_a_batch_changes_no_file_of_the_project_and_removes_none_of_the_users(toy, monkeypatch):
    def command(*arguments):
        return subprocess.run(arguments, cwd=toy, check=True, capture_output=True, text=True).stdout

    def fairlab(*arguments):
        return command(sys.executable, "-m", "fairlab", *arguments)

    monkeypatch.delenv("FAIRLAB_RESULTS")
    for name in ("second", "third"):
        (toy / "experiments" / "toy" / f"{name}.yaml").write_text(SPECIFICATION)
        cells = [cell.replace("toy/mean", f"toy/{name}") for cell in CELLS]
        write_notebook(toy / "notebooks" / "toy" / f"{name}.ipynb", cells)
    (toy / "figures" / "toy").mkdir(parents=True)
    for name in ("REPRODUCTION.md", "REPRODUCTION.json", "figures/verdicts.svg", "figures/toy/index.json"):
        (toy / name).write_text("{}")
    shutil.copy(ROOT / ".gitignore", toy)
    command("git", "init", "-q")
    command("git", "add", ".")
    command("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    own = [toy / "results" / name for name in (".bashrc.20250101", "trials/.env.db_admin", "trials/notes.md")]
    for file in own:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
        os.utime(file, (0, 0))
    assert "3 of 3 experiments done at quick" in fairlab("run", "--all")
    fairlab("cache", "prune")
    assert command("git", "status", "--short") == ""
    assert [file.read_text() for file in own] == ["mine"] * len(own)
    fairlab("figures", "--write")
    changed = {line.split()[1] for line in command("git", "status", "--short").splitlines()}
    assert changed == {"figures/toy/index.json", *(f"figures/toy/figure-1.{suffix}" for suffix in FORMATS)}
