"""Labs that run in a browser: they import only what Pyodide has, start no thread, and are checked without a kernel."""

import subprocess
import sys

import nbformat
import pytest

from fairlab.suite.labs.course import cards
from fairlab.suite.labs.masters import exercises, read, solved, without_guide

IN_BROWSER = [lab for lab in cards() if lab.number in (1, 2, 3, 5, 6, 7, 9)]
# What fairlab uses and the labs in a browser do not have, and what starts kernels.
ABSENT = (
    "statsmodels",
    "pydantic",
    "yaml",
    "ot",
    "pulp",
    "highspy",
    "psutil",
    "pooch",
    "filelock",
    "numba",
    "tensorflow",
    "keras",
    "torch",
    "z3",
    "lime",
)
NO_KERNELS = ("nbgrader", "nbclient", "nbconvert", "jupyter_client", "zmq")
CHECK = f"""\
import sys, threading


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {ABSENT}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


def start(self):
    raise RuntimeError("can't start new thread")


sys.meta_path.insert(0, Absent())
sys.modules.update(dict.fromkeys({NO_KERNELS}))
threading.Thread.start = start
from fairlab.suite.labs.checking import as_text, check

lines = check(sys.argv[1])
print(as_text(lines))
assert {{line.state for line in lines}} == {{"ok", "manual"}}
"""


@pytest.mark.parametrize(
    "lab",
    [pytest.param(lab, id=lab.key, marks=[] if lab.number in (1, 9) else pytest.mark.slow) for lab in IN_BROWSER],
)
def test_a_solved_lab_is_checked_as_in_a_browser(lab, tmp_path):
    notebook = solved(without_guide(read(lab.notebook)))
    nbformat.write(notebook, tmp_path / "lab.ipynb")
    command = [sys.executable, "-c", CHECK, str(tmp_path / "lab.ipynb")]
    answer = subprocess.run(command, capture_output=True, text=True, env={"MPLBACKEND": "agg"}, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert len(answer.stdout.splitlines()) == len(exercises(notebook)) + 1


def test_an_empty_lab_loses_its_points_in_a_browser_too(tmp_path):
    nbformat.write(without_guide(read(cards()[0].notebook)), tmp_path / "lab.ipynb")
    source = (tmp_path / "lab.ipynb").read_text(encoding="utf-8").replace(".mean()", ".sum()")
    (tmp_path / "lab.ipynb").write_text(source, encoding="utf-8")
    command = [sys.executable, "-c", CHECK, str(tmp_path / "lab.ipynb")]
    answer = subprocess.run(command, capture_output=True, text=True, env={"MPLBACKEND": "agg"}, check=False)
    assert "test-admission-rates" in answer.stdout and "not yet" in answer.stdout, answer.stderr
