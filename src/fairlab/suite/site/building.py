"""Building the site with Sphinx: sources into a working folder, pages into place in one step."""

import io
import shutil
import tempfile
from pathlib import Path

from fairlab.paths import project
from fairlab.suite.published import paper_keys
from fairlab.suite.redrawing import FORMATS, figures
from fairlab.suite.site.pages import write_sources

MARK = ".buildinfo"  # Sphinx writes this file into its output folder


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
