"""Parquet and CSV files as codes, once: DuckDB reads them, and a folder keeps one file of codes for each column."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import escape, iglob
from pathlib import Path

import joblib
import numpy as np

from fairlab.cases.tables.keys import DIGEST_IN_DUCKDB
from fairlab.cases.tables.table import MOST_CATEGORIES
from fairlab.checks import required, suggestion
from fairlab.paths import write_text

META, PROGRESS, LOCK = "meta.json", "progress.json", ".lock"
MOST_CODES = 2**16
MEMORY_GB = 0.4  # of DuckDB
BATCH_ROWS = 2**18  # of a batch
BATCHES = 16  # between two saved states
KEYS_AT_ONCE = 2**23
MOST_REPEATED = 1_000  # repeated digests whose strings are compared
IDENTIFIER = r"\s*[+-]?0[0-9bBxX]"  # beginning of an identifier, not a number; of binary and hexadecimal ones, too
# Conditions of queries on the strings in a CSV.
CONDITIONS = {
    "whole": r"regexp_matches({0}, '^\s*[+-]?[0-9]+\s*$')",
    "number": r"regexp_matches({0}, '^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$')",
    "plain": f"not regexp_matches({{0}}, '^{IDENTIFIER}')",
    "of 64 bits": "try_cast({0} as bigint) is not null",
    "without _": "not contains({0}, '_')",
    "booleans": "{0} in ('True', 'TRUE', 'true', 'False', 'FALSE', 'false')",  # DuckDB takes yes, no, 1 and 0 for some
}
ASKED = {
    "integers": ("whole", "plain", "of 64 bits", "number"),
    "numbers": ("whole", "without _"),
    "booleans": ("booleans",),
}
# Missing values in a CSV, besides an empty field.
MISSING = ("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None")
NULLS = ", ".join(f"'{text}'" for text in MISSING)
OF_CSV = ("header = true", "skip = 0", "comment = ''", """quote = '"'""", """escape = '"'""")
CSV_TYPES = {"integers": "bigint", "numbers": "double", "booleans": "boolean"}
KINDS = {
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "text"),
    "BOOLEAN": "booleans",
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "numbers"),
    **dict.fromkeys((f"{u}{size}INT" for u in ("", "U") for size in ("TINY", "SMALL", "", "BIG", "HUGE")), "integers"),
    "UINTEGER": "integers",
    "INTEGER": "integers",
}


class FilesError(ValueError):
    """Files that cannot be read or encoded as they are; the message begins with the file or the column."""


def encode(
    paths: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
) -> Path:
    """Encode files into a folder of codes, from which trees and tests are counted.

    An interrupted call is resumed by the next. If the folder is complete, the call only checks that its source files
    are the same.

    Parameters
    ----------
    paths : path, or list of path
        Files with the same columns, by suffix Parquet (``.parquet``) or text (``.csv``, ``.tsv``, also with ``.gz``).
        ``*`` stands for any part of a name.
    folder : path
        A new one, or one of an earlier call. For each row a column takes a byte; two for more than 256 different
        values, and eight for more than 65,536 different numbers and for the key.
    key : str or None
        A column of unique integers or strings, by whose hash a split divides the rows; None for the row numbers.
    columns : list of str or None
        None: all that can be encoded.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    FilesError
        If there is no file; if one cannot be read, has other columns than the first, or has changed since; if a
        requested column cannot be encoded; if values of the key are missing or occur twice.
    OSError
        If the folder cannot be written; its content is kept for the next call.
    """
    from filelock import FileLock  # missing in browsers; only the encoding needs it

    files, folder = source_files(paths), Path(folder)
    asked = {"key": key, "columns": None if columns is None else list(columns)}
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
        states = [state for state in (folder / META, folder / PROGRESS) if state.exists()]
        if not states and {file.name for file in folder.iterdir()} - {LOCK}:
            raise FilesError(f"{folder}: expected a new folder, or one of an earlier call, found other files")
        found = json.loads(states[0].read_text("utf-8")) if states else None
        if found and found["asked"] != asked:
            new, old = (each["columns"] or "all columns" for each in (asked, found["asked"]))
            differ = f"columns {old}, found {new}" if new != old else f"{found['asked']}, found {asked}"
            raise FilesError(f"{folder}: made for {differ}; delete the folder, or name another one")
        if found:
            check_sources(found, folder, files)
        if not (folder / META).exists():
            with connected() as connection:
                _write_codes(connection, files, folder, found or _plan(connection, files, **asked))
    return folder


def source_files(paths: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the files that paths and patterns stand for, in the order of their names.

    Raises
    ------
    FilesError
        If a path or pattern matches none.
    """
    several = [paths] if isinstance(paths, str | Path) else list(paths)
    found = []
    for path in map(str, several):
        here = [path] if Path(path).is_file() else filter(os.path.isfile, iglob(path, recursive=True))  # noqa: PTH207
        before = len(found)
        found += here
        if len(found) == before:
            raise FilesError(f"{path}: expected files, found none")
    if not found:
        raise FilesError("paths: expected files, found none")
    return sorted({os.path.realpath(file) for file in found})


