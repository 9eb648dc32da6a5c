"""What is handed in, by nbgrader's own autograder: the points that it gets, and what the teacher is told."""

import ast
import json
import re
import symtable

import pytest
from graded_labs import errors, secrets
from nbformat.v4 import new_code_cell

from fairlab.suite.labs.course import cards
from fairlab.suite.labs.masters import exercises, marks, read

GRADED = [lab for lab in cards() if lab.mistakes]
EVERY = pytest.mark.parametrize("card", GRADED, ids=lambda card: card.key)
ALL, NONE, OTHERS, VALUES = "all", "none", "all but the first", "those of exercises that ask for no function"

# Own cells, put behind the given imports.
NO_TEST = "expect = require = lambda *given, **more: None"
NO_LIBRARY_TEST = "import fairlab.suite.labs as labs\n\nlabs.expect = labs.require = lambda *given, **more: None"
# Bodies of answers: of all, or of the first. The right one has the name `right_answer`.
WARNS = "import warnings; warnings.warn('slow', stacklevel=1); return right_answer(*given, **more)"
CONSTANT = (
    "kept = right_answer.__dict__; kept['x'] = kept.get('x') or [right_answer(*given, **more)]; return kept['x'][0]"
)
PEEKS = "return globals().get('right', globals().get('found'))"
SHOWS_A_NUMBER = "get_ipython().displayhook(1)"
ENDLESS = "while True: pass"
UNSTOPPABLE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n    while True: pass"
ENDS_THE_KERNEL = "import os; os._exit(0)"


def is_test(cell):
    return cell.cell_type == "code" and marks(cell).get("grade")


def functions(notebook):
    """Return the cells whose answers are functions and the names of their tests, by the functions' names."""
    found, answer = {}, None
    for cell in notebook.cells:
        if marks(cell).get("solution"):
            answer = cell
        elif is_test(cell) and isinstance(ast.parse(answer.source).body[-1], ast.FunctionDef):
            found[ast.parse(answer.source).body[-1].name] = (answer, marks(cell)["grade_id"])
    return found


def with_bodies(body, only_first=False):
    """Return a change: answers that are functions do something else."""

    def change(notebook):
        for name, (cell, _) in list(functions(notebook).items())[: 1 if only_first else None]:
            own = f"right_{name}"
            text = body.replace("right_answer", own)
            cell.source += f"\n\n\n{own} = {name}\n\n\ndef {name}(*given, **more):\n    {text}"

    return change


def with_cell(source):
    def change(notebook):
        imports = next(i for i, cell in enumerate(notebook.cells) if "fairlab.suite.labs import" in cell.source)
        notebook.cells.insert(imports + 1, new_code_cell(source))

    return change


def edited(notebook):
    for cell in filter(is_test, notebook.cells):
        cell.source = "pass"


def marked_otherwise(notebook):
    for cell in filter(is_test, notebook.cells):
        cell.metadata["tags"] = ["skip-execution"]
        marks(cell).update(points=100, schema_version=99)


def deleted(notebook):
    notebook.cells = [cell for cell in notebook.cells if not is_test(cell)]


def all_deleted(notebook):
    notebook.cells = [cell for cell in notebook.cells if not marks(cell)]


