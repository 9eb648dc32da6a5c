import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.cli import main
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


@pytest.mark.parametrize(("source", "status"), [("1", 0), ("1 / 0", 1)])
def test_the_command_ends_with_1_if_a_test_fails(tmp_path, capsys, source, status):
    cell = new_code_cell(source, metadata=graded("test-it", 1))
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "mine.ipynb")
    assert main(["labs", "check", str(tmp_path / "mine.ipynb")]) == status
    assert f"{1 - status} of 1 points" in capsys.readouterr().out


def test_uncheckable_notebooks_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        check(tmp_path / "none.ipynb")
    nbformat.write(new_notebook(), tmp_path / "empty.ipynb")
    with pytest.raises(ValueError, match="is it the notebook of a lab"):
        check(tmp_path / "empty.ipynb")
