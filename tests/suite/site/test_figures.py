import pytest

from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.site.figures import drawing_cell, gallery_page, pictures

FIGURES = project().figures

CELLS = [
    'exp.figure("figure-1", figures.lines, data=x)',
    'exp.figure("figure-1", figures.bars, data=x, part=f"of_{part}")',
    'exp.figure("figure-1", figures.bars, data=x, part="women")',
    'exp.figure(artefact, figures.maps, data=x, part="women")',
]


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
