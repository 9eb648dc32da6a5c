"""Build a course from the source notebooks: for students, for nbgrader, and with solutions."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from pydantic import Field
from tqdm import tqdm

from fairlab.checks import optional, required, suggestion
from fairlab.data.documents import Entry, Several, read_document
from fairlab.data.project import project
from fairlab.labs.masters import SLIDE, as_lab, exercises, for_course, marks, read, solved
from fairlab.paths import write_text
from fairlab.suite.comparison import render

nbformat, preprocessors = optional("nbformat"), optional("nbgrader.preprocessors")

REQUIREMENTS, README = "requirements-labs.txt", "README.md"
LOCK = "requirements.lock"  # of what students install; `make lock` writes it beside the masters


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

    test: str
    what: str
    message: str


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
    title: str
    idea: str
    aims: Several[str]
    prerequisites: Several[str]
    minutes: int = Field(gt=0)
    data: str
    tables: Several[str] = ()
    paper: str
    time: Several[str]
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


def build(folder: Path | str, *, course: int = 0, labs: Iterable[Card] | None = None) -> Path:
    """Write a course.

    Parameters
    ----------
    folder : Path or str
        A new or empty folder. ``students`` is for students, ``zips`` has a file for each lab with all that is needed to
        run it, for a learning platform; ``slides`` is for the lecture, ``course`` for nbgrader; ``solved`` has the
        solutions.
    course : int
        Its number: 0 gives the data that the guides quote; any other number draws new data.
    labs : iterable of Card, optional
        Default: all.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    FileExistsError
        If there is something in the folder: a student's or a teacher's work is never written over.
    MissingExtraError
        If nbgrader is not installed.
    RuntimeError
        If nbgrader or building the wheel failed; the message contains their output. If a solution of a lab fails, or
        the data contradict a text.
    """
    required("nbgrader")
    folder, labs = Path(folder).resolve(), list(cards() if labs is None else labs)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: not empty; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)  # or it would fail after minutes
    try:
        _write(folder, labs, course)
    except BaseException:
        for part in folder.iterdir():  # all of it is of this build; the next one would be refused
            shutil.rmtree(part)
        raise
    return folder


def _write(folder: Path, labs: list[Card], course: int) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        written = pool.map(lambda card: _for_course(card, course), labs)
        bar = tqdm(written, total=len(labs), unit="lab", leave=False, disable=None)  # shown in a terminal
        masters = list(zip(labs, bar, strict=True))
    write_grading(masters, folder / "course")
    students = shutil.copytree(folder / "course" / "release", folder / "students")
    write_requirements(students)
    write_text(students / README, render("students.md.jinja", project().labs, labs=labs, alone=False))
    for card, master in masters:
        write_text(folder / "course" / "guides" / f"{card.assignment}.md", guide(card, master, course))
        write_text(folder / "solved" / card.assignment / card.notebook.name, nbformat.writes(solved(master)) + "\n")
        for name, table in _tables(card, course).items():
            write_text(students / card.assignment / "data" / f"{name}.csv", table.to_csv(index=False))
        write_zip(card, students, folder / "zips")
        if any(SLIDE in cell.metadata for cell in master.cells):
            write_text(folder / "slides" / f"{card.assignment}.html", slides(master))


def _for_course(card: Card, course: int):
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    from fairlab.labs.running import with_numbers

    try:
        return with_numbers(for_course(read(card.notebook), course))
    except (CellExecutionError, CellTimeoutError) as error:
        reason = getattr(error, "evalue", error)
        raise RuntimeError(f"{card.assignment}, course {course}: {reason}; choose another number") from error


def _tables(card: Card, course: int) -> dict:
    """Return the tables of a lab by the names of their files."""
    found = {}
    for name in card.tables:
        table = getattr(import_module(f"fairlab.labs.{card.key}"), name)(course)
        found |= {f"{name}-{part}": each for part, each in table.items()} if isinstance(table, dict) else {name: table}
    return found


def released(card: Card):
    """Return a lab as students receive it: without solutions, hidden tests and cells for the guide."""
    notebook = as_lab(read(card.notebook))
    for step in (preprocessors.ClearSolutions(), preprocessors.ClearHiddenTests()):
        notebook, _ = step.preprocess(notebook, {})
    return notebook


def write_grading(masters: Sequence[tuple[Card, object]], folder: Path) -> None:
    """Write what nbgrader works on: settings, container, the masters of labs for a course, and its releases of them.

    Raises
    ------
    RuntimeError
        If nbgrader made no release of a lab.
    """
    shutil.copytree(project().labs / "course", folder, dirs_exist_ok=True)
    for card, master in masters:
        write_text(folder / "source" / card.assignment / card.notebook.name, nbformat.writes(master) + "\n")
    _call(folder, "nbgrader", "generate_assignment", "*")


def guide(card: Card, master, course: int) -> str:
    """Return the teacher's page of a lab: summary, time plan, points, common mistakes, rubrics."""
    texts = {marks(cell).get("grade_id"): cell.source for cell in solved(master).cells}
    return render("guide.md.jinja", project().labs, lab=card, exercises=exercises(master), texts=texts, course=course)


def slides(master) -> str:
    """Return the page of a lab's slides, which are cells of its notebook, without their code."""
    from nbconvert import SlidesExporter

    shown = solved(master)
    shown.cells = [cell for cell in shown.cells if SLIDE in cell.metadata]
    hidden = {"exclude_input": True, "exclude_input_prompt": True, "exclude_output_prompt": True}
    return SlidesExporter(reveal_scroll=True, **hidden).from_notebook_node(shown)[0]


def write_requirements(folder: Path) -> None:
    """Make the package's wheel in a folder, and a requirements file with it and all that it needs, with hashes.

    Raises
    ------
    RuntimeError
        If the wheel could not be made.
    """
    _call(project().root, "hatchling", "build", "-t", "wheel", "-d", str(folder))
    wheel = next(folder.glob("*.whl"))
    head = f"# In the folder of this file: python -m pip install -r {REQUIREMENTS} (Python 3.11, 3.12 or 3.13)"
    own = f"./{wheel.name} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    write_text(folder / REQUIREMENTS, "\n".join([head, own, (project().labs / LOCK).read_text(encoding="utf-8")]))


def write_zip(card: Card, students: Path, folder: Path) -> None:
    """Write the zip file of one lab: its part of the folder that students get, and what its labs share."""
    own = shutil.copytree(students / card.assignment, folder / card.assignment)
    for shared in (students / REQUIREMENTS, *students.glob("*.whl")):
        shutil.copy(shared, own)
    write_text(own / README, render("students.md.jinja", project().labs, labs=[card], alone=True))
    shutil.make_archive(own, "zip", folder, card.assignment)
    shutil.rmtree(own)


def _call(folder: Path, module: str, *arguments: str) -> None:
    """Run a program of this environment, which need not be activated, in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # nbgrader calls `alembic`
    command, environment = [sys.executable, "-m", module, *arguments], os.environ | {"PATH": path}
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"{module} failed: {answer.stderr.strip() or answer.stdout.strip()}")
