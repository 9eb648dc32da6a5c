"""Building the site with Sphinx: sources into a working folder, pages into place in one step."""

import io
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fairlab.paths import ROOT
from fairlab.suite.published import paper_keys
from fairlab.suite.redrawing import FORMATS
from fairlab.suite.site.drawings import pictures
from fairlab.suite.site.links import dead_links
from fairlab.suite.site.pages import write_sources

MARK = ".buildinfo"  # Sphinx writes this file into its output folder


@dataclass(frozen=True)
class Site:
    """A site that was built.

    Attributes
    ----------
    folder : Path
    n_pages : int
    megabytes, seconds : float
    """

    folder: Path
    n_pages: int
    megabytes: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.n_pages} pages, {self.megabytes:.0f} MB, {self.seconds:.0f} s: open {self.folder / 'index.html'}"


class SiteError(RuntimeError):
    """Sphinx reported an error or a warning; the message contains it."""


def build(folder: Path | str, *, n_jobs: int = 1) -> Site:
    """Build the site into `folder`, which works from a file path and from any path of a server.

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
    folder, started = Path(folder).resolve(), time.perf_counter()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FileExistsError(f"{folder}: expected a new folder or an earlier site, found a folder with other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as working:
        sources, made = Path(working, "sources"), Path(working, "site")
        write_sources(sources)
        _run_sphinx(sources, made, Path(working, "doctrees"), n_jobs)
        _copy_figures(made / "figures")
        (made / "_static" / "webpack-macros.html").unlink(missing_ok=True)  # a template of the theme, not a page
        if dead := dead_links(made):
            raise SiteError("\n".join(dead))
        if folder.exists():
            folder.rename(Path(working, "earlier"))
        made.rename(folder)
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    return Site(folder, sum(file.suffix == ".html" for file in files), size, time.perf_counter() - started)


def _run_sphinx(sources, made, doctrees, n_jobs) -> None:
    from sphinx.application import Sphinx

    warnings = io.StringIO()
    app = Sphinx(sources, ROOT / "docs", made, doctrees, "html", status=None, warning=warnings, parallel=n_jobs)
    app.build()
    if messages := warnings.getvalue().strip():
        raise SiteError(messages.replace(f"{sources}/", ""))


def _copy_figures(target) -> None:
    for picture in (picture for paper in paper_keys() for picture in pictures(paper)):
        (target / picture.paper).mkdir(parents=True, exist_ok=True)
        for name in (f"{picture.stem}.{suffix}" for suffix in FORMATS):
            shutil.copyfile(picture.folder / name, target / picture.paper / name)
