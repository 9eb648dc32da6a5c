"""Notebooks of labs are run, checked, graded and filled with their numbers."""

import json
import re
import sys
from copy import deepcopy

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from fairlab.checks import MissingExtraError, optional
from fairlab.cli import main
from fairlab.labs.checking import Line, as_text, check
from fairlab.labs.grading import restore_cells
from fairlab.labs.running import ResilientExecute, with_numbers


def graded(name, points, solution=False, **more):
    return {"nbgrader": {"grade": True, "grade_id": name, "points": points, "solution": solution} | more}


NO_TEST = "expected a test, found "
COPIED = "2 cells have this name, expected one: delete the copies"
# Cells, each with the line that it gets, if any.
CHECKED = [
    (new_code_cell("share = 2\nmissing"), Line("cell 1", "error", 0, "NameError: name 'missing' is not defined")),
    (
        new_code_cell("from fairlab.labs import expect\nimport pandas as pd\npd.DataFrame({'age': [1]})['aeg']"),
        Line("cell 2", "error", 0, "KeyError: \"aeg. There are 'age'\""),  # from the library's import on
    ),
    (new_code_cell("raise type('\\x1b[31mError', (Exception,), {})"), Line("cell 3", "error", 0, r"\x1b[31mError")),
    (new_code_cell("assert share == 2", metadata=graded("one", 2)), Line("one", "ok", 2)),
    (
        new_code_cell("raise AssertionError('share: expected 1,\\n found 2.')", metadata=graded("two", 3)),
        Line("two", "not yet", 3, "AssertionError: share: expected 1, found 2."),
    ),
    (new_markdown_cell("Because.", metadata=graded("why", 4, True)), Line("why", "manual", 4)),
    # messages are cut and obey no codes of a terminal
    (
        new_code_cell(f"raise ValueError('x' * {10**6})", metadata=graded("long", 1)),
        Line("long", "not yet", 1, f"ValueError: {'x' * 500}..."),
    ),
    (
        new_code_cell("raise ValueError('\\x1b[2J\\x07\\u202ered\\n\\tblue')", metadata=graded("codes", 1)),
        Line("codes", "not yet", 1, r"ValueError: \x1b[2J\x07\u202ered blue"),
    ),
    (new_code_cell("assert 1", metadata=graded("\x1b[2Jname", 1)), Line(r"\x1b[2Jname", "ok", 1)),
    # what was not run as the only test of its name has not passed
    (new_markdown_cell("assert 0", metadata=graded("text", 1)), Line("text", "not yet", 1, f"{NO_TEST}markdown")),
    (new_markdown_cell("What is 0?", metadata=graded("words", 1)), Line("words", "not yet", 1, f"{NO_TEST}markdown")),
    (new_raw_cell("assert 0", metadata=graded("raw text", 1)), Line("raw text", "not yet", 1, f"{NO_TEST}raw")),
    (new_code_cell(" \n", metadata=graded("empty", 1)), Line("empty", "not yet", 1, f"{NO_TEST}code without one")),
    (
        new_code_cell("# expect(answer)\nprint('Passed: 1 point.')", metadata=graded("hollow", 1)),
        Line("hollow", "not yet", 1, f"{NO_TEST}code without one"),
    ),
    (
        new_code_cell("assert False", metadata=graded("skipped", 2) | {"tags": ["skip-execution"]}),
        Line("skipped", "not yet", 2, "AssertionError"),
    ),
    (new_code_cell("assert True", metadata=graded("copied", 3)), Line("copied", "not yet", 3, COPIED)),
    (new_code_cell("assert False", metadata=graded("copied", 3)), None),
    (new_markdown_cell("Because.", metadata=graded("twice", 4, True)), Line("twice", "not yet", 4, COPIED)),
    (new_markdown_cell("Because.", metadata=graded("twice", 4, True)), None),
    (
        new_code_cell("assert True", metadata=graded("own", 1) | {"tags": ["raises-exception"]}),
        Line("own", "ok", 1),
    ),
]


def test_a_notebook_is_run_in_a_copy_and_every_test_gets_a_line(tmp_path, capfd):
    cells, expected = zip(*CHECKED, strict=True)
    nbformat.write(new_notebook(cells=list(cells)), tmp_path / "mine.ipynb")
    before = (tmp_path / "mine.ipynb").read_bytes()
    lines = check(tmp_path / "mine.ipynb")
    assert lines == [line for line in expected if line]
    assert (tmp_path / "mine.ipynb").read_bytes() == before
    assert capfd.readouterr().err == "", "the kernel warns of nothing that is not a student's matter"
    assert re.search("4 of 23 points by the visible tests.*4 points are graded manually", as_text(lines), re.DOTALL)


