"""Cache of trials on disk: one file each, JSON and the bytes of arrays, which cannot run code.

A file ``<key>.trial`` has the SHA-256 of its key and content, then the content: the length of a JSON text, the text,
and the arrays of the result, each padded to a multiple of `ALIGNMENT` bytes. ``{"array": [type, shape, order, k]}``
stands for one of them in the text, which also has the metadata: function, code, time, seconds. (An
``.npz`` archive would do, and is read several times as slowly.)
"""

import hashlib
import json
import re
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.paths import atomic_path, project
from fairlab.suite.fingerprint import PACKAGE, modules_fingerprint

KINDS = "biufcSUMm"  # of NumPy's types: all whose bytes are the value
PLAIN = (bool, int, float, str, type(None))
DIGEST_BYTES, LENGTH_BYTES, ALIGNMENT = 32, 8, 64
KEY_LENGTH, SUFFIX = 24, ".trial"
NAME = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}{re.escape(SUFFIX)}")


class CorruptedError(ValueError):
    """A file of the cache does not match its checksum, or is not a cached trial."""


def write(file: Path, result, metadata: dict) -> None:
    """Cache the result of a trial; the file is named by its key.

    Raises
    ------
    TypeError
        If it is not plain data: numbers, text, arrays and tables, in dictionaries, lists and tuples.
    """
    arrays = []
    tree = _as_json(result, "result", arrays)
    about = metadata | {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    text = json.dumps({"about": about, "sizes": list(map(len, arrays)), "result": tree}).encode()
    text = text.ljust(len(text) + _missing(len(text) + DIGEST_BYTES + LENGTH_BYTES))
    content = [len(text).to_bytes(LENGTH_BYTES), text]
    for array in arrays:
        content += [array, bytes(_missing(len(array)))]
    with atomic_path(file) as temporary, temporary.open("wb") as stream:
        stream.writelines([_digest(file, content), *content])


def read(file: Path) -> tuple[object, dict]:
    """Return the result of a trial and its metadata.

    Raises
    ------
    FileNotFoundError
    CorruptedError
        If the checksum does not match, as after a flipped bit, a truncation or a renaming.
    """
    text, arrays = _content(file)
    return _from_json(text["result"], arrays), text["about"]


def _content(file):
    """Return the JSON of a file and its arrays, as writable memory, after checking the checksum."""
    whole = memoryview(np.fromfile(file, np.uint8))
    content = whole[DIGEST_BYTES:]
    if whole[:DIGEST_BYTES] != _digest(file, [content]):
        raise CorruptedError(f"{file} does not match its checksum")
    start = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES])
    text, arrays = json.loads(bytes(content[LENGTH_BYTES:start])), []
    for size in text["sizes"]:
        arrays.append(content[start : start + size])
        start += size + _missing(size)
    return text, arrays


def _missing(size) -> int:
    """Return the bytes by which a size lacks of a multiple of `ALIGNMENT`."""
    return -size % ALIGNMENT


def _digest(file, parts) -> bytes:
    digest = hashlib.sha256(file.stem.encode())
    for part in parts:
        digest.update(part)
    return digest.digest()


def _as_json(value, where, arrays):
    """Return plain data as JSON in which all but numbers, text and lists is ``{kind: content}``; keep its arrays."""

    def inner(part, name):
        return _as_json(part, f"{where}{name}", arrays)

    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [inner(part, f"[{k}]") for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": inner(list(value), "")}
    if isinstance(value, dict):
        return {"dict": [inner(list(value), ".keys()"), [inner(part, f"[{key!r}]") for key, part in value.items()]]}
    if type(value) is np.ndarray and value.dtype.kind in KINDS:
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        arrays.append(value.tobytes(order))
        return {"array": [value.dtype.str, list(value.shape), order, len(arrays) - 1]}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"scalar": inner(np.array(value), "")}
    if isinstance(value, pd.RangeIndex):
        return {"range": [value.start, value.stop, value.step, inner(value.name, ".name")]}
    if isinstance(value, pd.Index) and not isinstance(value, pd.MultiIndex):
        return {"index": [_values(value, inner), inner(value.name, ".name")]}
    if isinstance(value, pd.DataFrame):
        dtypes = set(value.dtypes)
        if len(dtypes) == 1 and isinstance(*dtypes, np.dtype) and dtypes.pop().kind in KINDS:
            labels = inner(value.index, ".index"), inner(value.columns, ".columns")
            return {"matrix": [*labels, inner(value.to_numpy().T, ".values")]}  # a column's numbers in a row
        columns = [_values(column, inner) for _, column in value.items()]
        return {"table": [inner(value.index, ".index"), inner(value.columns, ".columns"), columns]}
    of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    raise TypeError(f"{where}, a {type(value).__name__}{of}")


def _values(column, inner):
    """Return the values of a column or an index: its type, then an array, or a list of values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        raise TypeError(f"a column of categories, {column.name!r}")
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in KINDS
    return [str(column.dtype), inner(column.to_numpy() if plain else list(column), ".values")]


def _from_json(tree, arrays):
    """Return the value of a tree and of the arrays that it refers to."""

    def outer(part):
        return _from_json(part, arrays)

    if isinstance(tree, PLAIN):
        return tree
    if isinstance(tree, list):
        return [part if type(part) in PLAIN else outer(part) for part in tree]
    [(kind, content)] = tree.items()
    match kind:
        case "tuple":
            return tuple(outer(content))
        case "dict":
            return dict(zip(*map(outer, content), strict=True))
        case "array":
            dtype, shape, order, k = content
            return np.frombuffer(arrays[k], np.dtype(dtype)).reshape(shape, order=order)
        case "scalar":
            return outer(content)[()]
        case "range":
            return pd.RangeIndex(*content[:3], name=outer(content[3]))
        case "index":
            values = _column(content[0], outer)
            return pd.Index(values, dtype=values.dtype, name=outer(content[1]), tupleize_cols=False)
        case "matrix":
            index, columns, values = map(outer, content)
            return pd.DataFrame(values.T, index=index, columns=columns, copy=False)
        case "table":
            index, columns = outer(content[0]), outer(content[1])
            found = [_column(values, outer) for values in content[2]]
            series = {k: pd.Series(values, index=index, dtype=values.dtype) for k, values in enumerate(found)}
            return pd.DataFrame(series, index=index).set_axis(columns, axis=1)
    raise CorruptedError(f"unknown kind {kind!r}")


def _column(content, outer):
    """Return the values of a column or an index; see `_values`."""
    dtype, values = content[0], outer(content[1])
    if dtype != "object":
        return values if isinstance(values, np.ndarray) else pd.array(values, dtype=dtype)
    column = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):  # one by one: lists and tuples are not to become rows
        column[k] = value
    return column


def prune() -> list[Path]:
    """Remove the trials of other code or library versions, and corrupted ones, but no other file; return them."""
    trials = [file for file in sorted(project().trials.rglob(f"*{SUFFIX}")) if NAME.fullmatch(file.name)]
    removed = [file for file in trials if file.is_file() and not _is_current(file)]
    for file in removed:
        file.unlink(missing_ok=True)
    return removed


def _is_current(file) -> bool:
    try:
        about = _content(file)[0]["about"]
    except (OSError, ValueError):
        return False
    return _current_code(about["function"]) in (about["code"], None)


@cache
def _current_code(function) -> str | None:
    """Return the fingerprint of a function's current code; None, for unknown, if it is not of this package."""
    module = function.partition(":")[0]
    return modules_fingerprint([module]) if module.split(".")[0] == PACKAGE else None
