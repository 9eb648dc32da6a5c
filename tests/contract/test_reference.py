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

import fairlab
from fairlab.auditing.probes import probes
from fairlab.paths import project
from fairlab.site.building import packages


def has_docstring(thing):
    """Say whether a public name is a class or a function: data is described in its package's docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def thing(name):
    package, _, own = name.rpartition(".")
    return getattr(import_module(package), own)


PACKAGES = packages()
PLACES = [f"{package}.{name}" for package in PACKAGES[1:] for name in import_module(package).__all__]
PLACES.append("fairlab.Experiment")  # the other names of `fairlab` are of its packages
NAMES = [name for name in PLACES if has_docstring(thing(name))]
# Packages of the methods: the docstring of a name or of its module refers to a part of the paper.
METHODS = tuple(probes())
SOURCE = re.compile(
    r"\b(section|algorithm|equation|definition|theorem|proposition|appendix|table|figure)s?\b|\b\d{4}\b|\bpaper",
    re.IGNORECASE,
)


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


@pytest.mark.parametrize("name", [name for name in NAMES if name.split(".")[1] in METHODS])
def test_a_method_says_where_it_is_published(name):
    places = (thing(name), sys.modules[thing(name).__module__], sys.modules[name.rpartition(".")[0]])
    texts = [place.__doc__ or "" for place in places]
    assert any(SOURCE.search(text) for text in texts), f"{name}: neither it nor its module names a place in a paper"


def test_every_public_name_is_in_the_reference_once():
    places = {id(thing(name)): name for name in PLACES}
    assert len(places) == len(PLACES)
    page = (project().docs / "reference" / "fairlab.rst").read_text(encoding="utf-8")
    for name in fairlab.__all__:
        own = places[id(getattr(fairlab, name))]
        assert f"``fairlab.{name}`` is :obj:`{own}`" in page or f"autoclass:: {own}" in page


def test_every_package_has_a_docstring():
    assert all(sys.modules[package].__doc__ for package in PACKAGES)
    assert fairlab.__doc__


# The public interface has types, and mypy reports a call that does not fit them.

TYPED = ["fairlab", "fairlab.auditing", "fairlab.cases", "fairlab.models", *(f"fairlab.{name}" for name in METHODS)]


def functions(thing):
    """Yield the public functions of a public name: itself, or the methods of a class and what makes an instance."""
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            function = inspect.unwrap(getattr(member, "__func__", member))
            if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
                yield function
    elif inspect.isfunction(thing):
        yield thing


def annotations(function):
    signature = inspect.signature(function)
    own = {
        name: parameter.annotation for name, parameter in signature.parameters.items() if name not in ("self", "cls")
    }
    return own | {"return": signature.return_annotation}


@pytest.mark.parametrize("package", [package for package in PACKAGES if package in TYPED])
def test_signatures_are_annotated(package):
    module = import_module(package)
    missing = [
        f"{function.__qualname__}: {name}"
        for public in module.__all__
        for function in functions(getattr(module, public))
        for name, annotation in annotations(function).items()
        if annotation is inspect.Parameter.empty and (function.__name__, name) != ("__init__", "return")
    ]
    assert not missing


def test_wrong_calls_are_reported_and_right_ones_are_not():
    command = [sys.executable, "-m", "mypy", "tests/contract/typed_calls.py"]
    answer = subprocess.run(command, cwd=project().root, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
