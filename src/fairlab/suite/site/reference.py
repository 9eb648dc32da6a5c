"""The reference: one page per package of the library, with every public name, its source and its examples."""

import importlib
import inspect

# Packages with public names in the order of the reference, and their descriptions.
PACKAGES = {
    "fairlab": "Entry points: a case, an audit, a comparison of two models, a data set, an experiment",
    "fairlab.auditing": "All methods on one case, and the report",
    "fairlab.cases": "A model with its table: adapter, query cache and input domain",
    "fairlab.fliptest": "FlipTest: people and their counterparts",
    "fairlab.fairtest": "FairTest: subgroups in which outputs are associated with a protected attribute",
    "fairlab.individual_fairness": "Inference for individual fairness: attacks inside a fair metric",
    "fairlab.themis": "Themis: testing programs with generated inputs",
    "fairlab.adf": "ADF and AEQUITAS (directed random testing): discriminatory inputs of a network",
    "fairlab.models": "Classifiers to train and to audit",
    "fairlab.transport": "Optimal transport: exact, by networks, in one dimension",
    "fairlab.networks": "Networks given by their weights, and their training",
    "fairlab.data": "Data sets with their provenance",
    "fairlab.suite.labs": "Tables and checks for the labs of a course",
}


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
        f"{PACKAGES[package]}.",
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
