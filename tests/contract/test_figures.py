"""What every figure promises; these tests run over every committed figure."""

import ast
import inspect
import os
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

from fairlab.paths import project
from fairlab.plotting import SOURCE_MARKS, WIDEST
from fairlab.suite import drawing, published
from fairlab.suite.catalogue import experiment_names

FIGURES = project().figures

COMMITTED = {
    f"{key}/{stem}": entry
    for key in published.paper_keys()
    for stem, entry in drawing.read_index(FIGURES / key).items()
}
EVERY = pytest.mark.parametrize("name", sorted(COMMITTED))
POINTS = 72  # to an inch, as SVG files count


@pytest.mark.parametrize("key", published.paper_keys())
def test_every_committed_figure_comes_with_its_numbers_and_its_run(key):
    index = drawing.read_index(FIGURES / key)
    files = {f"{stem}.{suffix}" for stem in index for suffix in drawing.FORMATS}
    assert {file.name for file in (FIGURES / key).glob("*.*")} - {drawing.INDEX} == files
    assert {entry["experiment"] for entry in index.values()} <= set(experiment_names())


@EVERY
def test_every_committed_figure_says_how_it_is_drawn_and_what_it_shows(name):
    entry = COMMITTED[name]
    if "draw" in entry:
        taken = list(inspect.signature(drawing.function(entry["draw"])).parameters)[1:]
        assert set(entry["options"]) <= set(taken)
    assert len(entry["caption"].split()) > 4
    assert SOURCE_MARKS.get(entry["data"], "")[1:] in entry["caption"]
    assert ("smaller than the paper profile" not in entry["caption"]) or entry["profile"] != "paper"
    assert re.fullmatch(r"[A-Z\d][^\n]{20,250}", entry["sentence"])
    assert entry["alternative"].endswith(entry["sentence"])


def nodes_of(function):
    """Return all that a function and those of its module that it calls consist of."""
    own = {name: one for name, one in vars(sys.modules[function.__module__]).items() if inspect.isfunction(one)}
    left, nodes = [function], []
    while left:
        nodes += ast.walk(ast.parse(inspect.getsource(left.pop())))
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and hasattr(node.func, "id")}
        left += [own.pop(name) for name in called & set(own) if own[name].__module__ == function.__module__]
    return nodes


@pytest.mark.parametrize("name", sorted({entry["draw"] for entry in COMMITTED.values() if "draw" in entry}))
def test_title_of_a_figure_is_computed_and_holds_no_typed_number(name):
    nodes = nodes_of(drawing.function(name))
    assert "titled" in {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}, "see fairlab.plotting"
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    labels = {node.value for node in nodes if isinstance(node, ast.Expr | ast.keyword)}  # and docstrings
    texts = {node for node in nodes if isinstance(node, ast.Constant) and (node in parts or node not in labels)}
    words = [re.sub(r"\$.*?\$", "", str(text.value)) for text in texts]
    typed = [text for text in words if re.search(r"\d", text) and " " in text]
    assert not typed  # formats have no spaces


@EVERY
def test_every_committed_figure_is_narrow_enough(name):
    head = (FIGURES / f"{name}.svg").read_text(encoding="utf-8")[:2000]
    [width] = re.findall(r'<svg [^>]*\bwidth="([\d.]+)pt"', head.replace("\n", " "))
    assert float(width) <= WIDEST * POINTS + 0.5


# One figure of each function, and the others where there is time.
OF_FUNCTIONS = {name: entry["draw"] for name, entry in COMMITTED.items() if "draw" in entry}
DRAWN = {draw: name for name, draw in reversed(OF_FUNCTIONS.items())}.values()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in DRAWN else pytest.mark.slow) for name in sorted(OF_FUNCTIONS)]
)
def test_every_committed_figure_is_what_its_numbers_draw(name, tmp_path):
    paper, stem = name.split("/")
    entry = COMMITTED[name]
    assert drawing.paint(entry, FIGURES / paper / stem, tmp_path / stem, salt=entry["experiment"]) == entry
    assert (tmp_path / f"{stem}.svg").read_bytes() == (FIGURES / f"{name}.svg").read_bytes()
    assert plt.get_fignums() == []


@pytest.mark.slow
def test_figures_are_drawn_without_tensorflow(tmp_path):
    code = "import sys; from fairlab.cli import main; main(['figures', '--output', sys.argv[1]]); print(*sys.modules)"
    environment = os.environ | {"FAIRLAB_RESULTS": str(tmp_path / "none")}
    command = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "tensorflow" not in ran.stdout.split()
    assert len(list(tmp_path.glob("*/*.svg"))) == len(COMMITTED)
