"""The master of a lab: its description, and versions of its notebook."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from fairlab.checks import optional, suggestion
from fairlab.data.documents import Entry, Several, read_document
from fairlab.paths import project

nbformat = optional("nbformat")

PARAMETERS, GUIDE = "parameters", "guide"
CELL_SECONDS, NOTEBOOK_SECONDS = 60, 600  # what a cell, and a notebook, may take when it is checked or graded
QUIET = ["--log-level=ERROR"]  # or a kernel warns of matters that are not a student's
_MARKER = re.compile(r"^[ \t]*### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)[ \t]*\n?", re.MULTILINE)
_COURSE = re.compile(r"^course = \d+$", re.MULTILINE)
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Texts = Annotated[Several[Text], Field(min_length=1)]


class Mistake(Entry):
    """A common mistake.

    Attributes
    ----------
    test : str
        The test that sees it: the ``grade_id`` of its cell.
    what : str
        The mistake, described for a teacher.
    message : str
        The message of the test, or a part of it.
    """

    test: Text
    what: Text
    message: Text


class Card(Entry):
    """The description of a lab, and its notebook.

    Attributes
    ----------
    number : int
        Place in the course, from 1.
    title, idea : str
    aims, prerequisites : tuple of str
    minutes : int
        For a student.
    data : str
        Which data, and whether it is real or generated.
    tables : tuple of str
        The functions of the lab's module that return them for a course; students get them as CSV, too.
    paper : str
    time : tuple of str
        A plan of the minutes.
    mistakes : tuple of Mistake
        None where nothing is graded.
    key : str
        Name of its files, without the ending.
    """

    number: int = Field(ge=1)
    title: Text
    idea: Text
    aims: Texts
    prerequisites: Texts
    minutes: int = Field(gt=0)
    data: Text
    tables: Several[Text] = ()
    paper: Text
    time: Texts
    mistakes: Several[Mistake] = ()
    key: str = ""

    @property
    def notebook(self) -> Path:
        """The master."""
        return project().labs / f"{self.key}.ipynb"

    @property
    def assignment(self) -> str:
        """Name of the lab in nbgrader, and of its folder."""
        return f"lab{self.number}-{self.key}"


@lru_cache
def cards() -> tuple[Card, ...]:
    """Return the cards of all labs, in the order of the course.

    Raises
    ------
    ValueError
        If a description is invalid.
    """
    found = [read_document(path, Card).model_copy(update={"key": path.stem}) for path in project().labs.glob("*.yaml")]
    return tuple(sorted(found, key=lambda card: card.number))


def card(name: str) -> Card:
    """Return the card of one lab, by its number, key or assignment.

    Raises
    ------
    KeyError
        If there is no such lab; the message suggests known ones.
    """
    for each in cards():
        if name in (str(each.number), each.key, each.assignment):
            return each
    raise KeyError(f"unknown lab {name!r}{suggestion(name, [each.key for each in cards()])}")


@dataclass(frozen=True)
class Exercise:
    """A cell that is graded.

    Attributes
    ----------
    name : str
        The cell's ``grade_id``.
    points : float
    is_manual : bool
        Whether a teacher grades it.
    """

    name: str
    points: float
    is_manual: bool


def marks(cell) -> dict:
    """Return nbgrader's metadata of a cell: nothing, or its ``grade_id``, whether it is graded, and more."""
    found = cell.metadata.get("nbgrader")
    return found if isinstance(found, dict) else {}  # a student's notebook may hold anything


def exercises(notebook) -> list[Exercise]:
    """Return the graded cells of a notebook, in its order."""
    found = filter(lambda each: each.get("grade"), map(marks, notebook.cells))
    return [Exercise(each["grade_id"], each["points"], each["solution"]) for each in found]


def read(path: Path | str):
    """Read a notebook.

    Raises
    ------
    ValueError
        If the file is no notebook.
    """
    try:
        return nbformat.read(path, as_version=4)
    except (UnicodeDecodeError, nbformat.reader.NotJSONError) as error:
        raise ValueError(f"{path}: not a notebook ({error})") from error


def for_course(notebook, course: int):
    """Return a copy of a master with the number of a course, from which its data and numbers are drawn.

    Raises
    ------
    ValueError
        If no cell tagged ``parameters`` has a line ``course = 0``.
    """
    changed = nbformat.from_dict(notebook)
    for cell in changed.cells:
        if PARAMETERS in cell.metadata.get("tags", ()) and _COURSE.search(cell.source):
            cell.source = _COURSE.sub(f"course = {course}", cell.source)
            return changed
    raise ValueError("expected a cell tagged `parameters` with a line `course = 0`")


def without_guide(notebook):
    """Return a copy of a master without the cells that are run for the teacher's guide only."""
    cells = [cell for cell in notebook.cells if GUIDE not in cell.metadata.get("tags", ())]
    return nbformat.from_dict({**notebook, "cells": cells})


def solved(notebook):
    """Return a copy of a master with its solutions and all tests in, and without the marks around them."""
    changed = nbformat.from_dict(notebook)
    for cell in changed.cells:
        cell.source = _MARKER.sub("", cell.source + "\n").rstrip("\n")
    return changed
