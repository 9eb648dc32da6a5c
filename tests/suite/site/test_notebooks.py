import nbformat
import pytest
from toy_project import fill

from fairlab.suite.experiment import Experiment
from fairlab.suite.run import publish, run_folder
from fairlab.suite.site.pages import write_notebooks


@pytest.fixture
def own(toy):
    """The toy project as the site sees it; the two notebooks of all projects are its own."""
    for name in ("start_here", "your_model", "bias_audits"):
        cells = [nbformat.v4.new_markdown_cell("# Title\n\nText.")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), toy / "notebooks" / f"{name}.ipynb")
    path = toy / "notebooks" / "toy" / "mean.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# A toy\n\nText."))
    nbformat.write(notebook, path)
    return toy


def text_of(folder):
    return nbformat.read(folder / "toy" / "mean.ipynb", as_version=4).cells[0].source


def test_an_executed_notebook_is_shown_with_profile_date_and_commit(own, tmp_path):
    experiment = Experiment("toy/mean", profile="quick")
    fill(experiment)
    experiment.compare()
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# As it was run")])
    nbformat.write(page, run_folder("toy/mean", "quick") / "notebook.ipynb")
    publish(run_folder("toy/mean", "quick"))
    write_notebooks(tmp_path / "pages", {"toy": []})
    text = text_of(tmp_path / "pages")
    assert text.startswith("# As it was run")
    assert "`quick` with seed 0 on " in text
    assert "commit `" in text
