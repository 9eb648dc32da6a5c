import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from fairlab.suite.labs.running import ResilientExecute

ENDLESS = "while True: pass"
UNSTOPPABLE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"


def run(*sources, **options):
    """Return what the cells printed or raised, and why some were not run to their ends."""
    runner = ResilientExecute(kernel_name="python3", **options)
    runner.log.setLevel("CRITICAL")
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    before = nbformat.writes(notebook)
    done, _ = runner.preprocess(notebook, {"metadata": {}})
    assert nbformat.writes(notebook) == before
    shown = [cell.outputs[0].get("text", cell.outputs[0].get("ename")).strip() for cell in done.cells]
    return shown, runner.lost


@pytest.mark.parametrize(
    ("bad", "error", "why"),
    [
        (ENDLESS, "CellTimeoutError", "stopped: it took longer than 3 seconds"),
        (UNSTOPPABLE, "CellTimeoutError", "could not be stopped; the others were run without it"),
        ("import os; os._exit(0)", "DeadKernelError", "ended the kernel; the others were run without it"),
    ],
)
def test_what_comes_before_and_after_a_bad_cell_is_run(bad, error, why):
    shown, lost = run("a = 1; print(0)", bad, "print(a)", "1 / 0", timeout=3)
    assert shown == ["0", error, "1", "ZeroDivisionError"]
    assert lost == {1: why}


def test_a_loop_that_prints_does_not_fill_the_memory():
    runner = ResilientExecute(kernel_name="python3", timeout=3)
    runner.log.setLevel("CRITICAL")
    done, _ = runner.preprocess(new_notebook(cells=[new_code_cell("while True: print('x' * 1000)")]), {"metadata": {}})
    stopped, *printed = done.cells[0].outputs
    assert stopped.ename == "CellTimeoutError"
    assert 0 < sum(len(output.get("text", "")) for output in printed) < 2_000_000
