from pathlib import Path

import pytest

from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.site.figures import Picture, drawing_cell, gallery_page, pictures
from fairlab.suite.site.rows import HTML

FIGURES = project().figures

CELLS = [
    'exp.figure("figure-1", figures.lines, data=x)',
    'exp.figure("figure-1", figures.bars, data=x, part=f"of_{part}")',
    'exp.figure("figure-1", figures.bars, data=x, part="women")',
    'exp.figure(artefact, figures.maps, data=x, part="women")',
]
ENTRY = {"experiment": "adf/phases", "profile": "quick", "seed": 0, "data": "real", "commit": "0123456789"}
TEXTS = {
    "caption": "Look at *both*. `a` <b>",
    "alternative": "Five dots on the left.",
    "draw": "x.figures.dots",
}


def picture(**entry):
    return Picture("adf", "table-4_networks", Path(), ENTRY | TEXTS | entry)


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
        own, page = pictures(paper), gallery_page(paper, paper)
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


def test_figure_has_caption_alternative_text_and_run():
    text = HTML.figure(picture(), "../")
    assert 'src="../figures/adf/table-4_networks.png" alt="Table 4: networks. Five dots on the left."' in text
    assert "<strong>Table 4: networks.</strong> Look at <em>both</em>. <code>a</code> &lt;b&gt; <small>" in text
    assert "quick, real data, seed 0, commit 0123456." in text
    assert 'alt="Table 4: networks. ADF against' in HTML.figure(picture(alternative=""), "../")
