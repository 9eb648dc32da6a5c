"""Fingerprints of code and values: what a cached trial is keyed by.

A trial is computed anew when the code that computes it changes: the trial function, the notebook functions that it
calls, the modules of this package that it reaches, the numerical libraries. Comments, docstrings and layout do not
count.
"""

import ast
import dis
import hashlib
import importlib.util
import inspect
import sys
import textwrap
import types
from functools import cache
from importlib import metadata
from pathlib import Path

import joblib

PACKAGE = "fairlab"
NUMERICAL_LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "tensorflow", "tensorflow-cpu", "POT")


@cache
def library_versions() -> dict[str, str]:
    """Return the installed versions of the libraries that numbers may depend on."""
    versions = {}
    for library in NUMERICAL_LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return versions


def code_fingerprint(function) -> str:
    """Return a digest of `function` and of all code and values that it reaches.

    Notebook functions are followed through their global names; functions and classes of this package stand for their
    module and every module of the package imported from there; other libraries are left to `library_versions`.
    """
    parts = [f"{name}={version}" for name, version in sorted(library_versions().items())]
    parts += sorted(_reached(function, set()))
    return _digest("\n".join(parts))


def value_fingerprint(value) -> str:
    """Return a digest of the content of a value."""
    provenance = getattr(value, "provenance", None)
    if provenance is not None:  # a data set: where it came from does not say what was done to it since
        value = (provenance.data_hash, value.features, value.target, value.sensitive_features)
    return joblib.hash(value, hash_name="sha1")


def modules_fingerprint(names) -> str:
    """Return a digest of the modules `names` of this package and of all they import from it."""
    reached: set[str] = set()
    for name in names:
        _follow_imports(name, reached)
    return _digest("\n".join(f"{name} {_module_digest(name)}" for name in sorted(reached)))


def notebook_fingerprint(source: str, *texts: str) -> str:
    """Return a digest of a notebook's code, the modules of this package that it imports, the libraries, and `texts`."""
    tree = ast.parse(source)
    modules = modules_fingerprint(_imported(tree, PACKAGE))
    return _digest("\n".join([_canonical(tree), modules, str(sorted(library_versions().items())), *texts]))


def _reached(item, seen) -> list[str]:
    """Return one line for each piece of code or value that `item`, a function or class, reaches."""
    home = getattr(item, "__module__", None) or ""
    if home.split(".")[0] == PACKAGE:
        return [f"module {home} {modules_fingerprint([home])}"]
    if home != "__main__" and home.split(".")[0] in sys.stdlib_module_names | _installed():
        return []
    if id(item) in seen:
        return []
    seen.add(id(item))
    lines = [_canonical(ast.parse(textwrap.dedent(inspect.getsource(item))))]
    for name, value in _used_by_class(item) if inspect.isclass(item) else _used_by_function(item):
        lines += _reached_value(name, value, seen)
    return lines


def _reached_value(name, value, seen):
    if isinstance(value, types.ModuleType):
        own = value.__name__.split(".")[0] == PACKAGE
        return [f"module {value.__name__} {modules_fingerprint([value.__name__])}"] if own else []
    if inspect.isfunction(value) or inspect.isclass(value):
        return _reached(value, seen)
    if callable(value) and not hasattr(value, "__dict__"):  # built in
        return []
    return [f"value {name} {value_fingerprint(value)}"]


def _used_by_function(function) -> list[tuple[str, object]]:
    """Return what a function uses besides its own text: globals, enclosing names, defaults, what it wraps."""
    used = [*_free_values(function).items(), *(function.__kwdefaults__ or {}).items()]
    used += [(f"default {k}", value) for k, value in enumerate(function.__defaults__ or ())]
    wrapped = getattr(function, "__wrapped__", None)
    return used if wrapped is None else [*used, ("wrapped", wrapped)]


def _used_by_class(cls) -> list[tuple[str, object]]:
    """Return the bases of a class and its attributes, methods of every kind as functions."""
    used = [(base.__name__, base) for base in cls.__bases__]
    for name, value in vars(cls).items():
        if isinstance(value, property):
            used += [(name, part) for part in (value.fget, value.fset) if part]
        elif isinstance(value, staticmethod | classmethod):
            used.append((name, value.__func__))
        elif inspect.isfunction(value) or not (name.startswith("__") or inspect.isdatadescriptor(value)):
            used.append((name, value))
    return used


def _free_values(function) -> dict[str, object]:
    """Return the global and enclosing names that `function` uses, nested functions included, with their values."""
    values = dict(
        zip(
            function.__code__.co_freevars,
            (cell.cell_contents for cell in function.__closure__ or ()),
            strict=True,
        )
    )
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in function.__globals__:
                values[instruction.argval] = function.__globals__[instruction.argval]
    return dict(sorted(values.items()))


@cache
def _installed() -> frozenset[str]:
    return frozenset(metadata.packages_distributions())


def _follow_imports(name, reached):
    if name in reached or (path := _module_path(name)) is None:
        return
    reached.add(name)
    for imported in _imported(ast.parse(path.read_text(encoding="utf-8")), name):
        _follow_imports(imported, reached)


def _imported(tree, importer) -> set[str]:
    """Return the modules of this package that a syntax tree imports, at any depth.

    A text that is the name of a module counts, since lazy imports go by such texts; one that ends in a dot, as in
    ``f"fairlab.data.{name}"``, stands for all modules of that package.
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith(f"{PACKAGE}."):
            names |= _members(node.value) if node.value.endswith(".") else {node.value}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            package = importer if _is_package(importer) else importer.rpartition(".")[0]
            base = importlib.util.resolve_name(origin, package) if node.level else origin
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == PACKAGE and _module_path(name)}


def _members(prefix) -> set[str]:
    """Return the modules directly in the package whose name and a dot are `prefix`."""
    package = _module_path(prefix.rstrip("."))
    return set() if package is None else {f"{prefix}{path.stem}" for path in package.parent.glob("[!_]*.py")}


@cache
def _module_path(name) -> Path | None:
    base = Path(__file__).parents[1].joinpath(*name.split(".")[1:])
    candidates = (base / "__init__.py", base.with_suffix(".py"))
    return next((path for path in candidates if path.exists()), None)


def _is_package(name):
    path = _module_path(name)
    return path is not None and path.name == "__init__.py"


def _module_digest(name):
    return _digest(_canonical(ast.parse(_module_path(name).read_text(encoding="utf-8"))))


def _canonical(tree) -> str:
    """Return a text of a syntax tree that leaves out comments, layout and docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            first = body[0].value
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                node.body = body[1:]
    return ast.dump(tree)


def _digest(text) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
