"""Building the site: its sources, written by hand or generated, in one folder, then Sphinx, then pages into place."""

import io
import re
import shutil
import tempfile
from pathlib import Path

from fairlab.paths import project, write_text
from fairlab.suite.comparison import Comparison
from fairlab.suite.labs.masters import cards
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.redrawing import FORMATS, figures
from fairlab.suite.site.notebooks import write_labs, write_notebooks
from fairlab.suite.site.papers import gallery_page, names, page_text, paper_page
from fairlab.suite.site.reference import PACKAGES, package_page
from fairlab.suite.site.rows import HTML, raw

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
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


class SiteError(RuntimeError):
    """Sphinx reported an error or a warning; the message contains it."""


def build(folder: Path | str, *, n_jobs: int = 1) -> Path:
    """Build the site into `folder`, which works from a file path and any path of a server; return the folder.

    Parameters
    ----------
    folder : Path or str
        A new or empty folder, or an earlier site, which is replaced when the new one is complete.
    n_jobs : int
        Processes.

    Raises
    ------
    FileExistsError
        If the folder is not empty and not an earlier site.
    SiteError
        If Sphinx warns of anything, such as an unknown page.
    """
    from sphinx.application import Sphinx

    folder = Path(folder).resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FileExistsError(f"{folder}: expected a new folder or an earlier site, found a folder with other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as working:
        sources, made = Path(working, "sources"), Path(working, "site")
        write_sources(sources)
        sphinx, warnings = [sources, project().docs, made, Path(working, "doctrees"), "html"], io.StringIO()
        Sphinx(*sphinx, status=None, warning=warnings, parallel=n_jobs).build()
        if messages := warnings.getvalue().strip():
            raise SiteError(messages.replace(f"{sources}/", ""))
        copy_figures(made / "figures")
        (made / "_static" / "webpack-macros.html").unlink(missing_ok=True)  # a template of the theme, not a page
        if folder.exists():
            folder.rename(Path(working, "earlier"))
        made.rename(folder)
    return folder


def describe(folder: Path) -> str:
    """Return the size of a built site and the page to open."""
    sizes = {file: file.stat().st_size for file in folder.rglob("*") if file.is_file()}
    pages, megabytes = sum(file.suffix == ".html" for file in sizes), sum(sizes.values()) / 1e6
    return f"{pages} pages, {megabytes:.0f} MB: open {folder / 'index.html'}"


def copy_figures(target: Path) -> None:
    """Copy the files of all figures into a folder per paper."""
    for paper in paper_keys():
        for stem, (folder, _) in figures(paper).items():
            (target / paper).mkdir(parents=True, exist_ok=True)
            for name in (f"{stem}.{suffix}" for suffix in FORMATS):
                shutil.copyfile(folder / name, target / paper / name)


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


def _about(key) -> str:
    head, about = page_text(key)[0], load_paper(key).about
    return f"- [{head['name']}]({key}.md) ({about.authors.split(',')[0]} and others, {about.venue}): {head['idea']}"


def _contents(pages) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *pages, "```"])
