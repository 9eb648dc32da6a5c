"""Build the site: write the sources of its pages, by hand or from results, into one folder, then run Sphinx."""

import contextlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from PIL import Image

from fairlab.checks import optional
from fairlab.data.project import project
from fairlab.labs.course import cards, guide, released
from fairlab.labs.masters import exercises, read
from fairlab.paths import write_text
from fairlab.site.rows import HTML, MARKDOWN, PAGES, artefact_name, finding_of, page_text, raw
from fairlab.suite.catalogue import experiment_names, other_notebooks, specification
from fairlab.suite.comparison import Comparison
from fairlab.suite.drawing import copy_figures, figures
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs

nbformat = optional("nbformat")

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
REPRODUCTION = "REPRODUCTION.json"
EXTRA = "extra"  # folder of what Sphinx copies to the site as it is
MARKER = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)  # the place of a macro of `macros.html`
SAMPLE = '<p class="fairlab">The report of <a style="color: inherit" href="your_model.html">this example</a>.</p>'
# Files that are pages of the site and do not lie in `docs`.
FILES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/fairlab/data/files/LICENCES.md": "guide/licences.md",
}
# Where everything is on the site, by what its path in the project begins with.
PLACES = FILES | {"docs/labs.md": "labs/index.md", "docs/": "", "notebooks/labs/": "labs/", "": ""}
REFERENCE = re.compile(r"(!?)\[([^\[\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")  # picture?, text, file, place in it
UP = "../"  # from the page of a paper to the site's root
SHOWN = {"image/png", "text/markdown"}  # a figure and its caption, in the outputs of a cell


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


def write_sources(folder: Path) -> None:
    """Write all sources of the site into `folder`."""
    card, (report, report_page) = Comparison.read(card_file()), sample_report()
    site = {
        "card": card,
        "papers": {key: paper_of(key, card) for key in paper_keys()},
        "report": report,
        "labs": [(lab, exercises(read(lab.notebook))) for lab in cards()],
        "packages": [import_module(package) for package in packages()],
    }
    shutil.copytree(project().docs, folder, ignore=shutil.ignore_patterns("truth", "*.md"))
    for file in [*project().docs.rglob("*.md"), *(project().root / name for name in FILES)]:
        text = on_site(file.read_text(encoding="utf-8"), file)
        write_text(folder / place_of(file), MARKER.sub(lambda mark: raw(getattr(HTML, mark[1])(site)), text))
    write_text(folder / EXTRA / "sample_report.html", report_page.replace("<main>", f"<main>{SAMPLE}", 1))
    for module in site["packages"][1:]:  # the page of `fairlab` is written by hand
        write_text(folder / "reference" / f"{module.__name__}.rst", PAGES.package(module))
    for key, paper in site["papers"].items():
        write_text(folder / "papers" / f"{key}.md", paper_page(key, paper))
        write_text(folder / "gallery" / f"{key}.md", PAGES.gallery(paper))
    copy_figures([], folder / EXTRA / "figures")
    drawn = [picture for paper in site["papers"].values() for picture in paper["figures"]]
    write_notebooks(folder, drawn)
    write_labs(folder)


def place_of(file: Path) -> Path:
    """Return where a file of the project is on the site."""
    path = file.relative_to(project().root).as_posix()
    start = next(start for start in PLACES if path.startswith(start))
    return Path(PLACES[start] + path.removeprefix(start))


def on_site(text: str, file: Path) -> str:
    """Return Markdown of a file of the project with its links as they are on the site; links in examples stay."""

    def link(found):
        picture, words, path, part = found.groups("")
        target, up = Path(os.path.normpath(file.parent / path)), UP * (len(place_of(file).parts) - 1)
        if not target.exists():
            return found[0]
        if target.name == "published.yaml":  # a row
            row = ":".join([target.parent.name, *part[1:].split(":")[:2]])  # what more is asked of it is no anchor
            return f'<a href="{up}scorecard.html#{row}">{words}</a>'
        if target.is_relative_to(project().figures):
            width, height = Image.open(target).size
            look = f'width="{width}" height="{height}" style="max-width: 100%; height: auto"'
            return f'<img alt="{words}" src="{up}{place_of(target)}" {look}>'
        return f"{picture}[{words}]({up}{place_of(target)}{part})"

    return REFERENCE.sub(link, text)


def card_file() -> Path:
    """Return the scorecard that the site shows: from the results folder if it has one, else the committed one."""
    own = project().results / REPRODUCTION
    return own if own.exists() else project().root / REPRODUCTION