# What is handed in: whether the answers are right, what is changed, the points, what the teacher is told of tests.
SUBMISSIONS = {
    "correct": (True, None, ALL, None),
    "empty": (False, None, NONE, None),
    "correct, with warnings": (True, with_bodies(WARNS), ALL, None),
    "constants": (True, with_bodies(CONSTANT), VALUES, None),
    "answers of the tests": (True, with_bodies(PEEKS), VALUES, None),
    "shows a number": (True, with_bodies(SHOWS_A_NUMBER), VALUES, None),
    "tests edited": (False, edited, NONE, "`{test}` was changed"),
    "tests marked otherwise": (False, marked_otherwise, NONE, None),
    "correct, tests deleted": (True, deleted, ALL, "`{test}` was deleted"),
    "answers and tests deleted": (False, all_deleted, NONE, "`{test}` was deleted"),
    "expect replaced": (False, with_cell(NO_TEST), NONE, None),
    "expect replaced in the library": (False, with_cell(NO_LIBRARY_TEST), None, "points by tests are invalid"),
    "endless loop": (True, with_bodies(ENDLESS, True), OTHERS, "`{test}` stopped: it took longer than"),
    "endless loop that cannot be stopped": (
        True,
        with_bodies(UNSTOPPABLE, True),
        OTHERS,
        "`{test}` could not be stopped",
    ),
    "os._exit": (True, with_bodies(ENDS_THE_KERNEL, True), OTHERS, "`{test}` ended the kernel"),
}
CHEAP = {"correct", "empty"}  # and of the first lab all
CASES = [
    pytest.param(lab, name, id=f"{lab.key}-{name}", marks=[] if lab.number == 1 or name in CHEAP else pytest.mark.slow)
    for lab in GRADED
    for name in SUBMISSIONS
]


@pytest.mark.parametrize(("lab", "name"), CASES)
def test_a_submission_gets_its_points_and_the_teacher_is_told(grading, lab, name):
    right, change, expected, told = SUBMISSIONS[name]
    submission = grading.answered(lab) if right else grading.release(lab)
    of_functions = [test for _, test in functions(submission).values()]
    if change:
        change(submission)
    hangs = "loop" in name
    points, graded = grading.grade(lab, name, submission, seconds=10 if hangs and lab.number == 1 else 60)

    full = {each.name: each.points for each in exercises(graded) if not each.is_manual}
    lost = {ALL: set(), NONE: set(full), OTHERS: set(of_functions[:1]), VALUES: set(of_functions)}
    if expected:
        assert {test: points[test] for test in full} == {
            test: 0 if test in lost[expected] else full[test] for test in full
        }
    top = graded.cells[0].source
    assert ("Warnings from grading" in top) == (told is not None), top
    if told:
        assert told.format(test=of_functions[0]) in top
    if name == "correct":
        assert errors(graded) == {}
    if name == "empty":
        assert set(errors(graded)) == set(full), "errors in graded cells only"


@EVERY
def test_a_cell_uses_no_other_test_and_a_test_imports_what_it_uses(card):
    """So that an exercise that hangs costs its own points, and names that a student gave away do no harm."""
    notebook = read(card.notebook)
    code = [
        cell for cell in notebook.cells if cell.cell_type == "code" and "guide" not in cell.metadata.get("tags", [])
    ]
    imported = set().union(*(imports(cell.source) for cell in code))
    given, asked, solution = set(), set(), ""
    for cell in code:
        names = names_read(cell.source)
        if is_test(cell):
            names -= names_set(solution)
            assert not names & imported, cell.source
        assert not names & asked - given, cell.source
        if marks(cell).get("solution"):
            solution = cell.source
        if is_test(cell) or marks(cell).get("solution"):
            asked |= names_set(cell.source)
        else:
            given |= names_set(cell.source)


def names_set(source):
    return {name.get_name() for name in symtable.symtable(source, "cell", "exec").get_symbols() if name.is_local()}


def names_read(source):
    return names_global(symtable.symtable(source, "cell", "exec")) - names_set(source)


def names_global(table):
    own = {name.get_name() for name in table.get_symbols() if name.is_global()}
    return own.union(*map(names_global, table.get_children()))


def imports(source):
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(alias.asname or alias.name).partition(".")[0] for node in nodes for alias in node.names}


@EVERY
def test_a_release_holds_no_solution_and_no_hidden_test(grading, card):
    master = read(card.notebook)
    hidden = secrets(master)
    assert len(hidden) >= len(exercises(master)), "solutions and hidden tests are marked"
    text = json.dumps(grading.release(card), ensure_ascii=False)
    assert not re.search("SOLUTION|HIDDEN", text)
    assert not [line for line in hidden if json.dumps(line, ensure_ascii=False)[1:-1] in text]
    assert not any(cell.get("outputs") for cell in grading.release(card).cells)
