import numpy as np
import pytest

from fairlab.papers.themis.theorems import (
    all_programs,
    count_by_scores,
    count_ordered_pairs,
    count_violations,
    program_spaces,
    proper_subsets,
    prunable,
    random_programs,
    scores_of_sets,
)
from fairlab.themis import causal_score, group_score
from fairlab.themis.search import subsets


def test_all_programs_are_there_once():
    programs = all_programs((2, 3))
    assert programs.shape == (64, 2, 3)
    assert len(np.unique(programs.reshape(64, -1), axis=0)) == 64
    with pytest.raises(ValueError, match=r"18 inputs have 2\^18 programs; expected at most 16"):
        all_programs((3, 6))


@pytest.mark.parametrize(("measure", "exact"), [("group", group_score), ("causal", causal_score)])
def test_scores_of_many_programs_are_those_of_each(measure, exact):
    programs = random_programs((3, 2, 4), 20, np.random.default_rng(0))
    scores = scores_of_sets(programs, measure=measure)
    expected = [[exact(program, positions) for positions in subsets(range(3))] for program in programs]
    np.testing.assert_allclose(scores, expected)


def test_proper_subsets_of_two_characteristics():
    # Sets: {0}, {1}, {0, 1}.
    assert proper_subsets(2) == [(0, 2), (1, 2)]
    assert len(proper_subsets(3)) == 6 + 3 + 3


def test_what_is_prunable_by_hand():
    scores = np.array([[0.5, 0.1, 0.5], [0.2, 0.3, 0.9]])
    assert prunable(scores, 0.5).tolist() == [[False, False, True], [False, False, False]]
    assert prunable(scores, 0.3).tolist() == [[False, False, True], [False, False, True]]


def test_spaces_are_all_small_programs_and_random_larger_ones():
    spaces = program_spaces(7, 6, np.random.default_rng(0))
    assert {name: len(programs) for name, programs in spaces.items() if name.startswith("all")} == {
        "all of 2 x 2": 16,
        "all of 2 x 3": 64,
    }
    assert [len(programs) for name, programs in spaces.items() if name.startswith("random")] == [7] * 4


def test_violations_are_counted():
    programs = {"two": np.zeros((2, 2, 2), dtype=bool)}
    scores = {"two": {"group": np.array([[0.5, 0, 0.4], [0, 0, 0]]), "causal": np.array([[0.1, 0, 0.4], [0, 0, 0]])}}
    [row] = count_violations(programs, scores).to_dict("records")
    assert row == {
        "programs": "two",
        "comparisons": 2 * 2,
        "group: subset higher": 1,
        "causal: subset higher": 0,
        "group above causal": 1,
        "group equals causal": 5 / 6,
    }


def test_ordered_pairs_and_what_breaks_theorem_5_1():
    monotone = np.array([[0.5, 0.1, 0.5], [0.2, 0.0, 0.2]])
    [row] = count_ordered_pairs({"two": {"group": monotone}}).to_dict("records")
    # Each program with itself, and the first above the second.
    assert (row["ordered pairs"], row["violations"]) == (3, 0)


def test_programs_by_both_scores():
    table = random_programs((2, 2), 50, np.random.default_rng(0))
    scores = {measure: scores_of_sets(table, measure=measure) for measure in ("group", "causal")}
    points = count_by_scores(scores, 2)
    assert points["programs"].sum() == 100
    assert (points["group"] <= points["causal"]).all()
