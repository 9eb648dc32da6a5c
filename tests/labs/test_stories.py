"""In every course the solutions pass and the data are as the texts tell."""

import re

import pytest
from graded_labs import COURSE

from fairlab.suite.labs.course import card, cards
from fairlab.suite.labs.masters import marks, read

GRADED = [lab for lab in cards() if lab.mistakes]
NUMBER = re.compile(r"\d+[.,]\d+|\d{3,}|\d+%")  # others of one or two digits are too many
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


@pytest.mark.parametrize(
    "lab", [pytest.param(lab, id=lab.key, marks=[] if lab.number in (4, 9) else pytest.mark.slow) for lab in GRADED]
)
def test_released_tests_do_not_hold_the_values_of_the_answers(grading, lab):
    release = grading.release(lab)
    filled = set(NUMBER.findall(answers(grading.with_numbers(lab, COURSE))))
    known = "".join(cell.source for cell in read(lab.notebook).cells if marks(cell).get("solution"))
    values = {f"{int(one[:-1]) / 100:.2f}" if "%" in one else one for one in filled - set(NUMBER.findall(known))}
    values = {one for one in values if len(one.replace(".", "").lstrip("0")) > 1}  # as 0.1 is no answer's alone
    assert values
    tests = [cell.source for cell in release.cells if cell.cell_type == "code" and marks(cell).get("grade")]
    shown = "\n".join(tests)
    assert not values & set(NUMBER.findall(shown))


@pytest.mark.slow
@pytest.mark.parametrize("lab", GRADED, ids=lambda lab: lab.key)
def test_thirty_courses_are_as_their_texts_tell(grading, lab):
    assert len({answers(grading.with_numbers(lab, course)) for course in COURSES}) > 1