def check_sources(meta: dict, folder: Path, files: Sequence[str] | None = None) -> None:
    """Raise a FilesError if a file has changed since it was encoded; by default, check the sources that still exist."""
    known = meta["sources"]
    for file in [file for file in known if Path(file).exists()] if files is None else files:
        if file not in known:
            raise FilesError(f"{file}: {folder} was made without it; expected the same files, or a new folder")
        _check_source(meta, folder, file)
    if files is not None and (gone := sorted(known.keys() - set(files))):
        raise FilesError(f"{gone[0]}: {folder} was made of it, too; expected the same files, or a new folder")


def _check_source(meta, folder, file):
    """Raise a FilesError if a file is not as it was when the encoding began."""
    if _stamp(file) != meta["sources"][file]:
        raise FilesError(f"{file}: changed since {folder} was made of it; expected a new folder")


def _stamp(file) -> list[int]:
    status = Path(file).stat()
    return [status.st_size, status.st_mtime_ns]


def is_folder(path: str | Path) -> bool:
    """Whether a path is that of a folder of codes, or of some that were begun."""
    return any((Path(path) / state).exists() for state in (META, PROGRESS))


def connected():
    """Return an empty database in memory, which writes nothing to the disk."""
    settings = {"memory_limit": f"{MEMORY_GB}GB", "threads": joblib.cpu_count(), "temp_directory": ""}
    connection = required("duckdb").connect(config=settings)
    connection.execute("set enable_progress_bar = false")
    return connection


@contextmanager
def _reading(file):
    """Turn an error of DuckDB into a FilesError that names the file."""
    duckdb = required("duckdb")
    try:
        yield
    except duckdb.Error as error:
        said = str(error).partition("\n")[0].removeprefix("Invalid Input Error: ")
        raise FilesError(f"{file}: {said}") from error


# What each column holds.


