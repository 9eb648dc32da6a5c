import ast
import re
from textwrap import dedent

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from fairlab.suite.labs.course import card, cards
from fairlab.suite.labs.masters import exercises, for_course, marks, read, solved, without_guide

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
    assert [lab.number for lab in cards()] == list(range(1, len(cards()) + 1))
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


SOLUTION = re.compile(r"[ \t]*### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)
HINTS = re.compile("<details>.*?</details>", re.DOTALL)


def n_lines(source):
    return sum(bool(line.strip()) for line in source.splitlines())


@EVERY
def test_a_lab_takes_ninety_minutes_by_the_rule_of_the_teachers_page(lab):
    """100 words or 5 lines of code are read in a minute, a line is written in 1.5, a manual point takes 3."""
    words = read_lines = written = 0
    for cell in without_guide(read(lab.notebook)).cells:
        if cell.cell_type == "markdown" and not marks(cell).get("solution"):
            words += len(HINTS.sub("", cell.source).split())
        elif cell.cell_type == "code":
            written += sum(map(n_lines, SOLUTION.findall(cell.source)))
            read_lines += n_lines(HIDDEN.sub("", SOLUTION.sub("", cell.source)))
    manual = sum(exercise.points for exercise in exercises(read(lab.notebook)) if exercise.is_manual)
    assert words / 100 + read_lines / 5 + 1.5 * written + 3 * manual <= lab.minutes == 90


@pytest.mark.parametrize("lab", cards(), ids=lambda lab: lab.key)
def test_a_lab_has_the_law_in_ten_lines_and_its_figures_in_words(lab):
    cells = read(lab.notebook).cells
    (law,) = [cell.source for cell in cells if "law" in cell.metadata.get("tags", ())]
    assert law.count("\n") <= 9
    subjects = ("as of 2026-11", "not legal advice", "mpact", "Four fifths", "Justification", "AI Act", "city's audit")
    assert all(subject in law for subject in (*subjects, "Sources", "May have changed", "docs/labs.md"))
    for number, cell in enumerate(cells):
        if cell.cell_type == "code" and re.search(r"\.show\(\)|\.plot\(\)\)", cell.source):
            following = next(each.source for each in cells[number:] if each.cell_type == "markdown")
            assert "*The figure in words.*" in following, cell.source
            assert not ("tab:red" in cell.source and "tab:green" in cell.source)


@EVERY
def test_a_released_test_does_not_hold_the_code_of_its_answer(lab):
    """No expression of a solution, and no expected value that is computed by a formula."""
    answer = ""
    for cell in read(lab.notebook).cells:
        answer = cell.source if marks(cell).get("solution") else answer
        if cell.cell_type == "code" and marks(cell).get("grade"):
            tree = ast.parse(HIDDEN.sub("", cell.source))
            own = {ast.unparse(node) for block in SOLUTION.findall(answer) for node in phrases(block)}
            shown = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr)}
            assert not own & shown, cell.source
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "expect":
                    formulas = (ast.Pow, ast.MatMult)
                    assert not [node for node in ast.walk(call.args[2]) if isinstance(node, formulas)], cell.source


def phrases(block):
    """Return the expressions of a solution that compute something: operations and calls of more than a few letters."""
    tree = ast.parse(dedent(block))
    kinds = (ast.BinOp, ast.Call, ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp, ast.Lambda)
    return [node for node in ast.walk(tree) if isinstance(node, kinds) and len(ast.unparse(node)) >= 16]
