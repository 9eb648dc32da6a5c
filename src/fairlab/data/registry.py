"""The registry of data: which raw files and which prepared variants exist. Parsed strictly from one YAML file."""

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path, PurePosixPath

import yaml

from fairlab.data.errors import DataError, RegistryError
from fairlab.paths import DATA_SCRIPTS

ADDRESS_KINDS = ("official", "pinned", "page")
COLUMN_TYPES = ("int", "float", "category", "text")
SOURCES = ("real", "generated")


@dataclass(frozen=True)
class Address:
    """Where a file can be had.

    Attributes
    ----------
    url : str
    kind : {"official", "pinned", "page"}
        A page is for people: it is named in errors and never downloaded.
    member : str or None
        Name of the file inside the zip that the address serves.
    """

    url: str
    kind: str
    member: str | None = None

    def __post_init__(self):
        _expect(self.kind in ADDRESS_KINDS, f"kind {self.kind!r}, expected one of {', '.join(ADDRESS_KINDS)}")
        _expect(self.url.startswith(("https://", "http://")), f"url {self.url!r}, expected http or https")


@dataclass(frozen=True)
class File:
    """One raw file: what it must be, where it can be had, and on which terms.

    Attributes
    ----------
    path : str
        Its place in the cache and in a mirror folder, with forward slashes.
    bytes, sha256, git_blob_sha1, lines : int or str or None
        What a copy is checked by; see `fairlab.data.files.find_fault`.
    rows : int or None
        Records of data, for information.
    made_from : tuple of str
        What a file without public address was made from.
    """

    path: str
    group: str
    urls: tuple[Address, ...]
    terms: str
    redistribution: str
    citation: str
    bytes: int | None = None
    sha256: str | None = None
    git_blob_sha1: str | None = None
    lines: int | None = None
    rows: int | None = None
    made_from: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self):
        path = PurePosixPath(self.path)
        _expect(not path.is_absolute() and ".." not in path.parts, "path must be relative and stay inside the cache")
        for name, length in (("sha256", 64), ("git_blob_sha1", 40)):
            _expect_hash(name, getattr(self, name), length)
        for name in ("bytes", "lines", "rows"):
            value = getattr(self, name)
            positive = value is None or (type(value) is int and value > 0)
            _expect(positive, f"{name} is {value!r}, expected a positive integer")
        checkable = self.sha256 or self.git_blob_sha1 or self.lines
        _expect(
            checkable or all(address.kind == "page" for address in self.urls),
            "needs sha256, git_blob_sha1 or lines, or nothing could tell a right copy from a wrong one",
        )


@dataclass(frozen=True)
class Column:
    """What the values of one column may be.

    Attributes
    ----------
    type : {"int", "float", "category", "text"}
        Text is free, but never empty.
    categories : tuple of str
        All values of a categorical column, in the order of their codes.
    min, max : float or None
        Closed range of a numeric column.
    """

    type: str
    categories: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None

    def __post_init__(self):
        _expect(self.type in COLUMN_TYPES, f"type {self.type!r}, expected one of {', '.join(COLUMN_TYPES)}")
        categorical = self.type == "category"
        _expect(bool(self.categories) == categorical, "a category column, and no other, lists its categories")
        ranged = (self.min, self.max) != (None, None)
        _expect(not (ranged and self.type in ("category", "text")), f"a {self.type} column has no min and max")
        _expect(all(isinstance(c, str) for c in self.categories), "categories must be text; quote them")
        _expect(len(set(self.categories)) == len(self.categories), "a category is listed twice")


@dataclass(frozen=True)
class Variant:
    """One exact version of a data set, ready for use.

    Attributes
    ----------
    source : {"real", "generated"}
    raw : tuple of str
        Paths of the raw files that it is made from.
    any_raw : bool
        Whether one of the raw files will do, whichever can be had.
    make : str or None
        Script in ``data_scripts`` that makes a real variant.
    sha256 : str or None
        Hash of the prepared table of a real variant, as CSV; None for data that could not be had when the registry
        was written. Then its raw files, rows, columns and categories are all that is checked.
    surrogate : str or None
        File in ``data_scripts`` with the parameters of its stand-in.
    features : tuple of str
        Default: every column but the label.
    privileged_group : dict of str to str
        The sensitive columns, each with its privileged group.
    """

    name: str
    description: str
    source: str
    rows: int
    label: str
    privileged_group: dict[str, str]
    columns: dict[str, Column]
    citation: str
    positive_label: str | int | None = None
    features: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    any_raw: bool = False
    make: str | None = None
    sha256: str | None = None
    surrogate: str | None = None

    def __post_init__(self):
        _expect(self.source in SOURCES, f"source {self.source!r}, expected one of {', '.join(SOURCES)}")
        real = self.source == "real"
        _expect(bool(self.make) == real, "a real variant, and no other, has make")
        _expect(real or not self.sha256, "only a real variant has sha256")
        _expect_hash("sha256", self.sha256, 64)
        for column in (self.label, *self.features, *self.privileged_group):
            _expect(column in self.columns, f"column {column!r} is used but not described under columns")
        if not self.features:
            object.__setattr__(self, "features", tuple(c for c in self.columns if c != self.label))
        for column, group in self.privileged_group.items():
            _expect(
                group in self.columns[column].categories, f"privileged group {group!r} is no category of {column!r}"
            )