def _plan(connection, files, **asked) -> dict:
    """Return how each column is to be encoded, and why some are left out."""
    key, columns = asked["key"], asked["columns"]
    kinds = _kinds(connection, files, **asked)
    left_out = {name: f"holds {kind}" for name, kind in kinds.items() if kind not in KINDS.values()}
    counts = {name: Counter() for name in kinds if name not in left_out and name != key}
    described = {} if key is None else {key: {"kind": "key", "dtype": "<i8", "of": kinds[key]}}
    for file in files:
        with _reading(file):
            rows = _rows(file, kinds)
            wide = _wide(connection, rows, [*counts])
            for name, found in _values(connection, rows, {name: kinds[name] for name in counts.keys() - wide}).items():
                counts[name].update(found)
        for name in [*wide, *(name for name, found in counts.items() if len(found) >= MOST_CODES)]:
            counts.pop(name, None)
            if kinds[name] == "text":
                left_out[name] = f"holds more than {MOST_CODES:,} different texts"
            else:
                described[name] = {"kind": "numbers", "dtype": "<f8"}
    for name, found in counts.items():
        if kinds[name] == "integers":
            exact, found = found, Counter()
            for value, n in exact.items():
                found[None if value is None else float(value)] += n
            if len(found) < len(exact) <= MOST_CATEGORIES + 1:
                left_out[name] = "holds integers that are equal as floats"
                continue
        values = sorted(found.keys() - {None})
        values = [None] * (None in found) + ([False, True] if kinds[name] == "booleans" else values)
        described[name] = {"kind": kinds[name], "dtype": "|u1" if len(values) <= 2**8 else "<u2", "values": values}
        described[name]["counts"] = [found[value] for value in values]
    for name in columns or ():
        if name in left_out:
            raise FilesError(f"column {name!r}: {left_out[name]}; expected numbers, booleans or fewer texts")
    described = {name: described[name] for name in kinds if name in described}
    for i, about in enumerate(described.values()):
        about["file"] = f"{i:03}.codes"
    state = {"asked": asked, "sources": {file: _stamp(file) for file in files}, "kinds": kinds, "n_rows": 0}
    return state | {"columns": described, "left_out": left_out, "file": 0, "rows_of_file": 0}


def _kinds(connection, files, key=None, columns=None) -> dict[str, str]:
    """Return the kind of each column, which is the same in all files."""
    kinds, identifiers = {}, set()
    for file in files:
        with _reading(file):
            rows = connection.sql(f"describe from {_as_found(file)}").fetchall()
            _check_header(connection, file)
        found = {name: _kind(kind) for name, kind, *_ in rows}
        needed = {name: kind for name, kind in found.items() if name != key and (columns is None or name in columns)}
        for name, kind in _by_all_rows(connection, file, needed, key if found.get(key) == "integers" else None).items():
            if kind == "identifiers":
                identifiers.add(name)  # in other files none may begin with a zero
            else:
                found[name] = kind
        kinds = kinds or found
        if strange := kinds.keys() ^ found.keys():
            there, here = (files[0], file) if strange & kinds.keys() else (file, files[0])
            raise FilesError(f"{here}: has no column {min(strange)!r}, which {there} has")
        for name, kind in found.items():
            if {kind, kinds[name]} == {"numbers", "integers"}:
                kinds[name] = "numbers"
            elif kind != kinds[name]:
                raise FilesError(f"{file}: column {name!r} holds {kind}, expected {kinds[name]} as in {files[0]}")
    for name in [*(columns or ()), *filter(None, [key])]:
        if name not in kinds:
            raise FilesError(f"column {name!r}: not in the files{suggestion(name, kinds)}")
    kinds = {name: kind for name, kind in kinds.items() if columns is None or name in (*columns, key)}
    if key is not None and kinds[key] not in ("integers", "text"):
        raise FilesError(f"column {key!r}: expected integers or text as the key, found {kinds[key]}")
    return kinds | dict.fromkeys(identifiers, "text")


def _check_header(connection, file) -> None:
    """Refuse a CSV with two columns of the same name, since DuckDB would rename the second."""
    if file.endswith(".parquet"):
        return
    options = [option for option in OF_CSV if not option.startswith("header")]
    first = f"read_csv({', '.join((_text(escape(file)), 'header = false', 'all_varchar = true', *options))})"
    names = [name for row in connection.sql(f"from {first} limit 1").fetchall() for name in row]
    if twice := [name for name, n in Counter(names).items() if name and n > 1]:
        raise FilesError(f"{file}: has two columns {twice[0]!r}")


def _kind(type_: str) -> str:
    """Return the kind of a type of DuckDB's; decimals without places are integers."""
    name, _, rest = type_.partition("(")
    return "integers" if name == "DECIMAL" and rest.endswith(",0)") else KINDS.get(name, f"values of the type {type_}")


