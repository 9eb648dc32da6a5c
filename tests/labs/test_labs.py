"""Labs: their masters, the messages of tests, a course and its zips, and labs in a browser."""

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from textwrap import dedent
from unittest import mock

import nbformat
import numpy as np
import pandas as pd
import pytest
from graded_labs import EVERY, HIDDEN, answers_and_tests, secrets

import fairlab
from fairlab.data.project import project
from fairlab.labs import LabError, berkeley, expect
from fairlab.labs.course import build, card, cards, guide, released
from fairlab.labs.masters import as_lab, exercises, marks, read, solved


def test_labs_are_numbered_and_found_by_number_and_name():
    assert [lab.number for lab in cards()] == list(range(1, len(cards()) + 1))
    assert card("1") is card("berkeley") is card("lab1-berkeley")
    with pytest.raises(KeyError, match="did you mean 'berkeley'"):
        card("berkley")


@EVERY
def test_the_mistakes_of_a_card_are_named_by_its_tests(lab):
    sources = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in read(lab.notebook).cells}
    assert [mistake for mistake in lab.mistakes if mistake.message not in sources[mistake.test]] == []


@EVERY
def test_a_row_of_a_guides_table_has_the_cells_of_its_head(lab):
    page = guide(lab, as_lab(read(lab.notebook)), 0).partition("## Common mistakes")[2].partition("## Free")[0]
    n_cells = [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in page.splitlines() if line.startswith("|")]
    assert n_cells == [3] * (2 + len(lab.mistakes))


def test_a_test_that_passes_says_its_points():
    cells = {marks(cell).get("grade_id"): cell.source for cell in released(card("berkeley")).cells}
    assert [cells[name].splitlines()[-1] for name in ("test-gaps", "test-paradox")] == [
        'print("Passed: 3 points, unless a hidden test fails.")',
        'print("Passed: 3 points.")',
    ]


SOLUTION = re.compile(r"[ \t]*### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


@EVERY
def test_a_released_test_does_not_hold_the_code_of_its_answer(lab):
    for answer, test in answers_and_tests(read(lab.notebook)):
        tree = ast.parse(HIDDEN.sub("", test.source))
        own = {ast.unparse(node) for block in SOLUTION.findall(answer.source) for node in phrases(block)}
        assert not own & {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr)}, test.source


def phrases(block):
    """Return the expressions of a solution that compute something: operations and calls of more than a few letters."""
    tree = ast.parse(dedent(block))
    kinds = (ast.BinOp, ast.Call, ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp, ast.Lambda)
    return [node for node in ast.walk(tree) if isinstance(node, kinds) and len(ast.unparse(node)) >= 16]


RATES = pd.DataFrame({"man": [0.6, 0.5], "woman": [0.3, 0.4]}, index=["A", "B"])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (np.float64(2), 2),
        ("Neither ", "neither"),
        (np.True_, True),
        ([1, 2.0], (1, 2)),
        (np.array([[1.0, np.nan]]), [[1, np.nan]]),
        ({"b", "a"}, {"a", "b"}),
        (["a", "b"], {"a", "b"}),
        (pd.Series({"man": 1.0, "woman": 2.0}), pd.Series({"woman": 2, "man": 1})),
        ({"man": 1, "woman": 2}, pd.Series({"woman": 2, "man": 1})),
        (pd.Series([1.0, 2.0], ["man", "man"]), pd.Series([1, 2], ["man", "man"])),
        # a table, in any order of its columns
        *((found, RATES) for found in (RATES, RATES[["woman", "man"]], RATES.reset_index(drop=True), RATES.to_numpy())),
    ],
)
def test_right_answers_say_nothing(found, expected):
    expect("it", found, expected)


