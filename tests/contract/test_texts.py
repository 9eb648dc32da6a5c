"""What README and notebooks name exists: options, files, functions."""

import ast
import re
from itertools import pairwise
from pydoc import locate
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from markdown_it import MarkdownIt

from fairlab.data.project import project
from fairlab.suite.catalogue import experiment_names, specification
from fairlab.suite.links import LINK
from fairlab.suite.scorecard import committed_rows

ROOT = project().root

NOTEBOOKS = [path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts]


# Links work on a code host as they stand: they lead to files of the repository, and to headings of pages. The site
# rewrites them to its pages.

PAGES = [
    *(path for place in ("", ".github", "src/fairlab/data/files") for path in (ROOT / place).glob("*.md")),
    *(ROOT / "docs").rglob("*.md"),
]
MARKDOWN = MarkdownIt("commonmark").enable("table")


def links_of(text):
    """Return the addresses of links and pictures in Markdown, also of those written as HTML."""
    tokens = [token for block in MARKDOWN.parse(text) for token in (block, *(block.children or ()))]  # not of code
    html = " ".join(token.content for token in tokens if token.type.startswith("html"))
    found = [token.attrs.get(name) for token in tokens for name in ("href", "src")]
    return [link for link in (*found, *re.findall(r'(?:href|src)="([^"]+)"', html)) if link]


def anchors_of(page):
    """Return the anchors of a page's headings, as code hosts and the site make them."""
    blocks = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    heads = [text.content for head, text in pairwise(blocks) if head.type == "heading_open"]
    return [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]


def text_of(path):
    """Return the Markdown of a page or a notebook."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files_of_the_repository(path):
    relative = [link for link in map(urlsplit, links_of(text_of(path))) if not link.scheme]
    targets = [path.parent / unquote(link.path) if link.path else path for link in relative]
    assert [target for target in targets if not target.exists()] == []
    named = [(link.fragment, page) for link, page in zip(relative, targets, strict=True) if page.suffix == ".md"]
    assert [(anchor, page) for anchor, page in named if anchor and anchor not in anchors_of(page)] == []


# Names in text exist.


def names_in(code):
    """Return the identifiers and texts of Python code."""
    nodes = ast.walk(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", code)))
    texts = (value for node in nodes for _, value in ast.iter_fields(node) if isinstance(value, str))
    return {name for text in texts for name in text.split(".")}


@pytest.fixture(scope="module")
def names_of_the_library():
    """Names in the code of the library, and of its modules."""
    files = (ROOT / "src").rglob("*.py")
    return set().union(*(names_in(file.read_text(encoding="utf-8")) | {file.stem, file.parent.name} for file in files))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_in_the_text_of_a_notebook_exist(path, names_of_the_library):
    cells = nbformat.read(path, as_version=4).cells
    code, text = ("\n".join(cell.source for cell in cells if cell.cell_type == kind) for kind in ("code", "markdown"))
    quoted = re.findall(r"`([A-Za-z_]\w*)(\([^`]*\))?`", text)
    named = {name for name, call in quoted if call or re.search(r"_|[a-z][A-Z]|[A-Z][a-z]", name)}
    assert named <= names_of_the_library | names_in(code) | {notebook.stem for notebook in NOTEBOOKS}


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_whole_names_of_the_library_can_be_imported(path):
    named = re.findall(r"`(fairlab(?:\.[A-Za-z_]\w*)+)[`(]", text_of(path))
    assert [name for name in named if locate(name) is None] == []


# Numbers of what came out are links to rows; what the paper says beside them is what the row has.

BESIDE = re.compile(LINK.pattern + r"[^()\[\]:;]*\(published: (?P<said>[\d.,]+)%?\)")


def test_published_numbers_beside_ours_are_those_of_their_rows():
    rows = {row.place: row for row in committed_rows()}
    found = [link for path in NOTEBOOKS for link in BESIDE.finditer(text_of(path))]
    wrong = []
    for link in found:
        row, said = rows[link["paper"], link["artefact"], link["id"]], link["said"].replace(",", "")
        step = 10.0 ** -len(said.partition(".")[2])
        if min(abs(float(said) - factor * row.published) for factor in (1, 100)) > 0.51 * step:
            wrong.append((link[0], row.printed))
    assert wrong == []
    assert len(found) > 60


def test_what_a_whole_run_takes_is_the_sum_of_what_its_experiments_take():
    took = sum(specification(name).minutes.quick for name in experiment_names())
    pages = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    said = {(name, int(m)) for name, text in pages.items() for m in re.findall(r"about (\d+) core-minutes", text)}
    wanted = {(name, 5 * round(took / 5)) for name in ("README.md", "reproduce.md", "profiles.md", "running.md")}
    assert said >= wanted and {minutes for _, minutes in said} == {5 * round(took / 5)}


def test_the_guide_shows_what_a_run_says_that_does_not_fit():
    text = (ROOT / "docs" / "guide" / "running.md").read_text(encoding="utf-8")
    said, name, left = re.search(r"\nnot run: ((\S+) needs .+?, ([\d.]+) GB are available; .+)\n", text).groups()
    assert said == f"{name} {specification(name).refusal('quick', 1, float(left))}"
