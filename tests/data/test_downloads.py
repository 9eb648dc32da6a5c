import contextlib
import gzip
import io
import shutil
import ssl
import subprocess
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fairlab.data import downloads
from fairlab.data.downloads import AbsentError, RejectedError, download, extract

CONTENT = b"a,b\n1,2\n3,4\n"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "file"


def answering(headers, *pieces, status=200, pause=0.0):
    """Return an answer that is sent in pieces, without its length."""

    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces:
            try:
                handler.wfile.write(piece)
                handler.wfile.flush()
            except OSError:  # the other side has had enough
                return
            time.sleep(pause)

    return answer


def test_a_file_comes_as_it_is(server, target):
    server.pages["/a"] = (200, CONTENT, 0)
    download(f"{server.url}/a", target, size=len(CONTENT))
    assert target.read_bytes() == CONTENT


def test_a_body_that_is_packed_for_the_way_is_unpacked(server, target):
    server.pages["/a"] = answering({"Content-Encoding": "gzip"}, gzip.compress(CONTENT))
    download(f"{server.url}/a", target)
    assert target.read_bytes() == CONTENT


def test_a_body_without_end_is_cut(server, target, monkeypatch):
    monkeypatch.setattr(downloads, "SPARE_BYTES", 100_000)
    server.pages["/a"] = answering({}, *[b"x" * 50_000] * 100)
    with pytest.raises(RejectedError, match="sends more than 100,012 bytes"):
        download(f"{server.url}/a", target, size=12)
    assert target.stat().st_size <= 100_012


def test_a_packed_body_is_counted_by_what_comes_out_of_it(server, target, monkeypatch):
    monkeypatch.setattr(downloads, "SPARE_BYTES", 100_000)
    server.pages["/a"] = answering({"Content-Encoding": "gzip"}, gzip.compress(bytes(50_000_000), 1))
    with pytest.raises(RejectedError, match="sends more than"):
        download(f"{server.url}/a", target, size=12)
    assert target.stat().st_size <= 100_012


def test_a_body_that_drips_is_given_up(server, target, monkeypatch):
    monkeypatch.setattr(downloads, "LEAST_SECONDS", 0.2)
    monkeypatch.setattr(downloads, "LEAST_BYTES_PER_SECOND", 1e9)
    server.pages["/a"] = answering({}, *[b"x"] * 100, pause=0.05)
    started = time.monotonic()
    with pytest.raises(RejectedError, match=r"is too slow: \d+ bytes in \d seconds"):
        download(f"{server.url}/a", target, size=100)
    assert time.monotonic() - started < 4


def test_headers_that_drip_are_given_up(server, target, monkeypatch):
    def drip(handler):
        handler.send_response(200)
        handler.flush_headers()
        with contextlib.suppress(OSError):  # the other side has had enough
            for letter in "X-Long: " + "x" * 100:
                handler.wfile.write(letter.encode())
                handler.wfile.flush()
                time.sleep(0.05)

    monkeypatch.setattr(downloads, "LEAST_SECONDS", 0.2)
    server.pages["/a"] = drip
    started = time.monotonic()
    with pytest.raises(RejectedError, match=r"is too slow: 0 bytes in \d seconds"):
        download(f"{server.url}/a", target, size=100)
    assert time.monotonic() - started < 4
    assert not target.exists()


def test_a_packed_body_whose_beginning_drips_is_given_up(server, target, monkeypatch):
    name = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 100  # of the packed file, before anything of it
    monkeypatch.setattr(downloads, "LEAST_SECONDS", 0.2)
    server.pages["/a"] = answering({"Content-Encoding": "gzip"}, *(name[k : k + 1] for k in range(110)), pause=0.05)
    started = time.monotonic()
    with pytest.raises(RejectedError, match="is too slow: 0 bytes"):
        download(f"{server.url}/a", target, size=100)
    assert time.monotonic() - started < 4
    with pytest.raises(AbsentError, match="not retried"):  # not a minute for each of many files
        download(f"{server.url}/b", target)


def test_a_slow_archive_has_no_more_time_than_what_came_of_it_allows(server, target, monkeypatch):
    monkeypatch.setattr(downloads, "LEAST_SECONDS", 0.2)
    server.pages["/a"] = answering({}, *[b"x"] * 100, pause=0.05)
    started = time.monotonic()
    with pytest.raises(RejectedError, match="is too slow"):
        download(f"{server.url}/a", target)  # of a size that is not known
    assert time.monotonic() - started < 4


