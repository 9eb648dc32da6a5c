import xml.etree.ElementTree as ElementTree

from fairlab.suite.site.papers import names
from fairlab.suite.site.table import scorecard_table, short_table, table_row
from fairlab.suite.site.wording import Shown

LARGEST_PAGE = 3_000_000


def test_every_row_of_the_scorecard_is_there_once(card):
    text = scorecard_table(card.rows, names())
    table = ElementTree.fromstring(f"<all>{text}</all>").find("table")
    assert [line.get("id") for line in table.find("tbody")] == [Shown(row).anchor for row in card.rows]
    assert len(text) < LARGEST_PAGE - 500_000


def test_row_has_number_trials_verdict_run_and_citation(row):
    cells = ElementTree.fromstring(table_row(Shown(row), names()))
    texts = {cell.get("data-label"): "".join(cell.itertext()) for cell in cells}
    assert row.id in texts["row"]
    assert f"{row.n_trials} trial" in texts["our result"]
    assert row.verdict in texts["verdict"]
    assert all(word in texts["run"] for word in (row.data, row.profile, f"seed {row.seed}", row.commit[:7]))
    assert row.reason in texts["reason"]
    assert Shown(row).citation in texts["reason"]
    assert float(cells.get("data-size")) == float(f"{abs(row.relative_difference):.6g}")


def test_a_changed_row_changes_and_is_escaped(changed):
    for text in (table_row(Shown(changed), names()), short_table([changed])):
        cells = "".join(ElementTree.fromstring(text).itertext())
        assert "98765.4" in cells
        assert "differs" in cells
    assert "<changed> & told" in "".join(ElementTree.fromstring(table_row(Shown(changed), names())).itertext())
