import pytest

from fairlab.suite.comparison import Row
from fairlab.suite.site.wording import MEANINGS, Shown, artefact_name, plain, tag
from fairlab.suite.verdicts import CLAIM_VERDICTS, VERDICTS


@pytest.mark.parametrize(
    ("artefact", "name"),
    [
        ("table-4", "Table 4"),
        ("appendix-a.2", "Appendix A.2"),
        ("section-5.2.1", "Section 5.2.1"),
        ("section-5.5-ssl", "Section 5.5, ssl"),
        ("proposition-2", "Proposition 2"),
    ],
)
def test_names_of_tables_and_figures(artefact, name):
    assert artefact_name(artefact) == name


def test_every_verdict_has_a_meaning():
    assert set(MEANINGS) == {*VERDICTS, *CLAIM_VERDICTS}


def test_anchors_are_unique(card):
    anchors = [Shown(row).anchor for row in card.rows]
    assert len(set(anchors)) == len(anchors)
    assert not any(set(anchor) & set(" <>\"'&") for anchor in anchors)


def test_published_digits_are_kept(card):
    row = next(row for row in card.rows if (row.paper, row.artefact, row.id) == ("adf", "table-3", "credit.accuracy"))
    assert Shown(row).published == "100 %"
    assert Shown(row.model_copy(update={"published": 99.0})).published == "99 %", "the scorecard is what counts"


def test_a_row_is_cited_with_its_version_and_run(row):
    line = Shown(row).citation
    assert Shown(row).anchor in line
    assert f"seed {row.seed}, commit {row.commit[:7]}" in line
    assert artefact_name(row.artefact) in line


def test_row_without_run():
    row = Row(paper="adf", artefact="table-3", id="census.accuracy", kind="number", published=88.15)
    shown = Shown(row)
    assert (shown.ours, shown.run, shown.trials) == ("not available", "", "")


def test_numbers_are_plain():
    assert plain(3.0) == "3"
    assert plain((0.5, 2.0)) == "[0.5, 2]"


def test_attributes_are_escaped():
    assert tag("a", "x", title='"<', class_="c") == '<a title="&quot;&lt;" class="c">x</a>'
