import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.suite.labs.masters import for_course, solved

FUNCTION = """\
def share(table):
    ### BEGIN SOLUTION
    return table.mean()
    ### END SOLUTION"""
TEST = """\
assert share(one) == 1
### BEGIN HIDDEN TESTS
assert share(another) == 0.5
### END HIDDEN TESTS"""
ESSAY = """\
### BEGIN SOLUTION
**Strong.** Because the sample is small.
### END SOLUTION"""


def graded(name, points, solution):
    return {"nbgrader": {"grade": True, "grade_id": name, "points": points, "solution": solution}}


@pytest.fixture
def master():
    return new_notebook(
        cells=[
            new_code_cell("course = 0", metadata={"tags": ["parameters"]}),
            new_code_cell(FUNCTION, metadata={"nbgrader": {"grade": False, "grade_id": "share", "solution": True}}),
            new_code_cell(TEST, metadata=graded("test-share", 2, False)),
            new_markdown_cell(ESSAY, metadata=graded("why", 3, True)),
        ]
    )


def test_a_course_has_its_number_and_the_master_keeps_its_own(master):
    assert for_course(master, 7).cells[0].source == "course = 7"
    assert master.cells[0].source == "course = 0"
    del master.cells[0]
    with pytest.raises(ValueError, match="a line `course = 0`"):
        for_course(master, 7)


def test_the_solved_version_has_all_but_the_marks(master):
    sources = [cell.source for cell in solved(master).cells]
    assert sources[1:] == [
        "def share(table):\n    return table.mean()",
        "assert share(one) == 1\nassert share(another) == 0.5",
        "**Strong.** Because the sample is small.",
    ]