def _by_all_rows(connection, file, kinds, key=None) -> dict[str, str]:
    """Return the columns of a CSV whose kind, by all rows, differs from what DuckDB infers from the first rows.

    Kinds are those that pandas infers. Whole numbers are identifiers if one begins with a zero or is beyond 64 bits;
    if some value is not whole, all are numbers. Words other than true and false, such as yes and no, are strings.

    Raises
    ------
    FilesError
        If DuckDB would read another value as a whole number: 0.4 as 0 in the key, or 1_000.
    """
    of = {name: kind for name, kind in kinds.items() if kind in CSV_TYPES} | ({} if key is None else {key: "integers"})
    if file.endswith(".parquet") or not of:
        return {}
    rows, found = _as_found(file, "all_varchar = true"), {}
    queries = [
        f"coalesce(bool_and({CONDITIONS[what]}) filter (where {{0}} not in ({NULLS})), true)".format(quoted(name))
        for name, kind in of.items()
        for what in ASKED[kind]
    ]
    with _reading(file):
        [row] = connection.sql(f"select {', '.join(queries)} from {rows}").fetchall()
    held = iter(row)
    for name, kind in of.items():
        are, strange = {what: next(held) for what in ASKED[kind]}, None
        if name == key:
            strange = None if are["whole"] else "whole"
        elif kind == "booleans":
            found |= {} if are["booleans"] else {name: "text"}
        elif kind == "numbers":
            found |= {name: "identifiers"} if are["whole"] else {}
            strange = None if are["without _"] else "number"
        elif are["plain"] and are["whole"]:
            found |= {} if are["of 64 bits"] else {name: "identifiers"}
        elif are["plain"]:
            found, strange = found | {name: "numbers"}, None if are["number"] else "number"
        else:
            found[name] = "identifiers"
        if strange:
            column = quoted(name)
            where = f"{column} not in ({NULLS}) and not {CONDITIONS[strange].format(column)}"
            with _reading(file):
                [[text]] = connection.sql(f"select {column} from {rows} where {where} limit 1").fetchall()
            raise FilesError(f"{file}: column {name!r} holds {text}, expected {kind}")
    return found


def _wide(connection, rows, names) -> list[str]:
    """Return the columns that have about as many different values as there are codes, or more."""
    if not names:
        return []
    counts = ", ".join(f"approx_count_distinct({quoted(name)})" for name in names)
    [found] = connection.sql(f"select {counts} from {rows}").fetchall()
    return [name for name, n in zip(names, found, strict=True) if n > 0.9 * MOST_CODES]


def _values(connection, rows, kinds) -> dict[str, dict]:
    """Return the values of each column with their numbers of rows, None for those that are missing."""
    if not kinds:
        return {}
    values = [_value(name, kind) for name, kind in kinds.items()]
    counted = ", ".join(f"histogram({value}), count(*) - count({value})" for value in values)
    [row] = connection.sql(f"select {counted} from {rows}").fetchall()
    found = zip(kinds, row[::2], row[1::2], strict=True)
    return {name: (some or {}) | ({None: n_missing} if n_missing else {}) for name, some, n_missing in found}


# The codes.


