import pytest

from fairlab.suite.site.building import Site, build


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new folder or an earlier site"):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_site_as_text(tmp_path):
    assert str(Site(tmp_path, 177, 27.9, 17.2)).startswith("177 pages, 28 MB, 17 s: open ")
