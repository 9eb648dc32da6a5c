"""A course graded by nbgrader itself: what tests of the labs share.

nbgrader starts a kernel for each notebook, and a kernel loads libraries for longer than most labs compute. So one
process loads them, and for each notebook forks a process in which nbgrader grades, and that forks its kernel.
"""

import ast
import json
import logging
import multiprocessing
import os
import warnings
from importlib import import_module

import nbformat
from fairlab.suite.forks import ENVIRONMENT, variables

from fairlab.paths import write_text
from fairlab.suite import child_process, kernel
from fairlab.suite.labs.card import card, cards
from fairlab.suite.labs.course import grader, write_grading
from fairlab.suite.labs.masters import CELL_SECONDS, for_course, marks, read, solved, without_guide
from fairlab.suite.labs.stories import with_numbers
from fairlab.suite.notebook import code_of

COURSE = 5  # a course with data and numbers of its own
FORKED = "forked"  # name of the kernel


class Grading:
    """A course folder, and what its autograder says about a notebook."""

    def __init__(self, folder):
        self.folder = folder
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        with variables(ENVIRONMENT):
            self._process = context.Process(target=_serve, args=(folder, theirs))
            self._process.start()
        theirs.close()

    def end(self):
        self._connection.close()
        self._process.join()

    def release(self, card):
        """Return what students of a lab get, and let nbgrader make it if it has not."""
        written = self.folder / "release" / card.assignment / card.notebook.name
        if not written.exists():
            self._ask(_release, card.key)
        return read(written)

    def solved(self, card):
        return solved(without_guide(for_course(read(card.notebook), COURSE)))

    def answered(self, card):
        """Return the release of a lab with the right answers in."""
        submission, right = self.release(card), self.solved(card)
        for cell, answer in zip(submission.cells, right.cells, strict=True):
            if marks(cell).get("solution"):
                cell.source = answer.source
        return submission

    def grade(self, card, student, notebook, seconds=CELL_SECONDS):
        """Return points by name of graded cells, and the notebook as it was run."""
        self.release(card)
        place = self.folder / "submitted" / student / card.assignment / card.notebook.name
        place.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, place)
        points = self._ask(_grade, card.key, student, seconds)
        return points, read(self.folder / "autograded" / student / card.assignment / card.notebook.name)

    def with_numbers(self, card, course):
        """Return the master of a lab for a course, with its numbers in."""
        return self._ask(_tell, card.key, course)

    def _ask(self, function, *arguments):
        self._connection.send((function, arguments))
        good, answer = self._connection.recv()
        assert good, answer
        return answer


def _serve(folder, connection):
    child_process.exit_with_parent()
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    _offer_forks(folder / "jupyter")
    _load()
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        fork = multiprocessing.get_context("fork").Process(
            target=_answer, args=(connection, function, folder, *arguments)
        )
        fork.start()
        fork.join()
        if fork.exitcode:
            connection.send((False, f"{function.__name__} ended with {fork.exitcode}"))


def _offer_forks(folder):
    spec = {"argv": kernel.COMMAND, "display_name": FORKED, "language": "python"}
    spec["metadata"] = {"kernel_provisioner": {"provisioner_name": kernel.PROVISIONER}}
    write_text(folder / "kernels" / FORKED / "kernel.json", json.dumps(spec))
    os.environ["JUPYTER_PATH"] = str(folder)


def _load():
    for name in ("ipykernel.kernelapp", "matplotlib.pyplot", "nbgrader.apps"):
        import_module(name)
    for lab in cards():
        imports = [
            node for node in ast.parse(code_of(lab.notebook)).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), lab.key, "exec"), {})


def _answer(connection, function, *arguments):
    try:
        connection.send((True, function(*arguments)))
    except Exception as error:  # it is for whoever asked
        connection.send((False, repr(error)))


def _release(folder, key):
    lab = card(key)
    write_grading([(lab, without_guide(for_course(read(lab.notebook), COURSE)))], folder)


def _tell(folder, key, course):
    kernel.fork()
    return with_numbers(for_course(read(card(key).notebook), course), kernel_name=FORKED, extra_arguments=[])


def _grade(folder, key, student, seconds):
    for _ in range(3):  # a notebook is run again if its kernel ends
        kernel.fork()
    assignment = card(key).assignment
    with grader(folder) as api:
        api.config.ExecutePreprocessor.kernel_name = FORKED
        api.config.ExecutePreprocessor.extra_arguments = []
        api.config.ExecutePreprocessor.timeout = seconds
        answer = api.autograde(assignment, student, force=True)
        assert answer["success"], answer.get("log")
        with api.gradebook as gradebook:
            found = gradebook.find_submission_notebook(key, assignment, student)
            return {grade.name: grade.auto_score for grade in found.grades}


def errors(notebook):
    """Return what went wrong in each cell, by its name among nbgrader's or its number."""
    found = {}
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found[marks(cell).get("grade_id", number)] = output.evalue
    return found
