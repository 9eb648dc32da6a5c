"""The notebook of a lab: its graded cells, and versions of its master."""

import re
from pathlib import Path

from fairlab.checks import MissingExtraError, optional

nbformat = optional("nbformat")

GUIDE = "guide"  # tag of cells for the teacher's guide
SLIDE = "slideshow"  # metadata of cells that are shown on a lab's slides
CELL_SECONDS, NOTEBOOK_SECONDS = 60, 600  # what a cell, and a notebook, may take when it is checked or graded
MOST_LETTERS = 500  # of a name or message that is printed
QUIET = ["--log-level=CRITICAL"]  # or a kernel tells of matters that are not a student's, as that it was ended
_MARKER = re.compile(r"^[ \t]*### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)[ \t]*\n?", re.MULTILINE)
_COURSE = re.compile(r"^course = \d+$", re.MULTILINE)


def marks(cell) -> dict:
    """Return nbgrader's metadata of a cell: nothing, or its ``grade_id``, whether it is graded, and more.

    A cell with ``grade`` has ``points``; with ``solution`` it is a free-text answer that a teacher grades, else a test.
    """
    found = cell.metadata.get("nbgrader")
    return found if isinstance(found, dict) else {}  # a student's notebook may hold anything


def exercises(notebook) -> list[dict]:
    """Return the `marks` of the graded cells of a notebook, in its order."""
    return [marks(cell) for cell in notebook.cells if marks(cell).get("grade")]


def read(path: Path | str):
    """Read a notebook.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no notebook.
    """
    if Path(path).is_dir():
        inside = next((str(each) for each in sorted(Path(path).rglob("*.ipynb"))), "its notebook")
        raise IsADirectoryError(f"{path}: expected a notebook, such as {inside}, found a folder")
    content = Path(path).read_bytes()
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook)
    except MissingExtraError:
        raise
    except Exception as error:  # nbformat expects JSON of the right form
        reason = plain((str(error).splitlines() or [""])[0])
        raise ValueError(f"{path}: not a notebook ({type(error).__name__}: {reason})") from error
    return notebook


def plain(text: str) -> str:
    """Return a text on one line, cut, and with escapes for characters that a terminal would obey."""
    words = " ".join(text[: 10 * MOST_LETTERS].split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words[: MOST_LETTERS + 1])
    return shown if len(shown) <= MOST_LETTERS else f"{shown[:MOST_LETTERS]}..."


def for_course(notebook, course: int):
    """Return a copy of a master with the number of a course, from which its data and numbers are drawn.

    Raises
    ------
    ValueError
        If no cell tagged ``parameters`` has a line ``course = 0``.
    """
    changed = nbformat.from_dict(notebook)
    cells = [cell for cell in changed.cells if "parameters" in cell.metadata.get("tags", ())]
    if not any(_COURSE.search(cell.source) for cell in cells):
        raise ValueError("expected a cell tagged `parameters` with a line `course = 0`")
    for cell in cells:
        cell.source = _COURSE.sub(f"course = {course}", cell.source)
    return changed


def as_lab(notebook):
    """Return a copy of a master as a course has it: without cells for the guide, and a test that passes says so."""
    lab = nbformat.from_dict(notebook)
    lab.cells = [cell for cell in lab.cells if GUIDE not in cell.metadata.get("tags", ())]
    for cell in lab.cells:
        if cell.cell_type == "code" and marks(cell).get("grade"):
            shown, hidden, more = cell.source.partition("### BEGIN HIDDEN TESTS")
            points = marks(cell)["points"]
            said = f"Passed: {points:g} point{'s' * (points != 1)}{', unless a hidden test fails' if hidden else ''}."
            cell.source = f'{shown.rstrip()}\nprint("{said}")\n{hidden}{more}'.rstrip()
    return lab


def solved(notebook):
    """Return a copy of a master with its solutions and all tests in, and without the marks around them."""
    changed = nbformat.from_dict(notebook)
    for cell in changed.cells:
        cell.source = _MARKER.sub("", cell.source + "\n").rstrip("\n")
    return changed