@pytest.mark.parametrize(("source", "status"), [("assert 1", 0), ("1 / 0", 1)])
def test_the_command_ends_with_1_if_a_test_fails(tmp_path, capsys, source, status):
    cell = new_code_cell(source, metadata=graded("test-it", 1))
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "mine.ipynb")
    assert main(["labs", "check", str(tmp_path / "mine.ipynb")]) == status
    assert f"{1 - status} of 1 points" in capsys.readouterr().out


def of_cell(**changes):
    cell = {"cell_type": "code", "source": "1", "metadata": graded("a", 1), "outputs": [], "execution_count": None}
    return {"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": [cell | changes]}


def marked(**changes):
    return of_cell(metadata={"nbgrader": graded("a", 1)["nbgrader"] | changes})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((content, "not a notebook") for content in ([], 3, None, "x", {}, {"nbformat": 4}, {"nbformat": "4"})),
        *(({"nbformat": major, "worksheets": 3}, "not a notebook") for major in (1, 2, 3, 99)),
        *((of_cell() | {"cells": cells}, "not a notebook") for cells in (3, [3], [{}], [{"cell_type": "code"}])),
        *((of_cell(source=source), "not a notebook") for source in (3, [1])),
        *((of_cell(outputs=outputs), "not a notebook") for outputs in (3, [{}], [{"output_type": "error"}])),
        *((of_cell(**{key: []}), "not a notebook") for key in ("metadata", "cell_type")),
        *((of_cell() | {"metadata": data}, "not a notebook") for data in ([], {"kernelspec": 3})),
        *((marked(grade_id=name), "cell 1: expected a name as grade_id") for name in (None, "", ["\x1b[2Ja"], {})),
        *((marked(points=points), "and points, found") for points in ("1", None, [])),
        (of_cell() | {"cells": []}, "no cell is graded, as in lab 10, or it is not the notebook of a lab"),
        *(
            (content, "odd.ipynb: not a notebook (")
            for content in (b"", b"[" * 100_000, b"\xff\xfe\x00", b'{"nbformat": 4')
        ),
    ],
)
def test_odd_notebooks_are_refused_in_a_line(tmp_path, capsys, content, message):
    (tmp_path / "odd.ipynb").write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    assert main(["labs", "check", str(tmp_path / "odd.ipynb")]) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fairlab")]
    assert message in line and "\x1b" not in line and len(line) < 1_000


UNSTOPPABLE = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(0.1)"


def run(*sources, **options):
    """Return what each cell printed or raised, and why some were not run to their ends."""
    runner = ResilientExecute(kernel_name="python3", **options)
    runner.log.setLevel("CRITICAL")
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    before = nbformat.writes(notebook)
    done, _ = runner.preprocess(notebook, {"metadata": {}})
    assert nbformat.writes(notebook) == before
    shown = [[output.get("text", output.get("ename")) for output in cell.outputs] for cell in done.cells]
    return shown, {index: error.evalue for index, error in runner.lost.items()}


@pytest.mark.parametrize(
    ("bad", "error", "why"),
    [
        ("while True: pass", "CellTimeoutError", "did not end within 3 seconds"),
        (UNSTOPPABLE, "CellTimeoutError", "did not end within 3 seconds"),
        ("while True: print('x' * 1000)", "CellTimeoutError", "did not end within 3 seconds"),
        ("import os; os._exit(0)", "DeadKernelError", "ended the kernel"),
    ],
)
def test_what_comes_before_and_after_a_bad_cell_is_run(bad, error, why):
    shown, lost = run("a = 1; print(0)", bad, "print(a)", "1 / 0", timeout=3)
    assert [cell[0] for cell in shown] == ["0\n", error, "1\n", "ZeroDivisionError"]
    assert lost == {1: f"{why}; the other cells were run without it"}


def test_what_a_cell_prints_is_kept_up_to_a_limit_and_its_error_is_kept():
    [[*printed, error], after], _ = run("for _ in range(300): print('x' * 10_000, flush=True)\n1 / 0", "print('next')")
    assert 0 < sum(map(len, printed)) <= 1_000_000
    assert (error, "".join(after)) == ("ZeroDivisionError", "next\n")  # printed in one message or two


