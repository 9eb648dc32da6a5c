"""The texts of a lab for one course: numbers computed from its data, and statements about them checked."""

from collections.abc import Sequence

from fairlab.checks import optional
from fairlab.suite.labs.masters import NOTEBOOK_SECONDS, QUIET, marks, solved, without_guide

nbclient = optional("nbclient")
nbformat = optional("nbformat")


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
            run.cells[index] = answers[index] = nbformat.v4.new_code_cell(f'print(rf"""{cell.source}\n""")')
    options = {"kernel_name": kernel_name, "extra_arguments": extra_arguments, "resources": {"metadata": {}}}
    try:
        nbclient.NotebookClient(run, timeout=NOTEBOOK_SECONDS, **options).execute()
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
        raise RuntimeError(getattr(error, "evalue", str(error))) from error
    copy = nbformat.from_dict(notebook)
    for index, cell in answers.items():
        copy.cells[index].source = "".join(output.text for output in cell.outputs).rstrip("\n")
    return without_guide(copy)
