import os
import subprocess
import sys

from toy_project import CELLS, write_notebook

from fairlab.suite.catalogue import specification
from fairlab.suite.forks import ENVIRONMENT, variables
from fairlab.suite.notebook import run_experiment
from fairlab.suite.run import run_folder

CODE = """
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import run_experiment
run_experiment(specification("toy/mean"), "smoke", forked=True)
"""


def parts_of_the_run():
    folder = run_folder("toy/mean", "smoke")
    return [(folder / name).read_bytes() for name in ("records.json", "figures/figure-1.svg")]


def test_a_forked_kernel_runs_a_notebook_as_another_does(toy):
    with variables(ENVIRONMENT):
        subprocess.run([sys.executable, "-c", CODE], check=True)
        forked = parts_of_the_run()
        run_experiment(specification("toy/mean"), "smoke")
    assert parts_of_the_run() == forked


def test_killed_forked_kernel_is_reported_dead(toy):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    write_notebook(toy / "notebooks" / "toy" / "mean.ipynb", [CELLS[0], kill])
    command = [sys.executable, "-c", CODE]
    answer = subprocess.run(command, capture_output=True, text=True, env=os.environ | ENVIRONMENT, check=False)
    assert answer.returncode == 1
    assert "NotebookError: the kernel died, at a peak memory of" in answer.stderr
