"""Available data: the state of every file and variant, fetching and verifying them."""

import ast
import inspect
import logging
import textwrap
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import pandas as pd

from fairlab.checks import check_flag, check_function
from fairlab.data.errors import DataError, DataUnavailableError
from fairlab.data.files import cache_folder, fetch_file, find_fault, is_offline, local_places
from fairlab.data.loading import recipes
from fairlab.data.project import project
from fairlab.data.registry import File, Registry, Variant, project_registry
from fairlab.data.tables import is_intact, prepare

_log = logging.getLogger(__name__)


def available() -> list[str]:
    """Return the names that `fairlab.data.load` knows.

    Examples
    --------
    >>> from fairlab.data import available
    >>> "adult-uci" in available()
    True
    """
    return sorted(project_registry().variants)


def state_of(name: str) -> str:
    """Return the provenance that `load` would give without the network, or "missing".

    Examples
    --------
    >>> from fairlab.data import state_of
    >>> state_of("berkeley")
    'real'
    """
    registry = project_registry()
    entry = registry.variant(name)
    if not entry.make:
        return entry.source
    at_hand = (_file_state(registry.file(path))[0] in ("cached", "box", "mirror") for path in entry.raw)
    suffices = any if entry.any_raw else all
    return entry.source if suffices(at_hand) else _fallback_state(entry)


def describe(name: str) -> str:
    """Return the description of a variant: content, surrogate, datasheet.

    Parameters
    ----------
    name : str
        One of `available()`.

    Examples
    --------
    >>> from fairlab.data import describe
    >>> describe("berkeley").splitlines()[0]
    'berkeley: Graduate admissions at Berkeley in 1973, the 4,425 rows of FairTest, made from 24'
    """
    entry = project_registry().variant(name)
    positive = "" if entry.positive_label is None else f" (positive: {entry.positive_label})"
    groups = ", ".join(f"{column} (privileged: {group})" for column, group in entry.privileged_group.items())
    state = state_of(name)
    parts = [
        f"{entry.name}: {entry.description}. {entry.about}".rstrip(),
        f"{entry.rows:,} rows; {len(entry.features)} features; target: {entry.label}{positive}; sensitive: {groups}",
        f"Provenance: {entry.source}" + f"; on this machine: {state}" * (state != entry.source),
        f"Cite: {entry.citation}",
    ]
    if surrogate := entry.surrogate:
        parts.append(f"Accurate in the surrogate: {surrogate.right}. Inaccurate: {surrogate.wrong}.")
    if entry.make:
        datasheet = ast.get_docstring(ast.parse((project().data_scripts / entry.make).read_text(encoding="utf-8")))
    else:
        datasheet = inspect.getdoc(recipes()[name])
    return "\n\n".join([*(textwrap.fill(part, 100, break_long_words=False) for part in parts), datasheet])


def status() -> pd.DataFrame:
    """Return the state of everything in the registry; does not use the network.

    Returns
    -------
    DataFrame
        Indexed by name: kind (variant or file), state, bytes, redistribution, terms, detail, sources. A variant's state
        is that of `state_of`; a file's is cached, box (comes with fairlab), mirror (in the mirror folder only), corrupt
        (a wrong copy and no right one) or missing. For files that are not available, sources names servers or packages.

    Examples
    --------
    >>> from fairlab.data import status
    >>> "berkeley" in status().index
    True
    """
    registry = project_registry()
    rows = [(v.name, "variant", state_of(v.name), None, "", "", v.description, "") for v in registry.variants.values()]
    for file in registry.files.values():
        state, detail = _file_state(file)
        hosts = dict.fromkeys(urlsplit(address.url).netloc or address.url for address in file.urls)
        sources = ", ".join(hosts) if state in ("corrupt", "missing") else ""
        rows.append((file.path, "file", state, file.bytes, file.redistribution, file.terms, detail, sources))
    columns = ["name", "kind", "state", "bytes", "redistribution", "terms", "detail", "sources"]
    return pd.DataFrame(rows, columns=columns).astype({"bytes": "Int64"}).set_index("name")


def fetch(
    names: Iterable[str] | None = None,
    *,
    keep_going: bool = False,
    requested: bool | None = None,
    report: Callable[[str], None] = _log.info,
) -> pd.DataFrame:
    """Fetch raw files and make the prepared tables.

    Parameters
    ----------
    names : iterable of str, optional
        Variants, or paths of files or folders. Default: all variants.
    keep_going : bool
        Whether to continue with the next name if one is unavailable.
    requested : bool, optional
        Whether files that are large or have restrictive terms may be downloaded. Default: if names are given.
    report : callable
        Called with one line for every name, preceded by a line on what is downloaded for it.

    Returns
    -------
    DataFrame
        Indexed by name, with a row for each file of a folder: state (cached, or the variant's label of `SOURCES`;
        surrogate or missing if it is unavailable; error if it could not be stored), detail (what was done, or the whole
        error).

    Raises
    ------
    DataError
        If a name is unknown; without `keep_going`, also if one is unavailable.

    Examples
    --------
    >>> from fairlab.data import fetch
    >>> fetch(["berkeley"]).loc["berkeley", "state"]
    'real'
    """
    check_flag(keep_going, "keep_going")
    check_function(report, "report")
    requested = names is not None if requested is None else check_flag(requested, "requested")
    registry, rows = project_registry(), []
    for name, inside in _named(registry, names if names is not None else registry.variants).items():
        if downloads := _to_download(registry, inside, requested):
            report(f"{name}: downloads {downloads}")
        found = [_tried(registry, each, keep_going, requested) for each in inside]
        state, detail = found[0][1:]
        if len(found) > 1:
            others = [state for _, state, _ in found if state != "cached"]
            state, detail = (others or ["cached"])[0], f"{len(found) - len(others)} of {len(found)} files"
        report(f"{name}: {state}, {detail.splitlines()[0].rstrip(':')}")
        rows += found
    return pd.DataFrame(rows, columns=["name", "state", "detail"]).set_index("name")


