"""Run the visible tests of a notebook."""

import ast
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fairlab.labs.expectation import explained
from fairlab.labs.masters import QUIET, marks, plain, read


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


def check(notebook: Path | str) -> list[Line]:
    """Run a copy of a notebook from the first cell to the last, and return the results of its tests.

    A cell that takes too long is stopped; the others are run. Where no kernel can be started, as in a browser, the
    cells are run in this process, without a limit of time.

    Parameters
    ----------
    notebook : Path or str
        Of a student, or any other with cells that nbgrader grades. It is left as it is.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no notebook, none of its cells is graded, or one that is has no name or points.
    MissingExtraError
        If JupyterLab is not installed.
    """
    content = read(notebook)
    names = [_name(cell, f"{notebook}: cell {number}") for number, cell in enumerate(content.cells, start=1)]
    copies = Counter(filter(None, names))
    if not copies:
        raise ValueError(f"{notebook}: no cell is graded, as in lab 10, or it is not the notebook of a lab")
    messages = _messages(content, Path(notebook)) if find_spec("nbconvert") else _messages_here(content)
    lines = {}
    for number, (cell, name, message) in enumerate(zip(content.cells, names, messages, strict=True), start=1):
        state = "not yet" if message else "ok"
        if copies[name] > 1:
            state, message = "not yet", f"{copies[name]} cells have this name, expected one: delete the copies"
        elif marks(cell).get("solution"):
            state = "manual"
        elif name and not _tests_something(cell):
            found = "code without one" if cell.cell_type == "code" else cell.cell_type
            state, message = "not yet", f"expected a test, found {found}"
        if name:
            lines.setdefault(name, Line(name, state, marks(cell)["points"], message))
        elif message:
            lines[number] = Line(f"cell {number}", "error", 0, message)
    return list(lines.values())


def _name(cell, where: str) -> str:
    """Return the name of a graded cell, "" of any other; refuse one that has no name or points."""
    mark = marks(cell)
    if not mark.get("grade"):
        return ""
    name, points = mark.get("grade_id"), mark.get("points")
    if not (isinstance(name, str) and name and isinstance(points, int | float)):
        raise ValueError(f"{where}: expected a name as grade_id, and points, found {plain(repr(mark))}")
    return plain(name)


def _tests_something(cell) -> bool:
    """Return whether a cell is code that calls, asserts or raises something, or that Python cannot read."""
    try:
        nodes = list(ast.walk(ast.parse(cell.source)))
    except SyntaxError:  # running it says where
        return cell.cell_type == "code"
    calls = (node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) != "print")
    return cell.cell_type == "code" and (any(calls) or any(isinstance(node, ast.Assert | ast.Raise) for node in nodes))


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


def _messages(content, notebook: Path) -> list[str]:
    """Run a copy of the cells in a kernel, and return the message of each cell's first error, "" if it has none."""
    from fairlab.labs.running import ResilientExecute

    runner = ResilientExecute(kernel_name="python3", extra_arguments=QUIET, skip_cells_with_tag="")
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
            messages[-1] = _in_a_line(type(error).__name__, str(explained(error)))
    return messages


def _in_a_line(kind: str, text: str) -> str:
    text = plain(text)
    return text if kind == "LabError" else f"{plain(kind)}: {text}".removesuffix(": ")
