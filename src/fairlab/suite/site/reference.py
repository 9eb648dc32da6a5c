"""The reference: one page per package of the library, with every public name, its source and its examples."""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

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
def _places() -> dict[int, tuple[str, str]]:
    """Return the package that documents each public object, and its name there, by the object's id."""
    places = {}
    for package in [*PACKAGES[1:], PACKAGES[0]]:
        for name in importlib.import_module(package).__all__:
            places.setdefault(id(described(package, name)), (package, name))
    return places


def public_names(package: str) -> list[str]:
    """Return the public names that a package documents: each in one package, in `fairlab` if in no other."""
    names = importlib.import_module(package).__all__
    return [name for name in names if _places()[id(described(package, name))][0] == package]


def packages() -> list[tuple[str, str]]:
    """Return the packages, each with the first line of its docstring."""
    return [(package, importlib.import_module(package).__doc__.partition("\n")[0]) for package in PACKAGES]


def package_page(package: str) -> str:
    """Return the page of a package as reStructuredText."""
    title, names = f"``{package}``", public_names(package)
    parts = [title, "=" * len(title), "", f".. automodule:: {package}", "   :no-members:", ""]
    for name in importlib.import_module(package).__all__:
        if name not in names:
            place = ".".join(_places()[id(described(package, name))])
            parts += [f"* ``{package}.{name}`` is :obj:`{place}`"]
    parts += ["", f".. currentmodule:: {package}", "", ".. autosummary::", "   :nosignatures:", ""]
    parts += [f"   {name}" for name in names]
    for name in names:
        thing = described(package, name)
        directive = "autoclass" if inspect.isclass(thing) else "autofunction" if callable(thing) else "autodata"
        members = ["   :members:"] if directive == "autoclass" and not issubclass(thing, BaseException) else []
        parts += ["", name, "-" * len(name), "", f".. {directive}:: {package}.{name}", *members]
    return "\n".join(parts) + "\n"
