"""Run the visible tests of a notebook."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fairlab.suite.labs.masters import CELL_SECONDS, QUIET, Exercise, exercises, marks, read


@dataclass(frozen=True)
class Line:
    """What was found out about one cell.

    Attributes
    ----------
    name : str
        The test's, or the number of a cell that is none.
    state : {"ok", "not yet", "manual", "error"}
    points : float
    message : str
    """

    name: str
    state: str
    points: float
    message: str = ""


def check(notebook: Path | str, *, seconds: int = CELL_SECONDS) -> list[Line]:
    """Run a copy of a notebook from the first cell to the last, and return the results of its tests.

    A cell that takes too long is stopped; the others are run. Where no kernel can be started, as in a browser, the
    cells are run in this process, without a limit of time.

    Parameters
    ----------
    notebook : Path or str
        Of a student, or any other with cells that nbgrader grades. It is left as it is.
    seconds : int
        For one cell.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no notebook, or none of its cells is graded.
    MissingExtraError
        If JupyterLab is not installed.
    """
    content = read(notebook)
    graded = {exercise.name: exercise for exercise in exercises(content)}
    if not graded:
        raise ValueError(f"{notebook}: no cell is graded; is it the notebook of a lab?")
    found = _errors(content, Path(notebook), seconds) if find_spec("nbconvert") else _errors_here(content)
    lines = []
    for number, (cell, errors) in enumerate(zip(content.cells, found, strict=True), start=1):
        exercise = graded.get(marks(cell).get("grade_id"), Exercise(f"cell {number}", 0, is_manual=False))
        texts = [(kind, re.sub(r"\s+", " ", text).strip()) for kind, text in errors[:1]]
        message = "".join(text if kind == "LabError" else f"{kind}: {text}".removesuffix(": ") for kind, text in texts)
        known = exercise.name in graded
        if errors or known:
            state = "manual" if exercise.is_manual else "ok" if not errors else "not yet" if known else "error"
            lines.append(Line(exercise.name, state, exercise.points, message))
    return lines


def as_text(lines: list[Line]) -> str:
    """Return the results as a few lines for a student."""
    width = max(len(line.name) for line in lines)
    rows = []
    for line in lines:
        points = f"{line.points:g}" if line.points else ""
        rows.append(f"{line.name:<{width}}  {line.state:<7}  {points:>2}  {line.message}".rstrip())
    got, is_manual = (sum(line.points for line in lines if line.state == state) for state in ("ok", "manual"))
    total = sum(line.points for line in lines if line.state in ("ok", "not yet"))
    closing = f"{got:g} of {total:g} points by the visible tests; hidden tests are run for grading."
    if is_manual:
        closing += f" {is_manual:g} points are graded manually."
    return "\n".join([*rows, closing])


def _errors(content, notebook: Path, seconds: int) -> list[list[tuple]]:
    """Run a copy of the cells in a kernel, and return the errors of each."""
    from fairlab.suite.labs.running import ResilientExecute

    runner = ResilientExecute(timeout=seconds, kernel_name="python3", extra_arguments=QUIET)
    runner.log.setLevel("CRITICAL")  # what is logged stands in the lines
    done, _ = runner.preprocess(content, {"metadata": {"path": str(notebook.resolve().parent)}})
    return [
        [(out.ename, out.evalue) for out in cell.get("outputs", ()) if out.output_type == "error"]
        for cell in done.cells
    ]


def _errors_here(content) -> list[list[tuple]]:
    """Run the cells in this process, with names of their own, and return the errors of each."""
    from IPython.utils.capture import capture_output

    names, found = {"__name__": "__main__", "display": print}, []
    for cell in content.cells:
        found.append([])
        try:
            with capture_output():
                exec(cell.source if cell.cell_type == "code" else "", names)
        except Exception as error:
            found[-1].append((type(error).__name__, str(error)))
    return found
