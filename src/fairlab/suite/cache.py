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

    def values(column):
        """Return the type of a column or an index, and its values as an array or a list."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            raise TypeError(f"a column of categories, {column.name!r}")
        plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in KINDS
        return [str(column.dtype), inner(column.to_numpy() if plain else list(column), ".values")]

    if type(value) in PLAIN:
        return value
    if type(value) is list:
        return [inner(part, f"[{k}]") for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": inner(list(value), "")}
    if isinstance(value, dict):
        return {"dict": [inner(list(value), ".keys()"), [inner(part, f"[{key!r}]") for key, part in value.items()]]}
    if type(value) is np.ndarray and value.dtype.kind in KINDS:
        arrays.append(value)
        return {"array": len(arrays)}
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"scalar": inner(np.array(value), "")}
    if isinstance(value, pd.RangeIndex):
        return {"range": [value.start, value.stop, value.step, inner(value.name, ".name")]}
    if isinstance(value, pd.Index) and not isinstance(value, pd.MultiIndex):
        return {"index": [values(value), inner(value.name, ".name")]}
    if isinstance(value, pd.DataFrame):
        columns = [values(column) for _, column in value.items()]
        return {"table": [inner(value.index, ".index"), inner(value.columns, ".columns"), columns]}
    of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    raise TypeError(f"{where}, a {type(value).__name__}{of}")


def _from_json(tree, arrays):
    """Return the value of a tree and of the arrays that it refers to."""

    def outer(part):
        return _from_json(part, arrays)

    def values(content):
        """Return the values of a column or an index."""
        dtype, found = content[0], outer(content[1])
        if dtype != "object":
            return found if isinstance(found, np.ndarray) else pd.array(found, dtype=dtype)
        column = np.empty(len(found), dtype=object)
        for k, value in enumerate(found):  # one by one: lists and tuples are not to become rows
            column[k] = value
        return column

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
        case "scalar":
            return outer(content)[()]
        case "range":
            return pd.RangeIndex(*content[:3], name=outer(content[3]))
        case "index":
            own = values(content[0])
            return pd.Index(own, dtype=own.dtype, name=outer(content[1]), tupleize_cols=False)
        case "table":
            index, columns = outer(content[0]), outer(content[1])
            series = {k: pd.Series(own, index=index, dtype=own.dtype) for k, own in enumerate(map(values, content[2]))}
            return pd.DataFrame(series, index=index).set_axis(columns, axis=1)
