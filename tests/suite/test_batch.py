import subprocess
import sys

import pytest
from toy_project import CELLS, PUBLISHED, SPECIFICATION, write_notebook

from fairlab.suite.run import failure_file, run_folder


@pytest.fixture
def two(toy):
    """The toy project with a second experiment, which fails."""
    (toy / "experiments" / "toy" / "published.yaml").write_text(PUBLISHED)
    spec = SPECIFICATION.replace("mean.ipynb", "bad.ipynb")
    (toy / "experiments" / "toy" / "bad.yaml").write_text(spec)
    write_notebook(toy / "notebooks" / "toy" / "bad.ipynb", [CELLS[0], "raise OSError('no such luck')"])
    return toy


def fairlab(*arguments):
    return subprocess.run([sys.executable, "-m", "fairlab", *arguments], capture_output=True, text=True, check=False)


def test_a_job_killed_from_outside_is_listed_as_failed(two):
    kill_the_runner = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    write_notebook(two / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], kill_the_runner])
    folder = run_folder("toy/mean", "smoke")
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("earlier")
    answer = fairlab("run", "--all", "--profile", "smoke")
    assert answer.returncode == 1
    assert "failed: toy/mean: killed from outside, without a message" in answer.stderr
    assert "failed: toy/bad: cell 3 failed" in answer.stderr
    assert "0 of 2 experiments done" in answer.stdout
    assert (folder / "run.json").read_text() == "earlier"


def test_results_that_cannot_be_written_are_named(two, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / "file"))
    assert "cannot write to the results folder" in fairlab("run", "--all", "--profile", "smoke").stderr


def test_the_batch_goes_on_past_a_failure_and_lists_it(two):
    first = fairlab("run", "--all", "--profile", "smoke")
    assert first.returncode == 1
    assert "failed: toy/bad: cell 3 failed: OSError: no such luck" in first.stderr
    assert "1 of 2 experiments done at smoke" in first.stdout
    assert (run_folder("toy/mean", "smoke") / "run.json").exists()
    assert failure_file("toy/bad", "smoke").exists()

    # Started again, only what is not done runs.
    before = (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns
    write_notebook(two / "notebooks" / "toy" / "bad.ipynb", [cell.replace("toy/mean", "toy/bad") for cell in CELLS])
    second = fairlab("run", "--all", "--profile", "smoke")
    assert second.returncode == 0, second.stderr
    assert (run_folder("toy/mean", "smoke") / "run.json").stat().st_mtime_ns == before
    assert "2 of 2 experiments done" in second.stdout

    # A changed notebook runs again.
    cells = [*CELLS[:-1], "print('changed')", CELLS[-1]]
    write_notebook(two / "notebooks" / "toy" / "mean.ipynb", cells)
    dry = fairlab("run", "--all", "--profile", "smoke", "--dry-run")
    assert dry.returncode == 0
    assert "running toy/mean at smoke" in dry.stdout + dry.stderr
    assert "running toy/bad" not in dry.stdout + dry.stderr