def _write_codes(connection, files, folder, state):
    """Append what is left of the files to those of the columns, and write `meta.json` at last."""
    folder.mkdir(parents=True, exist_ok=True)
    columns, outputs = state["columns"], []
    _save(folder, state, outputs)
    try:
        for about in columns.values():
            outputs.append((folder / about["file"]).open("ab", buffering=0))
            size = state["n_rows"] * np.dtype(about["dtype"]).itemsize
            if outputs[-1].tell() < size:
                raise FilesError(f"{outputs[-1].name}: expected at least {size:,} bytes, found {outputs[-1].tell():,}")
            outputs[-1].truncate(size)  # what a killed call wrote after its last saved state
            if about["kind"] == "text":
                texts = ", ".join(
                    _text(value or "") for value in about["values"] if value is not None or len(about["values"]) == 1
                )
                connection.execute(f"create type t{about['file'][:-6]} as enum ({texts})")
        selected = ", ".join(_expression(name, about) for name, about in columns.items())
        for number in range(state["file"], len(files)):
            file = files[number]
            with _reading(file):
                reader = connection.sql(
                    f"select {selected} from {_rows(file, state['kinds'], state['rows_of_file'])}"
                ).to_arrow_reader(BATCH_ROWS)
                for i, batch in enumerate(reader, start=1):
                    for values, output, (name, about) in zip(batch.columns, outputs, columns.items(), strict=True):
                        _write(output, _codes(values, about, f"{file}: column {name!r}"))
                    state["n_rows"] += batch.num_rows
                    state["rows_of_file"] += batch.num_rows
                    if i % BATCHES == 0:
                        _save(folder, state, outputs)
            _check_source(state, folder, file)
            state["file"], state["rows_of_file"] = number + 1, 0
            _save(folder, state, outputs)
    finally:
        for output in outputs:
            output.close()
    if not state["n_rows"]:
        raise FilesError(f"{files[0]}: expected rows, found none")
    if (key := state["asked"]["key"]) is not None:
        for same in _repeated(folder / columns[key]["file"], state["n_rows"]):
            if columns[key]["of"] == "text":
                same = _repeated_texts(connection, files, state["kinds"], key, same)
            if len(same):
                raise FilesError(f"column {key!r}: expected a key of its own for each row, {same[0]} occurs twice")
    write_text(folder / META, json.dumps({k: v for k, v in state.items() if k not in ("file", "rows_of_file")}))
    (folder / PROGRESS).unlink()


def _save(folder, state, outputs):
    """Save the progress of the encoding once the codes are on disk."""
    for output in outputs:
        os.fsync(output.fileno())
    write_text(folder / PROGRESS, json.dumps(state))


def _codes(values, about, where) -> np.ndarray:
    """Return a batch of a column in the form of its file."""
    if values.null_count and about["kind"] == "key":
        raise FilesError(f"{where}: expected a key for each row, {values.null_count:,} are missing")
    found = values.to_numpy(zero_copy_only=False)
    if about["kind"] in ("numbers", "integers"):
        if "values" in about:
            known = np.array([value for value in about["values"] if value is not None])
            found = np.searchsorted(known, found)  # missing values are placed after all others
            found = (found + 1) % (len(known) + 1) if None in about["values"] else found
        else:
            about["not_finite"] = about.get("not_finite", 0) + int((~np.isfinite(found)).sum())
    return np.ascontiguousarray(found, dtype=about["dtype"])


def _write(output, codes):
    """Write a whole array; if the disk fills up after a part of it, the error names the file."""
    rest = codes.view(np.uint8)
    try:
        while len(rest):
            rest = rest[output.write(rest) :]
    except OSError as error:
        error.filename = output.name
        raise


