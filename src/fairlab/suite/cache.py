"""Trials on disk: one file each, of plain data that can run no code, with a checksum over its key and its content.

A file holds a mark, the checksum, and what it is the checksum of: the length of a JSON text, the text, and the bytes
of arrays that the text refers to, each filled up to a multiple of `ALIGNMENT`. The text says what made the result:
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

FORM = b"fairlab trial "  # what the mark of every version begins with
MARK = (FORM + b"1").ljust(24)
KEY_LENGTH, SUFFIX = 24, ".trial"
NAME = re.compile(rf"[0-9a-f]{{{KEY_LENGTH}}}{re.escape(SUFFIX)}")
CHECKSUM_BYTES, LENGTH_BYTES, ALIGNMENT = 32, 8, 64
CURRENT, STALE, DAMAGED = "current", "stale", "damaged"


class DamagedError(ValueError):
    """A kept trial is not what was written, or not a kept trial at all."""


def folder() -> Path:
    """Return the folder of all kept trials."""
    return results_folder() / "trials"


def made_by(function) -> dict:
    """Return what the results of a function depend on besides what it is given, and where they are made."""
    module = function.__module__
    return {
        "function": f"{module}:{function.__qualname__}",
        "code": code_fingerprint(function),
        "versions": library_versions([module] if module.split(".")[0] == PACKAGE else None),
        "host": platform.node(),
    }


def write(file: Path, result, about: dict) -> None:
    """Keep the result of a trial under the key that its file is named by.

    Raises
    ------
    TypeError
        If it is not plain data.
    """
    tree, buffers = pack(result)
    about = about | {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    text = json.dumps({"about": about, "sizes": list(map(len, buffers)), "result": tree}).encode()
    parts = [
        len(text).to_bytes(LENGTH_BYTES),
        *(part for whole in (text, *buffers) for part in (whole, _filling(whole))),
    ]
    with atomic_path(file) as temporary, temporary.open("wb") as stream:
        stream.writelines([MARK, _checksum(file, parts), *parts])


def read(file: Path) -> tuple[object, dict]:
    """Return the result of a trial and what is said about it.

    Raises
    ------
    FileNotFoundError
    DamagedError
        If the checksum is another, as after a flipped bit, a cut or a new name.
    """
    text, content = _parts(file)
    start, buffers = 0, []
    for size in text["sizes"]:
        buffers.append(content[start : start + size])
        start += -(-size // ALIGNMENT) * ALIGNMENT
    return unpack(text["result"], buffers), text["about"]


def _parts(file):
    """Return the text of a file and the bytes that follow it, once they are known to be what was written."""
    content = memoryview(np.fromfile(file, np.uint8))  # arrays are parts of this memory, free to be changed
    start = len(MARK) + CHECKSUM_BYTES
    body = content[start:]
    if content[: len(MARK)] != MARK or content[len(MARK) : start] != _checksum(file, [body]):
        raise DamagedError(f"{file} is not what was written")
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
    """Return what is kept, one row a file: ``file``, ``mb``, ``function``, ``seconds``, ``host``, ``state``.

    The state is current; stale, if the function's code or its libraries have changed since, so that nobody asks for it
    any more; or damaged, which is also said of what another version wrote. Files with other names are not looked at.
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


def damaged() -> pd.DataFrame:
    """Return the rows of what is not what was written; such a trial is computed again when it is asked for."""
    frame = entries()
    return frame[frame["state"] == DAMAGED]


def _entry(file):
    row = {"file": file, "mb": file.stat().st_size / 1e6, "function": file.parent.name, "seconds": 0.0, "host": ""}
    try:
        about = _parts(file)[0]["about"]
    except (OSError, ValueError):
        return row | {"state": DAMAGED}
    state = CURRENT if _current_code(about["function"]) in (about["code"], None) else STALE
    return row | {key: about[key] for key in ("function", "seconds", "host")} | {"state": state}


@cache
def _current_code(function) -> str | None:
    """Return the fingerprint of a function's code as it is; None if it is not of this package, so that nobody knows."""
    module = function.partition(":")[0]
    return modules_fingerprint([module]) if module.split(".")[0] == PACKAGE else None


def _has_form(file) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(FORM)) == FORM
