"""The reference: every public name has an example that runs."""

import doctest
import inspect
import re
import sys
import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from fairlab.site.building import packages


def thing(name):
    package, _, own = name.rpartition(".")
    return getattr(import_module(package), own)


PACKAGES = packages()
PLACES = [f"{package}.{name}" for package in PACKAGES[1:] for name in import_module(package).__all__]
PLACES.append("fairlab.Experiment")  # the other names of `fairlab` are of its packages
# Classes and functions: data is described in its package's docstring.
NAMES = [name for name in PLACES if inspect.isclass(thing(name)) or inspect.isroutine(thing(name))]


def examples_in(one, name):
    # As in the documentation of NumPy and pandas, their two names need no import.
    found = doctest.DocTestFinder(recurse=False).find(one, name, globs={"np": np, "pd": pd})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example(name):
    """One of its own, or it occurs in the example of its package."""
    package, _, own = name.rpartition(".")
    sources = [example.source for test in examples_in(sys.modules[package], package) for example in test.examples]
    assert examples_in(thing(name), name) or re.search(rf"\b{own}\b", "".join(sources))


@pytest.mark.parametrize("name", [*PACKAGES, *NAMES])
def test_examples_run(name, results):
    failures = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    with warnings.catch_warnings(action="ignore"):
        for test in examples_in(sys.modules[name] if name in PACKAGES else thing(name), name):
            runner.run(test, out=failures.append)
    assert failures == [], "".join(failures)