def test_a_redirect_is_followed_within_http_and_not_to_a_file(server, target, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    server.pages |= {
        "/a": answering({"Location": "/b", "Content-Length": "0"}, status=302),
        "/b": (200, CONTENT, 0),
        "/c": answering({"Location": f"file://{secret}", "Content-Length": "0"}, status=302),
        "/d": answering({"Location": "/d", "Content-Length": "0"}, status=302),
    }
    download(f"{server.url}/a", target)
    assert target.read_bytes() == CONTENT
    with pytest.raises(AbsentError, match=r"redirects to file:///.*, which is not https"):
        download(f"{server.url}/c", target)
    with pytest.raises(AbsentError, match="redirects more than 10 times"):
        download(f"{server.url}/d", target)


@pytest.mark.parametrize(
    "location",
    ["http://[::1", "https://[bad]/", "http://a:b/", "http://a:99999/", f"http://{'a' * 70}.org/", "http://\xff/"],
)
def test_redirect_to_invalid_address_is_rejected(server, target, location):
    server.pages["/a"] = answering({"Location": location, "Content-Length": "0"}, status=302)
    with pytest.raises(AbsentError, match=r"^leads to an invalid address: .*$"):
        download(f"{server.url}/a", target)


def test_other_files_are_fetched_after_a_failed_redirect_or_response(server, target):
    server.pages |= {
        "/dead": answering({"Location": "http://127.0.0.1:1/", "Content-Length": "0"}, status=302),
        "/broken": lambda handler: handler.close_connection,
        "/b": (200, CONTENT, 0),
    }
    for path, host in (("dead", "127.0.0.1:1"), ("broken", "")):
        with pytest.raises(AbsentError, match=f"no connection to {host}"):
            download(f"{server.url}/{path}", target)
    download(f"{server.url}/b", target)
    with pytest.raises(AbsentError, match=r"not retried, 127\.0\.0\.1:1 could"):
        download(f"{server.url}/dead", target)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_untrusted_certificate_is_rejected(target, tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        running.handle_error = lambda *_: None
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        with pytest.raises(AbsentError, match=r"the certificate of 127.0.0.1:.* is not trusted"):
            download(f"https://127.0.0.1:{running.server_port}/a", target)
        running.shutdown()


def archive(folder, method=zipfile.ZIP_DEFLATED, **members):
    path = folder / "all.zip"
    with zipfile.ZipFile(path, "w", method) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return path


def test_member_is_written_to_its_target_only(tmp_path, target):
    bundle = archive(tmp_path, **{"../../outside.csv": CONTENT, "/tmp/absolute.csv": b"", "in/a.csv": CONTENT})
    before = set(tmp_path.parent.rglob("*"))
    extract(bundle, "in/a.csv", target, size=12)
    extract(bundle, "../../outside.csv", target, size=12)
    assert set(tmp_path.parent.rglob("*")) - before == {target}


def test_a_member_of_another_size_is_refused_before_it_is_unpacked(tmp_path, target):
    bundle = archive(tmp_path, a=bytes(20_000_000))
    assert bundle.stat().st_size < 100_000
    with pytest.raises(RejectedError, match="the zip's member a has 20,000,000 bytes, expected 12"):
        extract(bundle, "a", target, size=12)
    assert not target.exists() or target.stat().st_size == 0


def test_a_zip_that_lies_about_a_size_is_not_intact(tmp_path, target):
    bundle = archive(tmp_path, a=bytes(1_000_000))
    content = bytearray(bundle.read_bytes())
    true, told = (1_000_000).to_bytes(4, "little"), (12).to_bytes(4, "little")
    bundle.write_bytes(content.replace(true, told))
    with pytest.raises(RejectedError, match="is not an intact zip"):
        extract(bundle, "a", target, size=12)
    assert target.stat().st_size <= 12


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_corrupted_zip_is_rejected(tmp_path, target, method):
    rows = b"".join(b"%d,%d\n" % (k, k * k) for k in range(20))
    bundle = archive(tmp_path, method, a=rows)
    whole, refused = bundle.read_bytes(), 0
    for bit in range(0, 8 * len(whole), 11):
        corrupted = bytearray(whole)
        corrupted[bit // 8] ^= 1 << bit % 8
        bundle.write_bytes(corrupted)
        try:
            extract(bundle, "a", target, size=len(rows))
            assert target.read_bytes() == rows
        except RejectedError:
            refused += 1
    assert refused > 4 * len(whole) / 11


def test_invalid_zip_or_missing_member_is_rejected(tmp_path, target):
    (tmp_path / "no").write_bytes(CONTENT)
    with pytest.raises(RejectedError, match="is not an intact zip"):
        extract(tmp_path / "no", "a", target)
    with pytest.raises(RejectedError, match="the zip has no member b"):
        extract(archive(tmp_path, a=CONTENT), "b", target)
    assert zipfile.is_zipfile(io.BytesIO((tmp_path / "all.zip").read_bytes()))
