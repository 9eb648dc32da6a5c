"""The labs in a browser tab: a solved one is loaded by JupyterLite and gets all its points from its own check."""

import functools
import http.server
import threading
from urllib.parse import quote

import nbformat
import pytest
from lite_site import lite

from fairlab.data.project import project
from fairlab.labs.course import cards
from fairlab.labs.masters import as_lab, read, solved

pytestmark = pytest.mark.browser
LABS = [card for card in cards() if card.number in lite.LABS]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Write nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a site with the solved labs is served; the tests are skipped where Pyodide was not fetched."""
    folder, site = project().results / "pyodide", tmp_path_factory.mktemp("lite") / "site"
    if missing := lite.lacking(folder):
        pytest.skip(f"{missing}; make pyodide fetches it")

    def write(files):
        files.mkdir()
        for card in LABS:
            nbformat.write(solved(as_lab(read(card.notebook))), files / card.notebook.name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lite, "write_notebooks", write)
        lite.build(folder, site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.key)
def test_a_solved_lab_checks_itself(page, address, lab):
    elsewhere = []
    page.on("request", lambda request: elsewhere.append(request.url) if address not in request.url else None)
    code = lite.CHECK.replace("metric.ipynb", lab.notebook.name)
    page.goto(f"{address}/repl/index.html?kernel=python&code={quote(code)}")
    text = page.get_by_text("points by the visible tests").first.inner_text(timeout=300_000)
    got, total = text.partition(" points by")[0].splitlines()[-1].split(" of ")
    assert got == total and float(total) >= 10, text
    assert "  error  " not in text and "  not yet  " not in text
    assert [url for url in elsewhere if not url.startswith(("data:", "blob:"))] == []
