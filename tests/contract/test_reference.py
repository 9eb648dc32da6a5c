"""The reference: every public name says where it comes from and has an example, which runs."""

import doctest
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import fairlab
from fairlab.suite.site.reference import ROOMS, described, has_docstring, public_names

NAMES = [f"{room}.{name}" for room in ROOMS for name in public_names(room) if has_docstring(described(room, name))]
# Rooms of the papers' methods: a name, or the module that it stands in, says which part of which paper it is.
METHODS = ("fliptest", "fairtest", "individual_fairness", "themis", "adf")
SOURCE = re.compile(
    r"\b(section|algorithm|equation|definition|theorem|proposition|appendix|table|figure)s?\b|\b\d{4}\b|\bpaper",
    re.IGNORECASE,
)


def thing(name):
    room, _, own = name.rpartition(".")
    return described(room, own)


def of_methods():
    return [name for name in NAMES if name.split(".")[1] in METHODS]


def examples_in(one, name):
    # As in the documentation of NumPy and pandas, their two names need no import.
    found = doctest.DocTestFinder(recurse=False).find(one, name, globs={"np": np, "pd": pd})
    return [test for test in found if test.examples]


def run(tests):
    """Run examples and return what they told of failures."""
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in tests:
            runner.run(test, out=told.append)
    return "".join(told) if runner.failures else ""


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, results):
    """Every name has an example of its own, or stands in that of its room."""
    tests = examples_in(thing(name), name)
    room, _, own = name.rpartition(".")
    of_room = "".join(example.source for test in examples_in(sys.modules[room], room) for example in test.examples)
    assert tests or re.search(rf"\b{own}\b", of_room), f"{name} has no example"
    told = run(tests)
    assert not told, told


@pytest.mark.parametrize("room", ROOMS)
def test_examples_of_rooms_run(room, results):
    told = run(examples_in(sys.modules[room], room))
    assert not told, told


@pytest.mark.parametrize("name", of_methods())
def test_a_method_says_where_it_is_published(name):
    places = (thing(name), sys.modules[thing(name).__module__], sys.modules[name.rpartition(".")[0]])
    texts = [place.__doc__ or "" for place in places]
    assert any(SOURCE.search(text) for text in texts), f"{name}: neither it nor its module names a place in a paper"


def test_every_room_is_described():
    assert all(sys.modules[room].__doc__ for room in ROOMS)
    assert fairlab.__doc__
