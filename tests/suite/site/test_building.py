import json

import pytest
from graded_labs import secrets

from fairlab.paths import project
from fairlab.suite.labs.course import cards
from fairlab.suite.labs.masters import exercises, read
from fairlab.suite.site import building
from fairlab.suite.site.pages import write_labs

ROOT = project().root


def test_links_within_the_project_become_pages_or_plain_text():
    text = (
        "[a](docs/labs.md#three-weeks) [b](src/fairlab/cli.py) [g](docs/guide/cache.md) "
        "[c](https://x.org) ![d](figures/x.png) [e](#f)"
    )
    assert building.within_site(text, "README.md", "deep/page") == (
        "[a](../labs/index.md#three-weeks) b [g](../guide/cache.md) [c](https://x.org) ![d](figures/x.png) [e](#f)"
    )


def test_own_results_come_before_the_committed_ones(results):
    assert building.card_file() == ROOT / "REPRODUCTION.json"
    results.mkdir()
    (results / "REPRODUCTION.json").write_text("[]")
    assert building.card_file() == results / "REPRODUCTION.json"


def test_corrupted_scorecard_is_rejected_with_its_row(results, tmp_path):
    results.mkdir()
    (results / "REPRODUCTION.json").write_text(json.dumps([{"paper": "adf"}]))
    with pytest.raises(ValueError, match=r"0\.artefact\n  Field required"):
        building.write_sources(tmp_path / "sources", None)


def test_a_picture_of_the_gallery_is_not_kept_twice(tmp_path):
    for name, content in {"figures/adf/a.png": b"one", "_images/1.png": b"one", "_images/2.png": b"two"}.items():
        building.write_text(tmp_path / name, content.decode())
    building.write_text(
        tmp_path / "notebooks/adf/n.html", '<img src="../../_images/1.png"><img src="../../_images/2.png">'
    )
    building.share_pictures(tmp_path)
    page = (tmp_path / "notebooks/adf/n.html").read_text()
    assert page == '<img src="../../figures/adf/a.png"><img src="../../_images/2.png">'
    assert [file.name for file in tmp_path.glob("_images/*")] == ["2.png"]


def test_labs_have_no_solutions(tmp_path):
    write_labs(tmp_path)
    for card in cards():
        pages = [read(tmp_path / folder / card.notebook.name) for folder in ("", "students")]
        text = "\n".join(cell.source for page in pages for cell in page.cells)
        assert "YOUR CODE HERE" in text or "raise NotImplementedError" in text or not exercises(read(card.notebook))
        assert not [line for line in secrets(read(card.notebook)) if line in text]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new folder or an earlier site"):
        building.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
