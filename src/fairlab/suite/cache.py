"""Cache of trials on disk: one file each, plain data that cannot run code, with a checksum over key and content.

A file has a mark, the checksum, and the checked content: the length of a JSON text, the text, and the bytes of the
arrays to which the text refers, each padded to a multiple of `ALIGNMENT`. The text has the metadata of the result:
function, code, versions, host, time, seconds.
"""

import hashlib
import json
import platform
import re
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from fairlab.paths import atomic_path, results_folder
from fairlab.suite.fingerprint import PACKAGE, code_fingerprint, library_versions, modules_fingerprint
from fairlab.suite.packing import pack, unpack

FORM = b"fairlab trial "  # start of the mark of every version
MARK = (FORM + b"1").ljust(24)
KEY_LENGTH, SUFFIX = 24, ".trial"
NAME = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}{re.escape(SUFFIX)}")
CHECKSUM_BYTES, LENGTH_BYTES, ALIGNMENT = 32, 8, 64
CURRENT, STALE, CORRUPTED = "current", "stale", "corrupted"


class CorruptedError(ValueError):
    """A file of the cache does not match its checksum, or is not a cached trial."""


def folder() -> Path:
    """Return the folder of the cached trials."""
    return results_folder() / "trials"


def provenance(function) -> dict:
    """Return what the results of a function depend on besides its arguments, and the host."""
    module = function.__module__
    return {
        "function": f"{module}:{function.__qualname__}",
        "code": code_fingerprint(function),
        "versions": library_versions([module] if module.split(".")[0] == PACKAGE else None),
        "host": platform.node(),
    }


def write(file: Path, result, metadata: dict) -> None:
    """Cache the result of a trial; the file is named by its key.

    Raises
    ------
    TypeError
        If it is not plain data.
    """
    tree, buffers = pack(result)
    metadata = metadata | {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    text = json.dumps({"about": metadata, "sizes": list(map(len, buffers)), "result": tree}).encode()
    parts = [
        len(text).to_bytes(LENGTH_BYTES),
        *(part for whole in (text, *buffers) for part in (whole, _filling(whole))),
    ]
    with atomic_path(file) as temporary, temporary.open("wb") as stream:
        stream.writelines([MARK, _checksum(file, parts), *parts])


def read(file: Path) -> tuple[object, dict]:
    """Return the result of a trial and its metadata.

    Raises
    ------
    FileNotFoundError
    CorruptedError
        If the checksum does not match, as after a flipped bit, a truncation or a renaming.
    """
    text, content = _parts(file)
    start, buffers = 0, []
    for size in text["sizes"]:
        buffers.append(content[start : start + size])
        start += -(-size // ALIGNMENT) * ALIGNMENT
    return unpack(text["result"], buffers), text["about"]


def _parts(file):
    """Return the text of a file and the bytes that follow it, after checking the checksum."""
    content = memoryview(np.fromfile(file, np.uint8))  # arrays are writable views of this memory
    start = len(MARK) + CHECKSUM_BYTES
    body = content[start:]
    if content[: len(MARK)] != MARK or content[len(MARK) : start] != _checksum(file, [body]):
        raise CorruptedError(f"{file} does not match its checksum")
    end = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES])
    return json.loads(bytes(body[LENGTH_BYTES:end])), body[end + len(_filling(body[LENGTH_BYTES:end])) :]


def _filling(part) -> bytes:
    return bytes(-len(part) % ALIGNMENT)


def _checksum(file, parts):
    digest = hashlib.sha256(file.stem.encode())
    for part in parts:
        digest.update(part)
    return digest.digest()


def entries() -> pd.DataFrame:
    """Return the cached trials, one row per file: ``file``, ``mb``, ``function``, ``seconds``, ``host``, ``state``.

    The state is current; stale, if the code of the function or its libraries have changed since; or corrupted, also for
    files of another version. Files with other names are ignored.
    """
    files = sorted(folder().rglob(f"*{SUFFIX}"))
    rows = [_entry(file) for file in files if NAME.fullmatch(file.name) and file.is_file()]
    return pd.DataFrame(rows, columns=["file", "mb", "function", "seconds", "host", "state"])


def status() -> pd.DataFrame:
    """Return files, MB and seconds of a core by function and state."""
    frame = entries()
    sums = frame.groupby(["function", "state"], sort=True).agg(
        trials=("file", "size"), mb=("mb", "sum"), seconds=("seconds", "sum")
    )
    return sums.reset_index()


def prune() -> pd.DataFrame:
    """Remove the trials that are not current, and no other file; return their rows."""
    frame = entries()
    gone = frame[(frame["state"] != CURRENT) & frame["file"].map(_has_form).astype(bool)]
    for file in gone["file"]:
        file.unlink(missing_ok=True)
    return gone


def corrupted() -> pd.DataFrame:
    """Return the rows of corrupted trials; they are computed again when needed."""
    frame = entries()
    return frame[frame["state"] == CORRUPTED]


def _entry(file):
    row = {"file": file, "mb": file.stat().st_size / 1e6, "function": file.parent.name, "seconds": 0.0, "host": ""}
    try:
        metadata = _parts(file)[0]["about"]
    except (OSError, ValueError):
        return row | {"state": CORRUPTED}
    state = CURRENT if _current_code(metadata["function"]) in (metadata["code"], None) else STALE
    return row | {key: metadata[key] for key in ("function", "seconds", "host")} | {"state": state}


@cache
def _current_code(function) -> str | None:
    """Return the fingerprint of a function's current code; None, for unknown, if it is not of this package."""
    module = function.partition(":")[0]
    return modules_fingerprint([module]) if module.split(".")[0] == PACKAGE else None


def _has_form(file) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(FORM)) == FORM
