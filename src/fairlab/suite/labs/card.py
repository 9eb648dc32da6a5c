"""The description of a lab: topic, prerequisites, duration, common mistakes."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from fairlab.checks import suggestion
from fairlab.data.documents import Entry, Several, read_document
from fairlab.paths import project

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
    extras : tuple of str
        Extras that it needs in addition to the core packages.
    time : tuple of str
        A plan of the minutes.
    mistakes : tuple of Mistake
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
    extras: Several[Text] = ()
    time: Texts
    mistakes: Annotated[Several[Mistake], Field(min_length=3)]
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
        If a description is invalid, or two labs have the same number.
    """
    found = [read_document(path, Card).model_copy(update={"key": path.stem}) for path in project().labs.glob("*.yaml")]
    found.sort(key=lambda card: card.number)
    numbers = [card.number for card in found]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{project().labs}: two labs have one number: {', '.join(map(str, numbers))}")
    return tuple(found)


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
