from fairlab.suite.labs.card import card, cards
from fairlab.suite.labs.course import guide, students_page
from fairlab.suite.labs.masters import read, without_guide


def test_a_guide_has_card_points_mistakes_and_rubrics():
    lab = card("berkeley")
    text = guide(lab, without_guide(read(lab.notebook)), 7)
    assert text.startswith("# Lab 1: Berkeley")
    assert "| test-gaps | 3 | by tests |" in text
    assert "| letter | 4 | manually |" in text
    assert all(mistake.message in text for mistake in lab.mistakes)
    assert "**Strong (4).**" in text
    assert "BEGIN SOLUTION" not in text
    assert "The numbers in the answers are for course 7." in text


def test_students_read_neither_mistakes_nor_rubrics():
    lab = card("berkeley")
    text = students_page(cards())
    assert "`lab1-berkeley/berkeley.ipynb`" in text
    assert "Rubric" not in text
    assert not any(mistake.message in text for mistake in lab.mistakes)
