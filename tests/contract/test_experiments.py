"""What every experiment promises; these tests run over every experiment file they find."""

import ast
import re

import nbformat
import pytest

from fairlab.data import available
from fairlab.paths import EXPERIMENTS, FIGURES, ROOT
from fairlab.suite.catalogue import PROFILES, experiment_names, notebook_parameters, specification
from fairlab.suite.notebook import check_committed, code_of
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.scorecard import explained_differences

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
    assert spec.minutes is not None, "rough minutes for every profile"
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
def test_notebook_writes_every_artefact(name):
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
        named = {id for id in ids if re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", id) and not id.endswith(".md")}
        assert named <= known, f"{artefact} has no {', '.join(named - known)}"


def test_what_differs_in_the_committed_scorecard_is_explained():
    text = (ROOT / "REPRODUCTION.md").read_text(encoding="utf-8")
    titles = {load_paper(key).about.title: key for key in paper_keys()}
    for section in text.split("\n## ")[1:]:
        explained = explained_differences(titles[section.splitlines()[0]])
        for part in section.split("\n### ")[1:]:
            artefact = part.split(":")[0]
            open_rows = re.findall(r"^\| (\S+) \|.*\*\*(?:differs|fails)\*\*", part, flags=re.MULTILINE)
            assert set(open_rows) <= explained.get(artefact, set()), f"deviations.md lacks {artefact}"


def test_every_committed_figure_comes_with_its_numbers():
    for picture in FIGURES.rglob("*.png"):
        assert picture.with_suffix(".svg").exists()
        assert picture.with_suffix(".csv").exists()
