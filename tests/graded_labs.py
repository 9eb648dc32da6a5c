"""Shared by tests of the labs: a course graded by nbgrader itself."""

import ast
import logging
import re
import warnings

import nbformat
import pytest

from fairlab.labs.course import cards, write_grading
from fairlab.labs.masters import NOTEBOOK_SECONDS, as_lab, for_course, marks, read, solved
from fairlab.labs.running import with_numbers
from fairlab.paths import write_text

COURSE = 5  # a course with data and numbers of its own
GRADED = [lab for lab in cards() if lab.mistakes]
EVERY = pytest.mark.parametrize("lab", GRADED, ids=lambda lab: lab.key)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)


class Grading:
    """A course folder and its autograder."""

    def __init__(self, folder):
        from nbgrader.apps import NbGraderAPI
        from traitlets.config import PyFileConfigLoader

        self.folder = folder
        masters = [(lab, as_lab(for_course(read(lab.notebook), COURSE))) for lab in GRADED]
        write_grading(masters, folder)
        settings = (folder / "nbgrader_config.py").read_text(encoding="utf-8")
        write_text(folder / "nbgrader_config.py", settings.replace("CONTAINER = True", "CONTAINER = False"))
        logging.getLogger("traitlets").setLevel(logging.CRITICAL)
        configuration = PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()
        configuration.CourseDirectory.root = str(folder)
        self.api = NbGraderAPI(config=configuration)

    def release(self, card):
        """Return the notebook that students of a lab get."""
        return read(self.folder / "release" / card.assignment / card.notebook.name)

    def solved(self, card):
        return solved(as_lab(for_course(read(card.notebook), COURSE)))

    def answered(self, card):
        """Return the release of a lab with the right answers filled in."""
        return with_answers(self.release(card), self.solved(card))

    def place(self, student, card):
        """Return the path where a student's notebook is handed in."""
        return self.folder / "submitted" / student / card.assignment / card.notebook.name

    def grade(self, card, student, notebook, seconds=NOTEBOOK_SECONDS):
        """Return points by name of graded cells, and the executed notebook; `seconds` allow for busy machines."""
        write_text(self.place(student, card), nbformat.writes(notebook))
        with warnings.catch_warnings(action="ignore"):  # of nbgrader's own use of its database
            self.api.config.ExecutePreprocessor.timeout = seconds
            answer = self.api.autograde(card.assignment, student, force=True)
            assert answer["success"], answer.get("log")
            with self.api.gradebook as gradebook:
                found = gradebook.find_submission_notebook(card.key, card.assignment, student)
                points = {grade.name: grade.auto_score for grade in found.grades}
        return points, read(self.folder / "autograded" / student / card.assignment / card.notebook.name)

    def with_numbers(self, card, course):
        """Return the master of a lab for a course, with its numbers filled in."""
        return with_numbers(for_course(read(card.notebook), course))


def with_answers(release, solved):
    """Return a released notebook with the answers of a solved one."""
    for cell, answer in zip(release.cells, solved.cells, strict=True):
        if marks(cell).get("solution"):
            cell.source = answer.source
    return release


def is_test(cell):
    return cell.cell_type == "code" and marks(cell).get("grade")


def answers_and_tests(notebook):
    """Yield the test cells of a notebook, each with the cell of the answer before it."""
    for cell in notebook.cells:
        if marks(cell).get("solution"):
            answer = cell
        elif is_test(cell):
            yield answer, cell


def function_of(code):
    """Return the function that an answer ends with; None for other answers."""
    last = ast.parse(code).body[-1]
    return last if isinstance(last, ast.FunctionDef) else None


MARKED = re.compile(r"### BEGIN .*?### END [^\n]*", re.DOTALL)


def secrets(notebook):
    """Return the lines of a master that students must not see: solutions, hidden tests and the guide.

    Lines that also occur elsewhere in the notebook, or have fewer than twelve letters, are left out.
    """
    guide, others = (
        "\n".join(cell.source for cell in notebook.cells if ("guide" in cell.metadata.get("tags", ())) == is_guide)
        for is_guide in (True, False)
    )
    hidden, public = "\n".join([guide, *MARKED.findall(others)]), MARKED.sub("", others)
    lines = dict.fromkeys(line.strip() for line in hidden.splitlines() if "### " not in line)
    return [line for line in lines if len(line) >= 12 and line not in public]


def errors(notebook):
    """Return the errors of cells, by nbgrader's name of the cell or by its number."""
    return {
        marks(cell).get("grade_id", number): output.evalue
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    }
