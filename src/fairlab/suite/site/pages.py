"""The site's sources, written by hand or generated, in one folder for Sphinx."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from fairlab.checks import optional, required
from fairlab.paths import ROOT, results_folder
from fairlab.suite.comparison import Comparison, Row
from fairlab.suite.labs.card import cards
from fairlab.suite.labs.masters import read, without_guide
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.site.gallery import gallery_page
from fairlab.suite.site.notebooks import write_notebooks
from fairlab.suite.site.papers import names, page_text, write_papers
from fairlab.suite.site.picture import picture
from fairlab.suite.site.reference import PACKAGES, package_page
from fairlab.suite.site.table import scorecard_table

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
    own = results_folder() / REPRODUCTION
    return own if own.exists() else ROOT / REPRODUCTION


def write_sources(folder: Path) -> Comparison:
    """Write all sources of the site into `folder` and return its scorecard."""
    card = Comparison.read(card_file())
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("truth"))
    for file, page in PAGES.items():
        if file != "README.md":
            _write(folder / f"{page}.md", within_site((ROOT / file).read_text(encoding="utf-8"), file, page))
    (folder / "labs.md").unlink(missing_ok=True)
    filled = {
        "picture": _html(picture(card.rows, names())),
        "scorecard": _html(scorecard_table(card.rows, names())),
        "papers": _papers(card.rows),
        "packages": "\n".join(["```{toctree}", ":maxdepth: 1", "", *PACKAGES, "```"]),
    }
    for file in ("index.md", "scorecard.md", "papers/index.md", "reference/index.md"):
        text = (folder / file).read_text(encoding="utf-8")
        _write(folder / file, MARKER.sub(lambda mark: filled[mark[1]], text))
    with (folder / "labs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n## The labs as students receive them\n\n{_labs()}\n")
    write_papers(folder / "papers", card.rows)
    for key, name in names().items():
        _write(folder / "gallery" / f"{key}.md", gallery_page(key, name))
    for package in PACKAGES:
        _write(folder / "reference" / f"{package}.rst", package_page(package))
    write_notebooks(folder / "notebooks")
    write_labs(folder / "labs")
    return card


def within_site(text: str, file: str, page: str) -> str:
    """Return a Markdown file with its links changed to pages of the site, or to plain text if there is no page."""
    up = "../" * page.count("/")

    def replaced(link):
        words, _, anchor = link[1], *link[2].partition("#")[1:]
        target = link[2].partition("#")[0]
        path = (ROOT / file).parent.joinpath(target).resolve()
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        own = name.removeprefix("docs/").removesuffix(".md") if name.startswith("docs/") else ""
        known = PAGES.get(name, own if path.is_file() else "")
        return f"[{words}]({up}{known}.md{'#' + anchor if anchor else ''})" if known else words

    return LINK.sub(replaced, text)


def write_labs(folder: Path) -> None:
    """Write the labs as students receive them: without solutions and hidden tests."""
    required("nbgrader")
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    folder.mkdir(parents=True, exist_ok=True)
    for card in cards():
        released = without_guide(read(card.notebook))
        for step in (ClearSolutions(), ClearHiddenTests()):
            released, _ = step.preprocess(released, {})
        nbformat.write(released, folder / card.notebook.name)


def _labs() -> str:
    names = sorted(cards(), key=lambda card: card.number)
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *(card.notebook.stem for card in names), "```"])


def _papers(rows: Sequence[Row]) -> str:
    lines = []
    for key in paper_keys():
        head, about = page_text(key)[0], load_paper(key).about
        lines.append(
            f"- [{head['name']}]({key}.md) ({about.authors.split(',')[0]} and others, {about.venue}): {head['idea']}"
        )
    return "\n".join(lines)


def _html(text: str) -> str:
    return f"```{{raw}} html\n{text}\n```"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
