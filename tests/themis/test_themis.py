from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema, SchemaError
from fairlab.themis import DomainTooLargeError, Themis, as_program, causal_score, group_score

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def test_small_groups_are_enumerated(red_men):
    schema, program = red_men
    themis = Themis(program, schema, min_samples=10)
    for names, expected in (("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)):
        score = themis.group_score(names)
        assert score.score == score.low == score.high == expected
        assert score.samples == score.tests == 8
    assert score.characteristics == ("sex", "race")
    assert themis.software_runs == score.distinct_inputs == 8
    assert score.software_runs == 0


def test_causal_score_of_red_men(red_men):
    schema, program = red_men
    themis = Themis(program, schema, error_bound=0.02, random_state=1)
    for names, expected in (("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)):
        score = themis.causal_score(names)
        assert score.low <= expected <= score.high
        assert abs(score.score - expected) < 0.02
    assert themis.software_runs == 8


def test_a_score_is_the_same_whatever_else_is_tested():
    schema, program = as_program(np.random.default_rng(1).random((6, 6, 6)) < 0.3)
    alone = Themis(program, schema).causal_score("x1")
    themis = Themis(program, schema)
    themis.group_score(["x0", "x2"])
    after = themis.causal_score("x1")
    assert (alone.score, alone.samples, alone.tests) == (after.score, after.samples, after.tests)
    assert after.software_runs < alone.software_runs


def test_the_software_is_never_run_twice_over_all_scores():
    schema, program = as_program(np.random.default_rng(2).random((5, 4, 3, 6)) < 0.5)
    seen = Counter()

    def counted(inputs):
        seen.update(map(tuple, inputs.to_numpy().tolist()))
        return program(inputs)

    themis = Themis(counted, schema)
    result = themis.search(0.9, measure="both", prune=False)
    suite = themis.test_suite()
    assert set(seen.values()) == {1}
    assert themis.software_runs == result.software_runs == len(suite) == len(seen)
    assert list(suite.columns) == [*schema.names, "output"]
    assert (program(suite[schema.names]) == suite["output"]).all()


def test_output_distance():
    # Prices: sex changes the price of half of the inputs by 30 of 100 and of the rest by 10.
    prices = np.array([[50.0, 50.0], [80.0, 60.0]])
    schema, program = as_program(prices)

    def distance(first, second):
        return np.abs(first - second) / 100

    themis = Themis(program, schema, output_distance=distance, error_bound=0.01)
    assert themis.causal_score("x0").score == pytest.approx(0.2, abs=0.01)
    with pytest.raises(TypeError, match="group score needs binary outputs"):
        themis.group_score("x0")
    with pytest.raises(TypeError, match="apparent score needs binary outputs"):
        themis.apparent_score(pd.DataFrame({"x0": [0], "x1": [0]}), "x0", measure="group")
    wrong = Themis(program, schema, output_distance=lambda first, second: 100 * distance(first, second))
    with pytest.raises(ValueError, match=r"output_distance: expected .* numbers from 0 to 1"):
        wrong.causal_score("x0")


def test_apparent_scores_by_hand(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    suite = pd.DataFrame({"sex": ["Male", "Male", "Female"], "race": ["Red", "Green", "Red"]})
    # Men: one of two; women: none. Red: one of two; green: none.
    assert themis.apparent_score(suite, "sex", measure="group") == 0.5
    assert themis.apparent_score(suite, "race", measure="group") == 0.5
    # The two red inputs differ in sex only, and in output.
    assert themis.apparent_score(suite, "sex", measure="causal") == pytest.approx(2 / 3)
    assert themis.apparent_score(suite, ["sex", "race"], measure="causal") == 1
    # Red men occur three times as often: men 3/4.
    assert themis.apparent_score(suite, "sex", measure="group", weight=[3, 1, 1]) == 0.75
    assert themis.apparent_score(suite, "sex", measure="causal", weight=[3, 1, 1]) == pytest.approx(4 / 5)


@settings(deadline=None)
@given(PROGRAMS)
def test_the_apparent_score_of_all_inputs_is_the_exact_one(table):
    schema, program = as_program(table)
    inputs = schema.decode(schema.assignments(tuple(range(table.ndim))))
    themis = Themis(program, schema)
    for size in (1, 2):
        for positions in combinations(range(table.ndim), size):
            for measure, exact in EXACT.items():
                score = themis.apparent_score(inputs, [f"x{p}" for p in positions], measure=measure)
                assert score == pytest.approx(exact(table, positions))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1}, "confidence is 1, expected a number between 0 and 1"),
        ({"confidence": 99}, "confidence is 99"),
        ({"error_bound": 0}, "error_bound is 0"),
        ({"error_bound": float("nan")}, "error_bound is nan"),
        ({"stop": "bayes"}, "stop is 'bayes', expected one of normal, wilson"),
        ({"min_samples": 50, "max_samples": 50}, "min_samples 50 and max_samples 50: expected 0 <= min < max"),
    ],
)
def test_numbers_out_of_range(red_men, options, message):
    schema, program = red_men
    with pytest.raises(ValueError, match=message):
        Themis(program, schema, **options)


def test_bad_questions(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    suite = schema.decode(schema.assignments((0, 1)))
    for call, error, message in (
        (lambda: themis.search(1.5), ValueError, "threshold is 1.5"),
        (
            lambda: themis.search(0.5, measure="all"),
            ValueError,
            "'all', expected one of group, causal, both",
        ),
        (lambda: themis.search(0.5, max_size=3), ValueError, "max_size is 3, expected 1 to 2"),
        (lambda: themis.causal_score("age"), SchemaError, "'age' is not in the schema; it has sex, race"),
        (lambda: themis.apparent_score(suite[:0], "sex", measure="group"), ValueError, "at least one, found none"),
        (lambda: themis.apparent_score(suite, "sex", measure="both"), ValueError, "measure is 'both'"),
        (
            lambda: themis.apparent_score(suite, "sex", measure="group", weight=np.zeros(8)),
            ValueError,
            "expected 8 positive numbers",
        ),
    ):
        with pytest.raises(error, match=message):
            call()


def test_too_many_groups_are_refused_before_anything_is_run():
    schema = Schema.from_dict({f"x{i}": range(1000) for i in range(3)})
    themis = Themis(lambda inputs: pytest.fail("was run"), schema)
    for score in (themis.group_score, themis.causal_score):
        with pytest.raises(DomainTooLargeError, match="have 1,000,000,000 combinations of values, more than 1,000,000"):
            score(schema.names)
