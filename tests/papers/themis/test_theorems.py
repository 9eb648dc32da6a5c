import numpy as np
import pytest

from fairlab.papers.themis.theorems import all_programs, proper_subsets, prunable, random_programs, scores_of_sets
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
