"""Building the site with Sphinx: sources into a working folder, pages into place in one step."""

import io
import shutil
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.redrawing import FORMATS, figures

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
ELSEWHERE = ("http", "https", "mailto", "data", "javascript")
LOADED = ("img", "script", "source", "link")  # loaded by a browser without a click


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
        If Sphinx warns of anything, such as a broken link.
    """
    from fairlab.suite.site.pages import write_sources

    folder = Path(folder).resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FileExistsError(f"{folder}: expected a new folder or an earlier site, found a folder with other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as working:
        sources, made = Path(working, "sources"), Path(working, "site")
        write_sources(sources)
        _run_sphinx(sources, made, Path(working, "doctrees"), n_jobs)
        copy_figures(made / "figures")
        (made / "_static" / "webpack-macros.html").unlink(missing_ok=True)  # a template of the theme, not a page
        if dead := dead_links(made):
            raise SiteError("\n".join(dead))
        if folder.exists():
            folder.rename(Path(working, "earlier"))
        made.rename(folder)
    return folder


def describe(folder: Path) -> str:
    """Return the size of a built site and the page to open."""
    sizes = {file: file.stat().st_size for file in folder.rglob("*") if file.is_file()}
    pages, megabytes = sum(file.suffix == ".html" for file in sizes), sum(sizes.values()) / 1e6
    return f"{pages} pages, {megabytes:.0f} MB: open {folder / 'index.html'}"


def _run_sphinx(sources, made, doctrees, n_jobs) -> None:
    from sphinx.application import Sphinx

    warnings = io.StringIO()
    app = Sphinx(sources, project().docs, made, doctrees, "html", status=None, warning=warnings, parallel=n_jobs)
    app.build()
    if messages := warnings.getvalue().strip():
        raise SiteError(messages.replace(f"{sources}/", ""))


def copy_figures(target: Path) -> None:
    """Copy the files of all figures into a folder per paper."""
    for paper in paper_keys():
        for stem, (folder, _) in figures(paper).items():
            (target / paper).mkdir(parents=True, exist_ok=True)
            for name in (f"{stem}.{suffix}" for suffix in FORMATS):
                shutil.copyfile(folder / name, target / paper / name)


class _Page(HTMLParser):
    """Ids and links of one page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given.get("id"), given.get("name")}
        if address := given.get("href") or given.get("src"):
            self.links.append((tag, address))


def dead_links(folder: Path) -> list[str]:
    """Return a line for each link that is broken or that makes a browser load something from another host."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    faults = (
        f"{path.relative_to(folder.resolve())}: {address} {reason}"
        for path, page in pages.items()
        for tag, address in page.links
        if (reason := _fault(path, tag, address, pages))
    )
    return list(dict.fromkeys(faults))


def _fault(path, tag, address, pages) -> str:
    parts = urlsplit(address)
    if parts.scheme in ELSEWHERE or parts.netloc:
        return "is loaded from another host" if tag in LOADED and parts.scheme != "data" else ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "does not exist"
    absent = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
    return "has no such anchor" if absent else ""
