import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Schema
from fairlab.papers.themis import programs
from fairlab.papers.themis.programs import (
    all_programs,
    count_by_scores,
    count_ordered_pairs,
    count_violations,
    program_spaces,
    proper_subsets,
    prunable,
    random_programs,
    scores_of_sets,
    subsets,
)
from fairlab.themis import Themis, causal_score, group_score, output_table

LOAN = Schema.from_dict(
    {"age": ["under40", "over40"], "race": ["green", "purple"], "name": range(10), "savings": range(10)}
)


def test_loan_is_fair_by_shares_and_not_by_person():
    table = output_table(programs.loan, LOAN)
    assert group_score(table, (1,)) == group_score(table, (0,)) == 0
    # Green 30% by savings, purple 30% by name: they differ for 0.3 * 0.7 + 0.7 * 0.3.
    assert causal_score(table, (1,)) == pytest.approx(0.42)


def test_purple_applicants_rarely_have_savings():
    applicants = programs.draw_applicants(500, np.random.default_rng(0))
    savings = applicants.groupby("race")["savings"]
    assert savings.min()["green"] == 4
    assert savings.max()["purple"] == 5
    assert (LOAN.encode(applicants) >= 0).all()


def test_pairs_differ_in_one_characteristic_and_in_output():
    suite = pd.DataFrame(
        {"sex": list("fmfm"), "age": [1, 1, 2, 2], "output": [False, True, True, True]},
    )
    [pair] = programs.pairs_by(suite, "sex").to_dict("records")
    assert (pair["sex"], pair["sex of the counterpart"], pair["age"]) == ("f", "m", 1)
    assert programs.pairs_by(suite, "age").to_dict("records")[0]["age of the counterpart"] == 2


@pytest.mark.parametrize(("shares", "n_people", "expected"), [((0.3, 0.4), 10, 0.1), ((0.23, 0.65), 100, 0.42)])
def test_group_scores_of_section_3(shares, n_people, expected):
    assert programs.group_score_of_shares(shares, n_people) == pytest.approx(expected)


def test_one_in_twenty():
    table = output_table(programs.unfair_to_one_in_twenty, programs.PEOPLE_OF_RARE)
    assert causal_score(table, (0,)) == 0.05


def test_stopping_rules_by_hand():
    scores = pd.DataFrame(
        {
            "samples": [10, 30],
            "score": [0.0, 0.2],
            "low": [0.0, 0.1],
            "high": [0.1, 0.3],
        }
    )
    [row] = programs.stopping_rules({"normal": scores}, truth=0.05, error_bound=0.1).to_dict("records")
    assert row == {
        "rule": "normal",
        "mean samples": 20,
        "mean score": 0.1,
        "scores of exactly 0": 0.5,
        "off by more than the bound": 0.5,
        "interval covers 5%": 0.5,
    }


def test_a_laptop_makes_a_stay_dearer_by_one_eleventh_of_the_higher_price():
    options = {"output_distance": programs.relative_difference, "max_samples": 50}
    score = Themis(programs.price_of_stay, programs.STAYS, **options).causal_score("device")
    assert score.score == pytest.approx(1 / 11)


def test_all_programs_are_there_once():
    programs = all_programs((2, 3))
    assert programs.shape == (64, 2, 3)
    assert len(np.unique(programs.reshape(64, -1), axis=0)) == 64


@pytest.mark.parametrize(("measure", "exact"), [("group", group_score), ("causal", causal_score)])
def test_scores_of_many_programs_are_those_of_each(measure, exact):
    programs = random_programs((3, 2, 4), 20, np.random.default_rng(0))
    scores = scores_of_sets(programs)[measure]
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
    scores = scores_of_sets(table)
    points = count_by_scores(scores, 2)
    assert points["programs"].sum() == 100
    assert (points["group"] <= points["causal"]).all()
