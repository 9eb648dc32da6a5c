"""The reference: one page per package of the library, with every public name, its source and its examples."""

import importlib
import inspect
import re
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


def public_names(package: str) -> list[str]:
    """Return the public names that a package documents: each in one package, in `fairlab` if in no other."""
    return [
        name
        for name in importlib.import_module(package).__all__
        if _documented_in(described(package, name))[0] == package
    ]


def _documented_in(thing) -> tuple[str, str]:
    """Return the package that documents an object, and its name there."""
    for package in [*PACKAGES][1:] + [*PACKAGES][:1]:
        for name in importlib.import_module(package).__all__:
            if described(package, name) is thing:
                return package, name
    raise LookupError(f"{thing!r} has no public name")


def described(package: str, name: str):
    """Return the object behind a public name, for its docstring."""
    return getattr(importlib.import_module(package), name)


def has_docstring(thing) -> bool:
    """Say whether a public name is a class or a function: data is described in its package's docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def package_page(package: str) -> str:
    """Return the page of a package as reStructuredText."""
    title = f"``{package}``"
    parts = [
        title,
        "=" * len(title),
        "",
        f".. automodule:: {package}",
        "   :no-members:",
        "",
    ]
    names = public_names(package)
    elsewhere = [name for name in importlib.import_module(package).__all__ if name not in names]
    for name in elsewhere:
        parts += [f"* ``{package}.{name}`` is :obj:`{'.'.join(_documented_in(described(package, name)))}`"]
    parts += [""]
    parts += [".. currentmodule:: " + package, "", ".. autosummary::", "   :nosignatures:", ""]
    parts += [f"   {name}" for name in names]
    for name in names:
        thing = described(package, name)
        directive = "autoclass" if inspect.isclass(thing) else "autofunction" if callable(thing) else "autodata"
        members = ["   :members:"] if directive == "autoclass" and not issubclass(thing, BaseException) else []
        parts += ["", name, "-" * len(name), "", f".. {directive}:: {package}.{name}", *members]
    return "\n".join(parts) + "\n"
