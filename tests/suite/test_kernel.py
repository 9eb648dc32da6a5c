import os
import subprocess
import sys

from toy_project import CELLS, write_notebook

from fairlab.suite.forks import ENVIRONMENT
from fairlab.suite.run import run_folder

CODE = """
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import run_experiment
run_experiment(specification("toy/mean"), "smoke", forked=True)
"""


def test_a_forked_kernel_runs_a_notebook_as_another_does(toy):
    one = {}
    for forked in (True, False):
        code = CODE.replace("forked=True", f"forked={forked}")
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | ENVIRONMENT)
        folder = run_folder("toy/mean", "smoke")
        one[forked] = [(folder / name).read_bytes() for name in ("records.json", "figures/figure-1.svg")]
    assert one[True] == one[False]


def test_a_forked_kernel_that_is_killed_is_said_to_have_died(toy):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], kill])
    command = [sys.executable, "-c", CODE]
    answer = subprocess.run(command, capture_output=True, text=True, env=os.environ | ENVIRONMENT, check=False)
    assert answer.returncode == 1
    assert "NotebookError: the kernel died, at a peak memory of" in answer.stderr
