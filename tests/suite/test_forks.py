import os
import signal
from pathlib import Path

import pytest

from fairlab.suite import forks


def variables(names):
    print("seen on no screen")
    return {name: os.environ.get(name) for name in names}


def divide(a, b):
    return a / b


def vanish():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def log(tmp_path, light_forks):
    return str(tmp_path / "a.log")


def test_a_fork_has_the_settings_of_workers_and_prints_to_its_log(log, capfd):
    assert forks.answer(variables, list(forks.ENVIRONMENT), log=log) == forks.ENVIRONMENT
    assert "seen on no screen" in Path(log).read_text()
    assert capfd.readouterr().out == ""
    assert os.environ.get("MPLBACKEND") != forks.ENVIRONMENT["MPLBACKEND"]


def test_a_fork_says_what_it_raised_or_that_it_died(log):
    assert forks.answer(divide, 1, 2, log=log) == 0.5
    with pytest.raises(ZeroDivisionError):
        forks.answer(divide, 1, 0, log=log)
    with pytest.raises(RuntimeError, match="vanish ended without an answer; see"):
        forks.answer(vanish, log=log)
