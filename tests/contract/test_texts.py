"""README, guides, site labels and labs use terms that a reader of the field can search for, and the README is true."""

import ast
import re
import tomllib

import nbformat
import pytest

from fairlab.cli import main
from fairlab.paths import project

ROOT = project().root

# A phrase on the left of this list is found nowhere in the texts; the right column is what the field says.
INSTEAD = {
    r"(protected|sensitive) attributes?": "sensitive feature",
    r"kept trials?": "cached results",
    r"nobody asks for": "stale entries",
    r"signs? of life": "heartbeat",
    r"damaged": "corrupted",
    r"at hand\b": "available",
    r"(can|could|cannot|can't) be had\b": "available",
    r"stand-in": "fallback",
    r"\bputs? to (a|your|the|their) models?\b|put to models": "apply to, query",
    r"asked twice": "determinism check",
    r"how ours stands?\b|beside ours\b": "how our result compares",
    r"what rests on one says so": "affected results are labelled",
    r"the print alone\b": "published values",
    r"what can go wrong": "failure handling",
    r"amount of effort": "run size",
    r"the lines that draw": "source code",
    r"looking costs": "multiple testing",
    r"what of the paper stands": "summary of reproduction",
    r"favourable rates?": "selection rate",
    r"less Male\b": "Female − Male",
    r"off target": "maps that miss their target",
    r"truth values?": "booleans",
    r"\bnoughts?\b": "zeros",
    r"unlike their like": "excess decision flips in matched pairs",
    r"all possible inputs": "generated inputs",
    r"even one false alarm": "family-wise error rate",
    r"not looked at\b": "not assessed",
    r"model of (my|one's) own": "your model",
    r"paper is five files": "adding a paper takes five files",
    r"numbers bear out": "supported claim",
    r"\bstoreys?\b|\bhouses? of\b": "layers",
    r"\bgoes without saying": "not needed",
}
PHRASE = re.compile("|".join(f"(?:{phrase})" for phrase in INSTEAD), re.IGNORECASE)
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "REPRODUCTION.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "_static").glob("*.js")),
]
MODULES = [
    ROOT / "src" / "fairlab" / "cli.py",
    *(path for part in ("suite", "data", "benchmarks") for path in sorted((ROOT / "src/fairlab" / part).rglob("*.py"))),
]
LABS = [path for path in (ROOT / "notebooks" / "labs").glob("*.*") if path.suffix in (".ipynb", ".yaml")]
NOTEBOOKS = [path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]
TEXTS = sorted({*PAGES, *MODULES, *LABS, *NOTEBOOKS})


def text_of(path):
    """Return what a file says to readers: a module its strings, a notebook its text, a lab its code as well."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = ast.walk(ast.parse(text))
        return "\n".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    if path.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        return "\n".join(cell.source for cell in cells if path in LABS or cell.cell_type == "markdown")
    return text


def found_in(text):
    """Return the phrases of the list that occur in a text, each with what to write instead."""
    found = dict.fromkeys(match[0] for match in PHRASE.finditer(" ".join(text.split())))
    return {phrase: next(say for key, say in INSTEAD.items() if re.search(key, phrase, re.I)) for phrase in found}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_texts_use_words_of_the_field(path):
    assert not found_in(text_of(path))


def test_phrases_are_recognised():
    assert found_in("Kept\ntrials of a model of my own") == {
        "Kept trials": "cached results",
        "model of my own": "your model",
    }


# What the README and its page on models show is what happens.

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "your_model.md").read_text(encoding="utf-8")


def test_the_command_that_it_shows_has_these_options(capsys):
    [command] = re.findall(r"^fairlab audit (.*)$", PAGE, flags=re.MULTILINE)
    assert main(["audit", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in re.findall(r"--[a-z-]+", command))


def test_it_fits_one_screen_and_a_half():
    assert len(README.splitlines()) <= 93


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_its_badges_are_true():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [name.rpartition(" ")[2] for name in declared["classifiers"] if re.search(r":: 3\.\d+$", name)]
    [status] = (name.rpartition(" ")[2].lower() for name in declared["classifiers"] if name.startswith("Development"))
    facts = {"licence": declared["license"], "Python": f"{pythons[0]} to {pythons[-1]}", "status": status}
    assert (ROOT / "src" / "fairlab" / "py.typed").exists()
    assert "mypy" in (ROOT / "Makefile").read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>([^<]+)<", (ROOT / "docs/_static/badges.svg").read_text(encoding="utf-8"))
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == facts | {"types": "checked by mypy"}
    for name, fact in facts.items():
        assert f"{name} {fact}".lower() in README.lower()


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
