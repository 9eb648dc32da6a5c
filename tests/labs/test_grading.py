"""What students get, and what they hand in, by nbgrader's own autograder: its points, and what the teacher is told."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
import yaml
from graded_labs import (
    COURSE,
    EVERY,
    GRADED,
    Grading,
    answers_and_tests,
    errors,
    function_of,
    is_test,
    secrets,
    with_answers,
)
from nbformat.v4 import new_code_cell
from toy_project import write_program
from traitlets.config import PyFileConfigLoader

from fairlab.data.project import project
from fairlab.labs.course import build, card
from fairlab.labs.masters import exercises, marks, read
from fairlab.paths import write_text

ALL, NONE, OTHERS, VALUES = "all", "none", "all but the first", "those of exercises that ask for no function"

# Own cells, put behind the given imports.
# Bodies of answers: of all, or of the first. The right one has the name `right_answer`.
WARNS = "import warnings; warnings.warn('slow', stacklevel=1); return right_answer(*given, **more)"
CONSTANT = (
    "kept = right_answer.__dict__; kept['x'] = kept.get('x') or [right_answer(*given, **more)]; return kept['x'][0]"
)


@pytest.fixture(scope="session")
def grading(tmp_path_factory):
    """Return a course with data and numbers of its own."""
    return Grading(tmp_path_factory.mktemp("course"))


def functions(notebook):
    """Return the cells whose answers are functions and the names of their tests, by the functions' names."""
    pairs = [(answer, test) for answer, test in answers_and_tests(notebook) if function_of(answer.source)]
    return {function_of(answer.source).name: (answer, marks(test)["grade_id"]) for answer, test in pairs}


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
        imports = next(i for i, cell in enumerate(notebook.cells) if "fairlab.labs import" in cell.source)
        notebook.cells.insert(imports + 1, new_code_cell(source))

    return change


def marked_otherwise(notebook):
    for cell in filter(is_test, notebook.cells):
        cell.metadata["tags"] = ["skip-execution"]
        marks(cell).update(points=100, schema_version=99)


def deleted(notebook):
    notebook.cells = [cell for cell in notebook.cells if not is_test(cell)]


# What is handed in: whether the answers are right, what is changed, the points, what the teacher is told of tests.
SUBMISSIONS = {
    "correct": (True, None, ALL, None),
    "empty": (False, None, NONE, None),
    "correct, with warnings": (True, with_bodies(WARNS), ALL, None),
    "constants": (True, with_bodies(CONSTANT), VALUES, None),
    "answers of the tests": (
        True,
        with_bodies("return globals().get('right', globals().get('found'))"),
        VALUES,
        "outside the notebook (`globals`)",
    ),
    "shows a number": (
        True,
        with_bodies("get_ipython().displayhook(1)"),
        VALUES,
        "outside the notebook (`get_ipython`)",
    ),
    "tests marked otherwise": (False, marked_otherwise, NONE, "`{test}`: its points were changed"),
    "correct, tests deleted": (True, deleted, ALL, "`{test}` was deleted"),
    "expect replaced": (False, with_cell("expect = require = lambda *given, **more: None"), NONE, None),
    "expect replaced in the library": (
        False,
        with_cell("import fairlab.labs as labs\n\nlabs.expect = labs.require = lambda *given, **more: None"),
        None,
        "points from tests are invalid",
    ),
    "endless loop": (True, with_bodies("while True: pass", True), OTHERS, "`{test}` did not end within"),
    "endless loop that cannot be stopped": (
        True,
        with_bodies("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n    while True: pass", True),
        OTHERS,
        "`{test}` did not end within",
    ),
    "os._exit": (True, with_bodies("import os; os._exit(0)", True), OTHERS, "`{test}` ended the kernel"),
}


# What depends on a lab's own tests is tried on every lab; the rest is a matter of nbgrader and its settings.
OF_EVERY_LAB = ("correct", "constants", "answers of the tests", "expect replaced", "os._exit")


@pytest.mark.parametrize(
    ("lab", "name"),
    [
        pytest.param(
            lab,
            name,
            id=f"{lab.key}-{name}",
            marks=pytest.mark.slow if "loop" in name or (lab.number > 1 and name != "correct") else (),
        )
        for lab in GRADED
        for name in (SUBMISSIONS if lab.number == 1 else OF_EVERY_LAB)
    ],
)
def test_a_submission_gets_its_points_and_the_teacher_is_told(grading, lab, name):
    right, change, expected, told = SUBMISSIONS[name]
    submission = grading.answered(lab) if right else grading.release(lab)
    of_functions = [test for _, test in functions(submission).values()]
    if change:
        change(submission)
    points, graded = grading.grade(lab, name, submission, **({"seconds": 10} if "loop" in name else {}))

    full = points_of_tests(graded)
    lost = {ALL: set(), NONE: set(full), OTHERS: set(of_functions[:1]), VALUES: set(of_functions)}
    if expected:
        assert {test: points[test] for test in full} == full | dict.fromkeys(lost[expected], 0)
    top = graded.cells[0].source
    assert ("Warnings from grading" in top) == (told is not None), top
    assert (told or "").format(test=of_functions[0]) in top
    if name in ("correct", "empty", "expect replaced"):
        assert set(errors(graded)) == lost[expected], "errors in graded cells only"


