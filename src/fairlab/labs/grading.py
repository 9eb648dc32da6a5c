"""Additions to nbgrader's grading: restore released cells, scan answers, run all that can be run, warn the teacher.

nbgrader restores tests whose text was changed, but neither a test that was deleted, renamed or tagged as one to be
skipped, nor a notebook whose kernel ended; and it takes a number that a test shows for its points.
"""

import ast
import re

from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute, NbGraderPreprocessor, OverwriteCells

from fairlab.labs.masters import marks, read
from fairlab.labs.running import ResilientExecute

WARNINGS = "fairlab_warnings"  # in a notebook's metadata, between the two steps
# Control tests that no answer can pass. If one passes, the functions that tests use were changed.
CONTROLS = (
    "from fairlab.labs import expect\n\nexpect('the share', 0.25, 0.75)",
    "from fairlab.labs import require\n\nrequire(0.25 > 0.75, 'the first has to be larger')",
)
# Names by which code reaches other files, other programs or the tests that are run with it, and such paths.
REACHING = re.compile(
    "__(builtins|globals|import|subclasses)__|builtins|compile|ctypes|eval|exec|f_back|f_globals|gc|get_ipython|glob"
    "|globals|importlib|inspect|iterdir|linecache|nbformat|open|os|pathlib|Path|read_text|rglob|runpy|scandir|shutil"
    "|socket|sqlite3|subprocess|sys|urllib|walk_tb"
)
PATHS = re.compile(r"^\.\.$|\.\.[/\\]|^[/~][^\s/]*/|\.ipynb|gradebook\.db")
TAMPERED = (
    "A control test that must fail has passed: the test functions were changed, so points from tests are invalid."
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


class Overwrite(OverwriteCells):
    """Overwrite cells by what the gradebook knows of them; `Restore` has reported what a student changed."""

    def report_change(self, name, attr, old, new):
        """Report nothing: a released test differs from the gradebook's by its hidden tests."""


class ExecuteAll(ResilientExecute, Execute):
    """Run a submission and then the control tests, and write warnings at its top."""

    def preprocess(self, nb, resources, **more):
        """Run all cells that can be run."""
        n_cells = len(nb.cells)
        nb.cells += map(new_code_cell, CONTROLS)
        nb, resources = super().preprocess(nb, resources, **more)
        controls, nb.cells = nb.cells[n_cells:], nb.cells[:n_cells]
        warnings = nb.metadata.setdefault(WARNINGS, [])
        for number, cell in enumerate(nb.cells):
            name = marks(cell).get("grade_id")
            if number in self.lost:
                warnings.append(f"{f'`{name}`' if name else f'Cell {number + 1}'} {self.lost[number].evalue}.")
            if cell.cell_type == "code" and marks(cell).get("grade"):
                # nbgrader gives no point to a test that warns, and to one that shows a number as many as it says.
                cell.outputs = [output for output in cell.outputs if output.output_type == "error"]
        if not all(any(output.output_type == "error" for output in each.outputs) for each in controls):
            warnings.append(TAMPERED)
        if warnings:
            text = "\n".join(["**Warnings from grading**", "", *(f"* {each}" for each in warnings)])
            nb.cells.insert(0, new_markdown_cell(text))
            self.log.warning("{student}, {assignment}: ".format(**resources["nbgrader"]) + " ".join(warnings))
        return nb, resources


# Whole lists, since nbgrader's command reads its settings twice: what they add to a list is added twice.
_steps = Autograde.class_traits()
SANITIZE = [Restore, *(Overwrite if s is OverwriteCells else s for s in _steps["sanitize_preprocessors"].default())]
AUTOGRADE = [ExecuteAll if step is Execute else step for step in _steps["autograde_preprocessors"].default()]


def restore_cells(notebook, released) -> tuple:
    """Return a submission with all cells but the answers restored from a release, and the differences."""
    given = {marks(cell)["grade_id"]: cell for cell in from_dict(released).cells if marks(cell)}
    missing, cells, warnings = dict(given), [], []
    known = {cell.source.strip() for cell in released.cells}
    names = dict.fromkeys(str(marks(cell).get("grade_id")) for cell in notebook.cells)
    if [name for name in names if name in given] != [name for name in given if name in names]:
        warnings.append("The cells are in a different order than in the lab, and were run in that order.")
    for number, cell in enumerate(notebook.cells, start=1):
        name = str(marks(cell).get("grade_id"))
        if cell.cell_type == "code" and cell.source.strip() not in known and (found := reaching(cell.source)):
            where = f"`{name}`" if name in given else f"Cell {number}"
            warnings.append(f"{where} may reach outside the notebook ({', '.join(sorted(found))}): read it.")
        own = missing.pop(name, None) or from_dict({**cell, "metadata": {}})  # a name is given to one cell only
        if marks(own).get("solution"):
            own.update({part: cell[part] for part in ("source", "attachments") if part in cell})
        if not marks(own).get("solution") and own.source.strip() != cell.source.strip():
            warnings.append(f"`{name}` was changed and has been graded in its original version.")
        elif marks(own).get("points") not in (None, marks(cell).get("points")):
            warnings.append(f"`{name}`: its points were changed and have been restored.")
        cells.append(own)
    following = 0
    for name, cell in given.items():
        if name in missing:
            cells.insert(following, cell)
            warnings.append(f"`{name}` was deleted and has been restored.")
        following = cells.index(cell) + 1
    return from_dict({**notebook, "cells": cells}), warnings


def reaching(source: str) -> set[str]:
    """Return the names and paths in code by which it could read a solution or run something else."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a command of the notebook, or no Python
        commands = re.findall(r"^\s*([!%].*)", source, re.MULTILINE)
        return {f"`{each}`" for each in [*commands, *filter(REACHING.fullmatch, re.findall(r"\w+", source))]}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    names = [str(getattr(node, field, None)) for node in nodes for field in ("id", "attr", "name", "module")]
    parts = {part for name in names for part in name.split(".")}
    return {f"`{each[:80]}`" for each in [*filter(REACHING.fullmatch, parts), *filter(PATHS.search, texts)]}
