from fairlab.suite.site.drawings import Picture, pictures
from fairlab.suite.site.gallery import entry, gallery_page


def test_every_figure_of_a_paper_has_its_place_numbers_and_lines(results):
    page = gallery_page("adf", "ADF")
    for picture in pictures("adf"):
        assert f"## {picture.title}\n" in page
        assert picture.code in page
    assert page.count("```python") == len(pictures("adf"))


def test_an_entry_links_files_and_notebook(results):
    (first, *_) = pictures("themis")
    text = entry(first)
    assert f'href="../figures/themis/{first.stem}.csv"' in text
    assert f'href="../notebooks/{first.about["experiment"]}.html"' in text


def test_entry_names_drawing_function():
    about = {"experiment": "adf/phases", "profile": "quick", "seed": 0, "data": "real", "commit": "0123456789"}
    drawn = Picture("adf", "table-6", about | {"draw": "fairlab.suite.figures.published_and_ours"})
    assert "drawn by <code>fairlab.suite.figures.published_and_ours</code>" in entry(drawn)
    assert "drawn by" not in entry(Picture("adf", "table-6", about))
