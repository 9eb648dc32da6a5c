import numpy as np
import pandas as pd
import pytest

from fairlab.cases import Schema
from fairlab.papers.themis import programs
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
