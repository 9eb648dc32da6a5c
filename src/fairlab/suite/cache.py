"""Cache of trials on disk: one file each, of JSON and arrays, which cannot run code.

A file ``<key>.trial`` has the SHA-256 of its key and content, then the content, an archive of NumPy's (``.npz``): first
a JSON text with the result and its metadata, then the arrays to which ``{"array": k}`` in the text refers.
"""

import hashlib
import io
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.paths import atomic_path

KINDS = "biufcSUMm"  # of NumPy's types: all whose bytes are the value
PLAIN = (bool, int, float, str, type(None))
DIGEST_BYTES = 32
SUFFIX = ".trial"


class CorruptedError(ValueError):
    """A file of the cache does not match its checksum."""


def write(file: Path, result, metadata: dict) -> None:
    """Cache the result of a trial; the file is named by its key.

    Raises
    ------
    TypeError
        If it is not plain data: numbers, text, arrays and tables, in dictionaries, lists and tuples.
    """
    arrays, archive = [], io.BytesIO()
    tree = _as_json(result, "result", arrays)
    about = metadata | {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    text = json.dumps({"about": about, "result": tree}).encode()
    np.savez(archive, np.frombuffer(text, np.uint8), *arrays)
    content = archive.getvalue()
    with atomic_path(file) as temporary:
        temporary.write_bytes(_digest(file, content) + content)


def read(file: Path) -> tuple[object, dict]:
    """Return the result of a trial and its metadata.

    Raises
    ------
    FileNotFoundError
    CorruptedError
        If the checksum does not match, as after a flipped bit, a truncation or a renaming.
    """
    whole = file.read_bytes()
    content = whole[DIGEST_BYTES:]
    if whole[:DIGEST_BYTES] != _digest(file, content):
        raise CorruptedError(f"{file} does not match its checksum")
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        text, *arrays = (archive[name] for name in archive.files)
    text = json.loads(text.tobytes())
    return _from_json(text["result"], arrays), text["about"]


def _digest(file, content) -> bytes:
    return hashlib.sha256(file.stem.encode() + content).digest()


def _as_json(value, where, arrays):
    """Return plain data as JSON in which all but numbers, text and lists is ``{kind: content}``; keep its arrays."""

    def inner(part, name):
        return _as_json(part, f"{where}{name}", arrays)

    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) in PLAIN:
        return plain
    if type(value) is list:
        return [inner(part, f"[{k}]") for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": inner(list(value), "")}
    if isinstance(value, dict):
        return {"dict": [inner(list(value), ".keys()"), [inner(part, f"[{key!r}]") for key, part in value.items()]]}
    if type(value) is np.ndarray and value.dtype.kind in KINDS:
        arrays.append(value)
        return {"array": len(arrays)}
    if isinstance(value, pd.DataFrame) and value.index.nlevels == value.columns.nlevels == 1:
        parts = [list(value.index), value.index.name, list(value.columns), list(map(str, value.dtypes))]
        parts.append([_plain(column) for _, column in value.items()])
        if not _table(*parts).equals(value):
            raise TypeError(f"{where}, a table whose columns cannot be kept as they are: {', '.join(parts[3])}")
        return {"table": [inner(part, "") for part in parts]}
    of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    raise TypeError(f"{where}, a {type(value).__name__}{of}")


def _from_json(tree, arrays):
    """Return the value of a tree and of the arrays that it refers to."""

    def outer(part):
        return _from_json(part, arrays)

    if isinstance(tree, PLAIN):
        return tree
    if isinstance(tree, list):
        return list(map(outer, tree))
    [(kind, content)] = tree.items()
    match kind:
        case "tuple":
            return tuple(outer(content))
        case "dict":
            return dict(zip(*map(outer, content), strict=True))
        case "array":
            return arrays[content - 1]
        case "table":
            return _table(*outer(content))


def _plain(column):
    """Return the values of a column as an array, or a list if they are text or objects."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) and column.dtype.kind in KINDS else list(column)


def _table(index, name, columns, dtypes, values) -> pd.DataFrame:
    """Return the table of labels, their name, titles of the columns, their types and their values."""
    frame = pd.DataFrame(dict(enumerate(values)), index=pd.Index(index, name=name, tupleize_cols=False))
    return frame.astype(dict(enumerate(dtypes))).set_axis(columns, axis=1)
