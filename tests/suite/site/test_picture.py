import re

import pytest

from fairlab.suite.comparison import label_of
from fairlab.suite.site.papers import names
from fairlab.suite.site.picture import SHAPES, legend, linked_marks, mark, picture, symbols
from fairlab.suite.site.wording import Shown
from fairlab.suite.verdicts import CLAIM_VERDICTS, VERDICTS


@pytest.fixture(scope="module")
def drawn(card):
    return picture(card.rows, names())


def test_every_verdict_has_a_shape_of_its_own():
    assert set(SHAPES) == {*VERDICTS, *CLAIM_VERDICTS}
    assert len(set(SHAPES.values())) == len(SHAPES)
    assert symbols().count("<symbol") == len(SHAPES)


def test_every_row_is_a_mark_that_leads_to_it(card, drawn):
    links = re.findall(r'href="scorecard\.html#([^"]+)"', drawn)
    assert links == [Shown(row).anchor for row in card.rows]


def test_artefacts_lead_to_their_paper(drawn):
    assert 'href="papers/adf.html#table-4"' in drawn


def test_a_changed_row_changes_its_mark(row, changed):
    before, after = linked_marks([row]), linked_marks([changed])
    assert "#mark-differs" in after
    assert "98765.4" in after
    assert before != after


def test_marks_of_inferred_rows_are_hollow(card):
    inferred = [row for row in card.rows if Shown(row).is_inferred]
    assert linked_marks(inferred).count("fl-hollow") == len(inferred) > 0


def test_the_legend_counts_rows(card):
    rows = [row for row in card.rows if row.paper == "adf"]
    for verdict in {row.verdict for row in rows}:
        n, hollow = (
            sum((row.verdict, Shown(row).is_inferred) == (verdict, of) for row in rows) for of in (False, True)
        )
        assert f"{label_of(verdict)} <small>{n}</small>" in legend(rows)
        assert (f"and {hollow} {mark(verdict, True)}" in legend(rows)) == (hollow > 0)
