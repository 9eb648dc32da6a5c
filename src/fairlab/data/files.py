"""Raw files: the cache, checks of copies, and fetching of missing files."""

import hashlib
import logging
import os
import platform
import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pooch

from fairlab.data.downloads import AbsentError, RejectedError, download, extract
from fairlab.data.errors import DataError, DataUnavailableError
from fairlab.data.registry import Address, File
from fairlab.paths import atomic_path

# Data variants and files that were available when a job was submitted, with commas: no surrogate may replace them.
REAL_DATA_VARIABLE = "FAIRLAB_REAL_DATA"
_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the folder of cached files: ``FAIRLAB_DATA_CACHE`` if set, else the user's cache folder."""
    return Path(os.environ.get("FAIRLAB_DATA_CACHE") or pooch.os_cache("fairlab"))


def mirror_folder() -> Path | None:
    """Return the folder of ``FAIRLAB_DATA_MIRROR``, a copy of the files laid out as in the registry."""
    folder = os.environ.get("FAIRLAB_DATA_MIRROR")
    return Path(folder) if folder else None


def is_offline() -> bool:
    """Return whether ``FAIRLAB_OFFLINE`` forbids using the network."""
    return os.environ.get("FAIRLAB_OFFLINE", "0") not in ("", "0")


def was_there(name: str) -> bool:
    """Return whether a data variant, or a file, was available when this job was submitted."""
    return name in os.environ.get(REAL_DATA_VARIABLE, "").split(",")


def lost_since(name: str) -> str:
    """Return the message for data that was available at submission and is not on this machine."""
    return (
        f"{name}: real data was available when this job was submitted, but is not on {platform.node()}; no surrogate "
        "is used. FAIRLAB_DATA_CACHE or FAIRLAB_DATA_MIRROR must name a folder that all machines share."
    )


