"""The public interface has types, and mypy reports a call that does not fit them."""

import inspect
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from fairlab.auditing.probes import probes
from fairlab.paths import project

METHODS = [f"fairlab.{name}" for name in sorted(probes()) if find_spec(f"fairlab.{name}")]


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


@pytest.mark.parametrize("package", ["fairlab", "fairlab.auditing", "fairlab.cases", "fairlab.models", *METHODS])
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
