"""Build the site: write the sources of its pages, by hand or from results, into one folder, then run Sphinx."""

import contextlib
import io
import re
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from PIL import Image
from threadpoolctl import threadpool_limits

from fairlab.checks import optional
from fairlab.data.project import project
from fairlab.labs.course import cards, guide, released
from fairlab.labs.masters import exercises, read
from fairlab.paths import write_text
from fairlab.site.answers import answer_of, holds_of
from fairlab.site.places import FILES, UP, on_site, place_of
from fairlab.site.rows import HTML, PAGES, artefact_name, page_text, raw
from fairlab.suite.catalogue import experiment_names, other_notebooks, specification
from fairlab.suite.comparison import Comparison
from fairlab.suite.drawing import AFTER_SENTENCE, copy_figures, figures
from fairlab.suite.fingerprint import notebook_fingerprint
from fairlab.suite.notebook import NotebookError, code_of, execute
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs

nbformat = optional("nbformat")

MARK = ".buildinfo"  # Sphinx writes this file into its output folder
REPRODUCTION = "REPRODUCTION.json"
EXTRA = "extra"  # folder of what Sphinx copies to the site as it is
MARKER = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)  # the place of a macro of `macros.html`
EXAMPLE = "\n## A whole example\n"  # of `your_model.md`, whose report is on the site
SAMPLE = (
    '<p class="fairlab">The report of '
    '<a style="color: inherit" href="your_model.html#a-whole-example">a hiring model</a>, made up for this page.</p>'
)
FIRST = re.compile('<p class="word">(.*?)</p>\n<p class="summary">(.*?)</p>')  # verdict and sentence of a report
SHOWN_OUTPUTS = {"image/png", "text/markdown"}  # a figure and its caption, in the outputs of a cell
CALL = "exp.figure"
PROGRESS = re.compile(r"\d%\|")  # of a bar, which says nothing afterwards


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
        write_sources(sources, n_jobs)
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


def write_sources(folder: Path, n_jobs: int = 1) -> None:
    """Write all sources of the site into `folder`."""
    card, (report, report_page) = Comparison.from_json(card_file().read_bytes()), sample_report()
    site = {
        "card": card,
        "papers": {key: paper_of(key, card) for key in paper_keys()},
        "report": report,
        "report_says": FIRST.search(report_page).groups(),
        "labs": [(lab, exercises(read(lab.notebook))) for lab in cards()],
        "packages": [import_module(package) for package in packages()],
    }
    shutil.copytree(project().docs, folder, ignore=shutil.ignore_patterns("truth", "*.md"))
    for file in [*project().docs.rglob("*.md"), *(project().root / name for name in FILES)]:
        text = on_site(file.read_text(encoding="utf-8"), file)
        write_text(folder / place_of(file), MARKER.sub(lambda mark: raw(getattr(HTML, mark[1])(site)), text))
    write_text(folder / EXTRA / "sample_report.html", report_page.replace("<main>", f"<main>{SAMPLE}", 1))
    described: set[int] = set()  # on the page of the package that comes first; others list it
    for module in site["packages"][1:]:  # the page of `fairlab` is written by hand
        again = [name for name in module.__all__ if callable(found := getattr(module, name)) and id(found) in described]
        described |= {id(getattr(module, name)) for name in module.__all__}
        write_text(folder / "reference" / f"{module.__name__}.rst", PAGES.package(module, again))
    for key, paper in site["papers"].items():
        write_text(folder / "papers" / f"{key}.md", PAGES.paper(key, load_paper(key), paper))
        write_text(folder / "gallery" / f"{key}.md", PAGES.gallery(paper))
    copy_figures([], folder / EXTRA / "figures")
    drawn = [picture for paper in site["papers"].values() for picture in paper["figures"]]
    write_notebooks(folder, drawn, n_jobs)
    write_labs(folder)


def card_file() -> Path:
    """Return the scorecard that the site shows: from the results folder if it has one, else the committed one."""
    own = project().results / REPRODUCTION
    return own if own.exists() else project().root / REPRODUCTION


