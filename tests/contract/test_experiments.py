"""What every experiment promises; these tests run over every experiment file they find."""

import ast
import re

import nbformat
import pytest

from fairlab.catalogue import PROFILES, experiment_names, notebook_parameters, specification
from fairlab.data import available
from fairlab.notebook import check_committed, code_of
from fairlab.project import EXPERIMENTS, FIGURES, ROOT
from fairlab.published import load_paper, paper_keys
from fairlab.scorecard import explained_differences

EVERY = pytest.mark.parametrize("name", experiment_names())
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def markdown_of(name):
    cells = nbformat.read(specification(name).notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def opening_call(name):
    """Return the call ``Experiment(...)`` of a notebook."""
    calls = [
        node
        for node in ast.walk(ast.parse(code_of(specification(name).notebook)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Experiment"
    ]
    assert len(calls) == 1, "a notebook opens one experiment"
    return calls[0]


def test_there_are_experiments():
    assert experiment_names()


@EVERY
def test_specification_is_complete(name):
    spec = specification(name)
    assert set(spec.minutes) == set(PROFILES), "rough minutes for every profile"
    assert set(spec.data) <= set(available())
    assert spec.notebook == ROOT / "notebooks" / f"{name}.ipynb"


@EVERY
def test_parameters_cell_has_the_quick_profile(name):
    expected = specification(name).parameters("quick") | {"profile": "quick", "seed": 0}
    assert notebook_parameters(specification(name).notebook) == expected


@EVERY
def test_notebook_opens_its_experiment_with_all_its_parameters(name):
    call = opening_call(name)
    assert ast.literal_eval(call.args[0]) == name
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert given == {key: key for key in [*specification(name).parameters("quick"), "profile", "seed"]}


@EVERY
def test_notebook_ends_with_the_comparison_and_tells_its_story(name):
    assert "exp.compare()" in code_of(specification(name).notebook)
    text = markdown_of(name)
    assert text.startswith("# ")
    for artefact in specification(name).artefacts:
        assert artefact in text, f"the text names {artefact}"
    for part in ("## What the paper claims", "## Data", "## Reading", "## Questions"):
        assert part in text, f"the notebook has a part {part!r}"


@EVERY
def test_notebook_mentions_every_value_and_claim_of_its_artefacts(name):
    """Each is recorded, claimed or skipped; a run's comparison then shows nothing as forgotten."""
    code = code_of(specification(name).notebook)
    for artefact in specification(name).artefacts:
        assert re.search(rf"[\"']{re.escape(artefact)}[\"']", code), f"{artefact} is written"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_notebook_is_committed_without_outputs(notebook):
    assert check_committed(notebook) == []


def test_every_notebook_of_a_paper_has_an_experiment():
    names = {str(p.relative_to(ROOT / "notebooks").with_suffix("")) for p in NOTEBOOKS if p.parent.name != "notebooks"}
    assert names == set(experiment_names())


@pytest.mark.parametrize("key", paper_keys())
def test_deviations_explain_what_is_published(key):
    assert (EXPERIMENTS / key / "deviations.md").exists()
    paper = load_paper(key)
    for artefact, ids in explained_differences(key).items():
        assert artefact in paper.artefacts
        known = {*paper.artefacts[artefact].values, *paper.artefacts[artefact].claims}
        # Other words may stand in backticks; an id that looks like one of this artefact's must be one.
        assert ids & known, f"deviations.md explains nothing of {artefact}"


def test_every_committed_figure_comes_with_its_numbers():
    for picture in FIGURES.rglob("*.png"):
        assert picture.with_suffix(".svg").exists()
        assert picture.with_suffix(".csv").exists()
