"""One table of bad inputs over every public callable: each ends in an error that names the argument and what is wrong.

Its rows stand in the files of `bad_input`: the name of the public callable, the argument, the call, and what the error
says of what was expected or found.
"""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from fairlab.suite.site import reference as public

# Files of rows, and the packages whose public callables need one: those of `__all__`, or all that a module defines.
FILES = sorted(path.stem for path in (Path(__file__).parent / "bad_input").glob("*.py") if path.stem != "rows")
PACKAGES = [name.removeprefix("fairlab").removeprefix(".") for name in public.PACKAGES if ".suite" not in name]
PACKAGES += ["fair_metric", "seeds"]
AT_LEAST = 200
# Taken on as it is, and so never bad.
TAKE_NOTHING = {("data", "available"), ("data", "status"), ("auditing.probes", "probes")}


def table():
    """Return the rows by package."""
    rows = {package: [] for package in PACKAGES}
    for name in FILES:
        for package, more in import_module(f"contract.bad_input.{name}").ROWS.items():
            rows[package] += more
    return rows


TABLE = table()
ROWS = [(package, row) for package, rows in TABLE.items() for row in rows]


def public_callables(package):
    module = import_module(f"fairlab.{package}" if package else "fairlab")
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    names = getattr(module, "__all__", [name for name in defined if not name.startswith("_")])
    values = {name: getattr(module, name) for name in names}
    return {name for name, value in values.items() if callable(value) and not is_error(value)}


def is_error(value):
    return inspect.isclass(value) and issubclass(value, BaseException)


@pytest.mark.parametrize(("package", "row"), ROWS, ids=[f"{package or 'fairlab'}-{row!r}" for package, row in ROWS])
def test_bad_input_is_refused_by_name(package, row):
    with pytest.raises(row.error) as caught:
        row.call()
    error = caught.value
    message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    assert row.argument in message
    assert row.says in message


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_callable_has_a_row(package):
    needed = {name for name in public_callables(package) if (package, name) not in TAKE_NOTHING}
    assert sorted(needed - {row.public for row in TABLE[package]}) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_rows_are_about_public_callables(package):
    assert sorted({row.public for row in TABLE[package]} - public_callables(package)) == []


def test_the_table_is_long_enough():
    assert len(ROWS) >= AT_LEAST
    assert all(row.says and row.argument for _, row in ROWS)
