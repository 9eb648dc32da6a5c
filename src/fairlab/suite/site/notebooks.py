"""Notebooks as pages: with their outputs if a run is available, otherwise with the committed figures."""

from pathlib import Path

from fairlab.checks import optional
from fairlab.paths import ROOT
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.labs.masters import read
from fairlab.suite.scorecard import published_runs
from fairlab.suite.site.drawings import Picture, drawings, fnmatchcase, pictures

nbformat = optional("nbformat")

UP = "../../"  # from a notebook's page to the site's root
WITHOUT_RESULTS = (
    "Shown without outputs, with the committed figures: no run was available when this page was built. "
    "`fairlab run {name}` executes the notebook."
)
EXECUTED = "Executed at profile `{profile}` with seed {seed}{date}, commit `{commit}`, {data} data."


def write_notebooks(folder: Path) -> list[str]:
    """Write every experiment's notebook below `folder` for the site, and return the names of those with outputs."""
    runs = published_runs()
    executed = []
    for name in experiment_names():
        run = runs.get(name)
        path = run and run_notebook(run)
        if path:
            page = read(path)
            _insert_note(page, _executed_note(run, path))
            executed.append(name)
        else:
            page = read(specification(name).notebook)
            paper = name.split("/")[0]
            _insert_figures(page, [picture for picture in pictures(paper) if picture.about["experiment"] == name])
            _insert_note(page, WITHOUT_RESULTS.format(name=name))
        _write(page, folder / f"{name}.ipynb")
    for name in ("start_here", "your_model"):
        page = read(ROOT / "notebooks" / f"{name}.ipynb")
        _insert_note(page, f"Shown without outputs; open `notebooks/{name}.ipynb` with `make lab` to run it.")
        _write(page, folder / f"{name}.ipynb")
    return executed


def run_notebook(run) -> Path | None:
    """Return the executed notebook of a run, None if it is not there."""
    from fairlab.suite.run import run_folder

    path = run_folder(run.name, run.profile) / "notebook.ipynb"
    return path if path.exists() else None


def _executed_note(run, path) -> str:
    from datetime import UTC, datetime

    date = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%d %B %Y")
    commit = str(run.about.get("commit") or "unknown")[:7]
    return EXECUTED.format(profile=run.profile, seed=run.seed, date=f" on {date}", commit=commit, data=run.source())


def _insert_note(notebook, text) -> None:
    """Put a note below the title."""
    first = notebook.cells[0]
    title, _, rest = first.source.partition("\n")
    first.source = f"{title}\n\n:::{{note}}\n{text}\n:::\n{rest}"


def _insert_figures(notebook, committed: list[Picture]) -> None:
    """Put committed figures below the cells that draw them."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        patterns = [drawing.pattern for drawing in drawings(nbformat.v4.new_notebook(cells=[cell]))]
        for picture in committed:
            if picture.code == cell.source and any(fnmatchcase(picture.stem, pattern) for pattern in patterns):
                cells.append(nbformat.v4.new_markdown_cell(picture.figure(UP)))
    notebook.cells = cells


def _write(notebook, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, path)