def verify(names: Iterable[str] | None = None) -> pd.DataFrame:
    """Hash the raw files and prepared tables in the cache again.

    Parameters
    ----------
    names : iterable of str, optional
        Variants (with their raw files), or paths of files or folders. Default: everything that is cached.

    Returns
    -------
    DataFrame
        Indexed by name: state (ok, corrupt; missing only if names are given), detail.

    Examples
    --------
    >>> from fairlab.data import verify
    >>> bool((verify(["berkeley"])["state"] == "corrupt").any())
    False
    """
    registry = project_registry()
    everything = [*registry.files, *registry.variants]
    inside = _named(registry, everything if names is None else names)
    named = [name for several in inside.values() for name in several]
    variants = [registry.variants[name] for name in named if name in registry.variants]
    paths = [name for name in named if name in registry.files] + [path for v in variants for path in v.raw]
    rows = []
    for path in dict.fromkeys(paths):
        place = cache_folder() / path
        fault = find_fault(registry.files[path], place) if place.is_file() else None
        rows.append((path, ("corrupt" if fault else "ok") if place.is_file() else "missing", fault or ""))
    for variant in variants:
        for place in sorted((cache_folder() / "prepared").glob(f"{variant.name}-*.csv")):
            right = is_intact(place, variant)
            rows.append((f"prepared/{place.name}", *(("ok", "") if right else ("corrupt", "made again when loaded"))))
    frame = pd.DataFrame(rows, columns=["name", "state", "detail"]).set_index("name")
    return frame if names is not None else frame[frame["state"] != "missing"]


def _to_download(registry: Registry, names: list[str], requested: bool) -> str:
    """Return number, size and terms of the files that would be downloaded for a variant, or for files."""
    variant = registry.variants.get(names[0])
    files = [registry.files[path] for path in (variant.raw if variant else names)]
    lacking = [file for file in files if not any(local_places(file))]
    is_enough = variant is not None and variant.any_raw and len(lacking) < len(files)
    wanted = [file for file in lacking if file.urls and (requested or not file.on_request)]
    if is_offline() or is_enough or not wanted:
        return ""
    choices = [[file] for file in wanted] if variant and variant.any_raw else [wanted]
    return "; or ".join(map(_size_and_terms, choices))


def _size_and_terms(files: list[File]) -> str:
    sizes = [file.urls[0].bytes or file.bytes for file in files]
    known = [f"{sum(filter(None, sizes)) / 1e6:.1f} MB"] if any(sizes) else []
    size = " and ".join([*known, *(["an unknown size"] if None in sizes else [])])
    terms = "; ".join(dict.fromkeys(file.terms for file in files))
    return f"{len(files)} file{'s' * (len(files) > 1)}, {size} (terms: {terms})"


def _tried(registry: Registry, name: str, keep_going: bool, requested: bool) -> tuple[str, str, str]:
    """Fetch one variant or file; return its name, its state and what was done, or went wrong."""
    variant = registry.variants.get(name)
    try:
        if variant is None:
            return name, "cached", str(fetch_file(registry.files[name], requested=requested))
        if not variant.make:
            return name, variant.source, "nothing to fetch"
        table, files, _ = prepare(variant, requested=requested)
        return name, variant.source, f"{len(table):,} rows from {', '.join(files) or variant.make}"
    except DataError as error:
        if not keep_going:
            raise
        lost = isinstance(error, DataUnavailableError)  # otherwise the cache failed, not the source of the data
        return name, _fallback_state(variant) if lost else "error", str(error)


def _file_state(file: File) -> tuple[str, str]:
    """Return the state of a file and what is wrong with its copies."""
    faults = []
    for state, place in local_places(file):
        fault = None if state == "box" else find_fault(file, place)  # tests check the hashes of the files in the box
        if fault is None:
            return state, "; ".join(faults)
        faults.append(f"{place} {fault}")
    return ("corrupt" if faults else "missing"), "; ".join(faults)


def _fallback_state(variant: Variant | None) -> str:
    return "surrogate" if variant and variant.surrogate else "missing"


def _named(registry: Registry, names: Iterable[str]) -> dict[str, list[str]]:
    """Return for each name the one variant or file, or the paths of the files in a folder of the registry."""
    if not isinstance(names, Iterable):
        raise DataError(f"names: expected names of data sets or files, found {names!r}")
    found = {}
    for name in [names] if isinstance(names, str) else names:
        known = name in registry.variants or name in registry.files
        found[name] = [name] if known else [path for path in registry.files if path.startswith(f"{name}/")]
        if not found[name]:
            raise DataError(
                f"unknown data set or file {name!r}; data sets: {', '.join(sorted(registry.variants))}; "
                f"files: one of the {len(registry.files)} paths of the registry, or a folder of them"
            )
    return found
