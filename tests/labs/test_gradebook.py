"""From submissions to files for Moodle and Canvas: points, late days, warnings, texts that are alike."""

import csv
import shutil
import subprocess
import sys
from types import SimpleNamespace as Some

import nbformat
import pandas as pd
import pytest
from graded_labs import with_answers
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.apps import ExportApp
from nbgrader.coursedir import CourseDirectory

from fairlab.labs.course import build, card, released
from fairlab.labs.gradebook import (
    EARLIER,
    OTHER_NAME,
    REPLACED,
    UNGRADED,
    LateDays,
    Platforms,
    is_replaced,
    pairs_alike,
)
from fairlab.labs.grading import WARNINGS, reaching
from fairlab.labs.masters import marks, read
from fairlab.paths import write_text

LAB = card("berkeley")
THIEF = """\
import json
from glob import glob

def admission_rates(table):
    (path,) = glob("../../../source/*/berkeley.ipynb")
    cells = json.load(open(path))["cells"]
    (own,) = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == "admission_rates")
    names = {"pd": pd}
    exec("".join(own["source"]), names)
    return names["admission_rates"](table)
"""
LETTERS = {
    "correct": """Dear Anna, men were admitted more often over all, by about fourteen points, since women applied to the
    departments that refuse most people. In department A more women than men got in, but few applied. I cannot see
    your grades in this table, so I cannot tell why you were refused, only that the rates alone do not show bias.""",
    "constants": """The newspaper adds up six departments that have little in common. Where it is easy to get in, men
    apply; where it is hard, women do. Look at one department at a time: the differences are small and their intervals
    hold zero in all but one. Nobody can say more about a single person without having read her file.""",
}


@pytest.mark.slow
def test_a_course_ends_in_files_for_moodle_and_canvas(tmp_path):
    """One student hands in late what reads the answers; another hands in nothing."""
    made = build(tmp_path / "made", course=3, labs=[LAB, card("metric")])
    course, file = made / "course", f"{LAB.assignment}/{LAB.notebook.name}"

    def nbgrader(*arguments):
        command = [sys.executable, "-m", "nbgrader", *arguments]
        return subprocess.run(command, cwd=course, capture_output=True, text=True, check=True).stderr

    settings = (course / "nbgrader_config.py").read_text(encoding="utf-8")
    write_text(course / "nbgrader_config.py", settings.replace("CONTAINER = True", "CONTAINER = False"))
    write_text(tmp_path / "people.csv", "id,first_name,last_name,lms_user_id\nthief,Ann,Able,17\nabsent,Bo,Bell,18\n")
    nbgrader("db", "student", "import", str(tmp_path / "people.csv"))
    nbgrader("db", "assignment", "add", LAB.assignment, "--duedate", "2027-01-10 12:00:00 UTC")
    shutil.copytree(made / "students" / LAB.assignment, course / "submitted" / "thief" / LAB.assignment)
    submission = with_answers(read(made / "students" / file), read(made / "solved" / file))
    own = next(cell for cell in submission.cells if marks(cell).get("grade_id") == "admission_rates")
    own.source = THIEF
    write_text(course / "submitted" / "thief" / file, nbformat.writes(submission))
    write_text(course / "submitted" / "thief" / LAB.assignment / "timestamp.txt", "2027-01-12 11:00:00 UTC")
    nbgrader("autograde", LAB.assignment)
    nbgrader("generate_feedback", LAB.assignment)
    assert ">test-gaps</a>" in (course / "feedback" / "thief" / file).with_suffix(".html").read_text(encoding="utf-8")
    told = nbgrader("export", "--to", "out")
    assert "thief, Lab 1: Berkeley. Is it bias?: `admission_rates` may reach outside the notebook" in told
    assert "exclude answers still to be graded by hand: thief (Lab 1: Berkeley. Is it bias?)" in told
    table = pd.read_csv(course / "out" / "grades.csv").set_index("student")
    assert set(table["lab"]) == {"Lab 1: Berkeley. Is it bias?"}, "nobody handed in the other lab"
    assert table["points"].to_dict() == {"thief": "13.6", "absent": "not submitted"}
    assert all(f"`{name}`" in table.loc["thief", "warnings"] for name in ("glob", "open", "exec"))


@pytest.mark.parametrize(
    ("days", "taken"), [(0, 0), (0.01, 2), (1, 2), (1.01, 4), (9.5, 20), (30, 20)], ids=lambda value: str(value)
)
def test_a_day_late_takes_a_tenth_and_a_day_begun_counts(days, taken):
    penalties = [LateDays(free_days=n).late_submission_penalty("anna", 20, days * 86_400) for n in (0, 2)]
    assert penalties == pytest.approx([taken, max(0, taken - 4) if days < 30 else 20])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from pathlib import Path\nPath('x')", {"Path", "pathlib"}),
        ("[*__import__('glob').glob('*')]", {"__import__", "glob"}),
        ("f.__globals__", {"__globals__"}),
        ("x = '../source'", {"../source"}),
        ("pd.read_csv('/home/anna/solved.csv')", {"/home/anna/solved.csv"}),
        ("%run other.py\n!cat x", {"%run other.py", "!cat x"}),
        ("def f(:\n    open", {"open"}),
        ("pd.read_csv('data/admissions.csv')  # open it", set()),
        ("rate = 'wait ...', '%.2f', 'a/b', '1/2'", set()),
        ("table.groupby('department').size()", set()),
    ],
)
def test_code_that_reaches_beyond_its_notebook_is_found_and_honest_code_is_not(source, found):
    assert reaching(source) == {f"`{each}`" for each in found}


