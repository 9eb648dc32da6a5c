"""Building the site: its sources, written by hand or generated, in one folder, then Sphinx, then pages into place."""

import contextlib
import io
import re
import shutil
import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.comparison import Comparison
from fairlab.suite.drawing import FORMATS, figures
from fairlab.suite.labs.course import cards
from fairlab.suite.labs.masters import exercises, read
from fairlab.suite.published import paper_keys
from fairlab.suite.site.pages import finding_of, names, page_text, paper_page, pictures, write_labs, write_notebooks
from fairlab.suite.site.reference import package_page, packages
from fairlab.suite.site.rows import HTML, PAGES, raw

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
REPRODUCTION = "REPRODUCTION.json"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
MARKER = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)  # the place of a macro of `macros.html`
SAMPLE = '<p class="fairlab">The report of <a style="color: inherit" href="your_model.html">this example</a>.</p>'
# What a drawing does without: digits below a tenth of a point, and spaces around lines.
FINE = re.compile(rb"(?<=\d\d\.\d)\d+|(?<=\n) +| +(?=\n)")
IMAGE = re.compile(r"_images/[\w.-]+\.png")
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Files of the project that are pages, and the paths of these pages.
FILES = {
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
        report, page = sample_report()
        write_sources(sources, report)
        sphinx, warnings = [sources, project().docs, made, Path(working, "doctrees"), "html"], io.StringIO()
        Sphinx(*sphinx, status=None, warning=warnings, parallel=n_jobs).build()
        if messages := warnings.getvalue().strip():
            raise SiteError(messages.replace(f"{sources}/", ""))
        copy_figures(made / "figures")
        share_pictures(made)
        shutil.copytree(sources / "labs" / "students", made / "labs", dirs_exist_ok=True)
        write_text(made / "sample_report.html", page.replace("<main>", f"<main>{SAMPLE}", 1))
        for unused in (made / "_static" / "webpack-macros.html", *made.rglob("_static/**/*.map")):
            unused.unlink(missing_ok=True)  # a template of the theme, and what only its authors need
        if folder.exists():
            folder.rename(Path(working, "earlier"))
        made.rename(folder)
    return folder


def sample_report():
    """Run the example of the page on auditing; return its report and the page that it writes."""
    code = EXAMPLE.search((project().docs / "your_model.md").read_text(encoding="utf-8"))[1]
    given = {}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), threadpool_limits(1):
        with contextlib.redirect_stdout(None):
            exec(code, given)
        return given["report"], Path("audit.html").read_text(encoding="utf-8")


def copy_figures(target: Path) -> None:
    """Copy the files of all figures into a folder per paper, without what is `FINE`."""
    for paper in paper_keys():
        for stem, (folder, _) in figures(paper).items():
            (target / paper).mkdir(parents=True, exist_ok=True)
            for file in (folder / f"{stem}.{suffix}" for suffix in FORMATS):
                content = file.read_bytes()
                short = FINE.sub(b"", content) if file.suffix == ".svg" else content
                (target / paper / file.name).write_bytes(short)


def share_pictures(made: Path) -> None:
    """Let pages of executed notebooks show the files of figures instead of copies of them."""
    figures = {file.read_bytes(): file.relative_to(made).as_posix() for file in made.glob("figures/*/*.png")}
    copies = {file: figures.get(file.read_bytes()) for file in made.glob("_images/*.png")}
    places = {f"_images/{file.name}": own for file, own in copies.items() if own}
    for page in made.rglob("*.html") if places else ():
        text = page.read_text(encoding="utf-8")
        write_text(page, IMAGE.sub(lambda found: places.get(found[0], found[0]), text))
    for place in places:
        (made / place).unlink()


def card_file() -> Path:
    """Return the scorecard that the site shows: from the results folder if it has one, else the committed one."""
    own = project().results / REPRODUCTION
    return own if own.exists() else project().root / REPRODUCTION


def write_sources(folder: Path, report) -> None:
    """Write all sources of the site into `folder`; `report` is that of the sample audit."""
    card, papers, listed = Comparison.read(card_file()), names(), packages()
    shutil.copytree(project().docs, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("truth", "labs.md"))
    for file, page in FILES.items():
        if file != "README.md":
            text = (project().root / file).read_text(encoding="utf-8")
            write_text(folder / f"{page}.md", within_site(text, file, page))
    drawn = {key: pictures(key) for key in papers}
    given = {
        "card": card,
        "names": papers,
        "heads": {key: page_text(key)[0] for key in papers},
        "sentences": {key: finding_of(key, card) for key in papers},
        "drawn": drawn,
        "experiments": {key: [specification(name) for name in experiment_names(key)] for key in papers},
        "report": report,
        "labs": [(lab, exercises(read(lab.notebook))) for lab in cards()],
        "packages": listed,
    }
    for file in folder.rglob("*.md"):
        text = file.read_text(encoding="utf-8")
        write_text(file, MARKER.sub(lambda mark: raw(getattr(HTML, mark[1])(given)), text))
    for key, name in papers.items():
        write_text(folder / "papers" / f"{key}.md", paper_page(key, card.rows, drawn[key]))
        write_text(folder / "gallery" / f"{key}.md", PAGES.gallery(name, drawn[key]))
    for package, _ in listed:
        write_text(folder / "reference" / f"{package}.rst", package_page(package))
    write_notebooks(folder / "notebooks", drawn)
    write_labs(folder / "labs")


def within_site(text: str, file: str, page: str) -> str:
    """Return a Markdown file with its links changed to pages of the site, or to plain text if there is no page."""
    up = "../" * page.count("/")

    def replaced(link):
        words, (target, _, anchor) = link[1], link[2].partition("#")
        path = (project().root / file).parent.joinpath(target).resolve()
        name = path.relative_to(project().root).as_posix() if path.is_relative_to(project().root) else ""
        own = name.removeprefix("docs/").removesuffix(".md") if name.startswith("docs/") and path.is_file() else ""
        page = FILES.get(name, own)
        return f"[{words}]({up}{page}.md{'#' + anchor if anchor else ''})" if page else words

    return LINK.sub(replaced, text)