def test_an_error_that_a_cell_does_not_show_is_an_error():
    hidden = "shell = get_ipython()\nshell.showtraceback = shell._showtraceback = lambda *given, **more: None"
    assert run(hidden, "1 / 0", "print(1)")[0] == [[], ["ZeroDivisionError"], ["1\n"]]


ANSWER = """\
### BEGIN SOLUTION
**Strong.** "It's {share:.0%} of {'all'}, $\\alpha = {{1}}$."
### END SOLUTION"""


def master(test):
    return new_notebook(
        cells=[
            new_code_cell("### BEGIN SOLUTION\nshare = 0.25\n### END SOLUTION"),
            new_code_cell(f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS"),
            new_code_cell("share = 2 * share", metadata={"tags": ["guide"]}),
            new_markdown_cell("Leave {this}."),
            new_markdown_cell(ANSWER, metadata=graded("why", 1, solution=True)),
        ]
    )


def test_model_answers_have_their_numbers_and_the_rest_stays():
    notebook = master("assert share == 0.25")
    copy = with_numbers(notebook)
    assert copy.cells[-1].source.splitlines()[1] == '**Strong.** "It\'s 50% of all, $\\alpha = {1}$."'
    assert [cell.source for cell in copy.cells[:-1]] == [notebook.cells[i].source for i in (0, 1, 3)]
    assert notebook.cells[-1].source == ANSWER


def test_a_course_whose_solution_fails_is_refused():
    with pytest.raises(CellExecutionError, match="a quarter"):
        with_numbers(master("assert share == 0.5, 'a quarter'"))


@pytest.fixture
def released():
    return new_notebook(
        cells=[
            new_code_cell("table = read()"),
            new_code_cell("def share(table): ...", metadata=graded("share", 2, True, grade=False)),
            new_code_cell("assert share(table) == 1", metadata=graded("test-share", 2)),
            new_markdown_cell("*Your answer here.*", metadata=graded("why", 2, True)),
        ]
    )


def sources(notebook):
    return [cell.source for cell in notebook.cells]


def test_answers_and_own_cells_are_kept(released):
    theirs = deepcopy(released)
    theirs.cells[1].source = "def share(table): return 1"
    theirs.cells[3] |= {"source": "Because.", "attachments": {"a.png": {"image/png": "AA=="}}}
    theirs.cells.insert(0, new_code_cell("1 + 1", metadata={"tags": ["mine"]}))
    theirs.cells[3].metadata = graded("test-share", 40)
    restored, points = restore_cells(theirs, released)
    assert points == ["`test-share`: its points were changed and have been restored."]
    theirs.cells[3].metadata = restored.cells[3].metadata
    restored, noticed = restore_cells(theirs, released)
    assert (sources(restored), noticed) == (sources(theirs), [])
    assert restored.cells[4].attachments


def test_changed_or_deleted_cells_are_restored(released):
    theirs = deepcopy(released)
    theirs.cells[2] = new_markdown_cell("pass", metadata=graded("test-share", 99, grade=False))
    theirs.cells.append(new_code_cell("pass", metadata=graded("test-share", 2)))
    restored, noticed = restore_cells(theirs, released)
    added = [*((cell.source, cell.metadata) for cell in released.cells), ("pass", {})]
    assert [(cell.source, cell.metadata) for cell in restored.cells] == added
    assert noticed == ["`test-share` was changed and has been graded in its original version."]
    restored, noticed = restore_cells(new_notebook(cells=[new_code_cell("1", metadata={"nbgrader": "?"})]), released)
    told = [f"`{name}` was deleted and has been restored." for name in ("share", "test-share", "why")]
    assert (sources(restored), noticed) == ([*sources(released)[1:], "1"], told)


def test_cells_in_another_order_are_said(released):
    theirs = new_notebook(cells=[deepcopy(cell) for cell in reversed(released.cells)])
    assert restore_cells(theirs, released)[1] == [
        "The cells are in a different order than in the lab, and were run in that order."
    ]


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    nbformat.write(new_notebook(), tmp_path / "lab.ipynb")
    monkeypatch.setitem(sys.modules, "nbformat", None)
    monkeypatch.setattr("fairlab.labs.masters.nbformat", optional("nbformat"))
    with pytest.raises(MissingExtraError, match="extra 'suite'"):
        check(tmp_path / "lab.ipynb")