def sample_report():
    """Run the example of the page on auditing; return its report and the page that it writes."""
    text, given = (project().docs / "your_model.md").read_text(encoding="utf-8"), {}
    code = text.partition(EXAMPLE)[2].partition("```python\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), contextlib.redirect_stdout(None):
        with threadpool_limits(1):  # threads of a busy machine wait for each other
            exec(code, given)
        return given["report"], Path("audit.html").read_text(encoding="utf-8")


def packages() -> list[str]:
    """Return the names of the packages and modules that state public names, sorted: `fairlab` first."""
    source, states_names = Path(__file__).parents[2], re.compile(r"^(__getattr__, __dir__, )?__all__ =", re.MULTILINE)
    files = [path for path in source.glob("fairlab/**/*.py") if states_names.search(path.read_text(encoding="utf-8"))]
    return sorted(".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for path in files)


def paper_of(key: str, card: Comparison) -> dict:
    """Return what pages about a paper are made from: its `page_text`, rows, answers, figures and experiments."""
    page = page_text(key)
    return page | {
        "text": on_site(page["text"], project().docs / "papers" / f"{key}.md"),
        "card": card.of(key),
        "answer": answer_of(key, card),
        "holds": holds_of(key, card),
        "figures": pictures(key),
        "experiments": [specification(name) for name in experiment_names(key)],
    }


def pictures(key: str) -> list[dict]:
    """Return the figures of a paper, from runs or else committed, in the paper's order.

    Each is its entry in ``index.json`` (see `fairlab.suite.drawing.figures`) and has its `paper`, `stem` and `folder`,
    the id of its table or figure (`artefact`), a `title`, what it `says` (its drawn title), its `size` in pixels, and
    the `code` of its `drawing_cell`.
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
                "says": " ".join(re.split(AFTER_SENTENCE, entry["alternative"] or "")[1:]),
                "title": artefact_name(artefact) + (f": {part.replace('_', ' ')}" if part else ""),
                "size": Image.open(folder / f"{stem}.png").size,
                "code": drawing_cell(stem, cells),
            }
        )
    return sorted(found, key=lambda picture: (order.index(picture["artefact"]), picture["stem"]))


def drawing_cell(stem: str, cells: Sequence[str]) -> str:
    """Return the cell that makes a figure, by itself or by a function of another one that does; "" if none does.

    It is the one that names the table or figure, and the part, or has none if the figure is no part.
    """
    artefact, _, part = stem.partition("_")
    makers = [name for cell in cells if CALL in cell for name in re.findall(r"^def (\w+)", cell, re.MULTILINE)]
    making = [cell for cell in cells if any(f"{call}(" in cell for call in (CALL, *makers))]

    def fit(cell):
        return f'"{artefact}"' in cell, f'"{part}"' in cell or not part, ("part=" in cell) == bool(part), CALL in cell

    return max(making, key=fit, default="")


def write_notebooks(folder: Path, drawn: Sequence[dict], n_jobs: int = 1) -> None:
    """Write every notebook but the labs into `folder`: as it was run if it was, each figure below its cell."""
    runs, others = published_runs(), other_notebooks()
    for name in [*others, *experiment_names()]:  # to download
        file = project().notebooks / f"{name}.ipynb"
        write_text(folder / EXTRA / place_of(file), file.read_text(encoding="utf-8"))
    for name, (executed, why) in zip(others, run_others(others, n_jobs), strict=True):
        note = PAGES.executed_for_site(_date(executed)) if executed else PAGES.not_executed(name, False, why)
        notebook = with_outputs(project().notebooks / f"{name}.ipynb", executed)
        write_notebook(folder, project().notebooks / f"{name}.ipynb", notebook, PAGES.notebook_head(name, note))
    for name in experiment_names():
        file, executed, note = project().notebooks / f"{name}.ipynb", None, PAGES.not_executed(name, True)
        if (run := runs.get(name)) and (kept := run_folder(name, run.profile) / "notebook.ipynb").exists():
            executed, note = kept, PAGES.executed(run, _date(kept))
        notebook = with_outputs(file, executed)
        arrange(notebook, [picture for picture in drawn if picture["experiment"] == name])
        write_notebook(folder, file, notebook, PAGES.notebook_head(name, note, specification(name).profiles))


def _date(file) -> datetime:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def run_others(names: Sequence[str], n_jobs: int = 1) -> list[tuple[Path | None, str]]:
    """Run notebooks that belong to no experiment, unless the same code, of them and the library, was run before.

    Return of each the executed notebook, None if it failed, and why.
    """

    def run(name):
        file = project().notebooks / f"{name}.ipynb"
        kept = project().results / "site" / f"{file.stem}_{notebook_fingerprint(code_of(file))[:16]}.ipynb"
        if not kept.exists():
            try:
                kept.parent.mkdir(parents=True, exist_ok=True)
                execute(file, kept, {})
            except (NotebookError, OSError) as error:
                kept.unlink(missing_ok=True)
                return None, str(error).splitlines()[0]
        return kept, ""

    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(run, names))


def with_outputs(file: Path, executed: Path | None):
    """Return a notebook as it stands, with the outputs of the cells whose code was executed as it is."""
    notebook, ran = read(file), read(executed).cells if executed else []
    done = {cell.id: cell for cell in ran if cell.cell_type == "code"}
    given = {tag: cell for cell in ran for tag in cell.metadata.get("tags", ())}.get("injected-parameters")
    for cell in notebook.cells:
        if given and "parameters" in cell.metadata.get("tags", ()):
            cell.source = given.source.removeprefix("# Parameters\n")
        if cell.id in done and cell.source == done[cell.id].source:
            cell.outputs = [out for out in done[cell.id].outputs if not PROGRESS.search(_text(out))]
    return notebook


def _text(output) -> str:
    """Return an output as text: what was printed, or the plain form of what is shown."""
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


def arrange(notebook, drawn: Sequence[dict]) -> None:
    """Fold code, and put figures below the cells that show them, instead of what an executed cell shows of them."""
    cells = []
    for cell in notebook.cells:
        if "parameters" not in cell.metadata.get("tags", ()):
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "hide-input"]
        if own := [HTML.figure(picture, 2 * UP) for picture in drawn if picture["code"] == cell.source]:
            cell.outputs = [out for out in cell.outputs if not SHOWN_OUTPUTS.intersection(out.get("data", ()))]
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
