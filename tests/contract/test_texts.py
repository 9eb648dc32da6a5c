"""What README and notebooks name exists: options, files, functions."""

import ast
import re

import nbformat
import pytest

from fairlab.cli import main
from fairlab.paths import project

ROOT = project().root

NOTEBOOKS = [path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]


# What the README and its page on models show is what happens.

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "your_model.md").read_text(encoding="utf-8")


def test_the_command_that_it_shows_has_these_options(capsys):
    [command] = re.findall(r"^fairlab audit (.*)$", PAGE, flags=re.MULTILINE)
    assert main(["audit", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in re.findall(r"--[a-z-]+", command))


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


# Names in text exist.

NAMED = re.compile(r"`([A-Za-z_]\w*)(\([^`]*\))?`")
LOOKS_LIKE_A_NAME = re.compile(r"_|[a-z][A-Z]|[A-Z][a-z]")


def names_in(code):
    """Return the identifiers and texts of Python code."""
    found = set()
    for node in ast.walk(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", code))):
        values = [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
        found.update(*(value.split(".") for value in values))
    return found


@pytest.fixture(scope="module")
def names_of_the_library():
    """Names in the code of the library, and of its modules."""
    files = [*(ROOT / "src").rglob("*.py")]
    return set().union(*(names_in(file.read_text(encoding="utf-8")) | {file.stem, file.parent.name} for file in files))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_in_the_text_of_a_notebook_exist(path, names_of_the_library):
    cells = nbformat.read(path, as_version=4).cells
    code, text = ("\n".join(cell.source for cell in cells if cell.cell_type == kind) for kind in ("code", "markdown"))
    named = {name for name, call in NAMED.findall(text) if call or LOOKS_LIKE_A_NAME.search(name)}
    assert named <= names_of_the_library | names_in(code) | {notebook.stem for notebook in NOTEBOOKS}
