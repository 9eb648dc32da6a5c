import numpy as np
import pandas as pd
import pytest

from fairlab.papers.themis import claims
from fairlab.papers.themis.cells import scores_of_suites
from fairlab.paths import EXPERIMENTS
from fairlab.suite.published import read_paper

PAPER = read_paper(EXPERIMENTS / "themis" / "published.yaml")
LEFT_OPEN = {  # by the counted suites
    "b-gender-causal-far-above-group",
    "b-gender-discriminates-race",
    "aware-still-discriminate",
    "b-gender-alone-12",
    "f-country-race-98",
}


def printed(artefact):
    return pd.Series({id: float(value.value) for id, value in PAPER.artefact(artefact).values.items()})


def of_figure_2(score):
    return claims.of_figure_2(pd.DataFrame(dict.fromkeys(["score", "low", "high"], score)), printed("figure-2").index)


def test_the_printed_scores_make_their_own_claims_hold():
    for artefact, answers in (
        ("figure-1", claims.of_figure_1(printed("figure-1"))),
        ("figure-2", of_figure_2(printed("figure-2"))),
    ):
        assert set(answers) == set(PAPER.artefact(artefact).claims)
        assert all(answer.holds is True for answer in answers.values()), answers


def test_the_stored_suites_decide_what_they_can():
    answers = claims.of_figure_1(scores_of_suites("figure-1")["score"])
    answers |= of_figure_2(scores_of_suites("figure-2")["score"])
    assert {id for id, answer in answers.items() if answer.holds is None} == LEFT_OPEN
    assert all(answer.holds for id, answer in answers.items() if id not in LEFT_OPEN)
    assert answers["aware-not-better"].detail.startswith("the unaware system is lower in 18 of 24 cells")
    assert answers["all-at-least-five"].detail == "17 of 17 sets, the least 5.80%"


@pytest.mark.parametrize(
    ("id", "changes"),
    [
        ("b-gender-causal-far-above-group", {"b.census.gender.gender.causal": 10.0}),
        ("b-gender-discriminates-race", {"b.census.gender.race.causal": 35.0}),
        ("aware-still-discriminate", {"b.census.gender.gender.causal": 9.0}),
    ],
)
def test_claims_of_figure_1_can_fail(id, changes):
    score = printed("figure-1")
    score.update(pd.Series(changes))
    assert claims.of_figure_1(score)[id].holds is False


def test_most_of_all_is_decided_only_if_what_is_missing_cannot_turn_it():
    score = printed("figure-1") * 0 + 1.0
    assert claims.of_figure_1(score)["aware-not-better"].holds is False, "none is lower"
    unaware = score.index.str.contains("unaware")
    score[unaware] = 0.5
    assert claims.of_figure_1(score)["aware-not-better"].holds
    aware = [id for id in score.index if id[0] in claims.COUNTERPARTS]
    score[aware[:15]] = np.nan
    assert claims.of_figure_1(score)["aware-not-better"].holds is None, "15 of 30 are lower, 15 are not known"
    score[:] = 1.0
    assert claims.of_figure_1(score)["most-are-small"].detail == "64 of 64 cells are below 5%"
    score[:32] = 9.0
    assert claims.of_figure_1(score)["most-are-small"].holds is False


def test_claims_of_figure_2_can_fail():
    score = printed("figure-2")
    score[["b.census.gender.gender", "f.census.unaware.country_race"]] = [12.0, 95.0]
    score["b.census.gender.gender_marital_race"] = 40.0
    score["e.census.unaware.marital"] = 4.9
    failed = {id for id, answer in of_figure_2(score).items() if answer.holds is False}
    assert failed == set(PAPER.artefact("figure-2").claims), "the three are below their part of 52.5, too"


def test_answers_stand_beside_each_other():
    answers = {"a": {"x": claims.Answer(True, "1")}, "b": {"x": claims.Answer(None, "none")}}
    table = claims.beside(answers)
    assert table.loc["x"].tolist() == ["holds", "1", "not decided", "none"]
