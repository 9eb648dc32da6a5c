from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import clone

from fairlab.cases import CaseError, Schema
from fairlab.papers.themis.programs import as_program
from fairlab.themis import DomainTooLargeError, Themis, causal_score, group_score

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def test_small_groups_are_enumerated(red_men):
    schema, program = red_men
    themis = Themis(program, schema, min_samples=10)
    for names, expected in (("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)):
        score = themis.group_score(names)
        assert score.score == score.low == score.high == expected
        assert score.samples == score.tests == 8
    assert score.sensitive_features == ("sex", "race")
    assert themis.model_runs == score.distinct_inputs == 8
    assert score.model_runs == 0


def test_causal_score_of_red_men(red_men):
    schema, program = red_men
    themis = Themis(program, schema, error_bound=0.02, random_state=1)
    for names, expected in (("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)):
        score = themis.causal_score(names)
        assert score.low <= expected <= score.high
        assert abs(score.score - expected) < 0.02
    assert themis.model_runs == 8


def test_a_score_is_the_same_whatever_else_is_tested():
    schema, program = as_program(np.random.default_rng(1).random((6, 6, 6)) < 0.3)
    alone = Themis(program, schema).causal_score("x1")
    themis = Themis(program, schema)
    themis.group_score(["x0", "x2"])
    after = themis.causal_score("x1")
    assert (alone.score, alone.samples, alone.tests) == (after.score, after.samples, after.tests)
    assert after.model_runs < alone.model_runs


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
    assert themis.model_runs == result.model_runs == len(suite) == len(seen)
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
        ({"confidence_level": 1}, "confidence_level: expected a number between 0 and 1, found 1"),
        ({"confidence_level": 99}, "confidence_level: expected a number between 0 and 1, found 99"),
        ({"error_bound": 0}, "error_bound: expected a number between 0 and 1, found 0"),
        ({"error_bound": float("nan")}, "error_bound: expected a number between 0 and 1, found nan"),
        ({"stop": "bayes"}, "stop: expected one of exact, wilson, normal, found 'bayes'"),
        ({"min_samples": 50, "max_samples": 50}, "max_samples: expected an integer, at least 51, found 50"),
    ],
)
def test_numbers_out_of_range(red_men, options, message):
    schema, program = red_men
    with pytest.raises(ValueError, match=message):
        Themis(program, schema, **options).causal_score("sex")


def test_bad_questions(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    suite = schema.decode(schema.assignments((0, 1)))
    for call, error, message in (
        (lambda: themis.search(1.5), ValueError, "min_score: expected a number between 0 and 1, found 1.5"),
        (
            lambda: themis.search(0.5, measure="all"),
            ValueError,
            "measure: expected one of group, causal, both, found 'all'",
        ),
        (lambda: themis.search(0.5, max_size=3), ValueError, "max_size: expected 1 to 2, found 3"),
        (lambda: themis.causal_score("age"), CaseError, "'age' is not in the schema; it has sex, race"),
        (lambda: themis.apparent_score(suite[:0], "sex", measure="group"), ValueError, "at least one, found none"),
        (
            lambda: themis.apparent_score(suite, "sex", measure="both"),
            ValueError,
            "measure: expected one of group, causal, found 'both'",
        ),
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


def rare_discrimination(true_score):
    """Return a program on 2,000 inputs whose causal score by x0 is known."""
    table = np.zeros((2, 1000), dtype=bool)
    table[1, : round(1000 * true_score)] = True
    assert causal_score(table, (0,)) == true_score
    return as_program(table)


@pytest.mark.parametrize("true_score", [0.02, 0.05, 0.10, 0.3])
def test_a_causal_score_is_off_by_more_than_the_bound_no_more_often_than_promised(true_score):
    schema, program = rare_discrimination(true_score)
    shared = Themis(program, schema)._program
    off, missed = {"sound": 0, "published": 0}, 0
    for seed in range(200):
        for variant in off:
            themis = Themis(program, schema, variant=variant, random_state=seed)
            themis._program = shared  # outputs do not depend on the seed
            score = themis.causal_score("x0")
            off[variant] += abs(score.score - true_score) > 0.05
            missed += variant == "sound" and not score.low <= true_score <= score.high
    assert off["sound"] <= 2
    assert missed <= 2
    assert off["published"] > 60 or true_score != 0.10, "the paper's rule stops at the first stretch without a hit"


def test_the_published_reading_takes_the_papers_rule_and_the_plain_spread():
    schema, program = as_program(np.random.default_rng(0).random((3, 40, 40)) < 0.5)
    published = Themis(program, schema, variant="published").group_score("x0")
    plain = Themis(program, schema, variant="published", stop="normal").group_score("x0")
    assert published.to_dict() == {**plain.to_dict()}
    ends = published.evidence["share"]
    assert published.score == ends.iloc[1] - ends.iloc[0]
    described = Themis(program, schema).group_score("x0")
    ends = described.evidence["share"]
    assert described.score < ends.iloc[1] - ends.iloc[0]
    assert described.low == 0
    with pytest.raises(ValueError, match="variant: expected one of sound, published, found 'printed'"):
        Themis(program, schema, variant="printed").causal_score("x0")


def test_few_inputs_are_all_tried(red_men):
    schema, program = red_men
    for measure, expected in (("group", 0.25), ("causal", 0.25)):
        score = getattr(Themis(program, schema), f"{measure}_score")("sex")
        assert (score.score, score.low, score.high, score.samples) == (expected, expected, expected, 8)
    assert Themis(program, schema, stop="normal").causal_score("sex").samples > 8


def test_rare_differences_of_outputs_with_a_distance():
    prices = np.full((2, 5000), 50.0)
    prices[1, :500] = 80  # by 0.3 of the scale on a tenth of the inputs
    schema, program = as_program(prices)
    for seed in range(40):
        themis = Themis(program, schema, output_distance=lambda a, b: np.abs(a - b) / 100, random_state=seed)
        score = themis.causal_score("x0")
        assert score.low <= 0.03 <= score.high
        assert abs(score.score - 0.03) <= 0.05


def test_weights_go_by_the_index(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    suite = pd.DataFrame({"sex": ["Male", "Male", "Female"], "race": ["Red", "Green", "Red"]}, index=list("abc"))
    weight = pd.Series([1, 1, 3], index=list("cba"))
    assert themis.apparent_score(suite, "sex", measure="group", weight=weight) == 0.75
    with pytest.raises(ValueError, match="weight: has the row label 0, which the table has not"):
        themis.apparent_score(suite, "sex", measure="group", weight=weight.reset_index(drop=True))


@pytest.mark.parametrize(
    "weight", [[1, np.inf, 1], [1, np.nan, 1], [1, -1, 1], [1j, 1, 1], list("abc"), [1, 1], 1, [[1]]]
)
def test_weights_that_are_none(red_men, weight):
    schema, program = red_men
    suite = pd.DataFrame({"sex": ["Male", "Male", "Female"], "race": ["Red", "Green", "Red"]})
    for measure in ("group", "causal"):
        with pytest.raises(
            ValueError,
            match="weight: ",
        ):
            Themis(program, schema).apparent_score(suite, "sex", measure=measure, weight=weight)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence_level": "0.9"}, ValueError, "confidence_level: expected a number between 0 and 1, found '0.9'"),
        ({"confidence_level": True}, ValueError, "confidence_level: expected a number between 0 and 1, found True"),
        ({"error_bound": 0.05 + 0j}, ValueError, "error_bound: expected a number between 0 and 1, found"),
        ({"min_samples": 10.5}, ValueError, "min_samples: expected an integer, at least 0, found 10.5"),
        ({"max_samples": "many"}, ValueError, "max_samples: expected an integer, at least 11, found 'many'"),
        ({"min_samples": -1}, ValueError, "min_samples: expected an integer, at least 0, found -1"),
        ({"model": "echo 1"}, TypeError, "a program comes in as CommandSoftware"),
        ({"schema": {"sex": ["f", "m"]}}, TypeError, "schema: expected a Schema, found dict"),
        ({"output_distance": "absolute"}, TypeError, "output_distance: expected a function, found str"),
    ],
)
def test_arguments_of_another_kind(red_men, options, error, message):
    schema, program = red_men
    with pytest.raises(error, match=message):
        Themis(**{"model": program, "schema": schema} | options).causal_score("sex")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": "high"}, "min_score: expected a finite number of at least 0, found 'high'"),
        ({"min_score": float("nan")}, "min_score: expected a finite number of at least 0, found nan"),
        ({"min_score": 0.5, "max_size": 1.5}, "max_size: expected 1 to 2, found 1.5"),
        ({"min_score": 0.5, "max_size": 0}, "max_size: expected 1 to 2, found 0"),
        ({"min_score": 0.5, "max_size": "two"}, "max_size: expected 1 to 2, found 'two'"),
    ],
)
def test_searches_that_make_no_sense(red_men, options, message):
    schema, program = red_men
    with pytest.raises(ValueError, match=message):
        Themis(program, schema).search(**options)


def test_names_and_inputs_of_another_kind(red_men):
    schema, program = red_men
    themis = Themis(program, schema)
    for call in (themis.group_score, themis.causal_score, lambda names: themis.search(0.5, sensitive_features=names)):
        with pytest.raises(TypeError, match="sensitive_features: expected names of features, found 5"):
            call(5)
        with pytest.raises(CaseError, match="5 is not in the schema"):
            call([5])
    with pytest.raises(TypeError, match="inputs: expected a DataFrame, found list"):
        themis.apparent_score([["Male", "Red"]], "sex", measure="group")


def test_parameters_are_kept_and_what_is_known_of_another_model_is_forgotten(red_men):
    schema, program = red_men
    themis = Themis(program, schema, random_state=4)
    found = themis.causal_score("sex")
    copy = clone(themis)
    assert copy.get_params() | {"schema": None} == themis.get_params() | {"schema": None}
    assert copy.model_runs == 0
    assert copy.causal_score("sex").score == found.score
    copy.set_params(model=lambda rows: rows["sex"] == "nobody")
    assert copy.causal_score("sex").score == 0
