"""Fingerprints of code and values, the keys of cached trials.

A trial is computed again when its function changes, a function or constant of the notebook that it names, a module of
this package that one of these reaches, at any depth, or the version of a distribution that is used there. Comments,
docstrings and layout do not count, nor the modules of `LEFT_OUT`.
"""

import ast
import builtins
import dis
import hashlib
import inspect
import pickle
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from joblib.hashing import NumpyHasher

from fairlab.checks import EXTRAS
from fairlab.paths import project
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import code_of

PACKAGE = "fairlab"
# Packages whose distribution has another name.
OTHERWISE_NAMED = {
    "IPython": "ipython",
    "ot": "POT",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    "z3": "z3-solver",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PUT_OFF = {"optional", "required"}  # functions that import a package when it is used
# What no result of a trial depends on: the words of checks, the looks of figures, and where files are and how they are
# fetched, since their content has a hash.
LEFT_OUT = frozenset(
    f"{PACKAGE}.{name}"
    for name in ("checks", "plotting", "paths", "data.errors", "data.files", "data.inventory", "data.sources")
)
_SOURCE = Path(__file__).parents[1]
# Of a class, what depends on where it is written, and not on what it does.
MADE_BY_PYTHON = {"__module__", "__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__"}


def value_fingerprint(value, within: tuple = ()) -> str:
    """Return a digest of the content of a value, with the code of the functions and classes in it.

    Parameters
    ----------
    value : object
    within : tuple
        Functions and classes whose digest this is a part of, which may name each other.

    Raises
    ------
    TypeError
        If the value cannot be pickled, as an open file or an `Experiment`.
    """
    provenance = getattr(value, "provenance", None)
    if provenance is not None:  # a data set: where it came from does not say what was done to it since
        value = (provenance.data_hash, value.features, value.target, value.sensitive_features)
    return _Hasher(within).hash(value)


class _Hasher(NumpyHasher):
    """Digest of a value, for which a module, function or class counts as its code instead of its name."""

    def __init__(self, within):
        super().__init__(hash_name="sha1")
        self.within = within

    def save(self, obj):
        super().save(_code(obj, self.within) if isinstance(obj, ModuleType | FunctionType | type) else obj)


def _code(what, within) -> str:
    """Return a digest of the code of a module, function or class, and of all that it depends on but arguments."""
    home = what.__name__ if isinstance(what, ModuleType) else what.__module__
    top, name = home.partition(".")[0], f"{home} {getattr(what, '__qualname__', '')}"
    if top == PACKAGE:
        return f"{name} {modules_fingerprint(_whole(home) if isinstance(what, ModuleType) else [home])}"
    if top != "__main__" and (top in sys.stdlib_module_names or _distributions(top)):
        return f"{name} {_distributions(top)}"
    if what in within:
        return what.__qualname__
    if isinstance(what, ModuleType):  # a module beside the notebook
        own, *imported = _content(Path(inspect.getsourcefile(what)).read_text(encoding="utf-8"), home)
        return _digest(f"{own}\n{modules_fingerprint(*imported)}")
    if isinstance(what, FunctionType):
        used = {"": (_source(what), what.__defaults__, what.__kwdefaults__)} | _names(what)
    else:
        own = {name: value for name, value in vars(what).items() if name not in MADE_BY_PYTHON}
        used = {name: getattr(value, "__func__", getattr(value, "fget", value)) for name, value in own.items()}
        used[""] = what.__bases__
    lines = []
    for name, value in sorted(used.items()):
        try:
            lines.append(f"{name} {value_fingerprint(value, (*within, what))}")
        except (TypeError, pickle.PicklingError) as error:
            raise TypeError(
                f"{what.__qualname__} uses {name or 'defaults'}, a {type(value).__name__} that no worker can get; "
                f"a trial gets what it needs as arguments ({error})"
            ) from None
    return _digest("\n".join(lines))


def _source(function) -> str:
    """Return the source of a function without comments, layout and docstring; of a lambda its compiled code."""
    try:
        return " ".join(_parts(ast.parse(textwrap.dedent(inspect.getsource(function))))[0])
    except (OSError, SyntaxError):
        return repr([(code.co_code, code.co_names, code.co_varnames) for code in _codes(function.__code__)])


def _codes(code) -> list[CodeType]:
    """Return the code of a function and of all functions in it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return [code, *(part for one in inner for part in _codes(one))]


def _names(function) -> dict:
    """Return what a function uses of its module and of the functions around it, by name."""
    loads = (instruction for code in _codes(function.__code__) for instruction in dis.get_instructions(code))
    names = {load.argval for load in loads if load.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    around = inspect.getclosurevars(function).nonlocals
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    if unknown := sorted(name for name in names - found.keys() if not hasattr(builtins, name)):
        raise TypeError(f"{function.__qualname__} uses {', '.join(unknown)}, which is not defined")
    return found | around


def modules_fingerprint(names: Iterable[str], libraries: Iterable[str] = (), left_out: frozenset = LEFT_OUT) -> str:
    """Return a digest of modules of this package, of all modules that they import, and of the library versions.

    Versions are those of the libraries that these modules import, and of `libraries`; the modules `left_out` do not
    count.
    """
    reached, imported = _closure(frozenset(names), left_out)
    versions = {found for library in imported.union(libraries) for found in _distributions(library)}
    lines = [f"{name} {_read(name)[0]}" for name in sorted(reached)]
    return _digest("\n".join(lines + [f"{name}={version}" for name, version in sorted(versions)]))


def notebook_fingerprint(source: str, *texts: str) -> str:
    """Return a digest of a notebook's code, of all that it imports (also how figures look), and of `texts`."""
    own, *imported = _content(source, "__main__")
    return _digest("\n".join([own, modules_fingerprint(*imported, frozenset()), *texts]))


def state(name: str) -> str:
    """Return a digest of what a run depends on besides its profile: code, published numbers, available data.

    Titles, remarks and minutes do not count.
    """
    from fairlab.data import state_of
    from fairlab.data.registry import project_registry

    spec = specification(name)
    published = [
        [id, value.kind, value.printed]
        for artefact in map(spec.published.artefact, spec.artefacts)
        for id, value in artefact.values.items()
    ]
    texts = [repr((spec.profiles.model_dump(), spec.artefacts, spec.data, spec.files, published))]
    for variant in spec.data:
        files = [*project().data_scripts.glob(f"make_{variant.replace('-', '_')}.py")]
        files += (project().data_scripts / "surrogates").glob(f"{variant}.yaml")
        texts += [file.read_text(encoding="utf-8") for file in files]
        texts.append(f"{state_of(variant)} {project_registry().variant(variant)}")
    return notebook_fingerprint(code_of(spec.notebook), *texts)


@cache
def _distributions(library) -> tuple[tuple[str, str], ...]:
    """Return name and version of the distributions of a package; most have its name, which spares reading them all."""
    try:
        names = [OTHERWISE_NAMED.get(library, library)]
        found = [metadata.distribution(name) for name in names]
    except metadata.PackageNotFoundError:
        found = [metadata.distribution(name) for name in set(_every_package().get(library, ()))]
    return tuple((one.name, one.version) for one in found)


_every_package = cache(metadata.packages_distributions)


@cache
def _closure(names: frozenset[str], left_out) -> tuple[frozenset[str], frozenset[str]]:
    """Return the modules of this package that `names` reach, themselves included, and the other packages imported."""
    reached, libraries, pending = set(), set(), list(names)
    while pending:
        name = pending.pop()
        if name in reached | left_out or _module_path(name) is None:
            continue
        reached.add(name)
        _, own, others = _read(name)
        pending += own
        libraries |= others
    return frozenset(reached), frozenset(libraries)


@cache
def _read(name) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a digest of the code of a module of this package, and what it imports of it and of others."""
    text, *imported = _content(_module_path(name).read_text(encoding="utf-8"), name)
    return _digest(text), *imported


def _content(source, importer) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a source without comments, layout and docstrings, and the modules that it imports, at any depth.

    First those of this package, then the other top-level packages. A text that is the name of a module counts, and one
    that is the name of an optional package where such are imported by name, since lazy imports go by such texts.
    """
    parts, imports, texts = _parts(ast.parse(source, importer))
    own, others = set(texts), {base.split(".")[0] for base, _ in imports} - {PACKAGE} - sys.stdlib_module_names
    for base, names in imports:
        own |= {base} if names else _whole(base)
        for name in names:
            own |= _whole(f"{base}.{name}") or {_lazy_homes(base).get(name, base)}
        if PUT_OFF.intersection(names):
            others |= {text.split(".")[0] for text in texts} & EXTRAS.keys()
    return " ".join(parts), frozenset(filter(_module_path, own)), frozenset(others)


def _parts(tree) -> tuple[list[str], list[tuple[str, list[str]]], set[str]]:
    """Return all that a syntax tree says, in one pass, which modules it imports with which names, and its texts."""
    parts, imports, texts, left = [], [], set(), [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            parts.append(f"[{len(node)}]")
            left += node
        elif not isinstance(node, ast.AST):
            parts.append(repr(node))
            texts.add(node)
        else:
            if isinstance(node, ast.Import):
                imports += [(alias.name, []) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imports.append((node.module or "", [alias.name for alias in node.names]))
            elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
            parts.append(type(node).__name__)
            left += [getattr(node, field, None) for field in node._fields]
    return parts, imports, {text for text in texts if isinstance(text, str)}


def _whole(name) -> set[str]:
    """Return a module, with all that a lazy package may load when it is imported as a whole; empty for no module."""
    return {name, *_lazy_homes(name).values()} if _module_path(name) else set()


@cache
def _lazy_homes(package) -> dict[str, str]:
    """Return which module each public name of a package comes from, as the stub that its imports are read from says."""
    path = _module_path(package)
    if path is None or not path.with_suffix(".pyi").exists():
        return {}
    _, imports, _ = _parts(ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8")))
    return {name: f"{package}.{module}" for module, names in imports for name in names}


@cache
def _module_path(name) -> Path | None:
    """Return the file of a module of this package; None if it is none."""
    package, *parts = name.split(".")
    base = _SOURCE.joinpath(*parts)
    files = (base / "__init__.py", base.with_suffix(".py")) if package == PACKAGE else ()
    return next((path for path in files if path.exists()), None)


def _digest(text) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
