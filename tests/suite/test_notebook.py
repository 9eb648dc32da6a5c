import json

import pytest
from toy_project import CELLS, write_notebook

from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import NotebookError, check_committed, clear, notebook_parameters, run_experiment
from fairlab.suite.run import Run, failure_file, run_folder


def rewrite(toy, *cells):
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], *cells])


def run(profile="smoke", **options):
    return run_experiment(specification("toy/mean"), profile, **options)


def test_a_run_is_published_with_all_its_parts(toy, monkeypatch):
    monkeypatch.setenv("HOME", "/")  # no name to take out of the notebook
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    notebook.write_text(notebook.read_text().replace('"python3"', '"julia-1.9"'))
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
    assert not list((folder.parents[2] / ".staging").iterdir())
    assert not failure.exists()

    assert check_committed(folder / "notebook.ipynb")
    assert "its kernel is not `python3`" in check_committed(notebook), "the kernel was this interpreter all the same"
    clear(notebook)
    assert check_committed(notebook) == []


def test_an_override_goes_to_custom(toy, monkeypatch):
    monkeypatch.setenv("HOME", "/nowhere")
    run(overrides={"n": 12})
    assert Run.read(run_folder("toy/mean", "custom")).parameters["n"] == 12
    assert "text/html" in (run_folder("toy/mean", "custom") / "notebook.ipynb").read_text()
    with pytest.raises(TypeError, match=r"no parameter 'nn'.*known: n, n_trials"):
        run(overrides={"nn": 12})


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1 / 0"], "cell 3 failed: ZeroDivisionError"),
        (["import sys; sys.exit(0)", *CELLS[1:]], "ended early"),
        (["exit()", *CELLS[1:]], "ended early|kernel died"),
        (CELLS[1:-1], r"without calling compare\(\)"),
        ([*CELLS[1:3], "exp.record('table-1', 'mean', means)", CELLS[-1]], "nothing was written for figure-1"),
        (["import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], "kernel died, at a peak memory of"),
    ],
)
def test_a_failed_run_leaves_the_earlier_one_untouched(toy, cells, message):
    folder = run_folder("toy/mean", "smoke")
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("earlier")
    rewrite(toy, *cells)
    with pytest.raises(NotebookError, match=message):
        run()
    assert (folder / "run.json").read_text() == "earlier"
    assert list(folder.iterdir()) == [folder / "run.json"]
    assert failure_file("toy/mean", "smoke").read_text()
    assert not list((folder.parents[2] / ".staging").iterdir())


def test_the_time_limit_is_for_the_whole_notebook(toy):
    rewrite(toy, "import time; time.sleep(60)")
    with pytest.raises(NotebookError, match=r"stopped after the time limit of 0\.05 minutes"):
        run(time_limit=0.05)


def test_parameters_must_match_the_experiment(toy):
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", ["n = 50", *CELLS[1:]])
    with pytest.raises(ValueError, match="its parameters cell has"):
        run()


def test_parameters_cell(toy, tmp_path):
    assert notebook_parameters(specification("toy/mean").notebook) == {
        "experiment": "toy/mean",
        "n": 50,
        "n_trials": 3,
        "profile": "quick",
        "seed": 0,
    }
    with pytest.raises(ValueError, match=r"only assign literals, found `n = 5 \* 10`"):
        notebook_parameters(write_notebook(tmp_path / "a.ipynb", ["n = 5 * 10"]))
    untagged = write_notebook(tmp_path / "b.ipynb", ["n = 5"])
    untagged.write_text(untagged.read_text().replace('"parameters"', ""))
    with pytest.raises(ValueError, match="expected one code cell tagged `parameters`, found 0"):
        notebook_parameters(untagged)