def test_copied_texts_are_alike_with_a_word_changed_and_own_texts_are_not():
    copied = LETTERS["correct"].replace("grades", "marks")
    pairs = pairs_alike({"a": LETTERS["correct"], "b": LETTERS["constants"], "c": copied, "d": "too short to say"})
    assert [(pair["student"], pair["other"], pair["alike"] > 0.7) for pair in pairs] == [("a", "c", True)]


def test_the_files_for_import_have_the_columns_that_the_platforms_document(tmp_path):
    people = [
        Some(id="anna", first_name="Anna", last_name="Able", lms_user_id="17"),
        Some(id="bo", first_name=None, last_name=None, lms_user_id=None),
    ]
    empty = nbformat.writes(new_notebook(metadata={WARNINGS: []}))
    for name, text in (
        ("release/{}/berkeley.ipynb", empty),
        ("autograded/anna/{}/berkeley.ipynb", empty),
        ("submitted/anna/{}/berkeley.ipynb", ""),
        ("submitted/anna/{}/berkeley (1).ipynb", ""),
        ("submitted/cem/{}/mine.ipynb", ""),
        ("submitted/dora/{}/berkeley.ipynb", "half a file"),
    ):
        write_text(tmp_path / name.format(LAB.assignment), text)
    one, two = (
        Some(name=name, submissions=[], max_score=25, notebooks=[Some(name="berkeley")])
        for name in (LAB.assignment, "lab2-looking")
    )
    own = {"assignment": one, "notebooks": [Some(name="berkeley")], "needs_manual_grade": True}
    one.submissions = [
        Some(student_id="anna", total_seconds_late=90_000, score=20, **own),
        Some(student_id="dora", total_seconds_late=0, score=13, **own),
    ]
    app = ExportApp(coursedir=CourseDirectory(root=str(tmp_path)))
    Platforms(to=str(tmp_path), parent=app).export(Some(assignments=[one, two], students=people))
    title = "Lab 1: Berkeley. Is it bias?"
    rows = {
        name: list(csv.reader((tmp_path / f"{name}.csv").open(encoding="utf-8")))
        for name in ("moodle", "canvas", "grades")
    }
    # docs.moodle.org, Grade import: one column to map users from, here Username; "-" is no grade.
    assert rows["moodle"] == [
        ["Username", "First name", "Last name", title],
        ["anna", "Anna", "Able", "16.0"],
        ["bo", "", "", "-"],
        ["cem", "", "", "-"],
        ["dora", "", "", "-"],
    ]
    # Canvas' importer: four columns of a student, then the labs; a row of possible points; empty is no grade.
    assert rows["canvas"] == [
        ["Student", "ID", "SIS Login ID", "Section", title],
        ["    Points Possible", "", "", "", "25.0"],
        ["Able, Anna", "17", "anna", "", "16.0"],
        ["bo", "", "bo", "", ""],
        ["cem", "", "cem", "", ""],
        ["dora", "", "dora", "", ""],
    ]
    again = REPLACED.format(LAB.assignment, "anna")  # who has replaced a notebook by an empty file
    assert rows["grades"][1:] == [
        [title, "anna", "16.0", "25.0", "2.0", "True", f"{again} {OTHER_NAME.format('berkeley (1).ipynb')}"],
        [title, "bo", "not submitted", "", "", "", ""],
        [title, "cem", "not graded", "", "", "", f"{UNGRADED} {OTHER_NAME.format('mine.ipynb')}"],
        [title, "dora", "not graded", "", "", "", f"{UNGRADED} {EARLIER.format(13)}"],
    ]


def test_answers_that_replace_the_graded_ones_are_told_from_what_grading_itself_changes(tmp_path):
    handed_in, given = tmp_path / "berkeley.ipynb", released(LAB)
    own = next(cell for cell in given.cells if marks(cell).get("grade_id") == "admission_rates")
    blank, own.source = own.source, "def admission_rates(table):\n    return 0.5"
    write_text(handed_in, nbformat.writes(given))
    graded = read(handed_in)
    graded.cells.insert(0, new_markdown_cell("**Warnings from grading**"))
    assert not is_replaced(tmp_path / "deleted.ipynb", graded, released(LAB))
    assert not is_replaced(handed_in, graded, released(LAB))
    own.source = blank
    write_text(handed_in, nbformat.writes(given))
    assert is_replaced(handed_in, graded, released(LAB))
