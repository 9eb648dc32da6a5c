import sys

import psutil

from fairlab.suite import forks

NEEDED = {"fairlab.papers.themis.trials", "fairlab.papers.fairtest.trials", "papermill"}


def loaded():
    """Return the heavy libraries and those of `NEEDED` that are loaded, and how many threads there are."""
    from fairlab.suite.warm import HEAVY

    return set(sys.modules).intersection(HEAVY), NEEDED.intersection(sys.modules), psutil.Process().num_threads()


def test_what_all_experiments_need_is_loaded_and_nothing_that_only_some_do(tmp_path):
    heavy, needed, n_threads = forks.answer(loaded, log=str(tmp_path / "log"))
    assert heavy == set()
    assert needed == NEEDED
    assert n_threads == 1, "forks of a process with threads may hang"
