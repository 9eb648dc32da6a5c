"""Building the site: its sources, written by hand or generated, in one folder, then Sphinx, then pages into place."""

import contextlib
import io
import re
import shutil
import tempfile
from importlib import import_module
from pathlib import Path

from threadpoolctl import threadpool_limits

from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.comparison import Comparison
from fairlab.suite.drawing import FORMATS
from fairlab.suite.labs.course import cards
from fairlab.suite.labs.masters import exercises, read
from fairlab.suite.site.pages import finding_of, names, page_text, paper_page, pictures, write_labs, write_notebooks
from fairlab.suite.site.rows import HTML, PAGES, raw

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
REPRODUCTION = "REPRODUCTION.json"
EXTRA = "extra"  # folder of what Sphinx copies to the site as it is
MARKER = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)  # the place of a macro of `macros.html`
SAMPLE = '<p class="fairlab">The report of <a style="color: inherit" href="your_model.html">this example</a>.</p>'
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Files of the project that are pages elsewhere than in `docs`.
FILES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "docs/labs.md": "labs/index.md"}
LINKS = {"](docs/": "](", "](../CONTRIBUTING.md)": "](contributing.md)"}  # of these files, and to them


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
    RuntimeError
        If Sphinx warns of anything, such as an unknown page; the message has its warnings.
    """
    from sphinx.application import Sphinx

    folder = Path(folder).resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FileExistsError(f"{folder}: expected a new folder or an earlier site, found a folder with other files")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as working:
        sources, made, trees = (Path(working, part) for part in ("sources", "site", "doctrees"))
        write_sources(sources)
        warnings = io.StringIO()
        Sphinx(sources, sources, made, trees, "html", status=None, warning=warnings, parallel=n_jobs).build()
        if messages := warnings.getvalue().strip():
            raise RuntimeError(messages.replace(f"{sources}/", ""))
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
    silent = contextlib.redirect_stdout(None)
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), threadpool_limits(1), silent:
        exec(code, given)
        return given["report"], Path("audit.html").read_text(encoding="utf-8")


def packages() -> list[str]:
    """Return the names of the packages and modules that state public names, sorted: `fairlab` first."""
    source, states_names = Path(__file__).parents[3], re.compile(r"^(__getattr__, __dir__, )?__all__ =", re.MULTILINE)
    files = [path for path in source.glob("fairlab/**/*.py") if states_names.search(path.read_text(encoding="utf-8"))]
    return sorted(".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for path in files)


def card_file() -> Path:
    """Return the scorecard that the site shows: from the results folder if it has one, else the committed one."""
    own = project().results / REPRODUCTION
    return own if own.exists() else project().root / REPRODUCTION


def write_sources(folder: Path) -> None:
    """Write all sources of the site into `folder`."""
    card, papers = Comparison.read(card_file()), names()
    drawn = {key: pictures(key) for key in papers}
    report, page = sample_report()
    write_text(folder / EXTRA / "sample_report.html", page.replace("<main>", f"<main>{SAMPLE}", 1))
    shutil.copytree(project().docs, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("truth", "labs.md"))
    write_labs(folder / "labs", folder / EXTRA / "labs")
    for file, page in FILES.items():
        shutil.copyfile(project().root / file, folder / page)
    site = {
        "card": card,
        "names": papers,
        "heads": {key: page_text(key)[0] for key in papers},
        "sentences": {key: finding_of(key, card) for key in papers},
        "drawn": drawn,
        "experiments": {key: [specification(name) for name in experiment_names(key)] for key in papers},
        "report": report,
        "labs": [(lab, exercises(read(lab.notebook))) for lab in cards()],
        "packages": [import_module(package) for package in packages()],
    }
    for file in folder.rglob("*.md"):
        text = file.read_text(encoding="utf-8")
        for link, of_site in LINKS.items():
            text = text.replace(link, of_site)
        write_text(file, MARKER.sub(lambda mark: raw(getattr(HTML, mark[1])(site)), text))
    for key, name in papers.items():
        write_text(folder / "papers" / f"{key}.md", paper_page(key, card.rows, drawn[key]))
        write_text(folder / "gallery" / f"{key}.md", PAGES.gallery(name, drawn[key]))
        target = folder / EXTRA / "figures" / key
        target.mkdir(parents=True)
        for picture in drawn[key]:
            for suffix in FORMATS:
                shutil.copy(picture.folder / f"{picture.stem}.{suffix}", target)
    for module in site["packages"][1:]:  # the page of `fairlab` is written by hand
        write_text(folder / "reference" / f"{module.__name__}.rst", PAGES.package(module))
    write_notebooks(folder / "notebooks", drawn)
