import json

import pytest
from toy_project import CELLS, write_notebook

from fairlab.data.project import project
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import notebook_parameters, run_experiment
from fairlab.suite.run import Run, failure_file, run_folder


def rewrite(toy, *cells):
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], *cells])


def run(profile="smoke", **options):
    return run_experiment(specification("toy/mean"), profile, **options)


def test_a_run_is_published_with_all_its_parts(toy, monkeypatch):
    monkeypatch.setenv("HOME", "/")  # no name to take out of the notebook
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    notebook.write_text(notebook.read_text().replace('"python3"', '"of-another-machine"'))
    failure = failure_file("toy/mean", "smoke")
    failure.parent.mkdir(parents=True)
    failure.write_text("of an earlier run")
    folder = run()
    assert folder == run_folder("toy/mean", "smoke")
    content = Run.read(folder)
    assert content.parameters == {"n": 10, "n_trials": 2}
    assert content.about["peak_memory_gb"] > 0.05
    executed = (folder / "notebook.ipynb").read_text()
    assert str(toy) not in executed
    assert "text/html" in executed
    assert "papermill" not in json.loads(executed)["metadata"]
    assert not failure.exists()
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, "current", "latest", "log.txt"}


FAILURES = [
    (["1 / 0"], "cell 3 failed: ZeroDivisionError"),
    (["import sys; sys.exit(0)", *CELLS[1:]], r"without calling compare\(\)"),
    (["exit()", *CELLS[1:]], r"without calling compare\(\)|kernel died"),
    (CELLS[1:-1], r"without calling compare\(\)"),
    ([*CELLS[1:3], "exp.record('table-1', 'mean', means)", CELLS[-1]], "nothing was written for figure-1"),
    (
        ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
        r"the kernel died \(out of memory, or killed from outside\)$",
    ),
]


def test_failed_runs_leave_the_earlier_one_untouched(toy):
    folder = run()
    for cells, message in FAILURES:
        rewrite(toy, *cells)
        with pytest.raises(RuntimeError, match=message) as caught:
            run()
        assert failure_file("toy/mean", "smoke").read_text().strip() == str(caught.value)
        assert run_folder("toy/mean", "smoke") == folder
        assert Run.read(folder).name == "toy/mean"
        assert [*folder.parent.glob("*Z_*/"), *project().partial.iterdir()] == [folder]


def test_parameters_cell(toy):
    assert notebook_parameters(specification("toy/mean").notebook) == {
        "experiment": "toy/mean",
        "n": 50,
        "n_trials": 3,
        "profile": "quick",
        "seed": 0,
    }
    other = write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0].replace("n = 50", "m = 50"), *CELLS[1:]])
    with pytest.raises(ValueError, match=r"its parameters cell has \['experiment', 'm', .*, its experiment \['exp"):
        run()
    other.write_text(other.read_text().replace('"parameters"', ""))
    with pytest.raises(ValueError, match=r"its parameters cell has \[\], its experiment"):
        run()