def points_of_tests(notebook):
    return {each.grade_id: each.points for each in exercises(notebook) if not each.solution}


def test_a_teacher_who_grades_by_the_command_is_told_too(grading):
    """The command reads its settings otherwise than the interface by which other tests grade."""
    lab = card("berkeley")
    notebook = grading.answered(lab)
    deleted(notebook)
    write_text(grading.place("command", lab), nbformat.writes(notebook))
    command = [sys.executable, "-m", "nbgrader", "autograde", lab.assignment, "--student", "command"]
    subprocess.run(command, cwd=grading.folder, check=True)
    graded = read(grading.folder / "autograded" / "command" / lab.assignment / lab.notebook.name)
    assert graded.cells[0].source.count("was deleted") == len(list(filter(is_test, graded.cells))) > 0
    assert errors(graded) == {}


@EVERY
def test_a_release_holds_no_solution_and_no_hidden_test(grading, lab):
    hidden = secrets(read(lab.notebook))
    assert len(hidden) >= len(exercises(read(lab.notebook))), "solutions and hidden tests are marked"
    text = json.dumps(grading.release(lab), ensure_ascii=False)
    shown = [line for line in hidden if json.dumps(line, ensure_ascii=False)[1:-1] in text]
    assert shown == re.findall("SOLUTION|HIDDEN", text) == []
    assert not any(cell.get("outputs") for cell in grading.release(lab).cells)


# Common mistakes lose the points of what they get wrong and no others, and the test names the mistake.

WRONG = {path.stem: yaml.safe_load(path.read_text()) for path in Path(__file__).parent.glob("*.yaml")}


def in_rounds(wrong):
    """Return wrong solutions in lists with one of each exercise at most, and none of two exercises in a row."""
    place, rounds = {test: k for k, test in enumerate(dict.fromkeys(one["test"] for one in wrong))}, []
    for one in wrong:
        apart = (all(abs(place[one["test"]] - place[other["test"]]) > 1 for other in each) for each in rounds)
        free = next((each for each, is_free in zip(rounds, apart, strict=True) if is_free), None)
        rounds.append([one]) if free is None else free.append(one)
    return rounds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "wrong"),
    [pytest.param(key, each, id=f"{key}-{n}") for key in WRONG for n, each in enumerate(in_rounds(WRONG[key]))],
)
def test_wrong_solutions_lose_their_points_alone_and_their_mistakes_are_named(grading, request, key, wrong):
    """The exercises before and after a wrong one are right."""
    wrong, notebook = {one["test"]: one for one in wrong}, grading.solved(card(key))
    cells = {marks(cell).get("grade_id"): cell for cell in notebook.cells}
    for one in wrong.values():
        cells[one["cell"]].source = one["code"]
    points, graded = grading.grade(card(key), request.node.callspec.id, notebook)
    full, found = points_of_tests(graded), errors(graded)
    assert {name: points[name] for name in full} == full | dict.fromkeys(wrong, 0)
    assert found.keys() == wrong.keys()
    assert [test for test, one in wrong.items() if one["message"] not in found[test]] == []


# In every course the solutions pass and the data are as the texts tell.

NUMBER = re.compile(r"\d+[.,]\d+|\d{3,}|\d+%")  # others of one or two digits are too many


def answers(notebook):
    """Return the rubrics, in which every number has been filled in."""
    text = "\n".join(cell.source for cell in notebook.cells if marks(cell).get("solution") and "Rubric" in cell.source)
    assert not re.search(r"[{}]|\bnan\b", text)
    return text


