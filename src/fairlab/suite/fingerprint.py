"""Fingerprints of code and values, the keys of cached trials.

A trial is computed again when its function changes, a function or constant of the notebook that it names, a module of
this package that one of these reaches, at any depth, or the version of a library that is used there. Code counts as it
is compiled: comments, layout and docstrings do not, nor the modules of `LEFT_OUT`.
"""

import dis
import hashlib
import inspect
import pickle
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from joblib.hashing import NumpyHasher

from fairlab.checks import EXTRAS
from fairlab.data.dataset import Dataset
from fairlab.data.project import project
from fairlab.suite.catalogue import specification
from fairlab.suite.notebook import code_of
from fairlab.suite.run import libraries

PACKAGE = "fairlab"
# What distributions are imported as, where that is not their name.
IMPORTED_AS = {
    "ipython": "IPython",
    "pot": "ot",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "tensorflow-cpu": "tensorflow",
    "z3-solver": "z3",
}
# What no result of a trial depends on: the words of checks, the looks of figures, and where files are and how they are
# fetched, since their content has a hash.
LEFT_OUT = frozenset(
    f"{PACKAGE}.{name}"
    for name in ("checks", "plotting", "paths", "data.errors", "data.files", "data.inventory", "data.sources")
)
_SOURCE = Path(__file__).parents[1]
CachedFunction = type(cache(len))
_READ: dict[str, str] = {}  # digests of modules when this process first read them, which is the code that it runs
EXPORT = re.compile(r"^from \.([\w.]+) import (\w+)", re.MULTILINE)  # of a lazy package, in its stub
# What counts of compiled code: all but where it stands.
PARTS_OF_CODE = (
    *("co_code", "co_exceptiontable", "co_names", "co_varnames", "co_cellvars", "co_freevars"),
    *("co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
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
    if isinstance(value, Dataset):  # where it came from does not say what was done to it since
        value = vars(value) | {"provenance": value.provenance.data_hash}
    return _Hasher(within).hash(value)


class _Hasher(NumpyHasher):
    """Digest of a value, for which a module, function or class counts as its code instead of its name."""

    def __init__(self, within):
        super().__init__(hash_name="sha1")
        self.within = within

    def save(self, obj):
        obj = obj.__wrapped__ if isinstance(obj, CachedFunction) else obj  # which pickle knows by its name alone
        super().save(_code(obj, self.within) if isinstance(obj, ModuleType | FunctionType | type) else obj)


def _code(what, within) -> str:
    """Return a digest of the code of a module, function or class, and of all that it depends on but arguments."""
    home = what.__name__ if isinstance(what, ModuleType) else what.__module__
    top, name = home.partition(".")[0], f"{home} {getattr(what, '__qualname__', '')}"
    if top == PACKAGE:
        return f"{name} {modules_fingerprint([home])}"
    if top != "__main__" and (top in sys.stdlib_module_names or _version(top)):
        return f"{name} {_version(top)}"
    if what in within:
        return what.__qualname__
    if top != "__main__":  # a module beside the notebook, which workers import
        with suppress(TypeError):  # it has no file
            file = Path(inspect.getsourcefile(sys.modules.get(home)))
            _read_at(home, file, file.stat().st_mtime_ns)
    if isinstance(what, ModuleType):
        return notebook_fingerprint(file.read_text(encoding="utf-8"))
    if isinstance(what, FunctionType):
        digest, names = _compiled(what.__code__, what.__doc__)
        own = _used(what)
        modules = [value.__name__ for value in own.values() if isinstance(value, ModuleType)]
        imported = modules_fingerprint(_imported(names, modules), names)
        used = own | {"": (digest, imported, what.__defaults__, what.__kwdefaults__)}
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


def _used(function) -> dict:
    """Return what a function uses of its module and of the functions around it, by name."""
    loads = (instruction for code in _codes(function.__code__) for instruction in dis.get_instructions(code))
    names = {load.argval for load in loads if load.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    return found | inspect.getclosurevars(function).nonlocals


def _codes(code) -> list[CodeType]:
    """Return the code of a function and of all functions in it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return [code, *(part for one in inner for part in _codes(one))]


def _compiled(code, docstring=None) -> tuple[str, frozenset[str]]:
    """Return a digest of what compiled code does, and the names in it, with those of optional packages in its texts."""
    parts, names = [], set()
    for own in _codes(code):
        plain = [None if one == docstring else one for one in own.co_consts if not isinstance(one, CodeType)]
        parts += [sorted(map(repr, one)) if isinstance(one, frozenset) else one for one in plain]  # sets have no order
        parts += [getattr(own, part) for part in PARTS_OF_CODE]
        names |= {*own.co_names, *(EXTRAS.keys() & {one.split(".")[0] for one in plain if isinstance(one, str)})}
    return _digest(repr(parts)), frozenset(names)


def modules_fingerprint(
    modules: Iterable[str], names: frozenset[str] = frozenset(), left_out: frozenset[str] = LEFT_OUT
) -> str:
    """Return a digest of modules of this package, of all that they import of it, and of the versions of libraries.

    Libraries are those whose name is in the code, or one of `names`. The modules `left_out` do not count.

    Raises
    ------
    RuntimeError
        If a module has changed since this process read it: workers would run other code than the digest says.
    """
    reached, pending = {}, list(modules)
    while pending:
        if (module := pending.pop()) not in reached.keys() | left_out:
            reached[module], more, imported = _read(module)
            names |= more
            pending += imported
    lines = [f"{module} {reached[module]}" for module in sorted(reached)]
    libraries = _required().keys() & {name.partition(".")[0] for name in names}
    return _digest("\n".join(lines + [f"{name} {_version(name)}" for name in sorted(libraries)]))


def notebook_fingerprint(source: str, *texts: str) -> str:
    """Return a digest of a notebook's code, of all that it imports (also how figures look), and of `texts`."""
    try:
        own, names = _compiled(compile(source, "notebook", "exec", dont_inherit=True, optimize=2))
    except SyntaxError:  # a command of IPython such as %time, or an error that running it shows: the text counts
        own, names = source, frozenset(re.findall(r"[\w.]+", source))
    return _digest("\n".join([own, modules_fingerprint(_imported(names), names, frozenset()), *texts]))


def state(name: str) -> str:
    """Return a digest of what a run depends on besides its profile: code, published numbers, available data.

    Titles, remarks and minutes do not count.
    """
    from fairlab.data import state_of
    from fairlab.data.files import local_places
    from fairlab.data.registry import project_registry

    spec, known = specification(name), project_registry().files
    files = [path for path in known if any(f"{path}/".startswith(f"{own}/") for own in spec.files)]
    available = [path for path in files if any(local_places(known[path]))]
    published = [
        [id, value.kind, value.printed]
        for artefact in map(spec.published.artefact, spec.artefacts)
        for id, value in artefact.values.items()
    ]
    texts = [repr((spec.profiles.model_dump(), spec.artefacts, spec.data, spec.files, available, published))]
    for variant in spec.data:
        files = [*project().data_scripts.glob(f"make_{variant.replace('-', '_')}.py")]
        files += (project().data_scripts / "surrogates").glob(f"{variant}.yaml")
        texts += [file.read_text(encoding="utf-8") for file in files]
        texts.append(f"{state_of(variant)} {project_registry().variant(variant)}")
    return notebook_fingerprint(code_of(spec.notebook), *texts)


@cache
def _required() -> dict[str, str]:
    """Return the versions of the libraries that this package requires, by the names by which they are imported."""
    return {
        IMPORTED_AS.get(name.lower(), name.lower().replace("-", "_")): version for name, version in libraries().items()
    }


@cache
def _version(package) -> str:
    """Return the version of an installed package, empty if it is none; most are required, which spares reading all."""
    if package in _required():
        return _required()[package]
    return " ".join(map(metadata.version, _every_package().get(package, ())))


_every_package = cache(metadata.packages_distributions)


def _read(module) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a digest of the code of a module of this package, the names in it, and the modules that it imports."""
    return _read_at(module, file := _file(module), file.stat().st_mtime_ns)


@cache
def _read_at(module, file, _) -> tuple[str, frozenset[str], frozenset[str]]:
    """Read a module; raise unless its code is the one that was read first."""
    digest, names = _compiled(compile(file.read_bytes(), module, "exec", dont_inherit=True, optimize=2))
    if _READ.setdefault(module, digest) != digest:
        raise RuntimeError(
            f"{module} has changed since this process read it; restart the kernel, or the command, to use the new code"
        )
    return digest, names, _imported(names)


def _imported(names, modules=()) -> frozenset[str]:
    """Return the modules of this package that code imports, by the names in it, and those that `modules` have for it.

    Of a package these are the modules that have one of the names, or a public name that is among them: the package
    loads them when the name is used.
    """
    found, pending = set(), [name for name in (*names, *modules) if _file(name)]
    while pending:
        found.add(module := pending.pop())
        members = _members(module)
        pending += {members[name] for name in names & members.keys()} - found
    return frozenset(found)


@cache
def _members(package) -> dict[str, str]:
    """Return the modules of a package by their own names, and by the public names that its stub lists."""
    if (file := _file(package)) is None or file.stem != "__init__":
        return {}
    own = {path.stem: f"{package}.{path.stem}" for path in file.parent.iterdir() if not path.stem.startswith("__")}
    stub = file.with_suffix(".pyi")
    exports = EXPORT.findall(stub.read_text(encoding="utf-8")) if stub.exists() else ()
    named = own | {name: f"{package}.{module}" for module, name in exports}
    return {name: module for name, module in named.items() if _file(module)}


@cache
def _file(module) -> Path | None:
    """Return the file of a module of this package; None if it is none."""
    package, *parts = module.split(".")
    base = _SOURCE.joinpath(*parts)
    files = (base / "__init__.py", base.with_suffix(".py")) if package == PACKAGE else ()
    return next((path for path in files if path.exists()), None)


def _digest(text) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