# What may well be chance is called no common mistake.
NO_MISTAKE = r"(?s)^it: (?!.*A common mistake)"


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        (0.3, 0.25, r"it: expected 0.25, found 0.3\.$"),
        ([[1], [1, 2]], [1, 2], r"found \[\[1\], \[1, 2\]\]\.$"),
        (pd.Series({"b": 50, "a": 25}), pd.Series({"a": 0.25, "b": 0.5}), "that is a percentage"),
        ([1, None], [1, 2], "found no answer"),
        ([1, 2, 3], [1, 2], r"expected \[1, 2\], found \[1, 2, 3\]"),
        ("men", "women", "expected 'women', found 'men'"),
        (1, True, "expected True, found 1"),
        (True, 1, "expected 1, found True"),
        ("0.25", 0.25, "expected 0.25, found '0.25'"),
        (["0.25", "1"], [0.25, 1], r"expected \[0.25, 1\], found \['0.25', '1'\]"),
        (pd.Series({"a": "0.25"}), pd.Series({"a": 0.25}), "expected {a: 0.25}, found {a: '0.25'}"),
        (np.array([1 + 2j]), [1], r"expected \[1\], found \["),
        ({"man": 1.0}, pd.Series({"man": 1.0, "woman": 2.0}), r"found \{man: 1\}"),
        (pd.Series({"x": 1.0}), pd.Series({"y": 1.0}), r"found \{x: 1\}"),
        (3, {"a"}, r"expected \{'a'\}, found 3"),
        (None, 1, "found no answer. Is there a `return`, or a value?"),
        (..., 1, "found no answer"),
        # the mistake that gives the answer is named, and no other
        (2.0, 3, r"found 2\. A common mistake: the second\.$"),
        (4, 3, r"found 4\.$"),
        ([4, 2, 1, 3, 0], [2, 3, 1, 4, 0], NO_MISTAKE),  # every order of these has the same values
        (0.1, 0.1333, NO_MISTAKE),
        (3, 9, NO_MISTAKE),
        # the first wrong value of a long list
        (
            [*[False] * 10, True, False],
            [False] * 12,
            r"^it: at index 10, expected False, found True\.$",
        ),
        # values count with the names of their columns
        (RATES.set_axis(["woman", "man"], axis=1), RATES, "it: expected "),
        *(
            (found, RATES, re.escape(f"expected the labels ['man', 'woman'], found {list(found)}"))
            for found in (RATES.set_axis(["men", "women"], axis=1), RATES[["man", "man"]], RATES.assign(other=1))
        ),
    ],
)
def test_others_say_what_was_expected_and_found(found, expected, message):
    with pytest.raises(LabError, match=message):
        expect("it", found, expected, mistakes={"the first": 1, "the second": 2})


@pytest.mark.parametrize(
    "wrap", [lambda own: own, lambda own: [own], lambda own: {"a": own}, lambda own: np.array([own], dtype=object)]
)
def test_an_object_that_equals_everything_is_no_answer(wrap):
    for expected in (1, [1], "a", True, pd.Series({"a": 1})):
        with pytest.raises(LabError, match="an object of _ANY"):
            expect("it", wrap(mock.ANY), expected)


LAB = card("berkeley")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return build(tmp_path_factory.mktemp("labs") / "course", course=3, labs=[LAB])


def test_students_get_what_labs_import_and_no_answers(course):
    with zipfile.ZipFile(next((course / "students").glob("*.whl"))) as archive:
        names = set(archive.namelist())
        texts = [archive.read(name).decode() for name in names if name.startswith("fairlab/labs/")]
    assert {f"fairlab/labs/{path.name}" for path in project().labs.glob("*.py")} <= names
    assert not [name for name in names if name.endswith((".ipynb", ".yaml")) and "labs" in name]
    shown = {line.strip() for text in texts for line in text.splitlines()}
    readme = (course / "students" / "README.md").read_text(encoding="utf-8")
    assert not any(mistake.message in readme for mistake in LAB.mistakes)
    assert not shown.intersection(line for lab in cards() for line in secrets(read(lab.notebook)))


def test_the_slides_are_ten_of_the_labs_own_cells_with_its_numbers_and_no_code(course):
    page = (course / "slides" / f"{LAB.assignment}.html").read_text(encoding="utf-8").partition('class="slides"')[2]
    assert len(re.findall("<section >|<section>", page)) == 2 * 10, "each slide is a section in a section"
    assert "Is it bias?" in page and page.count("data:image/png;base64") == 1
    assert "groupby" not in page
    assert not any(cell.get("outputs") for cell in read(course / "students" / LAB.assignment / LAB.notebook.name).cells)


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [("", FileExistsError, "not empty"), ("mine/course", NotADirectoryError, "Not a directory")],
)
def test_work_is_not_written_over_and_no_lab_run_for_a_folder_that_cannot_be_made(
    tmp_path, monkeypatch, place, error, message
):
    (tmp_path / "mine").touch()
    monkeypatch.setattr("fairlab.labs.course._for_course", lambda *given: pytest.fail("runs a lab"))
    with pytest.raises(error, match=message):
        build(tmp_path / place)


