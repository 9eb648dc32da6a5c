"""Fixtures shared by all tests, such as a small project, so that no test touches this project's results."""

import gc
import os
import sys

import numpy as np
import pytest
from hypothesis import settings
from toy_project import PUBLISHED, add_experiment

from fairlab.data.project import project
from fairlab.paths import write_text

gc.set_threshold(30_000)  # as in the command line
# One thread per test process: the test runner already uses every core.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(_name, "1")
settings.register_profile("fairlab", deadline=None)  # the time of an example depends on the machine
settings.load_profile("fairlab")


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A results folder of the test's own."""
    folder = tmp_path / "results"
    monkeypatch.setenv("FAIRLAB_RESULTS", str(folder))
    return folder


@pytest.fixture
def toy(tmp_path, monkeypatch, results):
    """A project with one paper and one experiment, ``toy/mean``; returns its root."""
    own, root = project(), tmp_path / "project"
    write_text(root / "experiments" / "toy" / "published.yaml", PUBLISHED)
    add_experiment(root, "mean")
    (root / "data_scripts").symlink_to(own.data_scripts)
    for name in ("Snakefile", "profiles"):
        (root / "experiments" / name).symlink_to(own.experiments / name)

    monkeypatch.setenv("FAIRLAB_ROOT", str(root))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    return root


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The test's own current folder, from which models may be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("bank", None)


@pytest.fixture(scope="module")
def forked_kernels():
    """Kernels of notebooks start fast; for test files that run many."""
    from fairlab.suite.forks import forking

    with forking():
        yield
