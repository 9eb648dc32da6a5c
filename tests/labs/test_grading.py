"""nbgrader's own autograder gives each lab's solutions all points, and what students get none."""

import json

import pytest
from graded_labs import errors

from fairlab.suite.labs.card import cards
from fairlab.suite.labs.masters import exercises, read, secrets

EVERY = pytest.mark.parametrize("card", cards(), ids=lambda card: card.key)


@EVERY
def test_solutions_get_all_points(grading, card):
    points, notebook = grading.grade(card, "solved", grading.solved(card))
    assert errors(notebook) == {}
    by_tests = [exercise for exercise in exercises(notebook) if not exercise.by_hand]
    assert [points[exercise.name] for exercise in by_tests] == [exercise.points for exercise in by_tests]


@EVERY
def test_a_release_gets_no_point_and_errors_in_graded_cells_only(grading, card):
    points, notebook = grading.grade(card, "release", grading.release(card))
    assert not any(points.values())
    assert set(errors(notebook)) == {exercise.name for exercise in exercises(notebook) if not exercise.by_hand}


@EVERY
def test_a_release_holds_no_solution_and_no_hidden_test(grading, card):
    master = read(card.notebook)
    hidden = secrets(master)
    assert len(hidden) >= len(exercises(master)), "solutions and hidden tests are marked"
    text = json.dumps(grading.release(card), ensure_ascii=False)
    assert "SOLUTION" not in text
    assert "HIDDEN" not in text
    assert not [line for line in hidden if json.dumps(line, ensure_ascii=False)[1:-1] in text]
    assert not any(cell.get("outputs") for cell in grading.release(card).cells)