def test_a_failed_build_leaves_its_folder_empty(tmp_path, monkeypatch):
    def fail(students):
        assert any(students.iterdir())
        raise RuntimeError("no wheel")

    monkeypatch.setattr("fairlab.labs.course.write_requirements", fail)
    with pytest.raises(RuntimeError, match="no wheel"):
        build(tmp_path / "made", course=3, labs=[LAB])
    assert list(tmp_path.rglob("*")) == [tmp_path / "made"]


@pytest.fixture(scope="module")
def unzipped(tmp_path_factory, course):
    """The folder of a student who unzipped a lab."""
    folder = tmp_path_factory.mktemp("student")
    shutil.unpack_archive(course / "zips" / f"{LAB.assignment}.zip", folder)
    return folder / LAB.assignment


def install(python, folder, *options):
    """Let pip say what the command of the student's README would install."""
    (rest,) = re.findall(r"^python -m (pip install .*)$", (folder / "README.md").read_text(), flags=re.MULTILINE)
    command = [python, "-m", *rest.split(), "--dry-run", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_zip_has_all_that_a_student_needs(unzipped):
    names = {path.relative_to(unzipped).as_posix() for path in unzipped.rglob("*") if path.is_file()}
    wheel = next(unzipped.glob("*.whl")).name
    assert names == {"berkeley.ipynb", "data/admissions.csv", wheel, "requirements-labs.txt", "README.md"}
    assert "`berkeley.ipynb`" in (unzipped / "README.md").read_text(encoding="utf-8")
    assert "Would install fairlab" in install(sys.executable, unzipped, "--no-index")


@pytest.mark.slow
def test_a_zip_is_installed_in_an_empty_environment_with_its_hashes(unzipped, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    told = install(tmp_path / "empty" / "bin" / "python", unzipped, "--require-hashes").splitlines()[-1]
    assert all(f" {name}-" in told for name in ("fairlab", "numpy", "jupyterlab", "fqdn")), told


# What fairlab uses and the labs in a browser do not have, and what starts kernels.
ABSENT = (
    "pydantic",
    "yaml",
    "ot",
    "pulp",
    "highspy",
    "psutil",
    "pooch",
    "filelock",
    "numba",
    "tensorflow",
    "keras",
    "torch",
    "z3",
    "lime",
)
NO_KERNELS = ("nbgrader", "nbclient", "nbconvert", "jupyter_client", "zmq")
CHECK = f"""\
import sys, threading


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {ABSENT}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


def start(self):
    raise RuntimeError("can't start new thread")


sys.meta_path.insert(0, Absent())
sys.modules.update(dict.fromkeys({NO_KERNELS}))
threading.Thread.start = start
from fairlab.labs.checking import as_text, check

lines = check(sys.argv[1])
print(as_text(lines))
assert {{line.state for line in lines}} == {{"ok", "manual"}}
"""


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(lab, id=lab.key, marks=[] if lab.number in (1, 9) else pytest.mark.slow)
        for lab in [lab for lab in cards() if lab.number in (1, 2, 3, 5, 6, 7, 9)]
    ],
)
def test_a_solved_lab_is_checked_as_in_a_browser(lab, tmp_path):
    notebook = solved(as_lab(read(lab.notebook)))
    nbformat.write(notebook, tmp_path / "lab.ipynb")
    command = [sys.executable, "-c", CHECK, str(tmp_path / "lab.ipynb")]
    answer = subprocess.run(command, capture_output=True, text=True, env={"MPLBACKEND": "agg"}, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert len(answer.stdout.splitlines()) == len(exercises(notebook)) + 1


# Data drawn for a course. What texts say of them is checked by the notebooks when a course is built.


def counts(table, *names):
    return table.groupby(list(names), observed=True).size().to_dict()


def test_course_0_has_the_published_admissions():
    published = fairlab.load("berkeley")
    theirs = published.features.assign(admitted=published.target.astype(str).str.lower()).astype(str)
    theirs = theirs.replace({"gender": {"Male": "man", "Female": "woman"}})
    names = ["department", "gender", "admitted"]
    assert counts(berkeley.admissions(), *names) == counts(theirs, *names)


def test_another_course_has_as_many_applicants_and_other_admissions():
    own, other, groups = berkeley.admissions(1), berkeley.admissions(2), ["department", "gender"]
    assert counts(own, *groups) == counts(other, *groups) == counts(berkeley.admissions(), *groups)
    assert counts(own, *groups, "admitted") != counts(other, *groups, "admitted")
    pd.testing.assert_frame_equal(own, berkeley.admissions(1))
    shares = [
        (table["admitted"] == "yes").groupby(table["department"]).mean().to_dict()
        for table in (own, berkeley.admissions())
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.1)
