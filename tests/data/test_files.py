import errno
import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest

from fairlab.data import DataError, DataUnavailableError, files
from fairlab.data.registry import Address

CONTENT = b"a,b\n1,2\n3,4\n"
ALTERED = b"a,b\n1,2\n3,5\n"


def leftovers():
    """Everything in the cache but whole files under their own names."""
    return [path for path in files.cache_folder().rglob("*") if path.is_file() and path.name.startswith(".")]


def put(folder, content=CONTENT, name="toy/table.csv"):
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def mirror_copy(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))
    return tmp_path / "mirror"


@pytest.mark.parametrize(
    ("checks", "right", "wrong", "reason"),
    [
        ({}, CONTENT, CONTENT[:-1], "has 11 bytes, expected 12"),
        ({}, CONTENT, ALTERED, "has SHA-256"),
        ({"sha256": None, "git_blob_sha1": hashlib.sha1(b"blob 12\0" + CONTENT).hexdigest()}, CONTENT, ALTERED, "git"),
        ({"sha256": None, "bytes": None, "lines": 3}, ALTERED, CONTENT + b"5,6\n", "number of lines 4, expected 3"),
        ({}, CONTENT, b"<!DOCTYPE html><p>moved", "is a web page, not the file"),
    ],
)
def test_find_fault(tmp_path, make_file, checks, right, wrong, reason):
    file = make_file(**checks)
    assert files.find_fault(file, put(tmp_path, right)) is None
    assert reason in files.find_fault(file, put(tmp_path, wrong))


def test_mirror_comes_before_the_network_and_ends_in_the_cache(make_file, mirror_copy, server):
    put(mirror_copy)
    path = files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert path == files.cache_folder() / "toy/table.csv"
    assert path.read_bytes() == CONTENT
    assert server.asked == []


@pytest.mark.parametrize("place", ["mirror", "cache"])
def test_an_altered_copy_is_passed_over_and_replaced(make_file, mirror_copy, server, place):
    put(mirror_copy if place == "mirror" else files.cache_folder(), ALTERED)
    server.pages["/table.csv"] = (200, CONTENT, 0)
    assert files.fetch_file(make_file(f"{server.url}/table.csv")).read_bytes() == CONTENT


def test_an_altered_cache_without_another_source_is_an_error_and_stays(make_file):
    path = put(files.cache_folder(), ALTERED)
    with pytest.raises(DataUnavailableError, match="cache: has SHA-256") as caught:
        files.fetch_file(make_file())
    assert path.read_bytes() == ALTERED
    assert len(caught.value.rejected) == 1


def test_every_rejection_is_reported_with_its_reason(make_file, server):
    server.pages |= {
        "/page": (200, b"<html>please log in</html>", 0),
        "/short": (200, CONTENT[:5], 7),
        "/other": (200, ALTERED, 0),
        "/zip": (200, zipped(**{"other.csv": CONTENT}), 0),
        "/nozip": (200, CONTENT, 0),
    }
    urls = [f"{server.url}{path}" for path in ("/gone", "/page", "/short", "/other")]
    archives = [Address(url=f"{server.url}{path}", kind="official", member="table.csv") for path in ("/zip", "/nozip")]
    by_hand = Address(url="https://example.org/form", kind="page")
    with pytest.raises(DataUnavailableError) as caught:
        files.fetch_file(make_file(*urls, *archives, by_hand))
    message = str(caught.value)
    for reason in (
        "toy/table.csv is not available",
        "FAIRLAB_DATA_MIRROR is not set",
        "/gone: the server answered 404",
        "/page: is a web page, not the file",
        "/short: was cut off before its end",
        "/other: has SHA-256",
        "/zip: is not an intact zip with table.csv",
        "/nozip: is not an intact zip with table.csv",
        "https://example.org/form: a page to visit in a browser",
        f"put the file (12 bytes, SHA-256 {hashlib.sha256(CONTENT).hexdigest()}) at {files.cache_folder()}",
    ):
        assert reason in message
    assert len(caught.value.rejected) == 5
    assert leftovers() == []


def answering(headers, *pieces, status=200):
    """Return an answer that is sent in pieces, without its length."""

    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)

    return answer


def away(location):
    return answering({"Location": location, "Content-Length": "0"}, status=302)


def test_failing_source_is_reported_and_next_is_tried(make_file, server, monkeypatch):
    packed = zipped(a=CONTENT * 50)
    corrupted = packed.replace(packed[35:43], b"\xff" * 8)
    server.pages |= {"/zip": (200, corrupted, 0), "/away": away("http://[::1"), "/good": (200, CONTENT, 0)}
    server.pages |= {"/file": away(Path(__file__).as_uri()), "/round": away("/round")}
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", "x" * 300)
    sources = [Address(url=f"{server.url}/zip", kind="official", member="a")]
    sources += [f"{server.url}/{name}" for name in ("away", "file", "round")]
    with pytest.raises(DataUnavailableError) as caught:
        files.fetch_file(make_file(*sources))
    _, _, mirror, *told, _ = str(caught.value).splitlines()
    assert mirror.startswith("  mirror: OSError: [Errno 36] File name too long")
    kinds = ["is not an intact zip with a", "ValueError", "InvalidSchema", "TooManyRedirects"]
    assert [line.split(": ")[1] for line in told] == kinds
    assert files.fetch_file(make_file(*sources, f"{server.url}/good")).read_bytes() == CONTENT
    assert leftovers() == []


def test_zip_member(make_file, server):
    server.pages["/all.zip"] = (200, zipped(**{"in/table.csv": CONTENT, "readme": b""}), 0)
    path = files.fetch_file(make_file(Address(url=f"{server.url}/all.zip", kind="official", member="in/table.csv")))
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["table.csv"]


def test_offline_makes_no_request(make_file, server, monkeypatch):
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    with pytest.raises(DataUnavailableError, match="FAIRLAB_OFFLINE is set"):
        files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert server.asked == []


def test_a_full_disk_leaves_nothing_behind(make_file, mirror_copy, monkeypatch):
    put(mirror_copy)

    def fill(source, target):
        Path(target).write_bytes(CONTENT[:4])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.shutil, "copyfile", fill)
    with pytest.raises(DataError, match=r"cannot write .*table\.csv: No space left on device.*FAIRLAB_DATA_CACHE"):
        files.fetch_file(make_file())
    assert list((files.cache_folder() / "toy").iterdir()) == []


def test_a_copy_is_checked_after_it_was_made(make_file, mirror_copy, monkeypatch):
    put(mirror_copy)
    monkeypatch.setattr(files.shutil, "copyfile", lambda source, target: Path(target).write_bytes(ALTERED))
    with pytest.raises(DataUnavailableError, match="mirror: has SHA-256"):
        files.fetch_file(make_file())
    assert list((files.cache_folder() / "toy").iterdir()) == []


def test_a_mirror_may_be_a_server(make_file, server, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", f"{server.url}/mirror/")
    server.pages |= {"/mirror/toy/table.csv": (200, ALTERED, 0), "/table.csv": (200, CONTENT, 0)}
    files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert server.asked == ["/mirror/toy/table.csv", "/table.csv"]
    server.pages["/mirror/toy/table.csv"] = (200, CONTENT, 0)
    (files.cache_folder() / "toy" / "table.csv").unlink()
    files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert server.asked[2:] == ["/mirror/toy/table.csv"]
