import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.suite.labs.masters import card, cards, exercises, for_course, read, solved

GRADED = [lab for lab in cards() if lab.mistakes]
EVERY = pytest.mark.parametrize("lab", GRADED, ids=lambda lab: lab.key)
LEVELS = ("**Rubric.**", "**Strong (", "**Middling (", "**Weak (")
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


def test_labs_are_numbered_and_found_by_number_and_name():
    assert [lab.number for lab in cards()] == sorted(lab.number for lab in cards())
    assert card("1") is card("berkeley") is card("lab1-berkeley")
    with pytest.raises(KeyError, match="did you mean 'berkeley'"):
        card("berkley")


@EVERY
def test_exercises_are_numbered_and_have_25_points_and_a_rubric_or_tests(lab):
    notebook = read(lab.notebook)
    texts = [cell.source for cell in notebook.cells]
    numbers = re.findall(r"^\*\*Exercise (\d+)\.\*\*", "\n".join(texts), flags=re.MULTILINE)
    graded = exercises(notebook)
    assert list(map(int, numbers)) == list(range(1, len(graded) + 1))
    assert sum(exercise.points for exercise in graded) == 25
    is_manual = {exercise.name for exercise in graded if exercise.is_manual}
    assert is_manual
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") in is_manual:
            assert all(level in cell.source for level in LEVELS), cell.source[:80]


@EVERY
def test_the_mistakes_of_a_card_are_named_by_its_tests(lab):
    sources = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in read(lab.notebook).cells}
    for mistake in lab.mistakes:
        assert mistake.message in sources[mistake.test]
