"""Prepared tables: made from raw files by a script of ``data_scripts``, checked against the registry, cached as CSV."""

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pooch

from fairlab.data.dataset import Dataset, Provenance
from fairlab.data.errors import DataError, DataUnavailableError
from fairlab.data.files import cache_folder, fetch_file, local_copy, new_file
from fairlab.data.project import project
from fairlab.data.registry import Registry, Variant, project_registry

# Compared without case, blanks, dashes and underscores.
FORBIDDEN_COLUMNS = frozenset(
    {"name", "fullname", "first", "firstname", "middlename", "last", "lastname", "surname", "dob", "dateofbirth"}
    | {"birthdate", "birthday", "ssn", "socialsecuritynumber", "address", "street", "phone", "phonenumber", "email"}
)


def prepare(variant: Variant, *, requested: bool = False, **options) -> tuple[pd.DataFrame, dict[str, str], str]:
    """Return the prepared table of a real variant, the SHA-256 of its raw files, and the digest of the data.

    Missing raw files are fetched; files that are downloaded on request only, if `requested`. The table is cached under
    a name that depends on the raw files, the bytes of the script and the `options` of its ``make``. It is made again
    when one of these changes or the cached copy was altered. If the registry has no hash of the table, the table's own
    hash is part of the name.

    Raises
    ------
    DataUnavailableError
        If a raw file is not available.
    DataError
        If the table is not what the registry says.
    """
    registry = project_registry()
    raw = _raw_files(variant, registry, requested)
    hashes = {path: pooch.file_hash(str(place)) for path, place in raw.items()}
    script = project().data_scripts / variant.make
    data_hash = digest(variant=variant.name, raw=hashes, make=pooch.file_hash(str(script)), **options)
    folder, stem = cache_folder() / "prepared", f"{variant.name}-{data_hash[:16]}"
    for path in sorted(folder.glob(f"{stem}*.csv")):
        if is_intact(path, variant):
            return read_table(path, variant), hashes, data_hash
    table = load_script(script).make(raw, **options)
    check_table(table, variant)
    content = to_bytes(table)
    found = hashlib.sha256(content).hexdigest()
    if variant.sha256 not in (None, found):
        raise DataError(f"{variant.name}: the table of {variant.make} has SHA-256 {found}, expected {variant.sha256}")
    path = folder / (f"{stem}.csv" if variant.sha256 else f"{stem}-{found}.csv")
    with new_file(path) as temporary:
        temporary.write_bytes(content)
    return read_table(path, variant), hashes, data_hash


def is_intact(path: Path, variant: Variant) -> bool:
    """Return whether a cached table has the registry's hash or, if there is none, the hash in its name."""
    return pooch.file_hash(str(path)) == (variant.sha256 or path.stem.rpartition("-")[2])


def check_table(table: pd.DataFrame, variant: Variant, rows: int | None = None) -> None:
    """Check a table's columns, number of rows, types, ranges and categories against the registry.

    Parameters
    ----------
    rows : int or None
        Default: the number that the registry gives.

    Raises
    ------
    DataError
        If they differ; the message names the variant, the column, what was expected and what was found.
    """
    identifying = [c for c in table.columns if str(c).lower().translate(_SEPARATORS) in FORBIDDEN_COLUMNS]
    if identifying:
        raise DataError(
            f"{variant.name}: columns identify people: {', '.join(identifying)}; drop them in {variant.make}"
        )
    if list(table.columns) != list(variant.columns):
        raise DataError(
            f"{variant.name}: columns are {', '.join(map(str, table.columns))}; expected {', '.join(variant.columns)}"
        )
    rows = variant.rows if rows is None else rows
    if len(table) != rows:
        raise DataError(f"{variant.name}: {len(table):,} rows, expected {rows:,}")
    for name, column in variant.columns.items():
        _check_values(table[name], column, f"{variant.name}: column {name!r}")


