import re
import subprocess
import sys
import zipfile

import pytest
from graded_labs import secrets

from fairlab.paths import project
from fairlab.suite.labs.course import build, card, cards, zip_course
from fairlab.suite.labs.masters import read

LAB = card("berkeley")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return build(tmp_path_factory.mktemp("labs") / "course", course=3, labs=[LAB])


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


def test_students_get_what_labs_import_and_no_answers(course):
    with zipfile.ZipFile(next((course / "students").glob("*.whl"))) as archive:
        names = set(archive.namelist())
        texts = [archive.read(name).decode() for name in names if name.startswith("fairlab/suite/labs/")]
    own = [path.name for path in project().labs.glob("*.py")]
    assert {f"fairlab/suite/labs/{name}" for name in own} <= names
    assert not [name for name in names if name.endswith((".ipynb", ".yaml")) and "labs" in name]
    shown = {line.strip() for text in texts for line in text.splitlines()}
    readme = (course / "students" / "README.md").read_text(encoding="utf-8")
    assert not any(mistake.message in readme for mistake in LAB.mistakes)
    assert not shown.intersection(line for lab in cards() for line in secrets(read(lab.notebook)))


def test_work_is_never_written_over(course):
    with pytest.raises(FileExistsError, match="not empty"):
        build(course)


@pytest.fixture(scope="module")
def unzipped(tmp_path_factory):
    """The folder of a student who unzipped a lab."""
    folder = tmp_path_factory.mktemp("student")
    (written,) = zip_course(folder / "zips", course=3, labs=[LAB])
    with zipfile.ZipFile(written) as archive:
        archive.extractall(folder)
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
