"""Common mistakes lose the points of what they get wrong and no others, and the test names the mistake."""

from pathlib import Path

import pytest
import yaml
from graded_labs import errors

from fairlab.suite.labs.course import card, cards
from fairlab.suite.labs.masters import exercises

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
WRONG = [(path.stem, number) for path in FILES for number in range(len(yaml.safe_load(path.read_text())))]


def wrong_solution(key, number):
    return yaml.safe_load((Path(__file__).parent / f"{key}.yaml").read_text(encoding="utf-8"))[number]


def test_every_lab_has_three_with_a_mistake_of_its_card():
    graded = [lab for lab in cards() if lab.mistakes]
    assert [path.stem for path in FILES] == sorted(lab.key for lab in graded)
    for lab in graded:
        wrong = [wrong_solution(lab.key, number) for number in range(len([k for k, _ in WRONG if k == lab.key]))]
        assert len(wrong) >= 3 <= len(lab.mistakes)
        assert len({each["cell"] for each in wrong}) >= 3, "mistakes in three exercises"
        known = {(mistake.test, mistake.message) for mistake in lab.mistakes}
        assert {(each["test"], each["message"]) for each in wrong} <= known


@pytest.mark.slow
@pytest.mark.parametrize(("key", "number"), WRONG)
def test_a_wrong_solution_loses_its_points_and_its_mistake_is_named(grading, key, number):
    wrong, notebook = wrong_solution(key, number), grading.solved(card(key))
    (cell,) = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == wrong["cell"])
    cell.source = wrong["code"]
    points, graded = grading.grade(card(key), f"wrong-{number}", notebook)
    full = {each.name: each.points for each in exercises(graded) if not each.is_manual}
    assert {name: points[name] for name in full} == full | {wrong["test"]: 0}
    (message,) = errors(graded).values()
    assert wrong["message"] in message
