import pytest

from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.site import papers
from fairlab.suite.site.rows import anchor, artefact_name


@pytest.mark.parametrize("key", paper_keys())
def test_a_page_has_every_part_and_every_row(card, key):
    page = papers.paper_page(key, card.rows)
    for artefact in load_paper(key).artefacts.values():
        assert f'<div id="{artefact.id}"' in page
        assert f"### {artefact_name(artefact.id)}: {artefact.title}" in page
    assert all(f"../scorecard.html#{anchor(row)}" in page for row in card.of(key).rows)
    for part in ("Question", "Method", "Results", "Claims", "Findings beyond the paper", "Experiments", "Citation"):
        assert f"## {part}" in page
    assert "{{" not in page
    assert load_paper(key).about.doi in page


def test_paper_without_text_has_a_page(toy):
    from fairlab.suite.scorecard import scorecard

    card = scorecard()
    page = papers.paper_page("toy", card.rows)
    assert page.startswith("# toy\n\nA toy\n")
    assert "### Table 1: Means" in page
    assert "[A toy experiment](../notebooks/toy/mean)" in page
