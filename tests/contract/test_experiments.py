"""What every experiment promises; these tests run over every experiment file they find."""

import ast
import inspect
import re
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec

import nbformat
import pytest

from fairlab.data import available
from fairlab.data.registry import project_registry
from fairlab.paths import project
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.comparison import Comparison
from fairlab.suite.deviations import sections, unexplained
from fairlab.suite.notebook import check_committed, code_of, notebook_parameters
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.redrawing import read_index
from fairlab.suite.scorecard import writers
from fairlab.suite.verdicts import JUDGED

FIGURES = project().figures
ROOT = project().root

MOST_LINES = 15
LONGEST_SUMMARY = 260
OPTIONAL = "Beyond the paper"
PARTS = [
    "What the paper claims",
    "Data",
    "Worked example",
    "Method",
    "Results",
    OPTIONAL,
    "Comparison",
    "Reading",
    "Questions",
]
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
EVERY = pytest.mark.parametrize("name", experiment_names())
NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)


def markdown_of(name):
    cells = nbformat.read(specification(name).notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def calls_of(name, method):
    """Return the calls ``<anything>.<method>(...)`` of a notebook's code."""
    tree = ast.parse(code_of(specification(name).notebook))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [call for call in calls if call.func.attr == method]


def recording_of(name):
    """Return the function that records an experiment: in its paper's ``recording``, or a small paper's ``trials``."""
    paper, experiment = name.split("/")
    home = f"fairlab.papers.{paper}.recording"
    module = import_module(home if find_spec(home) else f"fairlab.papers.{paper}.trials")
    return getattr(module, experiment, None)


def test_there_are_experiments():
    assert experiment_names()


@EVERY
def test_specification_is_complete(name):
    spec = specification(name)
    assert spec.minutes is not None, "rough minutes for every profile"
    assert spec.gigabytes is not None, "and memory, as run.json notes it"
    assert set(spec.data) <= set(available())
    assert all(any(f"{path}/".startswith(f"{files}/") for path in project_registry().files) for files in spec.files)
    assert spec.notebook.exists()
    assert set(spec.after) <= set(experiment_names())


@EVERY
def test_what_reads_stored_networks_names_their_files(name):
    spec = specification(name)
    asked = re.findall(
        r"\b(stored_models|subject_under_test|stored_weights)\(", spec.notebook.read_text(encoding="utf-8")
    )
    assert spec.files or not asked


@EVERY
def test_parameters_cell_has_the_quick_profile(name):
    expected = {"experiment": name, "profile": "quick", "seed": 0} | specification(name).parameters("quick")
    assert notebook_parameters(specification(name).notebook) == expected


@EVERY
def test_notebook_opens_its_experiment_from_its_parameters(name):
    calls = [ast.unparse(call) for call in calls_of(name, "open")]
    assert calls == ["Experiment.open(globals())"]


@EVERY
def test_notebook_tells_its_story_in_the_common_order(name):
    text = markdown_of(name)
    assert text.startswith("# ")
    parts = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [part for part in PARTS if part in parts or part != OPTIONAL] == parts
    for artefact in specification(name).artefacts:
        assert artefact in text, f"the text names {artefact}"


@EVERY
def test_notebook_is_read_not_programmed(name):
    for cell in nbformat.read(specification(name).notebook, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        imports = sum(n.end_lineno - n.lineno + 1 for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom))
        assert len(cell.source.splitlines()) - imports <= MOST_LINES, f"a cell is too long:\n{cell.source}"
        defined = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert not defined, f"{defined[0].name} belongs into the library"


@EVERY
def test_conclusions_are_text_and_no_cell_nests_comprehensions(name):
    code = code_of(specification(name).notebook)
    nested = [node for node in ast.walk(ast.parse(code)) if isinstance(node, COMPREHENSIONS) and _inner(node)]
    assert "Markdown" not in code
    assert not nested, [ast.unparse(node) for node in nested]


def _inner(comprehension):
    """Return the comprehensions inside of one."""
    nodes = [node for node in ast.walk(comprehension) if node is not comprehension]
    return [node for node in nodes if isinstance(node, COMPREHENSIONS)] or comprehension.generators[1:]


@EVERY
def test_recording_is_library_code_of_the_same_name(name):
    function = recording_of(name)
    assert inspect.isfunction(function)
    assert not [call for method in ("record", "claim", "skip") for call in calls_of(name, method)]
    own = [ast.unparse(call.args[0]) for call in calls_of(name, name.split("/")[1])]
    assert own == ["exp"] or f"{name.split('/')[1]}(exp" in code_of(specification(name).notebook)
    assert len(calls_of(name, "compare")) == 1


@EVERY
def test_every_figure_has_a_caption(name):
    for call in calls_of(name, "figure"):
        given = {keyword.arg for keyword in call.keywords}
        assert {"data", "caption"} <= given, ast.unparse(call)[:80]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_notebook_is_committed_without_outputs(notebook):
    assert check_committed(notebook) == []


def test_every_notebook_of_a_paper_has_an_experiment():
    own = [p for p in NOTEBOOKS if p.parent.name not in ("notebooks", "labs")]  # labs have cards; see tests/suite/labs
    names = {str(p.relative_to(ROOT / "notebooks").with_suffix("")) for p in own}
    assert names == set(experiment_names())


@pytest.mark.parametrize("key", paper_keys())
def test_deviations_explain_what_is_published(key):
    paper = load_paper(key)
    for artefact, section in sections(key).items():
        assert artefact in paper.artefacts
        known = {*paper.artefacts[artefact].values, *paper.artefacts[artefact].claims}
        empty = [pattern for pattern in section.patterns if not any(fnmatchcase(id, pattern) for id in known)]
        assert not empty, f"{artefact} has no {', '.join(empty)}"
        assert section.summary.endswith("."), f"{artefact}: the first paragraph is a sentence"
        assert len(section.summary) <= LONGEST_SUMMARY, f"{artefact}: the first paragraph is for one line of a table"
        assert "`" not in section.summary, f"{artefact}: ids stand below the first paragraph"


@pytest.mark.parametrize("key", paper_keys())
def test_a_wildcard_is_for_what_often_differs(key):
    judged = [row for row in Comparison.read(ROOT / "REPRODUCTION.json").of(key).rows if row.verdict in JUDGED]
    for artefact, section in sections(key).items():
        for pattern in (pattern for pattern in section.patterns if "*" in pattern):
            assert re.search(r"\w", pattern), f"{artefact}: {pattern} names nothing"
            meant = [row for row in judged if row.artefact == artefact and fnmatchcase(row.id, pattern)]
            differ = sum(row.verdict in ("near", "same conclusion", "differs") for row in meant)
            assert differ >= len(meant) / 3, f"{artefact}: most of {pattern} agrees"


@pytest.mark.parametrize("key", paper_keys())
def test_inconsistent_numbers_name_a_notebook(key):
    for artefact in load_paper(key).artefacts.values():
        for value in filter(lambda value: value.impossible, artefact.values.values()):
            named = [name for name in experiment_names() if name in value.impossible]
            assert any(artefact.id in specification(name).artefacts for name in named), value.id


def test_what_differs_in_the_committed_scorecard_is_explained():
    card = Comparison.read(ROOT / "REPRODUCTION.json")
    assert [f"{row.paper}:{row.artefact}:{row.id}" for row in unexplained(card)] == []


def test_the_committed_scorecard_has_every_published_row():
    card = Comparison.read(ROOT / "REPRODUCTION.json")
    published = [
        (key, artefact.id, id)
        for key in paper_keys()
        for artefact in load_paper(key).artefacts.values()
        for id in [*artefact.values, *artefact.claims]
    ]
    assert [(row.paper, row.artefact, row.id) for row in card.rows] == published


def test_what_rests_on_people_made_up_is_nowhere_called_real():
    sources = {name: variant.source for name, variant in project_registry().variants.items()}
    made_up = {name for name in experiment_names() if "real" not in {sources[v] for v in specification(name).data}}
    of_them = {place for place, names in writers().items() if made_up.issuperset(names)}
    rows = [row for row in Comparison.read(ROOT / "REPRODUCTION.json").rows if row.data]
    called = {(row.paper, row.artefact): row.data for row in rows if (row.paper, row.artefact) in of_them}
    for key in paper_keys():
        index = read_index(FIGURES / key).items()
        called |= {(key, stem): entry["data"] for stem, entry in index if entry["experiment"] in made_up}
    assert {("fairtest", "figure-2"), ("fliptest", "figure-1"), ("individual_fairness", "section-4")} <= set(called)
    assert [place for place, word in called.items() if word == "real"] == []


def test_no_setting_in_the_committed_scorecard_differs():
    card = Comparison.read(ROOT / "REPRODUCTION.json")
    settings = {
        (key, artefact.id, value.id)
        for key in paper_keys()
        for artefact in load_paper(key).artefacts.values()
        for value in artefact.values.values()
        if value.setting
    }
    rows = [row for row in card.rows if (row.paper, row.artefact, row.id) in settings]
    assert {row.verdict for row in rows} <= {"setting", "not run", "not comparable", "surrogate"}
