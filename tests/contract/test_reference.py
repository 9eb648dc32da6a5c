"""The reference: every public name refers to its source, has an example that runs, and types."""

import doctest
import inspect
import re
import subprocess
import sys
import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from fairlab.data.project import project
from fairlab.site.building import packages


def thing(name):
    package, _, own = name.rpartition(".")
    return getattr(import_module(package), own)


PACKAGES = packages()
PLACES = [f"{package}.{name}" for package in PACKAGES[1:] for name in import_module(package).__all__]
PLACES.append("fairlab.Experiment")  # the other names of `fairlab` are of its packages
# Classes and functions: data is described in its package's docstring.
NAMES = [name for name in PLACES if inspect.isclass(thing(name)) or inspect.isroutine(thing(name))]
# Packages of the methods: the docstring of a name or of its module refers to a part of the paper.


def examples_in(one, name):
    # As in the documentation of NumPy and pandas, their two names need no import.
    found = doctest.DocTestFinder(recurse=False).find(one, name, globs={"np": np, "pd": pd})
    return [test for test in found if test.examples]


def run(tests):
    """Run examples and return the reports of failures."""
    failures = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in tests:
            runner.run(test, out=failures.append)
    return "".join(failures) if runner.failures else ""


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, results):
    """Every name has its own example, or occurs in the example of its package."""
    tests = examples_in(thing(name), name)
    package, _, own = name.rpartition(".")
    of_package = "".join(
        example.source for test in examples_in(sys.modules[package], package) for example in test.examples
    )
    assert tests or re.search(rf"\b{own}\b", of_package), f"{name} has no example"
    failures = run(tests)
    assert not failures, failures


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_of_packages_run(package, results):
    failures = run(examples_in(sys.modules[package], package))
    assert not failures, failures


# The public interface has types, and mypy reports a call that does not fit them.


def test_wrong_calls_are_reported_and_right_ones_are_not():
    command = [sys.executable, "-m", "mypy", "tests/contract/typed_calls.py"]
    answer = subprocess.run(command, cwd=project().root, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
