"""The site's sources, written by hand or generated, in one folder for Sphinx."""

import re
import shutil
from pathlib import Path

from fairlab.checks import optional, required
from fairlab.paths import project, write_text
from fairlab.suite.comparison import Comparison
from fairlab.suite.labs.card import cards
from fairlab.suite.labs.masters import read, without_guide
from fairlab.suite.published import load_paper
from fairlab.suite.site.figures import gallery_page
from fairlab.suite.site.notebooks import write_notebooks
from fairlab.suite.site.papers import names, page_text, paper_page
from fairlab.suite.site.reference import PACKAGES, package_page
from fairlab.suite.site.rows import HTML, raw

nbformat = optional("nbformat")

REPRODUCTION = "REPRODUCTION.json"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
MARKER = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)
# Files of the project that are pages, and the paths of these pages.
PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "docs/architecture.md": "architecture",
    "docs/labs.md": "labs/index",
    "docs/benchmarks.md": "benchmarks",
}


def card_file() -> Path:
    """Return the scorecard that the site shows: from the results folder if it has one, else the committed one."""
    own = project().results / REPRODUCTION
    return own if own.exists() else project().root / REPRODUCTION


def write_sources(folder: Path) -> None:
    """Write all sources of the site into `folder`."""
    card, papers = Comparison.read(card_file()), names()
    shutil.copytree(project().docs, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("truth", "labs.md"))
    for file, page in PAGES.items():
        if file != "README.md":
            text = (project().root / file).read_text(encoding="utf-8")
            write_text(folder / f"{page}.md", within_site(text, file, page))
    filled = {
        "picture": raw(HTML.overview(card, papers)),
        "scorecard": raw(HTML.scorecard(card.rows, papers)),
        "papers": "\n".join(map(_about, papers)),
        "packages": _contents(PACKAGES),
        "labs": f"## The labs as students receive them\n\n{_contents(lab.key for lab in cards())}",
    }
    for file in ("index.md", "scorecard.md", "papers/index.md", "reference/index.md", "labs/index.md"):
        text = (folder / file).read_text(encoding="utf-8")
        write_text(folder / file, MARKER.sub(lambda mark: filled[mark[1]], text))
    for key, name in papers.items():
        write_text(folder / "papers" / f"{key}.md", paper_page(key, card.rows))
        write_text(folder / "gallery" / f"{key}.md", gallery_page(key, name))
    for package in PACKAGES:
        write_text(folder / "reference" / f"{package}.rst", package_page(package))
    write_notebooks(folder / "notebooks")
    write_labs(folder / "labs")


def within_site(text: str, file: str, page: str) -> str:
    """Return a Markdown file with its links changed to pages of the site, or to plain text if there is no page."""
    up = "../" * page.count("/")

    def replaced(link):
        words, (target, _, anchor) = link[1], link[2].partition("#")
        path = (project().root / file).parent.joinpath(target).resolve()
        name = path.relative_to(project().root).as_posix() if path.is_relative_to(project().root) else ""
        own = name.removeprefix("docs/").removesuffix(".md") if name.startswith("docs/") and path.is_file() else ""
        page = PAGES.get(name, own)
        return f"[{words}]({up}{page}.md{'#' + anchor if anchor else ''})" if page else words

    return LINK.sub(replaced, text)


def write_labs(folder: Path) -> None:
    """Write the labs as students receive them: without solutions and hidden tests."""
    required("nbgrader")
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    for card in cards():
        released = without_guide(read(card.notebook))
        for step in (ClearSolutions(), ClearHiddenTests()):
            released, _ = step.preprocess(released, {})
        write_text(folder / card.notebook.name, nbformat.writes(released))


def _about(key) -> str:
    head, about = page_text(key)[0], load_paper(key).about
    return f"- [{head['name']}]({key}.md) ({about.authors.split(',')[0]} and others, {about.venue}): {head['idea']}"


def _contents(pages) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *pages, "```"])
