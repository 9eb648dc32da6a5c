import re

import pytest

from fairlab.paths import project
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.site.pages import drawing_cell, paper_page, pictures
from fairlab.suite.site.rows import PAGES, anchor, artefact_name

FIGURES = project().figures

CELLS = [
    'exp.figure("figure-1", figures.lines, data=x)',
    'exp.figure("figure-1", figures.bars, data=x, part=f"of_{part}")',
    'exp.figure("figure-1", figures.bars, data=x, part="women")',
    'exp.figure(artefact, figures.maps, data=x, part="women")',
]


@pytest.mark.parametrize("key", paper_keys())
def test_a_page_has_every_part_and_every_row(card, key):
    page = paper_page(key, card.rows, pictures(key))
    for artefact in load_paper(key).artefacts.values():
        assert f'<div id="{artefact.id}"' in page
        assert f"### {artefact_name(artefact.id)}: {artefact.title}" in page
    assert all(f"../scorecard.html#{anchor(row)}" in page for row in card.of(key).rows)
    for part in ("Question", "Method", "Results", "Claims", "Findings beyond the paper", "Experiments"):
        assert f"## {part}" in page
    assert "{{ " not in page
    assert "&lt;p&gt;" not in page
    about = load_paper(key).about
    for text in (
        about.title,
        about.authors,
        about.venue,
        f'href="https://doi.org/{about.doi}"',
        f"doi = {{{about.doi}}}",
    ):
        assert text.replace("&", "&amp;").replace("'", "&#39;") in page.partition("## Question")[0]
    assert "*" not in "".join(re.findall(r"`[a-z0-9_.*-]+`", page.partition("## Results")[2].partition("## Claims")[0]))


def test_paper_without_text_has_a_page(toy):
    from fairlab.suite.scorecard import scorecard

    card = scorecard()
    page = paper_page("toy", card.rows, ())
    assert page.startswith("# toy\n")
    assert "<strong>A toy</strong>" in page
    assert "### Table 1: Means" in page
    assert "[A toy experiment](../notebooks/toy/mean)" in page


@pytest.mark.parametrize(
    ("stem", "draw", "cell"),
    [
        ("figure-1", "x.figures.lines", 0),
        ("figure-1_of_men", "x.figures.bars", 1),
        ("figure-1_women", "x.figures.bars", 2),
        ("figure-2_women", "x.figures.maps", 3),
    ],
)
def test_a_figure_belongs_to_the_cell_with_its_name_part_and_function(stem, draw, cell):
    assert drawing_cell(stem, draw, CELLS) == CELLS[cell]
    assert drawing_cell("figure-3", "x.figures.unknown", CELLS) == ""


def test_every_committed_figure_is_in_the_gallery_with_its_files_and_code(results):
    for paper in paper_keys():
        own, page = pictures(paper), PAGES.gallery(paper, pictures(paper))
        assert {one.stem for one in own} == {file.stem for file in (FIGURES / paper).glob("*.png")}
        assert page.count("```python") == len(own)
        for one in own:
            assert "exp.figure(" in one.code
            assert one.entry["draw"].rpartition(".")[2] in one.code
            assert f"## {one.title}\n" in page
            assert one.code in page
            for suffix in ("png", "svg", "csv"):
                assert (one.folder / f"{one.stem}.{suffix}").exists()
                assert f'href="../figures/{paper}/{one.stem}.{suffix}"' in page
