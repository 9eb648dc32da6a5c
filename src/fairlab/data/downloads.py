"""Downloads with limits on size and time, and only from expected addresses."""

import queue
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

TIMEOUT = (4, 30)  # seconds to connect, and between two pieces of an answer
MOST_BYTES = 500_000_000  # of a file or an archive whose size is not known
SPARE_BYTES = 1_000_000  # beyond a known size: a web page instead of the file is read, and reported as such
LEAST_SECONDS, LEAST_BYTES_PER_SECOND = 60, 50_000  # until the first bytes; from then on, on the whole
LOOK_SECONDS = 0.1
MOST_REDIRECTS = 10
BLOCK = 1 << 16
_unreachable: set[str] = set()  # hosts that this process could not connect to


class AbsentError(Exception):
    """A source does not have the file."""


class RejectedError(Exception):
    """A source has a file that is not the right one."""


def download(url: str, path: Path, *, size: int | None = None) -> None:
    """Download an address to `path`.

    Certificates are checked. A redirect leads to the same scheme or to https. A compressed body is unpacked, and its
    unpacked bytes are what is counted.

    Parameters
    ----------
    url : str
    path : Path
    size : int or None
        Bytes of the file, if they are known.

    Raises
    ------
    AbsentError
        If nothing came.
    RejectedError
        If it ended early, was larger than the file can be, or was too slow, including its headers.
    """
    import requests  # slow to import, and seldom needed
    from urllib3.exceptions import MaxRetryError

    most = MOST_BYTES if size is None else size + SPARE_BYTES

    def transfer(received):
        with requests.Session() as session, _answer(session, url) as response:
            response.raise_for_status()
            with path.open("wb") as stream:
                _copy(response.raw, stream, most, received)

    try:
        host = urlsplit(url).netloc
        _in_time(transfer, host)
    except requests.HTTPError as error:
        raise AbsentError(f"the server answered {error.response.status_code} {error.response.reason}") from error
    except requests.exceptions.SSLError as error:
        raise AbsentError(f"the certificate of {host} is not trusted") from error
    except requests.ConnectionError as error:
        host = urlsplit(error.request.url).netloc  # that of a redirect, if it led there
        if isinstance(error.args[0], MaxRetryError):  # else the server answers, but not to this
            _unreachable.add(host)
        raise AbsentError(f"no connection to {host}") from error
    except ValueError as error:
        raise AbsentError(f"leads to an invalid address: {error}") from error
    except requests.RequestException as error:
        raise AbsentError(f"{type(error).__name__}: {error}") from error


def extract(archive: Path, member: str, path: Path, *, size: int | None = None) -> None:
    """Write one member of a zip to `path`, whatever its name in the zip; never more bytes than expected.

    Raises
    ------
    RejectedError
        If it is no intact zip, has no such member, or the member is of another size.
    """
    most = MOST_BYTES if size is None else size
    with path.open("wb") as stream:
        for piece in _pieces(archive, member, most, size):
            stream.write(piece)


def _pieces(archive, member, most, size):
    """Yield the content of a member of a zip."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            if member not in bundle.namelist():
                raise RejectedError(f"the zip has no member {member}")
            declared = bundle.getinfo(member).file_size
            if declared > most or (size is not None and declared != size):
                raise RejectedError(f"the zip's member {member} has {declared:,} bytes, expected {most:,}")
            with bundle.open(member) as content:
                while piece := content.read(BLOCK):  # ends at the size that the zip declares
                    yield piece
    except RejectedError:
        raise
    except Exception as error:  # zlib, bzip2, lzma and a seek to nowhere raise one of their own each
        raise RejectedError("is not an intact zip") from error


def _answer(session, url):
    """Return the answer to a request, past its redirects."""
    for _ in range(MOST_REDIRECTS):
        if (host := urlsplit(url).netloc) in _unreachable:
            raise AbsentError(f"not retried, {host} could not be reached before")
        # Nothing is asked for in packed form: a file that is packed itself must come as it is.
        response = session.get(
            url, stream=True, timeout=TIMEOUT, allow_redirects=False, headers={"Accept-Encoding": "identity"}
        )
        if not response.is_redirect:
            return response
        target = urljoin(url, response.headers["location"])
        response.close()
        if urlsplit(target).scheme not in ("https", urlsplit(url).scheme):
            raise AbsentError(f"redirects to {target}, which is not https")
        url = target
    raise AbsentError(f"redirects more than {MOST_REDIRECTS} times")


@dataclass
class _Received:
    """Bytes received of a file, shared by two threads."""

    n_bytes: int = 0
    given_up: bool = False


def _in_time(transfer: Callable[[_Received], None], host: str) -> None:
    """Run a transfer as long as its average rate suffices; one that is too slow is abandoned.

    It may wait for the rest of a header or of a packed block as long as its server likes: it has a thread of its own.
    """
    received, answers, start = _Received(), queue.SimpleQueue(), time.monotonic()

    def run():
        try:
            answers.put(transfer(received))
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=run, daemon=True).start()
    while True:
        try:
            error = answers.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            seconds = time.monotonic() - start
            if seconds > LEAST_SECONDS + received.n_bytes / LEAST_BYTES_PER_SECOND:
                received.given_up = True
                if not received.n_bytes:
                    _unreachable.add(host)
                raise RejectedError(f"is too slow: {received.n_bytes:,} bytes in {seconds:.0f} seconds") from None
            continue
        if error is not None:
            raise error
        return


def _copy(raw, stream, most, received):
    """Copy piece by piece and count the bytes."""
    import urllib3

    try:
        while (piece := raw.read1(BLOCK, decode_content=True)) and not received.given_up:
            received.n_bytes += len(piece)
            if received.n_bytes > most:
                raise RejectedError(f"sends more than {most:,} bytes")
            stream.write(piece)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError):  # of the disk
            raise
        raise RejectedError("was cut off before its end") from error
    if raw.length_remaining and not raw.headers.get("content-encoding"):
        raise RejectedError("was cut off before its end")
