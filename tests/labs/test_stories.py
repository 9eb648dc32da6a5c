"""In every course the solutions pass and the data are as the texts tell."""

import re

import pytest

from fairlab.suite.labs.masters import card, cards, marks

COURSES = [0, 2027, *range(1, 29)]


def answers(notebook):
    """Return the rubrics, in which every number has been filled in."""
    text = "\n".join(cell.source for cell in notebook.cells if marks(cell).get("solution") and "Rubric" in cell.source)
    assert not re.search(r"[{}]|\bnan\b", text)
    return text


def test_lab_4_tells_of_equal_rates(grading):
    """Course 3 hired 41% of the women and 48% of the men: 53 women gained and 74 lost."""
    text = answers(grading.with_numbers(card("counterparts"), 3))
    lost, gained = (int(re.search(rf"(\d+) {rest}", text)[1]) for rest in ("of the 300", "women with long hair"))
    assert abs(lost - gained) <= 3
    assert text != answers(grading.with_numbers(card("counterparts"), 2027))


@pytest.mark.slow
@pytest.mark.parametrize("lab", [lab for lab in cards() if lab.mistakes], ids=lambda lab: lab.key)
def test_thirty_courses_are_as_their_texts_tell(grading, lab):
    assert len({answers(grading.with_numbers(lab, course)) for course in COURSES}) > 1
