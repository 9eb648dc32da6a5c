from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema
from fairlab.themis import Themis, as_program, causal_score, group_score, n_groups
from fairlab.themis.search import pruned_sets, subsets

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


@settings(max_examples=40, deadline=None)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_an_unpruned_search_tells_what_a_pruned_one_would_test(table, threshold, seed):
    schema, program = as_program(table)
    everything = Themis(program, schema, random_state=seed).search(0.4, measure="both", prune=False)
    pruned = Themis(program, schema, random_state=seed).search(threshold, measure="both")
    told = everything.pruned(threshold)
    assert (told.threshold, told.found, told.skipped) == (pruned.threshold, pruned.found, pruned.skipped)
    assert [(s.measure, s.characteristics, s.score, s.tests) for s in told.scores] == [
        (s.measure, s.characteristics, s.score, s.tests) for s in pruned.scores
    ]
    if any(pruned.skipped.values()):
        with pytest.raises(ValueError, match="expected an unpruned search"):
            pruned.pruned(0.5)


@settings(max_examples=40, deadline=None)
@given(PROGRAMS, st.sampled_from([0.3, 0.5, 0.75]))
def test_estimated_searches_agree_unless_a_score_is_near_the_threshold(table, threshold):
    schema, program = as_program(table)
    scores = [causal_score(table, positions) for positions in subsets(range(table.ndim))]
    if np.abs(np.array(scores) - threshold).min() > 0.15:
        results = [
            Themis(program, schema, stop="wilson", confidence=0.9999).search(threshold, prune=prune)
            for prune in (True, False)
        ]
        assert results[0].found == results[1].found


def test_what_the_group_measure_finds_needs_no_causal_test(red_men):
    schema, program = red_men
    plain, implied = (
        Themis(program, schema, stop="wilson").search(0.4, measure="both", group_implies_causal=flag)
        for flag in (False, True)
    )
    assert plain.found == implied.found == {"group": (("race",),), "causal": (("race",),)}
    assert plain.skipped == {"group": 1, "causal": 1}
    assert implied.skipped == {"group": 1, "causal": 2}
    frame = implied.to_frame()
    assert frame.query("minimal")["characteristics"].tolist() == [("race",)]
    assert set(frame["measure"]) == {"group", "causal"}


def test_search_over_some_characteristics():
    schema, program = as_program(np.random.default_rng(3).random((3, 3, 3, 3)) < 0.5)
    result = Themis(program, schema).search(1.0, characteristics=["x3", "x1"], prune=False)
    assert [score.characteristics for score in result.scores] == [("x1",), ("x3",), ("x1", "x3")]
    small = Themis(program, schema).search(1.0, max_size=1, prune=False)
    assert [score.characteristics for score in small.scores] == [(f"x{i}",) for i in range(4)]


def test_subsets_are_all_small_ones_first():
    assert subsets(range(3)) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert subsets([4, 7], 1) == [(4,), (7,)]


def test_pruned_sets_by_hand():
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tested, minimal = pruned_sets(sets, [0.1, 0.9, 0.2, 0.9, 0.5, 0.9, 0.9], 0.5)
    assert tested.tolist() == [True, True, True, False, True, False, False]
    assert minimal.tolist() == [False, True, False, False, True, False, False]


def test_features_of_one_value_are_not_searched():
    schema = Schema.from_dict({"sex": [0, 1], "country": ["Utopia"], "age": [0, 1]})
    result = Themis(lambda inputs: inputs["sex"].to_numpy(), schema).search(0.5, measure="group")
    assert result.found == {"group": (("sex",),)}
    assert [score.characteristics for score in result.scores] == [("sex",), ("age",)]


def test_a_search_is_told_in_one_line_and_drawn(red_men):
    schema, program = red_men
    result = Themis(program, schema, stop="wilson").search(0.4, measure="both")
    assert repr(result) == ("Search: scores of at least 0.4 by group: race, by causal: race (4 sets tested, 2 skipped)")
    assert "no set" in Themis(program, schema).search(0.9, measure="group", max_size=1).summary
    axis = result.plot().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex", "race"]
    assert "<table" in result._repr_html_()


def test_all_sets():
    assert n_groups(SIZES) == 11 * 3 * 6 * 41 - 1


@pytest.mark.parametrize("found", [[("age",)], [("sex", "race"), ("country",)], [("age", "sex", "race", "country")]])
def test_supersets_of_found_sets_are_left_out(found):
    every = [subset for size in range(1, 5) for subset in combinations(SIZES, size)]
    kept = [subset for subset in every if not any(set(small) < set(subset) for small in found)]
    assert n_groups(SIZES, found) == sum(prod(SIZES[name] for name in subset) for subset in kept)


def test_too_many_characteristics():
    with pytest.raises(ValueError, match="25 characteristics, expected at most 24"):
        n_groups({str(k): 2 for k in range(25)})


def fair_program():
    """Return the schema and the program of an input space whose sensitive values nothing reads."""
    yes = np.random.default_rng(0).random(20_000) < 0.5
    schema = Schema.from_dict({"sex": ["f", "m"], "race": list("abcde"), "person": range(20_000)})
    return schema, lambda inputs: yes[inputs["person"].to_numpy()]


@pytest.mark.parametrize("measure", ["group", "causal"])
def test_a_program_that_reads_no_sensitive_value_is_named_no_more_often_than_stated(measure):
    schema, program = fair_program()
    named = {"as_described": 0, "as_published": 0}
    for reading in named:
        for seed in range(40):
            options = {"confidence": 0.95, "reading": reading, "random_state": seed, "max_samples": 300}
            search = Themis(program, schema, **options).search(0.05, measure=measure, characteristics=["sex", "race"])
            named[reading] += bool(search.found[measure])
    assert named["as_described"] == 0
    assert named["as_published"] > 30 or measure == "causal"


def test_a_search_decides_on_the_lower_end_and_says_what_is_undecided():
    table = np.zeros((2, 2, 1000), dtype=bool)
    table[1, :, :300] = True  # x0 has a causal score of 0.3
    schema, program = as_program(table)
    searches = {t: Themis(program, schema).search(t, characteristics=["x0", "x1"]) for t in (0.2, 0.31, 0.5)}
    assert searches[0.2].found == {"causal": (("x0",),)}
    assert searches[0.2].undecided == ()
    for threshold in (0.31, 0.5):
        assert searches[threshold].found == {"causal": ()}
    assert [score.characteristics for score in searches[0.31].undecided] == [("x0",), ("x0", "x1")]
    assert searches[0.31].summary.endswith("(3 sets tested, 0 skipped, 2 undecided)")
    # All intervals together hold, so each is wider than that of a score alone.
    alone, together = Themis(program, schema).causal_score("x1"), searches[0.5].scores[1]
    assert together.characteristics == alone.characteristics
    assert (together.samples, alone.samples) > (0, 0)
    assert together.samples > alone.samples


def test_groups_of_sets_that_are_none():
    for sizes, found, message in (
        ({"age": 0}, [], r"sizes\['age'\]: expected a positive integer, found 0"),
        ({"age": 1.5}, [], r"sizes\['age'\]: expected a positive integer, found 1.5"),
        (SIZES, [("height",)], "found: expected sets of age, sex, race, country, found 'height'"),
    ):
        with pytest.raises(ValueError, match=message):
            n_groups(sizes, found)
    assert n_groups(SIZES, ["age"]) == n_groups(SIZES, [("age",)])
    unpruned = Themis(*as_program(np.eye(2, dtype=bool))[::-1]).search(0.5, prune=False)
    with pytest.raises(ValueError, match="threshold is 5, expected"):
        unpruned.pruned(5)
