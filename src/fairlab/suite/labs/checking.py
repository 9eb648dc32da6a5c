"""Run the visible tests of a notebook."""

import re
from dataclasses import dataclass
from pathlib import Path

from fairlab.suite.labs.masters import CELL_SECONDS, QUIET, exercises, marks, read


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

    A cell that takes too long is stopped; the others are run.

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
    from fairlab.suite.labs.running import ResilientExecute

    runner = ResilientExecute(timeout=seconds, kernel_name="python3", extra_arguments=QUIET)
    runner.log.setLevel("CRITICAL")  # what is logged stands in the lines
    content, _ = runner.preprocess(content, {"metadata": {"path": str(Path(notebook).resolve().parent)}})
    lines = []
    for number, cell in enumerate(content.cells, start=1):
        exercise = graded.get(marks(cell).get("grade_id"))
        errors = [out for out in cell.get("outputs", ()) if out.output_type == "error"]
        message = _message(errors[0]) if errors else ""
        if exercise:
            state = "manual" if exercise.is_manual else "not yet" if errors else "ok"
            lines.append(Line(exercise.name, state, exercise.points, message))
        elif errors:
            lines.append(Line(f"cell {number}", "error", 0, message))
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


def _message(error) -> str:
    text = re.sub(r"\s+", " ", error.evalue).strip()
    return text if error.ename == "LabError" else f"{error.ename}: {text}".removesuffix(": ")
