import functools
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fairlab.data import files, sources
from fairlab.data.files import mirror_folder
from fairlab.data.registry import Address, File, project_registry

CONTENT = b"a,b\n1,2\n3,4\n"


@pytest.fixture(autouse=True)
def elsewhere(request, monkeypatch, tmp_path):
    """No test sees the user's cache or the network; only tests of real data see the mirror."""
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if "mirror" not in request.fixturenames:
        monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    monkeypatch.setattr(files, "_unreachable", set())


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """A cache in which a prepared table is made once for all tests of real data."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def mirror(elsewhere, shared_cache, monkeypatch):
    """The mirror of the real files; without it, the test is skipped."""
    folder = mirror_folder()
    if folder is None:
        pytest.skip("needs the real data: FAIRLAB_DATA_MIRROR is not set")
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(shared_cache))
    return folder


draw = sources.surrogate_dataset
drawn_by_name = functools.cache(lambda name: draw(project_registry().variant(name)))


@pytest.fixture
def drawn_once(monkeypatch):
    """Loading draws no surrogate that another test has drawn already."""
    monkeypatch.setattr(sources, "surrogate_dataset", lambda variant: drawn_by_name(variant.name))


@pytest.fixture
def make_file():
    """Describe a file of the content above; keywords replace its fields."""

    def describe(*urls, **changes):
        values = {
            "path": "toy/table.csv",
            "urls": tuple(url if isinstance(url, Address) else Address(url=url, kind="pinned") for url in urls),
            "terms": "public domain",
            "redistribution": "ok",
            "citation": "",
            "bytes": len(CONTENT),
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
        }
        return File(**values | changes)

    return describe


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.pages.get(self.path, (404, b"<html>not found</html>", 0))
        if callable(answer):
            return answer(self)
        status, body, missing = answer
        self.send_response(status)
        if status == 302:
            self.send_header("Location", body.decode())
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server on this machine. `pages` maps a path to (status, body, bytes that are announced and never sent),

    or to a function of the handler that answers itself; the body of a redirection (302) is its target.
    """
    monkeypatch.setenv("FAIRLAB_OFFLINE", "0")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as running:
        running.pages, running.asked = {}, []
        running.url = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield running
        running.shutdown()
