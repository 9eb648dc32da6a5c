import re

import pytest

from fairlab.suite.labs.card import card, cards
from fairlab.suite.labs.masters import exercises, read

EVERY = pytest.mark.parametrize("lab", cards(), ids=lambda lab: lab.key)
LEVELS = ("**Rubric.**", "**Strong (", "**Middling (", "**Weak (")


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
