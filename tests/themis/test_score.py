import numpy as np
import pytest

from fairlab.cases import Schema
from fairlab.themis import Themis, as_program
from fairlab.themis.score import expect_measure, expect_share


def test_a_score_says_who_where_and_how_much(red_men):
    schema, program = red_men
    score = Themis(program, schema).group_score(["race", "sex"])
    assert (score.who, score.where) == ("sex and race", "group score over all inputs")
    assert (score.effect, score.interval) == (1, (1, 1))
    assert repr(score) == "Score: sex and race, group score over all inputs: 1 [1, 1]"
    assert score.to_frame().columns.tolist() == [
        "measure",
        "characteristics",
        "score",
        "low",
        "high",
        "samples",
        "tests",
        "software_runs",
        "distinct_inputs",
    ]
    [axis] = score.plot().axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex, race"]


def test_evidence_of_a_group_score_is_the_extreme_groups(red_men):
    schema, program = red_men
    evidence = Themis(program, schema).group_score("race").evidence
    assert evidence["race"].tolist() == ["Green", "Red"]
    assert evidence["share"].tolist() == evidence["low"].tolist() == [0, 0.5]
    assert evidence["samples"].tolist() == [2, 2]
    table = np.random.default_rng(0).random((30, 40)) < np.linspace(0, 1, 30)[:, None]
    schema, program = as_program(table)
    sampled = Themis(program, schema).group_score("x0").evidence
    assert sampled["x0"].iloc[0] < 10
    assert sampled["x0"].iloc[1] > 19
    assert (sampled["low"] <= sampled["share"]).all()


def test_evidence_of_a_causal_score_is_pairs(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    runs_before = themis.causal_score("sex").distinct_inputs
    evidence = themis.causal_score("sex").evidence
    assert themis.software_runs == runs_before, "only what was tried is shown"
    assert 0 < len(evidence) <= 5
    assert evidence.columns.tolist() == ["sex", "race", "output", "sex of the counterpart", "output of the counterpart"]
    assert (evidence["race"] == "Red").all()
    assert (evidence["sex"] != evidence["sex of the counterpart"]).all()
    assert (evidence["output"] == (evidence["sex"] == "Male")).all()
    assert (evidence["output"] != evidence["output of the counterpart"]).all()


def test_evidence_with_a_distance_is_the_counterpart_furthest_away():
    prices = np.array([[50.0, 50.0], [80.0, 60.0], [70.0, 90.0]])
    schema, program = as_program(prices)
    themis = Themis(program, schema, output_distance=lambda first, second: np.abs(first - second) / 100)
    evidence = themis.causal_score("x0").evidence
    furthest = {50.0: {0: 80.0, 1: 90.0}, 80.0: 50.0, 70.0: 50.0, 60.0: 90.0, 90.0: 50.0}
    for row in evidence.itertuples(index=False):
        expected = furthest[row.output]
        assert row[-1] == (expected[row.x1] if isinstance(expected, dict) else expected)


def test_no_evidence_where_there_is_none():
    schema = Schema.from_dict({"sex": ["f", "m"], "age": range(5)})
    score = Themis(lambda inputs: np.zeros(len(inputs), dtype=bool), schema).causal_score("sex")
    assert score.score == 0
    assert len(score.evidence) == 0
    assert "sex of the counterpart" in score.evidence


def test_unknown_measure():
    with pytest.raises(ValueError, match="measure is 'both', expected one of group, causal"):
        expect_measure("both")


@pytest.mark.parametrize("value", ["0.5", True, None, float("nan"), -0.1, 1.5, 1j])
def test_numbers_that_are_no_shares(value):
    with pytest.raises(ValueError, match=r"threshold is .*, expected a number between 0 and 1"):
        expect_share("threshold", value)
    expect_share("threshold", 1)
    with pytest.raises(ValueError, match="error_bound is 1, expected"):
        expect_share("error_bound", 1, open_ends=True)
