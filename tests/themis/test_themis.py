from collections import Counter
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import clone

from fairlab.cases import Schema
from fairlab.papers.themis.programs import as_program, n_groups, pruned_sets, subsets
from fairlab.themis import DomainTooLargeError, Themis, causal_score, group_score

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def test_small_groups_are_enumerated(red_men):
    schema, program = red_men
    themis = Themis(program, schema, min_samples=10)
    sampled = Themis(program, schema, stop="normal", error_bound=0.02, random_state=1)
    for names, expected in (("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)):
        causal, score = themis.causal_score(names), themis.group_score(names)
        assert causal.score == causal.low == causal.high == score.score == score.low == score.high == expected
        assert causal.samples == score.samples == score.tests == 8
        assert sampled.causal_score(names).score == pytest.approx(expected, abs=0.02)
    assert sampled.causal_score("sex").samples > 8
    assert score.sensitive_features == ("sex", "race")
    assert themis.model_runs == score.distinct_inputs == 8
    assert score.model_runs == 0 == sampled.causal_score("sex").model_runs


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


def test_rare_differences_of_outputs_with_a_distance():
    prices = np.full((2, 5000), 50.0)
    prices[1, :500] = 80  # by 0.3 of the scale on a tenth of the inputs
    schema, program = as_program(prices)
    for seed in range(40):
        themis = Themis(program, schema, output_distance=lambda a, b: np.abs(a - b) / 100, random_state=seed)
        score = themis.causal_score("x0")
        assert score.low <= 0.03 <= score.high
        assert abs(score.score - 0.03) <= 0.05


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


# score


def test_a_score_says_who_where_and_how_much(red_men):
    schema, program = red_men
    score = Themis(program, schema).group_score(["race", "sex"])
    where = "demographic parity difference (largest − smallest) on generated inputs"
    assert (score.who, score.where) == ("sex and race", where)
    assert (score.effect, score.interval) == (1, (1, 1))
    assert repr(score) == f"Score: sex and race, {where}: 1 [1, 1]"
    [axis] = score.plot().axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex, race"]


def test_evidence_of_a_group_score_is_the_extreme_groups(red_men):
    schema, program = red_men
    evidence = Themis(program, schema).group_score("race").evidence[["race", "share", "low", "samples"]]
    assert evidence.to_numpy().tolist() == [["Green", 0, 0, 2], ["Red", 0.5, 0.5, 2]]
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
    assert themis.model_runs == runs_before, "only what was tried is shown"
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


PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
SIZES = {"age": 10, "sex": 2, "race": 5, "country": 40}


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_pruned_and_unpruned_searches_find_the_same_sets(table, threshold, seed):
    schema, program = as_program(table)
    # All groups are enumerated, so that group scores are exact.
    options = {"min_samples": table.size, "random_state": seed}
    pruned, unpruned = (
        Themis(program, schema, **options).search(threshold, measure="group", prune=prune) for prune in (True, False)
    )
    assert pruned.found == unpruned.found
    assert pruned.tests <= unpruned.tests
    assert unpruned.skipped == {"group": 0}
    every = subsets(range(table.ndim))
    above = [positions for positions in every if group_score(table, positions) >= threshold]
    minimal = [large for large in above if not any(set(small) < set(large) for small in above)]
    assert pruned.found["group"] == tuple(tuple(f"x{p}" for p in positions) for positions in minimal)
    assert len(pruned.scores) + pruned.skipped["group"] == len(every)


def test_both_measures_are_searched_one_after_the_other(red_men):
    schema, program = red_men
    found = Themis(program, schema, stop="wilson").search(0.4, measure="both")
    assert found.found == {"group": (("race",),), "causal": (("race",),)}
    assert found.skipped == {"group": 1, "causal": 1}
    frame = found.to_frame()
    assert frame.query("minimal")["sensitive_features"].tolist() == [("race",)] * 2
    assert set(frame["measure"]) == {"group", "causal"}


def test_pruned_sets_by_hand():
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tested, minimal = pruned_sets(sets, [0.1, 0.9, 0.2, 0.9, 0.5, 0.9, 0.9], 0.5)
    assert tested.tolist() == [True, True, True, False, True, False, False]
    assert minimal.tolist() == [False, True, False, False, True, False, False]


@pytest.mark.parametrize("found", [[("age",)], [("sex", "race"), ("country",)], [("age", "sex", "race", "country")]])
def test_supersets_of_found_sets_are_left_out(found):
    every = [subset for size in range(1, 5) for subset in combinations(SIZES, size)]
    kept = [subset for subset in every if not any(set(small) < set(subset) for small in found)]
    assert n_groups(SIZES, found) == sum(prod(SIZES[name] for name in subset) for subset in kept)


def fair_program():
    """Return the schema and the program of an input space whose sensitive values nothing reads."""
    yes = np.random.default_rng(0).random(20_000) < 0.5
    schema = Schema.from_dict({"sex": ["f", "m"], "race": list("abcde"), "person": range(20_000)})
    return schema, lambda inputs: yes[inputs["person"].to_numpy()]


@pytest.mark.parametrize("measure", ["group", "causal"])
def test_a_program_that_reads_no_sensitive_value_is_named_no_more_often_than_stated(measure):
    schema, program = fair_program()
    named = {"sound": 0, "published": 0}
    for variant in named:
        for seed in range(40):
            options = {"confidence_level": 0.95, "variant": variant, "random_state": seed, "max_samples": 300}
            search = Themis(program, schema, **options).search(
                0.05, measure=measure, sensitive_features=["sex", "race"]
            )
            named[variant] += bool(search.found[measure])
    assert named["sound"] == 0
    assert named["published"] > 30 or measure == "causal"


def test_a_search_decides_on_the_lower_end_and_says_what_is_undecided():
    table = np.zeros((2, 2, 1000), dtype=bool)
    table[1, :, :300] = True  # x0 has a causal score of 0.3
    schema, program = as_program(table)
    searches = {t: Themis(program, schema).search(t, sensitive_features=["x0", "x1"]) for t in (0.2, 0.31, 0.5)}
    assert searches[0.2].found == {"causal": (("x0",),)}
    assert searches[0.2].undecided == ()
    for threshold in (0.31, 0.5):
        assert searches[threshold].found == {"causal": ()}
    assert [score.sensitive_features for score in searches[0.31].undecided] == [("x0",), ("x0", "x1")]
    assert searches[0.31].summary.endswith("(3 sets tested, 0 skipped, 2 undecided)")
    # All intervals together hold, so each is wider than that of a score alone.
    alone, together = Themis(program, schema).causal_score("x1"), searches[0.5].scores[1]
    assert together.sensitive_features == alone.sensitive_features
    assert (together.samples, alone.samples) > (0, 0)
    assert together.samples > alone.samples


def test_features_of_one_value_are_not_searched():
    schema = Schema.from_dict({"sex": [0, 1], "country": ["Utopia"], "age": [0, 1]})
    result = Themis(lambda inputs: inputs["sex"].to_numpy(), schema).search(0.5, measure="group")
    assert result.found == {"group": (("sex",),)}
    assert [score.sensitive_features for score in result.scores] == [("sex",), ("age",)]