def _repeated(path, n_rows) -> Iterator[np.ndarray]:
    """Yield keys that occur twice, from parts by a hash that are small enough to be sorted in memory."""
    n_parts = -(-n_rows // KEYS_AT_ONCE)
    for part in range(n_parts):
        found = []
        with path.open("rb") as content:
            while len(values := np.fromfile(content, dtype="<i8", count=BATCH_ROWS)):
                mixed = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
                found.append(values[mixed % np.uint64(n_parts) == part])
        values = np.sort(np.concatenate(found))
        if (same := values[1:][values[1:] == values[:-1]]).size:
            yield same


def _repeated_texts(connection, files, kinds, key, same) -> list[str]:
    """Return strings that occur twice, given repeated digests: rarely, two strings share one."""
    wanted, name = ", ".join(map(str, same[:MOST_REPEATED].tolist())), quoted(key)
    rows = " union all ".join(f"select {name} from {_rows(file, kinds)}" for file in files)
    query = f"select {name} from ({rows}) where {_digest(key)} in ({wanted}) group by 1 having count(*) > 1 limit 1"
    return [text for (text,) in connection.sql(query).fetchall()]


# Queries of DuckDB.


def _as_found(file, *options) -> str:
    """Return a file as a table of a query, with the types that DuckDB infers for a CSV.

    Quotes and comments are as in pandas: DuckDB would infer them from the first rows, and lose content of later ones.
    """
    path = _text(escape(file))
    if file.endswith(".parquet"):
        return f"read_parquet({', '.join((path, *_partition(file), *options))})"
    found = (f"nullstr = ['', {NULLS}]", "auto_type_candidates = ['boolean', 'bigint', 'double', 'varchar']")
    return f"read_csv({', '.join((path, *OF_CSV, *(options or found)))})"


def _partition(file) -> list[str]:
    """Return the option that prefers columns of a file to those in names of its folders, as in sex=f/part.parquet.

    Raises
    ------
    FilesError
        If some folders name columns of the file, and others do not.
    """
    named = {part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part}
    if not named:
        return []
    own = named.intersection(required("pyarrow.parquet").read_schema(file).names)
    if own and own != named:
        raise FilesError(f"{file}: column {min(own)!r} is in the file and in the name of its folder; rename one")
    return ["hive_partitioning = false"] if own else []


def _rows(file, kinds, after=0) -> str:
    """Return the rows of a file from `after` on as a table of a query; columns of a CSV by their kind."""
    if file.endswith(".parquet"):
        where = f"file_row_number >= {after}"
        numbered = _as_found(file, "file_row_number = true")
        return f"(select * exclude file_row_number from {numbered} where {where})" if after else _as_found(file)
    # In a column of strings only an empty field is missing, as in tables read into memory.
    columns = []
    for name, kind in kinds.items():
        column = value = quoted(name)
        if kind != "text":
            said = f"error(concat({_text(f'column {name!r} holds ')}, {column}, ', expected {kind}'))"
            value = f"coalesce(try_cast({column} as {CSV_TYPES[kind]}), {said})"
            value = f"case when {column} is null or {column} in ({NULLS}) then null else {value} end"
        columns.append(f"{value} as {column}")
    texts = _as_found(file, "all_varchar = true")
    return f"(select {', '.join(columns)} from {texts} offset {after})"


def all_rows(connection, files: Sequence[str]) -> str:
    """Return a query for the rows of all files, after a check that their columns are of the same kinds."""
    kinds = _kinds(connection, files)
    columns = ", ".join(quoted(name) for name in kinds)
    return " union all ".join(f"select {columns} from {_rows(file, kinds)}" for file in files)


def _value(name, kind) -> str:
    """Return a column as an expression that tells its values apart."""
    types = {"text": "varchar", "booleans": "boolean", "integers": "hugeint"}
    value = f"cast({quoted(name)} as {types.get(kind, 'double')})"
    return f"case when isnan({value}) then null else {value} end" if kind == "numbers" else value


def _expression(name, about) -> str:
    """Return a column as an expression for its codes, or for its numbers if codes are looked up later."""
    value = _value(name, about["kind"])
    if about["kind"] == "key":
        return f"cast({quoted(name)} as bigint)" if about["of"] == "integers" else _digest(name)
    if about["kind"] in ("numbers", "integers"):
        return f"coalesce(cast({value} as double), 'nan')"
    code = (
        f"enum_code(cast({value} as t{about['file'][:-6]}))" if about["kind"] == "text" else f"cast({value} as tinyint)"
    )
    return f"cast(coalesce({code} + 1, 0) as usmallint)" if None in about["values"] else code


def _digest(name) -> str:
    return DIGEST_IN_DUCKDB.format(f"cast({quoted(name)} as varchar)")


def quoted(name: str) -> str:
    """Return the name of a column, quoted for a query."""
    return '"' + name.replace('"', '""') + '"'


def _text(text) -> str:
    return "'" + text.replace("'", "''") + "'"
