"""How files are written: whole or not at all, and refused before the work where they cannot be."""

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PARTIAL = ".partial"  # name of a folder of files that are being written, and nothing else


@contextmanager
def atomic_path(path: Path | str):
    """Yield a temporary path; move it to `path` when the block ends well, remove it otherwise.

    A reader never sees half a file. A failed write leaves the earlier file as it was; its error names the file. A link
    is followed, and a pipe or device is written to. A killed process leaves its temporary file in the folder of partial
    files above `path`, where there is one, else beside `path`.
    """
    path = Path(path)
    is_stream = _is_stream(path)
    place = Path(tempfile.gettempdir(), path.name) if is_stream else Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = (folder / PARTIAL for folder in place.parents)
    folder = next(filter(Path.is_dir, partial), place.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:32]}.", suffix=path.suffix[:32], dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if is_stream:
            with temporary.open("rb") as content, _open_stream(path) as stream:
                shutil.copyfileobj(content, stream)
        else:
            temporary.chmod(place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
            _move(temporary, place)
    except OSError as error:  # that of a full disk names no file
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def check_outputs(outputs: Mapping[str, Path | str], inputs: Iterable[Path | str] = ()) -> None:
    """Refuse files that could not be written, or that would replace an input or each other.

    Parameters
    ----------
    outputs : mapping of str to path
        Files to write, by the name of their option.
    inputs : iterable of path
        Files that are read; what does not exist is passed over.

    Raises
    ------
    ValueError
        If an output is an input or another output.
    OSError
        If an output cannot be written.
    """
    taken = [(Path(path), f"{path}, which is read") for path in inputs if _exists(path)]
    for option, path in outputs.items():
        if not str(path) or str(path).endswith(os.sep):
            raise ValueError(f"{option}: expected the name of a file, found {str(path) or 'an empty text'}")
        path = Path(path)
        _try_to_write(path)
        if _is_stream(path) and not path.is_fifo():  # a pipe loses its reader after the first output
            continue
        if same := [use for other, use in taken if _is_same(path, other)]:
            raise ValueError(f"{option}: expected a file of its own, found {same[0]}")
        taken.append((path, f"{path}, which {option} writes"))


def _exists(path) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no name of a file
        return False


def _is_same(path: Path, other: Path) -> bool:
    is_linked = path.exists() and other.exists() and path.samefile(other)
    return is_linked or os.path.realpath(path) == os.path.realpath(other)


def _try_to_write(path: Path) -> None:
    """Raise an OSError if a file cannot be written; nothing is changed."""
    if path.is_dir() or path.is_socket():
        raise OSError(errno.EINVAL, "expected a file to write, found a folder or socket", str(path))
    if (path.exists() or _descriptor(path) is not None) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not _is_stream(path):
        place = Path(os.path.realpath(path))
        try:
            with suppress(FileNotFoundError):
                place.lstat()  # fails for a name that is too long, or below a file
            folder = next(folder for folder in place.parents if folder.exists())
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            error.filename = str(path)
            raise


def is_standard_output(path: Path | str) -> bool:
    """Return whether a path stands for what this process prints to."""
    return _descriptor(Path(path)) == 1


def _is_stream(path: Path) -> bool:
    """Return whether a path is written to as it is: a pipe, a device, or a file that this process has open."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as ``/dev/stdout`` stands for; None for other paths."""
    named = {"/dev/stdout": 1, "/dev/stderr": 2}
    found = re.fullmatch(r"(?:/dev/fd|/proc/self/fd)/([0-9]+)", str(path))
    return int(found[1]) if found else named.get(str(path))


def _open_stream(path: Path):
    number = _descriptor(path)
    if number is None:
        return path.open("wb")
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.flush()  # what was printed before comes first
    return open(number, "wb", closefd=False)


def _move(file, path):
    """Move a file into place in one step, also where a part of the results is on another disk."""
    try:
        file.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = path.with_name(file.name)
        try:
            shutil.copy(file, copy)
            copy.replace(path)
        finally:
            copy.unlink(missing_ok=True)


def write_text(path: Path | str, text: str) -> None:
    """Write `text` to `path` atomically, in UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
