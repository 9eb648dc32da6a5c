import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

pytest.importorskip("nbgrader")
from fairlab.suite.labs.grading import restore_cells


def marked(name, **more):
    given = {"grade": True, "grade_id": name, "points": 2, "solution": False, "locked": True, "schema_version": 3}
    return {"nbgrader": given | more}


@pytest.fixture
def released():
    return new_notebook(
        cells=[
            new_code_cell("table = read()"),
            new_code_cell("def share(table): ...", metadata=marked("share", grade=False, solution=True, locked=False)),
            new_code_cell("assert share(table) == 1", metadata=marked("test-share")),
            new_markdown_cell("*Your answer here.*", metadata=marked("why", solution=True, locked=False)),
        ]
    )


def copy(notebook):
    return type(notebook)({**notebook, "cells": [cell.copy() for cell in notebook.cells]})


def sources(notebook):
    return [cell.source for cell in notebook.cells]


def test_answers_and_own_cells_are_kept(released):
    theirs = copy(released)
    theirs.cells[1].source = "def share(table): return 1"
    theirs.cells[3] |= {"source": "Because.", "attachments": {"a.png": {"image/png": "AA=="}}}
    theirs.cells.insert(0, new_code_cell("1 + 1", metadata={"tags": ["mine"]}))
    restored, noticed = restore_cells(theirs, released)
    assert sources(restored) == [
        "1 + 1",
        "table = read()",
        theirs.cells[2].source,
        released.cells[2].source,
        "Because.",
    ]
    assert restored.cells[4].attachments
    assert noticed == []


def test_changed_or_deleted_cells_are_restored(released):
    theirs = copy(released)
    theirs.cells[2] = new_markdown_cell("pass", metadata=marked("test-share", grade=False, points=99))
    theirs.cells.append(new_code_cell("pass", metadata=marked("test-share")))
    restored, noticed = restore_cells(theirs, released)
    assert sources(restored) == [*sources(released), "pass"]
    assert [cell.metadata for cell in restored.cells] == [*(cell.metadata for cell in released.cells), {}]
    assert noticed == ["`test-share` was changed and has been graded in its original version."]
    restored, noticed = restore_cells(new_notebook(cells=[new_code_cell("1", metadata={"nbgrader": "?"})]), released)
    assert sources(restored) == [*sources(released)[1:], "1"]
    assert noticed == [f"`{name}` was deleted and has been restored." for name in ("share", "test-share", "why")]
