"""Run notebooks of labs: a student's to its end whatever its cells do, and a master to fill in its model answers."""

from collections import Counter

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_output
from traitlets import Bool, Integer

from fairlab.labs.masters import CELL_SECONDS, NOTEBOOK_SECONDS, QUIET, SLIDE, as_lab, marks, solved

MOST_LETTERS = 1_000_000  # of the output of a cell; what a loop prints in a minute fills the memory of a computer


class ResilientExecute(ExecutePreprocessor):
    """Run all cells that can be run.

    If a cell does not end, or ends the kernel, the notebook is run again without it. Such cells have an error as their
    output, and so has a cell that fails without showing its error. What a cell shows beyond a million letters is left
    out, but for errors.

    Attributes
    ----------
    timeout : int
        Seconds for one cell.
    lost : dict of int to NotebookNode
        The errors of cells that were left out, by their places in the notebook.
    """

    timeout = Integer(CELL_SECONDS, allow_none=True).tag(config=True)
    allow_errors = Bool(True).tag(config=True)
    interrupt_on_timeout = Bool(False).tag(config=True)
    raise_on_iopub_timeout = Bool(True).tag(config=True)

    def preprocess(self, nb, resources=None, km=None):
        """Run a copy of a notebook and return it."""
        self.lost = {}
        while True:
            self._running, self._shown = None, Counter()
            try:
                return super().preprocess(from_dict(nb), resources, km)
            except (CellTimeoutError, DeadKernelError) as error:
                if self._running is None:  # no cell did it
                    raise
                is_late = isinstance(error, CellTimeoutError)
                why = f"did not end within {self.timeout} seconds" if is_late else "ended the kernel"
                self.lost[self._running] = _error(type(error).__name__, f"{why}; the other cells were run without it")

    def preprocess_cell(self, cell, resources, index):
        """Run a cell, unless it is to be left out."""
        self._running = index
        if index in self.lost:
            cell.outputs = [self.lost[index]]
            return cell, resources
        return super().preprocess_cell(cell, resources, index)

    def on_cell_executed(self, cell, cell_index, execute_reply):
        """Show the error of a cell that hid it."""
        reply = execute_reply["content"]
        if reply["status"] == "error" and not any(output.output_type == "error" for output in cell.outputs):
            cell.outputs.append(_error(reply.get("ename", "Error"), reply.get("evalue", "")))

    def output(self, outs, msg, display_id, cell_index):
        """Keep an output, unless the cell has shown too much."""
        self._shown[cell_index] += len(str(msg["content"]))
        if self._shown[cell_index] <= MOST_LETTERS or msg["msg_type"] == "error":
            return super().output(outs, msg, display_id, cell_index)
        return None


def _error(name: str, text: str):
    return new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def with_numbers(notebook):
    """Return a copy of a master for a course in which the model answers have the numbers of its data.

    The source notebook is run with its solutions. Its model answers are f-strings, which are evaluated at their
    position. Cells tagged ``guide`` are run, too; they check by `require` what the texts state about the data. They are
    not in the copy. What cells of slides show is.

    Raises
    ------
    CellExecutionError, CellTimeoutError
        If a cell fails (a solution fails its test, or the data contradict the texts) or does not end.
    """
    run, copy = solved(notebook), from_dict(notebook)
    answers = [
        index for index, cell in enumerate(copy.cells) if cell.cell_type == "markdown" and marks(cell).get("solution")
    ]
    for index in answers:
        run.cells[index] = new_code_cell(f'print(rf"""{copy.cells[index].source}\n""")')
    NotebookClient(run, timeout=NOTEBOOK_SECONDS, kernel_name="python3", extra_arguments=QUIET).execute()
    for index in answers:
        copy.cells[index].source = "".join(output.text for output in run.cells[index].outputs).rstrip("\n")
    for cell, done in zip(copy.cells, run.cells, strict=True):
        if cell.cell_type == "code" and SLIDE in cell.metadata:
            cell.outputs = done.outputs
    return as_lab(copy)
