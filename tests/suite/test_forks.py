import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairlab.suite import forks


def divide(a, b):
    return a / b


def vanish():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def log(tmp_path, light_forks):
    return str(tmp_path / "a.log")


def test_a_fork_has_the_settings_of_workers_and_prints_to_its_log(log):
    # In a process of its own: what all are forked from may run here since another test.
    code = """
import json, os, sys
from fairlab.suite import forks
forks.PRELOADED = "json"
found = {name: forks.answer(os.getenv, name, log=sys.argv[1]) for name in forks.ENVIRONMENT}
forks.answer(print, "seen on no screen", log=sys.argv[1])
print(json.dumps([found, os.environ.get("MPLBACKEND")]))
"""
    done = subprocess.run([sys.executable, "-c", code, log], capture_output=True, text=True, check=True)
    found, backend = json.loads(done.stdout)
    assert found == forks.ENVIRONMENT
    assert "seen on no screen" in Path(log).read_text()
    assert backend != forks.ENVIRONMENT["MPLBACKEND"]


def test_fork_reports_errors_and_death(log):
    assert forks.answer(divide, 1, 2, log=log) == 0.5
    with pytest.raises(ZeroDivisionError):
        forks.answer(divide, 1, 0, log=log)
    with pytest.raises(RuntimeError, match="vanish ended without a result; see"):
        forks.answer(vanish, log=log)
