import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from fairlab.cli import main
from fairlab.suite.labs import course


def test_list_shows_every_lab(capsys):
    assert main(["labs", "list"]) == 0
    assert "1. Berkeley. Is it bias? (berkeley; 90 minutes, 25 points)" in capsys.readouterr().out


def test_build_and_zip_take_labs_and_the_number_of_a_course(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr(course, "build", lambda *given, **more: calls.append((given, more)) or tmp_path)
    monkeypatch.setattr(course, "zip_course", lambda *given, **more: calls.append((given, more)) or [tmp_path])
    assert main(["labs", "build", "berkeley", "--out", "here", "--seed", "4"]) == 0
    assert main(["labs", "zip", "--out", "there"]) == 0
    ((built, options), (zipped, others)) = calls
    assert (built, options["course"], [lab.key for lab in options["labs"]]) == (("here",), 4, ["berkeley"])
    assert (zipped, others["course"], len(others["labs"]) > 1) == (("there",), 0, True)
    assert str(tmp_path) in capsys.readouterr().out


def test_an_unknown_lab_is_named(capsys):
    assert main(["labs", "build", "berkly", "--out", "nowhere"]) == 2
    assert "did you mean 'berkeley'" in capsys.readouterr().err


@pytest.mark.parametrize(("source", "status"), [("1", 0), ("1 / 0", 1)])
def test_check_ends_with_1_if_a_test_fails(tmp_path, capsys, source, status):
    marks = {"nbgrader": {"grade": True, "grade_id": "test-it", "points": 1, "solution": False}}
    nbformat.write(new_notebook(cells=[new_code_cell(source, metadata=marks)]), tmp_path / "mine.ipynb")
    assert main(["labs", "check", str(tmp_path / "mine.ipynb")]) == status
    assert f"{1 - status} of 1 points" in capsys.readouterr().out
