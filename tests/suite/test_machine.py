import subprocess
import sys

import joblib

from fairlab.suite.machine import environment, n_cores, peak_memory_gb


def test_cores_are_those_that_may_be_used(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert n_cores() == joblib.cpu_count() == 1
    environment.cache_clear()
    assert environment()["platform"].endswith("1 cores")
    environment.cache_clear()


def test_memory_is_that_of_this_process():
    assert 0.01 < peak_memory_gb() < 100


def test_nothing_imports_what_windows_lacks():
    code = """
import builtins, sys
plain = builtins.__import__
def refuse(name, globals=None, *rest):
    if name in ("resource", "fcntl", "pwd") and (globals or {}).get("__name__", "").startswith("fairlab"):
        raise ImportError(name)
    return plain(name, globals, *rest)
builtins.__import__ = refuse
import fairlab.cli, fairlab.suite.experiment, fairlab.suite.batch, fairlab.suite.notebook, fairlab.benchmarks
"""
    subprocess.run([sys.executable, "-c", code], check=True)
