"""Run the visible tests of a notebook."""

from dataclasses import dataclass
from importlib.util import find_spec
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
    graded = {exercise.grade_id: exercise for exercise in exercises(content)}
    if not graded:
        raise ValueError(f"{notebook}: no cell is graded; is it the notebook of a lab?")
    messages = _messages(content, Path(notebook), seconds) if find_spec("nbconvert") else _messages_here(content)
    lines = []
    for number, (cell, message) in enumerate(zip(content.cells, messages, strict=True), start=1):
        if exercise := graded.get(marks(cell).get("grade_id")):
            state = "manual" if exercise.solution else "not yet" if message else "ok"
            lines.append(Line(exercise.grade_id, state, exercise.points, message))
        elif message:
            lines.append(Line(f"cell {number}", "error", 0, message))
    return lines


def as_text(lines: list[Line]) -> str:
    """Return the results as a few lines for a student."""
    width = max(len(line.name) for line in lines)
    rows = [f"{line.name:<{width}}  {line.state:<7}  {line.points or '':>2}  {line.message}".rstrip() for line in lines]
    got, lost, manual = (
        sum(line.points for line in lines if line.state == state) for state in ("ok", "not yet", "manual")
    )
    closing = f"{got:g} of {got + lost:g} points by the visible tests; hidden tests are run for grading."
    if manual:
        closing += f" {manual:g} points are graded manually."
    return "\n".join([*rows, closing])


def _messages(content, notebook: Path, seconds: int) -> list[str]:
    """Run a copy of the cells in a kernel, and return the message of each cell's first error, "" if it has none."""
    from fairlab.suite.labs.running import ResilientExecute

    runner = ResilientExecute(timeout=seconds, kernel_name="python3", extra_arguments=QUIET)
    runner.log.setLevel("CRITICAL")  # what is logged stands in the lines
    done, _ = runner.preprocess(content, {"metadata": {"path": str(notebook.resolve().parent)}})
    errors = [[out for out in cell.get("outputs", ()) if out.output_type == "error"] for cell in done.cells]
    return [_in_a_line(own[0].ename, own[0].evalue) if own else "" for own in errors]


def _messages_here(content) -> list[str]:
    """Run the cells in this process, with names of their own, and return the messages as `_messages` does."""
    from IPython.utils.capture import capture_output

    names, messages = {"__name__": "__main__", "display": print}, []
    for cell in content.cells:
        messages.append("")
        try:
            with capture_output():
                exec(cell.source if cell.cell_type == "code" else "", names)
        except Exception as error:
            messages[-1] = _in_a_line(type(error).__name__, str(error))
    return messages


def _in_a_line(kind: str, text: str) -> str:
    text = " ".join(text.split())
    return text if kind == "LabError" else f"{kind}: {text}".removesuffix(": ")
