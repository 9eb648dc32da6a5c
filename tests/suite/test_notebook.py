import json
import sys

import psutil
import pytest
from toy_project import CELLS, replace_in, write_notebook

from fairlab.cli import main
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite import forks
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import notebook_parameters, run_experiment
from fairlab.suite.run import Run, failure_file, log_file, run_folder


def run():
    return run_experiment(specification("toy/mean"), "smoke")


def test_a_run_is_published_with_all_its_parts(toy, monkeypatch):
    monkeypatch.setenv("HOME", "/")  # no name to take out of the notebook
    notebook = toy / "notebooks" / "toy" / "mean.ipynb"
    write_notebook(notebook, [*CELLS[:2], "%matplotlib inline", *CELLS[2:]])
    replace_in(notebook, '"python3"', '"of-another-machine"')
    failure = failure_file("toy/mean", "smoke")
    write_text(failure, "of an earlier run")
    folder = run()
    content, executed = Run.read(folder), (folder / "notebook.ipynb").read_text()
    assert (content.parameters, content.about["peak_memory_gb"] > 0.05) == ({"n": 10, "n_trials": 2}, True)
    assert "text/html" in executed and str(toy) not in executed and str(project().results) not in executed
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, "current", "latest", "log.txt"}


FAILURES = [
    (["1 / 0"], "cell 3 failed in line 1, 1 / 0: ZeroDivisionError: division by zero"),
    (["def f(n):\n    return 1 / n", "2\nf(\n    0)\n3"], r"cell 4 failed in line 2, f\(: ZeroDivisionError"),
    ([CELLS[1], "2\nx = = 3"], "cell 4 failed in line 2, x = = 3: SyntaxError"),
    (["2\nx = = 3"], "cell 3 failed in line 2, x = = 3: SyntaxError"),
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
        write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], *cells])
        with pytest.raises(RuntimeError, match=message) as caught:
            run()
        assert failure_file("toy/mean", "smoke").read_text().strip() == str(caught.value)
        assert (run_folder("toy/mean", "smoke"), Run.read(folder).name) == (folder, "toy/mean")
        assert [*folder.parent.glob("*Z_*/"), *project().partial.iterdir()] == [folder]


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_kernels_are_forked_also_after_their_server_was_killed(toy, monkeypatch):
    monkeypatch.setattr("jupyter_client.provisioning.local_provisioner.launch_kernel", None)
    others = psutil.Process().children()  # workers of other tests
    with forks.forking():
        for _ in range(2):
            assert Run.read(run()).records
            (server,) = (child for child in psutil.Process().children() if child not in others)
            server.kill()
            server.wait()


def test_a_failed_cell_has_the_number_that_it_has_in_the_notebook_that_is_kept(toy, capsys):
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], "1 / 0"])
    kept, log = failure_file("toy/mean", "custom").with_suffix(".ipynb"), log_file("toy/mean", "custom")
    assert main(["run", "toy/mean", "-p", "n", "3"]) == 1
    reason = "cell 3 failed in line 1, 1 / 0: ZeroDivisionError: division by zero"
    assert capsys.readouterr().err == f"failed: toy/mean: {reason} ({kept}, {log})\n"
    executed = json.loads(kept.read_text())
    assert [cell["execution_count"] for cell in executed["cells"] if "".join(cell["source"]) == "1 / 0"] == [3]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("n = 50", "m = 50", "its parameters cell lacks n and its experiment lacks m"),
        ('"parameters"', "", "its parameters cell lacks experiment, n, n_trials, profile, seed"),
    ],
)
def test_a_parameters_cell_has_those_of_the_experiment(toy, old, new, found):
    file = specification("toy/mean").notebook
    expected = {"experiment": "toy/mean", "n": 50, "n_trials": 3, "profile": "quick", "seed": 0}
    assert notebook_parameters(file) == expected
    replace_in(file, old, new)
    with pytest.raises(ValueError, match=f"^notebooks/toy/mean.ipynb: {found}$"):
        run()
