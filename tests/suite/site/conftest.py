import pytest

from fairlab.paths import project
from fairlab.suite.comparison import Comparison

ROOT = project().root


@pytest.fixture(scope="session")
def card():
    """The project's scorecard."""
    return Comparison.read(ROOT / "REPRODUCTION.json")


@pytest.fixture(scope="session")
def row(card):
    """A row with a number, an interval and a relative difference."""
    judged = (row for row in card.rows if row.kind == "number" and row.verdict == "agrees" and row.low is not None)
    return next(row for row in judged if row.relative_difference)


@pytest.fixture(scope="session")
def changed(row):
    """The same row with another outcome."""
    update = {"ours": 98765.4321, "low": 98765.0, "high": 98766.0, "verdict": "differs", "reason": "<changed> & told"}
    return row.model_copy(update=update | {"relative_difference": 3.21})