def sample_report():
    """Run the example of the page on auditing; return its report and the page that it writes."""
    text, given = (project().docs / "your_model.md").read_text(encoding="utf-8"), {}
    code = text.partition("```python\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), contextlib.redirect_stdout(None):
        exec(code, given)
        return given["report"], Path("audit.html").read_text(encoding="utf-8")


def packages() -> list[str]:
    """Return the names of the packages and modules that state public names, sorted: `fairlab` first."""
    source, states_names = Path(__file__).parents[2], re.compile(r"^(__getattr__, __dir__, )?__all__ =", re.MULTILINE)
    files = [path for path in source.glob("fairlab/**/*.py") if states_names.search(path.read_text(encoding="utf-8"))]
    return sorted(".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for path in files)


def paper_of(key: str, card: Comparison) -> dict:
    """Return what pages about a paper are made from: its `page_text`, rows, one sentence, figures and experiments."""
    return page_text(key) | {
        "card": card.of(key),
        "sentence": finding_of(key, card),
        "figures": pictures(key),
        "experiments": [specification(name) for name in experiment_names(key)],
    }


def pictures(key: str) -> list[dict]:
    """Return the figures of a paper, from runs or else committed, in the paper's order.

    Each is its entry in ``index.json`` (see `fairlab.suite.drawing.figures`) and has its `paper`, `stem` and `folder`,
    the id of its table or figure (`artefact`), a `title`, its `size` in pixels, and the `code` of its `drawing_cell`.
    """
    order, found = list(load_paper(key).artefacts), []
    for stem, (folder, entry) in figures(key).items():
        artefact, _, part = stem.partition("_")
        cells = [cell.source for cell in read(specification(entry["experiment"]).notebook).cells]
        found.append(
            entry
            | {
                "paper": key,
                "stem": stem,
                "folder": folder,
                "artefact": artefact,
                "title": artefact_name(artefact) + (f": {part.replace('_', ' ')}" if part else ""),
                "size": Image.open(folder / f"{stem}.png").size,
                "code": drawing_cell(stem, cells),
            }
        )
    return sorted(found, key=lambda picture: (order.index(picture["artefact"]), picture["stem"]))


def drawing_cell(stem: str, cells: Sequence[str]) -> str:
    """Return the cell that makes a figure: the one with its table or figure and part."""
    artefact, _, part = stem.partition("_")
    fitting = [cell for cell in cells if "exp.figure(" in cell]
    return max(fitting, key=lambda cell: (f'"{artefact}"' in cell) + (f'part="{part}"' in cell), default="")


def paper_page(key: str, paper: dict) -> str:
    """Return the page of a paper as Markdown; see `paper_of`."""
    published, card = load_paper(key), paper["card"]
    text = on_site(paper["text"], project().docs / "papers" / f"{key}.md")
    known_for = [picture for picture in paper["figures"] if picture["stem"] == paper["figure"]]
    return MARKDOWN.from_string(text).render(
        name=paper["name"],
        head=raw(HTML.head_of(published, paper)),
        figure=raw("".join(HTML.figure(picture, UP) for picture in known_for)),
        picture=raw(f"{HTML.symbols()}<p>{card.headline()}.</p>{HTML.marks(card.rows, UP)}"),
        artefacts=PAGES.artefacts(published, paper),
        claims=raw(HTML.claims(card.rows, UP)),
        running=PAGES.experiments(paper["experiments"]),
    )


def write_notebooks(folder: Path, drawn: Sequence[dict]) -> None:
    """Write every notebook but the labs into `folder`: as it was run if it was, each figure below its cell."""
    experiments, runs = experiment_names(), published_runs()
    for name in [*experiments, *other_notebooks()]:
        file = project().notebooks / f"{name}.ipynb"
        notebook, note = read(file), PAGES.not_executed(name, name in experiments)
        if (run := runs.get(name)) and (executed := run_folder(name, run.profile) / "notebook.ipynb").exists():
            notebook, note = read(executed), PAGES.executed(run, datetime.fromtimestamp(executed.stat().st_mtime, UTC))
        if name in experiments:
            arrange(notebook, [picture for picture in drawn if picture["experiment"] == name])
        write_notebook(folder, file, notebook, f":::{{note}}\n{note}\n:::")


def arrange(notebook, drawn: Sequence[dict]) -> None:
    """Fold code, and put figures below the cells that draw them, instead of what an executed cell shows of them."""
    cells = []
    for cell in notebook.cells:
        cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "hide-input"]
        own = [HTML.figure(picture, 2 * UP) for picture in drawn if picture["code"] == cell.source]
        if own:
            cell.outputs = [out for out in cell.outputs if not SHOWN.intersection(out.get("data", ()))]
        cells += [cell, *map(nbformat.v4.new_markdown_cell, own)]
    notebook.cells = cells


def write_labs(folder: Path) -> None:
    """Write the labs as students receive them: as pages, and to download."""
    for card in cards():
        notebook = released(card)
        write_text(folder / EXTRA / place_of(card.notebook), nbformat.writes(notebook))
        sample = guide(card, read(card.notebook), 0).partition("## Common mistakes")[0].partition("\n")[2]
        write_notebook(folder, card.notebook, notebook, HTML.lab_head(card, exercises(notebook), sample))


def write_notebook(folder: Path, file: Path, notebook, text: str) -> None:
    """Write the page of a notebook of the project into `folder`, with a text below its title."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = on_site(cell.source, file)
    title, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{text}\n{rest}"
    write_text(folder / place_of(file), nbformat.writes(notebook))
