import nbformat

from fairlab.paths import FIGURES
from fairlab.suite.published import paper_keys
from fairlab.suite.site.drawings import Drawing, Picture, drawing_of, drawings, inline, pictures

CELL = """
for part, frame in parts.items():
    exp.figure("figure-1", draw(frame), data=frame, part=f"of_{part}", caption="Look " "at *both*. Twice.")
exp.figure("table-2", draw(x), data=x, caption=f"Of {n} people.")
"""
ABOUT = {"experiment": "adf/phases", "profile": "quick", "seed": 0, "data": "real", "commit": "0123456789"}


def test_figure_calls_are_parsed():
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(CELL), nbformat.v4.new_code_cell("%time exp.figure(")]
    )
    assert drawings(notebook) == [
        Drawing("figure-1_of_*", "Look at *both*. Twice.", CELL),
        Drawing("table-2", "", CELL),
    ]


def test_a_figure_belongs_to_the_call_with_the_longest_name_that_fits():
    calls = [Drawing("figure-1*"), Drawing("figure-1_of_*"), Drawing("figure-2")]
    assert drawing_of("figure-1_of_men", calls) is calls[1]
    assert drawing_of("figure-3", calls) == Drawing("figure-3")


def test_every_committed_figure_is_shown_with_the_lines_that_draw_it(results):
    for paper in paper_keys():
        own = pictures(paper)
        assert {picture.stem for picture in own} == {file.stem for file in (FIGURES / paper).glob("*.png")}
        assert all("exp.figure(" in picture.code for picture in own)
        assert all(
            (picture.folder / f"{picture.stem}.{suffix}").exists()
            for picture in own
            for suffix in ("png", "svg", "csv")
        )


def test_picture_has_alternative_text():
    picture = Picture("adf", "table-4_networks", ABOUT, "Look at *both*. Twice.")
    assert picture.alternative == "Table 4: networks. Look at both."
    assert 'alt="Table 4: networks. Look at both."' in picture.image("../")
    assert "commit 0123456" in picture.figure("")
    told = Picture("adf", "table-4", ABOUT | {"alternative": "Five dots on the left."}, "Look at *both*.")
    assert told.alternative == "Table 4. Five dots on the left."
    assert Picture("adf", "table-4", ABOUT).alternative.startswith("Table 4. ADF against")


def test_captions_are_marked_up_and_escaped():
    assert inline("**a** *b* `c` <d>") == "<strong>a</strong> <em>b</em> <code>c</code> &lt;d&gt;"
