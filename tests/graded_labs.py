"""A course graded by nbgrader itself: what tests of the labs share."""

import logging
import warnings

import nbformat

from fairlab.suite.labs.card import cards
from fairlab.suite.labs.course import grader, write_grading
from fairlab.suite.labs.masters import for_course, read, solved

COURSE = 5  # a course with data and numbers of its own


class Grading:
    """A course folder, and what its autograder says about a notebook."""

    def __init__(self, folder):
        self.folder = folder
        write_grading(cards(), folder, course=COURSE)
        logging.getLogger("traitlets").setLevel(logging.CRITICAL)

    def release(self, card):
        return read(self.folder / "release" / card.assignment / card.notebook.name)

    def solved(self, card):
        return solved(for_course(read(card.notebook), COURSE))

    def grade(self, card, student, notebook):
        """Return points by name of graded cells, and the notebook as it was run."""
        place = self.folder / "submitted" / student / card.assignment / card.notebook.name
        place.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, place)
        with grader(self.folder) as api, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = api.autograde(card.assignment, student, force=True)
            assert answer["success"], answer.get("log")
            with api.gradebook as gradebook:
                found = gradebook.find_submission_notebook(card.key, card.assignment, student)
                points = {grade.name: grade.auto_score for grade in found.grades}
        return points, read(self.folder / "autograded" / student / card.assignment / card.notebook.name)


def errors(notebook):
    """Return what went wrong in each cell, by its name among nbgrader's or its number."""
    found = {}
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found[cell.metadata.get("nbgrader", {}).get("grade_id", number)] = output.evalue
    return found
