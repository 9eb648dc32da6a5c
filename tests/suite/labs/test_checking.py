import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.suite.labs.checking import Line, as_text, check


def graded(name, points, solution=False):
    return {"nbgrader": {"grade": True, "grade_id": name, "points": points, "solution": solution}}


def test_a_notebook_is_run_in_a_copy_and_every_test_gets_a_line(tmp_path, capfd):
    cells = [
        new_code_cell("share = 2\nmissing"),
        new_code_cell("assert share == 2", metadata=graded("test-one", 2)),
        new_code_cell("raise AssertionError('share: expected 1,\\n found 2.')", metadata=graded("test-two", 3)),
        new_markdown_cell("Because.", metadata=graded("why", 4, True)),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "mine.ipynb")
    before = (tmp_path / "mine.ipynb").read_bytes()
    lines = check(tmp_path / "mine.ipynb")
    assert lines == [
        Line("cell 1", "error", 0, "NameError: name 'missing' is not defined"),
        Line("test-one", "ok", 2),
        Line("test-two", "not yet", 3, "AssertionError: share: expected 1, found 2."),
        Line("why", "manual", 4),
    ]
    assert (tmp_path / "mine.ipynb").read_bytes() == before
    assert capfd.readouterr().err == "", "the kernel warns of nothing that is not a student's matter"
    text = as_text(lines)
    assert "2 of 5 points by the visible tests" in text
    assert "4 points are graded manually" in text


def test_an_exercise_that_hangs_is_stopped_and_the_others_are_reported(tmp_path):
    cells = [
        new_code_cell("def share():\n    while True: pass"),
        new_code_cell("assert share() == 1", metadata=graded("test-one", 2)),
        new_code_cell("import os; os._exit(1)", metadata=graded("test-two", 1)),
        new_code_cell("assert callable(share)", metadata=graded("test-three", 3)),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "mine.ipynb")
    one, two, three = check(tmp_path / "mine.ipynb", seconds=5)
    assert one == Line("test-one", "not yet", 2, "CellTimeoutError: stopped: it took longer than 5 seconds")
    assert two.message == "DeadKernelError: ended the kernel; the others were run without it"
    assert three == Line("test-three", "ok", 3)


def test_uncheckable_notebooks_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        check(tmp_path / "none.ipynb")
    nbformat.write(new_notebook(), tmp_path / "empty.ipynb")
    with pytest.raises(ValueError, match="is it the notebook of a lab"):
        check(tmp_path / "empty.ipynb")
