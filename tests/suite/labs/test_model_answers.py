import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

pytest.importorskip("nbclient")
from fairlab.suite.labs.running import with_numbers

ANSWER = """\
### BEGIN SOLUTION
**Strong.** "It's {share:.0%} of {'all'}, $\\alpha = {{1}}$."
### END SOLUTION"""


def master(test):
    solution = {"nbgrader": {"grade": True, "grade_id": "why", "points": 1, "solution": True}}
    return new_notebook(
        cells=[
            new_code_cell("### BEGIN SOLUTION\nshare = 0.25\n### END SOLUTION"),
            new_code_cell(f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS"),
            new_code_cell("share = 2 * share", metadata={"tags": ["guide"]}),
            new_markdown_cell("Leave {this}."),
            new_markdown_cell(ANSWER, metadata=solution),
        ]
    )


def test_model_answers_have_their_numbers_and_the_rest_stays():
    notebook = master("assert share == 0.25")
    copy = with_numbers(notebook)
    assert copy.cells[-1].source.splitlines()[1] == '**Strong.** "It\'s 50% of all, $\\alpha = {1}$."'
    assert [cell.source for cell in copy.cells[:-1]] == [notebook.cells[i].source for i in (0, 1, 3)]
    assert notebook.cells[-1].source == ANSWER


def test_a_course_whose_solution_fails_is_refused():
    with pytest.raises(RuntimeError, match="a quarter"):
        with_numbers(master("assert share == 0.5, 'a quarter'"))