def as_dataset(table: pd.DataFrame, variant: Variant, **provenance) -> Dataset:
    """Split a checked table into features, target and sensitive features as the registry says.

    Parameters
    ----------
    table : DataFrame
    variant : Variant
    **provenance
        Attributes of `Provenance` that do not follow from the variant.
    """
    table = table.astype(_dtypes(variant))
    return Dataset(
        features=table[list(variant.features)],
        target=table[variant.label],
        sensitive_features=table[list(variant.privileged_group)],
        positive_label=variant.positive_label,
        privileged_group=dict(variant.privileged_group),
        encoding={name: column.categories for name, column in variant.columns.items() if column.categories},
        provenance=Provenance(variant=variant.name, rows=len(table), citation=variant.citation, **provenance),
    )


def read_table(path: Path, variant: Variant) -> pd.DataFrame:
    """Read a prepared table with the types of the registry; no string is read as a missing value."""
    # Read as strings, to keep every digit.
    return pd.read_csv(path, dtype=str, keep_default_na=False).astype(_dtypes(variant))


def to_bytes(table: pd.DataFrame) -> bytes:
    """Return a prepared table as CSV, the same bytes on every system."""
    return table.to_csv(index=False, lineterminator="\n").encode()


def load_script(path: Path) -> ModuleType:
    """Import one file of ``data_scripts``, which is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(**parts) -> str:
    """Return one SHA-256 over named values, which must be plain (text, numbers, lists, dicts)."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def main(script: str) -> None:
    """Command line of a make script: write its table to the path given and print the SHA-256 for the registry."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {Path(script).name} OUT.csv")
    variant = next(v for v in project_registry().variants.values() if v.make == Path(script).name)
    table = load_script(Path(script)).make(_raw_files(variant, project_registry()))
    check_table(table, variant)
    content = to_bytes(table)
    with new_file(Path(sys.argv[1])) as temporary:
        temporary.write_bytes(content)
        print(f"{variant.name}: {len(table):,} rows, SHA-256 {hashlib.sha256(content).hexdigest()}")


def _raw_files(variant: Variant, registry: Registry, requested: bool = True) -> dict[str, Path]:
    """Return the path of each raw file; if any one suffices, of one only, local copies first."""
    if not variant.any_raw:
        return {path: fetch_file(registry.file(path), requested=requested) for path in variant.raw}
    errors = []
    for path in sorted(variant.raw, key=lambda path: local_copy(registry.file(path)) is None):
        try:
            return {path: fetch_file(registry.file(path), requested=requested)}
        except DataUnavailableError as error:
            errors.append(error)
    rejected = tuple(reason for error in errors for reason in error.rejected)
    raise DataUnavailableError("\n".join(map(str, errors)), rejected)


_SEPARATORS = str.maketrans("", "", " -_.")


def _dtypes(variant: Variant) -> dict[str, str | pd.CategoricalDtype]:
    known = {"int": "int64", "float": "float64", "text": "str"}
    return {
        name: known.get(column.type) or pd.CategoricalDtype(list(column.categories))
        for name, column in variant.columns.items()
    }


def _check_values(values: pd.Series, column, where: str) -> None:
    if values.isna().any():
        raise DataError(f"{where} misses {int(values.isna().sum())} values")
    if column.type in ("category", "text"):
        is_text = values.map(type).eq(str) & values.ne("")
        right = values.isin(column.categories) if column.categories else is_text
        if not right.all():
            wanted = f"one of {', '.join(column.categories)}" if column.categories else "text"
            raise DataError(f"{where} holds {values[~right].iloc[0]!r}, expected {wanted}")
        return
    if not (values.dtype.kind == "i" or (column.type == "float" and values.dtype.kind == "f")):
        raise DataError(f"{where} has type {values.dtype}, expected {column.type}")
    low, high = values.min(), values.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise DataError(f"{where} holds infinite values")
    if (column.min is not None and low < column.min) or (column.max is not None and high > column.max):
        raise DataError(f"{where} spans {low} to {high}, expected {column.min} to {column.max}")
