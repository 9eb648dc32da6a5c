"""Run notebooks of labs: a student's to its end whatever its cells do, and a master to fill in its model answers."""

from collections import Counter
from collections.abc import Sequence

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_output
from traitlets import Bool, Integer

from fairlab.suite.labs.masters import CELL_SECONDS, NOTEBOOK_SECONDS, QUIET, marks, solved, without_guide

MOST_LETTERS = 1_000_000  # of the output of a cell; what a loop prints in a minute fills the memory of a computer


class ResilientExecute(ExecutePreprocessor):
    """Run all cells that can be run.

    A cell that takes too long is interrupted. If that fails, or a cell ends the kernel, the notebook is run again
    without it. Such cells have an error as their output. Of what a cell shows the first million letters are kept, and
    all errors.

    Attributes
    ----------
    timeout : int
        Seconds for one cell.
    lost : dict of int to str
        Why a cell was not run to its end, by its place in the notebook.
    """

    timeout = Integer(CELL_SECONDS, allow_none=True).tag(config=True)
    allow_errors = Bool(True).tag(config=True)
    interrupt_on_timeout = Bool(True).tag(config=True)
    raise_on_iopub_timeout = Bool(True).tag(config=True)

    def preprocess(self, nb, resources=None, km=None):
        """Run a copy of a notebook and return it."""
        self._left_out = {}
        self.error_on_timeout = _error("CellTimeoutError", f"stopped: it took longer than {self.timeout} seconds")
        while True:
            self.lost, self._running, self._shown = {}, None, Counter()
            try:
                return super().preprocess(from_dict(nb), resources, km)
            except (CellTimeoutError, DeadKernelError) as error:
                if self._running is None:  # no cell did it
                    raise
                why = "ended the kernel" if isinstance(error, DeadKernelError) else "could not be stopped"
                self._left_out[self._running] = _error(type(error).__name__, f"{why}; the others were run without it")

    def preprocess_cell(self, cell, resources, index):
        """Run a cell, unless it is to be left out."""
        if index in self._left_out:
            self._note(cell, index, self._left_out[index])
            return cell, resources
        self._running = index
        return super().preprocess_cell(cell, resources, index)

    def on_cell_executed(self, cell, cell_index, execute_reply):
        """Note an error that stands in the reply only, as that of a cell that was interrupted does."""
        reply = execute_reply["content"]
        shown = [output.ename for output in cell.outputs if output.output_type == "error"]
        if reply["status"] == "error" and reply["ename"] not in shown:
            self._note(cell, cell_index, reply)

    def output(self, outs, msg, display_id, cell_index):
        """Keep an output, or the first part of it, or nothing if there was too much before."""
        left = max(0, MOST_LETTERS - self._shown[cell_index])
        self._shown[cell_index] += len(str(msg["content"]))
        if not left and msg["msg_type"] != "error":
            return None
        if msg["msg_type"] == "stream":
            msg["content"]["text"] = msg["content"]["text"][:left]
        return super().output(outs, msg, display_id, cell_index)

    def _note(self, cell, index, error):
        if error["ename"] in ("CellTimeoutError", "DeadKernelError"):
            self.lost[index] = error["evalue"]
        names = ("ename", "evalue", "traceback")
        cell.outputs = [new_output("error", **{name: error[name] for name in names}), *cell.get("outputs", ())]


def with_numbers(notebook, *, kernel_name: str = "python3", extra_arguments: Sequence[str] = QUIET):
    """Return a copy of a master for a course in which the model answers have the numbers of its data.

    The source notebook is run with its solutions. Its model answers are f-strings, which are evaluated at their
    position. Cells tagged ``guide`` are run, too; they check by `require` what the texts state about the data. They are
    not in the copy.

    Raises
    ------
    RuntimeError
        If a cell fails (a solution fails its test, or the data contradict the texts) or does not end.
    """
    run, answers = solved(notebook), {}
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and marks(cell).get("solution"):
            run.cells[index] = answers[index] = new_code_cell(f'print(rf"""{cell.source}\n""")')
    options = {"kernel_name": kernel_name, "extra_arguments": extra_arguments, "resources": {"metadata": {}}}
    try:
        NotebookClient(run, timeout=NOTEBOOK_SECONDS, **options).execute()
    except (CellExecutionError, CellTimeoutError) as error:
        raise RuntimeError(getattr(error, "evalue", str(error))) from error
    copy = from_dict(notebook)
    for index, cell in answers.items():
        copy.cells[index].source = "".join(output.text for output in cell.outputs).rstrip("\n")
    return without_guide(copy)


def _error(ename, evalue):
    return {"ename": ename, "evalue": evalue, "traceback": [f"{ename}: {evalue}"]}
