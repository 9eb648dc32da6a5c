"""The reference: one page per package of the library, with every public name, its source and its examples."""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

from fairlab.suite.site.rows import PAGES

SOURCE = Path(__file__).parents[3]
FIRST = ("fairlab", "fairlab.auditing", "fairlab.auditing.probes", "fairlab.cases")


def _public_packages() -> list[str]:
    """Return the packages and modules that state public names in ``__all__``: what a reader needs first, the others."""
    states_names = re.compile(r"^(__getattr__, __dir__, )?__all__ =", re.MULTILINE)
    files = [path for path in SOURCE.glob("fairlab/**/*.py") if states_names.search(path.read_text(encoding="utf-8"))]
    found = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in files]
    return [*FIRST, *sorted(set(found) - set(FIRST))]


PACKAGES = _public_packages()


def described(package: str, name: str):
    """Return the object behind a public name, for its docstring."""
    return getattr(importlib.import_module(package), name)


@cache
def _places() -> dict[int, str]:
    """Return where each public object is documented, by its id: in `fairlab` if in no other package."""
    places = {}
    for package in [*PACKAGES[1:], PACKAGES[0]]:
        for name in importlib.import_module(package).__all__:
            places.setdefault(id(described(package, name)), f"{package}.{name}")
    return places


def public_names(package: str) -> list[str]:
    """Return the public names that a package documents: each object is documented in one place."""
    names = importlib.import_module(package).__all__
    return [name for name in names if _places()[id(described(package, name))] == f"{package}.{name}"]


def packages() -> list[tuple[str, str]]:
    """Return the packages, each with the first line of its docstring."""
    return [(package, importlib.import_module(package).__doc__.partition("\n")[0]) for package in PACKAGES]


def package_page(package: str) -> str:
    """Return the page of a package as reStructuredText."""
    own = {name: described(package, name) for name in public_names(package)}
    elsewhere = [name for name in importlib.import_module(package).__all__ if name not in own]
    return PAGES.package(
        package,
        {name: _places()[id(described(package, name))] for name in elsewhere},
        {name: _directive(thing) for name, thing in own.items()},
    )


def _directive(thing) -> str:
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction" if callable(thing) else "autodata"
