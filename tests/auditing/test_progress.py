import io
import sys
import time
from types import SimpleNamespace

import pytest

from fairlab.auditing import progress
from fairlab.auditing.progress import QueryBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(show=True):
    queries = SimpleNamespace(n_queries=5)
    with QueryBar(queries, 100, done=7, show=show) as bar:
        bar.begin("Themis")
        queries.n_queries = 47
        bar.add(3)
        time.sleep(0.05)


def test_a_terminal_shows_queries_and_findings(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.01)
    run()
    shown = sys.stderr.getvalue()
    assert "Themis" in shown
    assert "49/100" in shown, "what was done, and the queries of this audit only"
    assert "3 findings" in shown


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_elsewhere_or_unasked_it_is_quiet(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream())
    run(show=stream is io.StringIO)
    assert sys.stderr.getvalue() == ""
