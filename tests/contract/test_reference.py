"""The reference: every public name refers to its source and has an example that runs."""

import doctest
import inspect
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import fairlab
from fairlab.auditing.probes import probes
from fairlab.suite.site.reference import PACKAGES, described, public_names


def has_docstring(thing):
    """Say whether a public name is a class or a function: data is described in its package's docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


NAMES = [
    f"{package}.{name}"
    for package in PACKAGES
    for name in public_names(package)
    if has_docstring(described(package, name))
]
# Packages of the methods: the docstring of a name or of its module refers to a part of the paper.
METHODS = tuple(probes())
SOURCE = re.compile(
    r"\b(section|algorithm|equation|definition|theorem|proposition|appendix|table|figure)s?\b|\b\d{4}\b|\bpaper",
    re.IGNORECASE,
)


def thing(name):
    package, _, own = name.rpartition(".")
    return described(package, own)


def of_methods():
    return [name for name in NAMES if name.split(".")[1] in METHODS]


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


@pytest.mark.parametrize("name", of_methods())
def test_a_method_says_where_it_is_published(name):
    places = (thing(name), sys.modules[thing(name).__module__], sys.modules[name.rpartition(".")[0]])
    texts = [place.__doc__ or "" for place in places]
    assert any(SOURCE.search(text) for text in texts), f"{name}: neither it nor its module names a place in a paper"


def test_every_package_has_a_docstring():
    assert all(sys.modules[package].__doc__ for package in PACKAGES)
    assert fairlab.__doc__
