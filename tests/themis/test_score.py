from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema
from fairlab.papers.themis.programs import as_program, n_groups, pruned_sets, subsets
from fairlab.themis import Themis, group_score


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