@dataclass(frozen=True)
class Registry:
    """All raw files by path and all variants by name."""

    files: dict[str, File] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)

    def file(self, path: str) -> File:
        """Return one raw file; an unknown path is an error that lists what exists."""
        return _look_up(self.files, path, "data file")

    def variant(self, name: str) -> Variant:
        """Return one variant; an unknown name is an error that lists what exists."""
        return _look_up(self.variants, name, "data set")


@cache
def project_registry() -> Registry:
    """Return the registry of this project, ``data_scripts/registry.yaml``."""
    return read_registry(DATA_SCRIPTS / "registry.yaml")


def read_registry(path: Path | str) -> Registry:
    """Parse and check a registry.

    Raises
    ------
    RegistryError
        Naming the entry: an unknown or missing key, a value out of range, a variant made from an unknown file.
    """
    top = _mapping(read_yaml(path), Path(path).name, required={"redistribution", "groups", "variants"})
    files = {}
    for group, entry in _mapping(top["groups"], "groups").items():
        for file in _group_files(group, entry, set(top["redistribution"])):
            if file.path in files:
                raise RegistryError(f"file {file.path} is in groups {files[file.path].group} and {group}")
            files[file.path] = file
    variants = {name: _variant(name, entry, files) for name, entry in _mapping(top["variants"], "variants").items()}
    return Registry(files, variants)


def read_yaml(path: Path | str):
    """Return the content of a YAML file; what is not YAML is a `RegistryError`."""
    # The C parser where PyYAML has it: many times as fast on files of this size.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError as error:
        raise RegistryError(f"{Path(path).name}: not YAML: {error}") from error


def _group_files(group: str, entry, redistribution: set[str]) -> list[File]:
    shared = ("terms", "redistribution", "citation")
    where = f"group {group}"
    entry = _mapping(entry, where, required={"files", *shared}, optional={"note"})
    files = []
    for path, own in _mapping(entry["files"], where).items():
        values = {key: entry[key] for key in shared} | {"path": path, "group": group} | _mapping(own, f"file {path}")
        values["urls"] = tuple(_build(Address, url, f"file {path}, urls") for url in values.get("urls", ()))
        values["made_from"] = tuple(values.get("made_from", ()))
        file = _build(File, values, f"file {path}")
        if file.redistribution not in redistribution:
            raise RegistryError(
                f"file {path}: redistribution {file.redistribution!r} is not among the values explained"
            )
        files.append(file)
    return files


def _variant(name: str, entry, files: dict[str, File]) -> Variant:
    where = f"variant {name}"
    values = {"name": name} | _mapping(entry, where)
    unknown = [path for path in values.get("raw", ()) if path not in files]
    if unknown:
        raise RegistryError(f"{where}: raw file {unknown[0]} is not in the registry")
    if "citation" not in values and values.get("raw"):
        values["citation"] = files[values["raw"][0]].citation
    columns = _mapping(values.get("columns"), f"{where}, columns")
    values["columns"] = {
        column: _build(Column, _with_tuple(spec, "categories"), f"{where}, column {column}")
        for column, spec in columns.items()
    }
    sensitive = _mapping(values.pop("sensitive", None), f"{where}, sensitive")
    values["privileged_group"] = {
        column: _mapping(spec, f"{where}, sensitive {column}", required={"privileged"})["privileged"]
        for column, spec in sensitive.items()
    }
    for key in ("features", "raw"):
        values = _with_tuple(values, key)
    return _build(Variant, values, where)


def _build(kind, values, where: str):
    known = {f.name for f in fields(kind)}
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    values = _mapping(values, where, required=required, optional=known - required)
    try:
        return kind(**values)
    except RegistryError as error:
        raise RegistryError(f"{where}: {error}") from error


def _mapping(value, where: str, *, required: set[str] | None = None, optional: set[str] | None = None) -> dict:
    if not isinstance(value, dict):
        raise RegistryError(f"{where}: expected keys and values, found {type(value).__name__}")
    if required is None:
        return value
    known = required | (optional or set())
    for key in value:
        if key not in known:
            raise RegistryError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(known))}")
    missing = sorted(required - set(value))
    if missing:
        raise RegistryError(f"{where}: misses {', '.join(missing)}")
    return value


def _with_tuple(values: dict, key: str) -> dict:
    return values | {key: tuple(values[key])} if isinstance(values, dict) and key in values else values


def _look_up(entries: dict, name: str, what: str):
    if name not in entries:
        raise DataError(f"unknown {what} {name!r}; there are: {', '.join(sorted(entries))}")
    return entries[name]


def _expect(condition, message: str) -> None:
    if not condition:
        raise RegistryError(message)


def _expect_hash(name: str, value, length: int) -> None:
    fits = value is None or (isinstance(value, str) and len(value) == length and set(value) <= set("0123456789abcdef"))
    _expect(fits, f"{name} is {value!r}, expected {length} hexadecimal digits")
