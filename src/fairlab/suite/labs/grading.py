"""Additions to nbgrader's grading: restore released cells, run all cells that can be run, warn the teacher.

nbgrader restores tests whose text was changed, but neither a test that was deleted, renamed or tagged as one to be
skipped, nor a notebook whose kernel ended; and it takes a number that a test shows for its points.
"""

from random import random

from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

from fairlab.suite.labs.masters import marks, read
from fairlab.suite.labs.running import ResilientExecute

WARNINGS = "fairlab_warnings"  # in a notebook's metadata, between the two steps
# Control tests that no answer can pass. If one passes, the functions that tests use were changed.
CONTROLS = (
    "from fairlab.suite.labs import expect\n\nexpect('the share', {}, {})",
    "from fairlab.suite.labs import require\n\nrequire({} > {}, 'the first has to be larger')",
)
TAMPERED = (
    "A control test that must fail has passed: the tests' functions were changed, and points by tests are invalid."
)


class Restore(NbGraderPreprocessor):
    """Restore the cells that a student was given, with nbgrader's metadata, and record which were changed."""

    def preprocess(self, nb, resources):
        """Restore a submission by the release of its lab."""
        lab, name = (resources["nbgrader"][key] for key in ("assignment", "notebook"))
        course = self.parent.parent.coursedir
        released = read(f"{course.format_path(course.release_directory, '.', lab)}/{name}.ipynb")
        nb, warnings = restore_cells(nb, released)
        nb.metadata[WARNINGS] = warnings
        return nb, resources


class ExecuteAll(ResilientExecute, Execute):
    """Run a submission and then the control tests, and write warnings at its top."""

    def preprocess(self, nb, resources, **more):
        """Run all cells that can be run."""
        warnings = nb.metadata.pop(WARNINGS, [])
        n_cells = len(nb.cells)
        low, high = random() / 2, 1 - random() / 2
        nb.cells += [new_code_cell(control.format(low, high)) for control in CONTROLS]
        nb, resources = super().preprocess(nb, resources, **more)
        controls, nb.cells = nb.cells[n_cells:], nb.cells[:n_cells]
        names = [marks(cell).get("grade_id") for cell in nb.cells]
        places = [f"`{name}`" if name else f"Cell {number}" for number, name in enumerate(names, start=1)]
        warnings += [f"{places[i]} {why}." for i, why in sorted(self.lost.items()) if i < n_cells]
        if not all(any(output.output_type == "error" for output in each.outputs) for each in controls):
            warnings.append(TAMPERED)
        for cell in nb.cells:
            if cell.cell_type == "code" and marks(cell).get("grade"):
                cell.outputs = [_without_points(output) for output in cell.outputs]
        if warnings:
            lines = ["**Warnings from grading**", "", *(f"* {each}" for each in warnings)]
            nb.cells.insert(0, new_markdown_cell("\n".join(lines)))
        for each in warnings:
            self.log.warning("%s, %s: %s", resources["nbgrader"]["student"], resources["nbgrader"]["assignment"], each)
        return nb, resources


_steps = Autograde.class_traits()
SANITIZE = [Restore, *_steps["sanitize_preprocessors"].default()]
AUTOGRADE = [ExecuteAll if step is Execute else step for step in _steps["autograde_preprocessors"].default()]


def restore_cells(notebook, released) -> tuple:
    """Return a submission with all cells but the answers restored from a release, and the differences."""
    given = {marks(cell)["grade_id"]: cell for cell in released.cells if marks(cell)}
    cells, names, warnings = [], [], []  # a name is given to one cell only
    for cell in notebook.cells:
        name = str(marks(cell).get("grade_id"))
        if name in given and name not in names:
            names.append(name)
            own = from_dict(given[name])
            if marks(own)["solution"]:
                own.source = cell.source
                own |= {"attachments": cell.attachments} if "attachments" in cell else {}
            elif own.source.strip() != cell.source.strip():
                warnings.append(f"`{name}` was changed and has been graded in its original version.")
            cells.append(own)
        else:
            names.append("")
            cell.metadata = from_dict({})
            cells.append(cell)
    following = 0
    for name, cell in given.items():
        if name not in names:
            names.insert(following, name)
            cells.insert(following, from_dict(cell))
            warnings.append(f"`{name}` was deleted and has been restored.")
        following = names.index(name) + 1
    return from_dict({**notebook, "cells": cells}), warnings


def _without_points(output):
    # nbgrader gives no point to a test that warns, and to one that shows a number as many as the number says.
    if output.output_type == "stream":
        output.name = "stdout"
    if output.output_type == "execute_result":
        output = from_dict({"output_type": "display_data", "data": output.data, "metadata": output.metadata})
    return output