def git_blob_sha1(path: Path) -> str:
    """Return the id that git gives to a file: SHA-1 of ``blob <bytes>``, a zero byte and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def find_fault(file: File, path: Path) -> str | None:
    """Return what is wrong with a copy of `file`, or None if it is the right one.

    The size is compared first; then the SHA-256, or the git blob id where no SHA-256 is known, or the number of lines
    where neither is. A file that the registry gives no check for, or that cannot be read, is never right.
    """
    try:
        return _compare(file, path)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def fetch_file(file: File) -> Path:
    """Return the path of a checked copy of `file` in the cache, fetching it if it is missing or altered.

    Tried in order: the cache, the mirror folder, the mirror ``FAIRLAB_DATA_MIRROR_URL``, the addresses as the registry
    lists them. A wrong file is reported, and the next source is tried. A copy is checked under a temporary name and
    then moved into place, so the cache never contains a partial or wrong file.

    Raises
    ------
    DataUnavailableError
        If no source has the right file; the message names the file, each source with its reason, and how to provide the
        file.
    DataError
        If the cache cannot be written, or ``FAIRLAB_REAL_DATA`` names the file, so that no surrogate may replace it.
    """
    path = cache_folder() / file.path
    refused, rejected = [], []
    for name, place in _sources(file, path):
        try:
            place()
        except RejectedError as error:
            rejected.append(f"{name} {error}")
            refused.append(f"{name}: {error}")
        except AbsentError as error:
            refused.append(f"{name}: {error}")
        except DataError:
            raise
        except Exception as error:  # whatever is wrong with a source, the next one is tried
            refused.append(f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
        else:
            if rejected:
                _log.warning("%s: taken from %s; rejected: %s", file.path, name, "; ".join(rejected))
            return path
    if was_there(file.path):
        raise DataError(f"{lost_since(file.path)} {_explain(file, path, refused)}")
    raise DataUnavailableError(_explain(file, path, refused), tuple(rejected))


def local_copy(file: File) -> Path | None:
    """Return where the cache or the mirror folder has a file of this name, unchecked; None if neither has."""
    folders = [folder for folder in (cache_folder(), mirror_folder()) if folder is not None]
    return next((folder / file.path for folder in folders if (folder / file.path).is_file()), None)


@contextmanager
def new_file(path: Path):
    """Yield a temporary path that replaces `path` when the block succeeds; write errors are a `DataError`."""
    try:
        with atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        raise DataError(
            f"cannot write {path}: {error.strerror or error}; nothing was changed. Free disk space or allow writing "
            "there, or set FAIRLAB_DATA_CACHE to another folder"
        ) from error


def _sources(file: File, path: Path):
    """Yield the name of every source and a function that puts its copy, checked, to `path`."""
    yield "cache", lambda: _from_cache(file, path)
    yield "mirror", lambda: _from_mirror(file, path)
    if url := os.environ.get("FAIRLAB_DATA_MIRROR_URL"):
        mirrored = Address.model_construct(url=f"{url.rstrip('/')}/{quote(file.path)}", kind="pinned", member=None)
        yield mirrored.url, lambda: _from_network(file, path, mirrored)
    for address in file.urls:
        yield address.url, lambda address=address: _from_network(file, path, address)


def _from_cache(file: File, path: Path) -> None:
    if not path.is_file():
        raise AbsentError(f"{path} does not exist")
    _check(file, path)


def _from_mirror(file: File, path: Path) -> None:
    folder = mirror_folder()
    if folder is None:
        raise AbsentError("FAIRLAB_DATA_MIRROR is not set")
    origin = folder / file.path
    if not origin.is_file():
        raise AbsentError(f"{origin} does not exist")
    _check(file, origin)  # before the copy, so that a wrong or unreadable file costs no write
    with new_file(path) as temporary:
        shutil.copyfile(origin, temporary)
        _check(file, temporary)


def _from_network(file: File, path: Path, address: Address) -> None:
    if address.kind == "page":
        raise AbsentError("a page to visit in a browser")
    if is_offline():
        raise AbsentError("not tried, FAIRLAB_OFFLINE is set")
    with new_file(path) as temporary:
        if address.member is None:
            download(address.url, temporary, size=file.bytes)
        else:
            archive = temporary.with_name(temporary.name + ".zip")
            try:
                download(address.url, archive)
                extract(archive, address.member, temporary, size=file.bytes)
            except RejectedError as error:
                raise RejectedError(f"{_page(archive)}{error}") from error
            finally:
                archive.unlink(missing_ok=True)
        _check(file, temporary)


def _check(file: File, path: Path) -> None:
    fault = find_fault(file, path)
    if fault:
        raise RejectedError(fault)


def _compare(file: File, path: Path) -> str | None:
    size = path.stat().st_size
    if file.bytes not in (None, size):
        return f"{_page(path)}has {size:,} bytes, expected {file.bytes:,}"
    if file.sha256:
        found, expected, what = pooch.file_hash(str(path), alg="sha256"), file.sha256, "SHA-256"
    elif file.git_blob_sha1:
        found, expected, what = git_blob_sha1(path), file.git_blob_sha1, "git blob id"
    elif file.lines:
        found, expected, what = _count_lines(path), file.lines, "number of lines"
    else:
        return "the registry has no hash to check it by"
    return None if found == expected else f"{_page(path)}has {what} {found}, expected {expected}"


def _page(path: Path) -> str:
    """Return a remark if the file looks like a web page, as servers send in place of a missing file."""
    with path.open("rb") as stream:
        start = stream.read(512).lstrip().lower()
    return "is a web page, not the file; " if start.startswith((b"<!doctype html", b"<html")) else ""


def _count_lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _explain(file: File, path: Path, refused: list[str]) -> str:
    origin = f"\n  no public address; made from {', '.join(file.made_from)}" if file.made_from else ""
    return (
        f"{file.path} is not available:"
        + "".join(f"\n  {reason}" for reason in refused)
        + origin
        + f"\nTo provide it yourself, put the file ({_describe_check(file)}) at {path},"
        + f" or set FAIRLAB_DATA_MIRROR to a folder that has {file.path}. Terms: {file.terms}."
    )


def _describe_check(file: File) -> str:
    """Return a description of how a copy of `file` is checked."""
    size = f"{file.bytes:,} bytes, " if file.bytes else ""
    if file.sha256:
        return f"{size}SHA-256 {file.sha256}"
    if file.git_blob_sha1:
        return f"{size}git blob id {file.git_blob_sha1}"
    return f"{size}{file.lines:,} lines" if file.lines else "no hash known"
