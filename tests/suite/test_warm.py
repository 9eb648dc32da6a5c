import json
import subprocess
import sys

CODE = """
import json, sys, psutil
import fairlab.suite.warm
heavy = [name for name in fairlab.suite.warm.HEAVY if name in sys.modules]
some = ("fairlab.papers.themis.trials", "fairlab.papers.fairtest.trials", "papermill")
loaded = [name for name in some if name in sys.modules]
print(json.dumps([heavy, loaded, psutil.Process().num_threads()]))
"""


def test_what_all_experiments_need_is_loaded_and_nothing_that_only_some_do():
    answer = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    heavy, loaded, n_threads = json.loads(answer.stdout)
    assert heavy == []
    assert len(loaded) == 3
    assert n_threads == 1, "forks of a process with threads may hang"