@pytest.mark.parametrize(
    "lab", [pytest.param(lab, id=lab.key, marks=() if lab.number in (4, 9) else pytest.mark.slow) for lab in GRADED]
)
def test_released_tests_do_not_hold_the_values_of_the_answers(grading, lab):
    filled = set(NUMBER.findall(answers(grading.with_numbers(lab, COURSE))))
    known = "".join(cell.source for cell in read(lab.notebook).cells if marks(cell).get("solution"))
    values = {f"{int(one[:-1]) / 100:.2f}" if "%" in one else one for one in filled - set(NUMBER.findall(known))}
    one_digit = re.compile(r"0*[.,]?0*\d([.,]0+)?")  # as 0.1 or 3.0, which is no answer's alone
    values = {one for one in values if not one_digit.fullmatch(one)}
    shown = "\n".join(cell.source for cell in grading.release(lab).cells if is_test(cell))
    assert values and not values & set(NUMBER.findall(shown))


@pytest.mark.slow
@EVERY
def test_thirty_courses_are_as_their_texts_tell(grading, lab):
    assert len({answers(grading.with_numbers(lab, course)) for course in (0, 2027, *range(1, 29))}) > 1


# Students' code that is graded in a container sees what was handed in, and neither answers nor the network.

KERNEL = project().labs / "course" / "container" / "kernels" / "contained" / "kernel.sh"
SPY = """\
import os, socket

own = open("own.csv").read()
for folder, within, files in os.walk("/"):
    within[:] = [name for name in within if folder != "/" or name not in ("lab", "proc", "sys", "dev")]
    for file in files:
        assert not file.endswith((".ipynb", ".db")) or "site-packages" in folder, os.path.join(folder, file)
try:
    socket.create_connection(("1.1.1.1", 53), timeout=3)
except OSError:
    print(own)"""


def has_image():
    try:
        return not subprocess.run(["docker", "image", "inspect", "fairlab-labs"], capture_output=True).returncode
    except OSError:
        return False


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a kernel in a container, by an engine that is a script."""

    def start(engine, script, folder):
        write_program(tmp_path / engine, script)
        folder.mkdir(parents=True, exist_ok=True)
        more = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LABS_ENGINE": engine}
        options = {"cwd": folder, "env": os.environ | more, "capture_output": True, "text": True, "check": True}
        return subprocess.run(["sh", KERNEL, "/tmp/labs-1/kernel.json"], **options)

    return start


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_is_given_the_sockets_and_what_was_handed_in(tmp_path, start, engine):
    course, own = tmp_path / "a course", "anna/lab1-berkeley"
    given = start(engine, 'printf "%s\\n" "$@"', course / "autograded" / own).stdout.splitlines()
    assert [(option, value) for option, value in pairwise(given) if option in ("--volume", "--network")] == [
        ("--network", "none"),
        ("--volume", "/tmp/labs-1:/tmp/labs-1"),
        ("--volume", f"{course / 'submitted' / own}:/lab:ro"),
    ]
    wanted = {"--rm", "--read-only"} | ({"keep-id"} if engine == "podman" else set())
    assert {"--rm", "--read-only", "keep-id"} & set(given) == wanted


def test_a_container_that_is_not_there_is_built_from_what_students_get(tmp_path, start):
    said, course = start("docker", '[ "$1" != image ] || exit 1\necho "$*"', tmp_path).stderr, project().labs / "course"
    assert said == f"build --tag fairlab-labs --file {course}/container/Dockerfile {course}/../students\n"


@pytest.mark.parametrize(("engine", "fails", "kernel"), [("podman", 0, "contained"), ("docker", 1, "python3")])
def test_the_container_is_on_where_its_engine_runs(tmp_path, monkeypatch, engine, fails, kernel):
    write_program(tmp_path / engine, f"exit {fails}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PATH", "")
    monkeypatch.setenv("LABS_ENGINE", "")
    settings = PyFileConfigLoader("nbgrader_config.py", path=str(project().labs / "course")).load_config()
    assert settings.ExecutePreprocessor.kernel_name == kernel
    assert os.environ["LABS_ENGINE"] == ("" if fails else engine)


@pytest.mark.slow
@pytest.mark.skipif(not has_image(), reason="needs Docker and the image of docs/labs.md")
def test_code_in_a_container_finds_no_answers_and_is_graded(tmp_path):
    lab = card("berkeley")
    made = build(tmp_path / "made", course=3, labs=[lab])
    course, file = made / "course", f"{lab.assignment}/berkeley.ipynb"
    submission = with_answers(read(course / "release" / file), read(made / "solved" / file))
    submission.cells.append(new_code_cell(SPY))
    write_text(course / "submitted" / "anna" / file, nbformat.writes(submission))
    write_text(course / "submitted" / "anna" / lab.assignment / "own.csv", "mine")
    subprocess.run([sys.executable, "-m", "nbgrader", "autograde", lab.assignment], cwd=course, check=True)
    graded = read(course / "autograded" / "anna" / file)
    assert errors(graded) == {}
    assert graded.cells[-1].outputs[0].text.strip() == "mine"
