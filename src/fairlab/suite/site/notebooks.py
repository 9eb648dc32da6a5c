"""Notebooks as pages: with the outputs of a run if there is one, else with the committed figures; and labs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from fairlab.checks import optional, required
from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, other_notebooks, specification
from fairlab.suite.labs.course import guide
from fairlab.suite.labs.masters import cards, exercises, read, without_guide
from fairlab.suite.run import run_folder
from fairlab.suite.scorecard import published_runs
from fairlab.suite.site.papers import Picture
from fairlab.suite.site.rows import HTML

nbformat = optional("nbformat")

UP = "../../"  # from a notebook's page to the site's root
WITHOUT_RESULTS = (
    "Shown without outputs, with the committed figures: no run was available when this page was built. "
    "`fairlab run {name}` executes the notebook."
)
UNEXECUTED = "Shown without outputs; open `notebooks/{name}.ipynb` with `make lab` to run it."
EXECUTED = "Executed at profile `{profile}` with seed {seed} on {date}, commit `{commit}`, {data} data."


def write_notebooks(folder: Path, drawn: Mapping[str, Sequence[Picture]]) -> None:
    """Write every experiment's notebook, and those of no experiment, below `folder`; `drawn` are figures by paper."""
    runs = published_runs()
    for name in experiment_names():
        run = runs.get(name)
        path = run and run_folder(run.name, run.profile) / "notebook.ipynb"
        if path and path.exists():
            page, note = read(path), _executed_note(run, path)
        else:
            page, note = read(specification(name).notebook), WITHOUT_RESULTS.format(name=name)
            insert_figures(page, [own for own in drawn[name.split("/")[0]] if own.entry["experiment"] == name])
        for cell in page.cells:
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "hide-input"]
        _write(page, note, folder / f"{name}.ipynb")
    for name in other_notebooks():
        page = read(project().notebooks / f"{name}.ipynb")
        _write(page, UNEXECUTED.format(name=name), folder / f"{name}.ipynb")


def write_labs(folder: Path) -> None:
    """Write the labs as students receive them, without solutions and hidden tests: to download, and as pages."""
    required("nbgrader")
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    for card in cards():
        released = without_guide(read(card.notebook))
        for step in (ClearSolutions(), ClearHiddenTests()):
            released, _ = step.preprocess(released, {})
        write_text(folder / "students" / card.notebook.name, nbformat.writes(released))
        sample = guide(card, read(card.notebook), 0).partition("## Free-text answers")[0].partition("\n")[2]
        below_title(released, HTML.lab_head(card, exercises(released), sample))
        write_text(folder / card.notebook.name, nbformat.writes(released))


def below_title(notebook, text: str) -> None:
    """Put a text below the title of a notebook."""
    first = notebook.cells[0]
    title, _, rest = first.source.partition("\n")
    first.source = f"{title}\n\n{text}\n{rest}"


def insert_figures(notebook, committed) -> None:
    """Put committed figures below the cells that draw them."""
    cells = []
    for cell in notebook.cells:
        own = [HTML.figure(picture, UP) for picture in committed if picture.code == cell.source]
        cells += [cell, *map(nbformat.v4.new_markdown_cell, own)]
    notebook.cells = cells


def _executed_note(run, path) -> str:
    date = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%d %B %Y")
    commit = str(run.about.get("commit") or "unknown")[:7]
    return EXECUTED.format(profile=run.profile, seed=run.seed, date=date, commit=commit, data=run.source())


def _write(notebook, note, path: Path) -> None:
    """Write a notebook with a note below its title, and without widgets."""
    below_title(notebook, f":::{{note}}\n{note}\n:::")
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    notebook.metadata.pop("widgets", None)
    write_text(path, nbformat.writes(notebook))
