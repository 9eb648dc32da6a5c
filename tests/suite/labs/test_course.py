import re
import subprocess
import sys
import zipfile

import pytest

from fairlab.paths import project
from fairlab.suite.labs.card import card, cards, masters_folder
from fairlab.suite.labs.course import LOCK, build, grader, pack
from fairlab.suite.labs.masters import CELL_SECONDS, NOTEBOOK_SECONDS, read, secrets

ROOT = project().root


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return build(tmp_path_factory.mktemp("labs") / "course", course=3, labs=[card("berkeley")])


def test_a_course_has_three_parts(course):
    found = {str(path.relative_to(course)) for path in course.rglob("*") if path.is_file()}
    wheel = next((course / "students").glob("*.whl")).name
    lab = "lab1-berkeley"
    assert found == {
        f"students/{wheel}",
        "students/requirements-labs.txt",
        "students/README.md",
        f"students/{lab}/berkeley.ipynb",
        f"students/{lab}/data/admissions.csv",
        f"course/source/{lab}/berkeley.ipynb",
        f"course/release/{lab}/berkeley.ipynb",
        f"course/guides/{lab}.md",
        "course/nbgrader_config.py",
        "course/gradebook.db",
        "course/container/Dockerfile",
        "course/container/kernels/contained/kernel.json",
        "course/container/kernels/contained/kernel.sh",
        f"solved/{lab}/berkeley.ipynb",
    }


def test_every_version_has_the_number_of_the_course(course):
    for part in ("students", "course/source", "course/release", "solved"):
        notebook = read(course / part / "lab1-berkeley" / "berkeley.ipynb")
        assert "course = 3" in [cell.source for cell in notebook.cells]


def test_nbgrader_takes_the_configuration(course):
    command = [sys.executable, "-m", "nbgrader", "db", "assignment", "list"]
    answer = subprocess.run(command, cwd=course / "course", capture_output=True, text=True, check=False)
    assert "lab1-berkeley" in answer.stdout + answer.stderr


def test_grading_takes_as_long_as_checking(course):
    with grader(course / "course") as api:
        assert api.config.ExecutePreprocessor.timeout == CELL_SECONDS
        assert api.config.ExecuteAll.notebook_timeout == NOTEBOOK_SECONDS


def test_a_zip_has_all_that_a_student_needs(course, tmp_path):
    (written,) = pack(course / "students", tmp_path / "zips")
    with zipfile.ZipFile(written) as archive:
        names = {name.removeprefix("lab1-berkeley/") for name in archive.namelist()}
        first_steps = archive.read("lab1-berkeley/README.md").decode()
    wheel = next((course / "students").glob("*.whl")).name
    needed = {"berkeley.ipynb", "data/admissions.csv", wheel, "requirements-labs.txt", "README.md"}
    assert names == needed
    assert "`berkeley.ipynb`" in first_steps


def test_the_wheel_has_what_labs_import_and_no_answers(course):
    with zipfile.ZipFile(next((course / "students").glob("*.whl"))) as archive:
        names = set(archive.namelist())
        texts = [archive.read(name).decode() for name in names if name.startswith("fairlab/suite/labs/")]
    own = [path.name for path in masters_folder().glob("*.py")]
    assert {f"fairlab/suite/labs/{name}" for name in own} <= names
    assert not [name for name in names if name.endswith((".ipynb", ".yaml")) and "labs" in name]
    shown = {line.strip() for text in texts for line in text.splitlines()}
    assert not shown.intersection(line for lab in cards() for line in secrets(read(lab.notebook)))


def test_work_is_never_written_over(course):
    with pytest.raises(FileExistsError, match="not empty"):
        build(course)


def test_only_what_students_get_is_packed(course, tmp_path):
    with pytest.raises(FileNotFoundError, match="expected the folder `students`"):
        pack(course / "course", tmp_path)


def install(python, course, folder, *options):
    """Unzip what a student gets, and let pip say what it would install."""
    (written,) = pack(course / "students", folder / "zips")
    with zipfile.ZipFile(written) as archive:
        archive.extractall(folder)
    command = [python, "-m", "pip", "install", "--dry-run", *options, "-r", "requirements-labs.txt"]
    lab = folder / "lab1-berkeley"
    answer = subprocess.run(command, cwd=lab, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_pip_reads_the_requirements_of_a_zip(course, tmp_path):
    assert "Would install fairlab" in install(sys.executable, course, tmp_path, "--no-index")


@pytest.mark.slow
def test_a_zip_is_installed_in_an_empty_environment_with_its_hashes(course, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    told = install(python, course, tmp_path, "--require-hashes").splitlines()[-1]
    assert all(f" {name}-" in told for name in ("fairlab", "numpy", "jupyterlab", "fqdn")), told


def test_students_get_the_versions_of_the_lock():
    every, theirs = (
        set(re.split(r"\n(?=\S)", path.read_text(encoding="utf-8").strip()))
        for path in (ROOT / "requirements.lock", masters_folder() / LOCK)
    )
    assert theirs <= every, "run `make lock`"
    names = {entry.partition("==")[0] for entry in theirs}
    assert not {"tensorflow-cpu", "nbgrader", "snakemake", "z3-solver"} & names
