import pytest

from fairlab import cli
from fairlab.cli import main
from fairlab.suite.site import building
from fairlab.suite.site.building import build, dead_links


def test_command_builds_into_folder(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(building, "build", lambda folder, n_jobs: asked.append((folder, n_jobs)) or tmp_path)
    (tmp_path / "index.html").write_bytes(b" " * 2_000_000)
    assert main(["site", "--out", str(tmp_path), "--jobs", "2"]) == 0
    assert asked == [(str(tmp_path), 2)]
    assert capsys.readouterr().out == f"1 pages, 2 MB: open {tmp_path / 'index.html'}\n"


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "myst_nb" else name)
    assert main(["site"]) == 1
    assert "the site needs myst_nb: pip install 'fairlab[site,labs]'" in capsys.readouterr().err


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="expected a new folder or an earlier site"):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"></h1><a href="deep/page.html#a:b">x</a><a href="#top">y</a>')
    (tmp_path / "deep" / "page.html").write_text('<p id="a:b"></p><a href="../?v=1#top">x</a><img src="data:,x">')
    return tmp_path


def test_links_that_lead_somewhere_are_fine(folder):
    assert dead_links(folder) == []


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ('<a href="gone.html">', "index.html: gone.html does not exist"),
        ('<img src="gone.png">', "index.html: gone.png does not exist"),
        ('<a href="deep/page.html#c">', "index.html: deep/page.html#c has no such anchor"),
        ('<a href="#bottom">', "index.html: #bottom has no such anchor"),
        ('<script src="https://x.org/y.js">', "index.html: https://x.org/y.js is loaded from another host"),
        ('<link href="//x.org/y.css">', "index.html: //x.org/y.css is loaded from another host"),
    ],
)
def test_others_are_named(folder, link, fault):
    with (folder / "index.html").open("a") as page:
        page.write(link)
    assert dead_links(folder) == [fault]


def test_a_link_to_another_host_is_the_readers_own_choice(folder):
    with (folder / "index.html").open("a") as page:
        page.write('<a href="https://x.org">')
    assert dead_links(folder) == []
