from itertools import combinations, product
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import clone

from fairlab.cases import CaseError, Schema
from fairlab.papers.themis.programs import as_program, n_groups, pruned_sets, subsets
from fairlab.themis import DomainTooLargeError, Themis, causal_score, group_score, output_table, read_settings

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def distance(first, second):
    return np.abs(first - second) / 100


# The example of Themis' repository, program and schema: it discriminates against red men, and exact scores are known.
RED_MEN = (
    lambda inputs: ((inputs["sex"] == "Male") & (inputs["race"] == "Red")).to_numpy(),
    Schema.from_dict({"sex": ["Male", "Female"], "race": ["Red", "Green", "Blue", "Purple"]}),
)


@pytest.mark.parametrize(("names", "expected"), [("sex", 0.25), ("race", 0.5), (["sex", "race"], 1)])
def test_small_groups_are_enumerated(names, expected):
    themis = Themis(*RED_MEN, min_samples=10)
    scores = themis.causal_score(names), themis.group_score(names)
    assert [(s.score, s.low, s.high, s.samples) for s in scores] == [(*[expected] * 3, 8)] * 2
    assert (themis.model_runs, scores[1].tests, scores[1].distinct_inputs, scores[1].model_runs) == (8, 8, 8, 0)
    sampled = Themis(*RED_MEN, stop="normal", error_bound=0.02, random_state=1).causal_score(names)
    assert sampled.score == pytest.approx(expected, abs=0.02)
    assert sampled.samples > 8


def test_the_software_is_never_run_twice_over_all_scores():
    schema, program = as_program(np.random.default_rng(2).random((5, 4, 3, 6)) < 0.5)
    seen = []

    def counted(inputs):
        seen.extend(map(tuple, inputs.to_numpy().tolist()))
        return program(inputs)

    themis = Themis(counted, schema)
    result = themis.search(0.9, measure="both", prune=False)
    suite = themis.test_suite()
    assert len(set(seen)) == len(seen) == themis.model_runs == result.model_runs == len(suite)
    assert list(suite.columns) == [*schema.names, "output"]
    assert (program(suite[schema.names]) == suite["output"]).all()


def test_output_distance():
    # Prices: sex changes the price of half of the inputs by 30 of 100 and of the rest by 10.
    schema, program = as_program(np.array([[50.0, 50.0], [80.0, 60.0]]))
    themis = Themis(program, schema, output_distance=distance, error_bound=0.01)
    assert themis.causal_score("x0").score == pytest.approx(0.2, abs=0.01)
    with pytest.raises(TypeError, match="group score needs binary outputs"):
        themis.group_score("x0")
    wrong = Themis(program, schema, output_distance=lambda first, second: 100 * distance(first, second))
    with pytest.raises(ValueError, match=r"output_distance: expected .* numbers from 0 to 1"):
        wrong.causal_score("x0")


@pytest.mark.parametrize(
    ("names", "measure", "options", "expected"),
    [
        ("sex", "group", {}, 0.5),  # men: one of two; women: none
        ("race", "group", {}, 0.5),  # red: one of two; green: none
        ("sex", "causal", {}, 2 / 3),  # the two red inputs differ in sex only, and in output
        (["sex", "race"], "causal", {}, 1),
        ("sex", "group", {"weight": [3, 1, 1]}, 0.75),  # red men occur three times as often: men 3/4
        ("sex", "causal", {"weight": [3, 1, 1]}, 4 / 5),
    ],
)
def test_apparent_scores_by_hand(names, measure, options, expected):
    suite = pd.DataFrame({"sex": ["Male", "Male", "Female"], "race": ["Red", "Green", "Red"]})
    score = Themis(*RED_MEN).apparent_score(suite, names, measure=measure, **options)
    assert score == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(PROGRAMS)
def test_the_apparent_score_of_all_inputs_is_the_exact_one(table):
    schema, program = as_program(table)
    inputs, themis = schema.decode(schema.assignments(range(table.ndim))), Themis(program, schema)
    for positions, measure in product(subsets(range(table.ndim)), EXACT):
        score = themis.apparent_score(inputs, [f"x{p}" for p in positions], measure=measure)
        assert score == pytest.approx(EXACT[measure](table, positions))


def test_too_many_groups_are_refused_before_anything_is_run():
    schema = Schema.from_dict({f"x{i}": range(1000) for i in range(3)})
    themis = Themis(lambda inputs: pytest.fail("was run"), schema)
    for score in (themis.group_score, themis.causal_score):
        with pytest.raises(DomainTooLargeError, match="have 1,000,000,000 combinations of values, more than 1,000,000"):
            score(schema.names)


@pytest.mark.parametrize("true_score", [0.02, 0.05, 0.10, 0.3])
def test_a_causal_score_is_off_by_more_than_the_bound_no_more_often_than_promised(true_score):
    table = np.zeros((2, 1000), dtype=bool)
    table[1, : round(1000 * true_score)] = True
    schema, program = as_program(table)
    shared = Themis(program, schema)._program

    def scores(variant):
        for seed in range(100):
            themis = Themis(program, schema, variant=variant, random_state=seed)
            themis._program = shared  # outputs do not depend on the seed
            yield themis.causal_score("x0").to_dict()

    sound, published = (pd.DataFrame(scores(variant)) for variant in ("sound", "published"))
    off = [(abs(found["score"] - true_score) > 0.05).sum() for found in (sound, published)]
    assert off[0] <= 1
    assert (~sound.eval(f"low <= {true_score} <= high")).sum() <= 1
    assert off[1] > 30 or true_score != 0.10, "the paper's rule stops at the first stretch without a hit"


def test_the_published_reading_takes_the_papers_rule_and_the_plain_spread():
    schema, program = as_program(np.random.default_rng(0).random((3, 40, 40)) < 0.5)
    published, plain, described = (
        Themis(program, schema, **options).group_score("x0")
        for options in ({"variant": "published"}, {"variant": "published", "stop": "normal"}, {})
    )
    assert published.to_dict() == plain.to_dict()
    assert published.score == np.ptp(published.evidence["share"])
    assert described.score < np.ptp(described.evidence["share"])
    assert described.low == 0


def test_rare_differences_of_outputs_with_a_distance():
    prices = np.full((2, 5000), 50.0)
    prices[1, :500] = 80  # by 0.3 of the scale on a tenth of the inputs
    schema, program = as_program(prices)
    for seed in range(20):
        score = Themis(program, schema, output_distance=distance, random_state=seed).causal_score("x0")
        assert score.low <= 0.03 <= score.high
        assert abs(score.score - 0.03) <= 0.05


def test_parameters_are_kept_and_what_is_known_of_another_model_is_forgotten():
    themis = Themis(*RED_MEN, random_state=4)
    found, copy = themis.causal_score("sex"), clone(themis)
    assert copy.get_params() | {"schema": None} == themis.get_params() | {"schema": None}
    assert (copy.model_runs, copy.causal_score("sex").score) == (0, found.score)
    copy.set_params(model=lambda rows: rows["sex"] == "nobody")
    assert copy.causal_score("sex").score == 0


# score


def test_a_score_says_who_where_and_how_much():
    score = Themis(*RED_MEN).group_score(["race", "sex"])
    where = "demographic parity difference (largest − smallest) on generated inputs"
    assert (score.who, score.where, score.effect, score.interval) == ("sex and race", where, 1, (1, 1))
    assert repr(score) == f"Score: sex and race, {where}: 1 [1, 1]"
    [axis] = score.plot().axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sex, race"]


def test_evidence_of_a_group_score_is_the_extreme_groups():
    evidence = Themis(*RED_MEN).group_score("race").evidence[["race", "share", "low", "samples"]]
    assert evidence.to_numpy().tolist() == [["Green", 0, 0, 2], ["Red", 0.5, 0.5, 2]]
    schema, program = as_program(np.random.default_rng(0).random((30, 40)) < np.linspace(0, 1, 30)[:, None])
    sampled = Themis(program, schema).group_score("x0").evidence
    lowest, highest = sampled["x0"]
    assert lowest < 10 < 19 < highest
    assert (sampled["low"] <= sampled["share"]).all()


def test_evidence_of_a_causal_score_is_pairs():
    themis = Themis(*RED_MEN)
    runs_before = themis.causal_score("sex").distinct_inputs
    evidence = themis.causal_score("sex").evidence
    assert themis.model_runs == runs_before, "only what was tried is shown"
    assert 0 < len(evidence) <= 5
    is_man = evidence["sex"] == "Male"
    expected = {"sex": evidence["sex"], "race": "Red", "output": is_man}
    expected |= {"sex of the counterpart": np.where(is_man, "Female", "Male"), "output of the counterpart": ~is_man}
    pd.testing.assert_frame_equal(evidence, pd.DataFrame(expected), check_dtype=False)


def test_evidence_with_a_distance_is_the_counterpart_furthest_away():
    schema, program = as_program(np.array([[50.0, 50.0], [80.0, 60.0], [70.0, 90.0]]))
    evidence = Themis(program, schema, output_distance=distance).causal_score("x0").evidence
    found = {tuple(row) for row in evidence[["x1", "output", "output of the counterpart"]].to_numpy().tolist()}
    furthest = {(0, 50, 80), (0, 80, 50), (0, 70, 50), (1, 50, 90), (1, 60, 90), (1, 90, 50)}
    assert (len(found), found - furthest) == (5, set())


def test_no_evidence_where_there_is_none():
    schema = Schema.from_dict({"sex": ["f", "m"], "age": range(5)})
    score = Themis(lambda inputs: np.zeros(len(inputs), dtype=bool), schema).causal_score("sex")
    assert (score.score, len(score.evidence)) == (0, 0)
    assert "sex of the counterpart" in score.evidence


SIZES = {"age": 10, "sex": 2, "race": 5, "country": 40}


@settings(max_examples=40, deadline=None)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_pruned_and_unpruned_searches_find_the_same_sets(table, threshold, seed):
    schema, program = as_program(table)
    # All groups are enumerated, so that group scores are exact.
    options = {"min_samples": table.size, "random_state": seed}
    pruned, unpruned = (
        Themis(program, schema, **options).search(threshold, measure="group", prune=prune) for prune in (True, False)
    )
    every = subsets(range(table.ndim))
    above = [positions for positions in every if group_score(table, positions) >= threshold]
    minimal = [large for large in above if not any(set(small) < set(large) for small in above)]
    expected = {"group": tuple(tuple(f"x{p}" for p in positions) for positions in minimal)}
    assert pruned.found == unpruned.found == expected
    assert pruned.tests <= unpruned.tests
    assert (unpruned.skipped, len(pruned.scores) + pruned.skipped["group"]) == ({"group": 0}, len(every))


def test_both_measures_are_searched_one_after_the_other():
    found = Themis(*RED_MEN, stop="wilson").search(0.4, measure="both")
    assert found.found == {"group": (("race",),), "causal": (("race",),)}
    assert found.skipped == {"group": 1, "causal": 1}
    minimal = found.to_frame().query("minimal")[["measure", "sensitive_features"]]
    assert minimal.to_numpy().tolist() == [["group", ("race",)], ["causal", ("race",)]]


def test_pruned_sets_by_hand():
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tested, minimal = pruned_sets(sets, [0.1, 0.9, 0.2, 0.9, 0.5, 0.9, 0.9], 0.5)
    assert [s for s, is_so in zip(sets, tested, strict=True) if is_so] == [("a",), ("b",), ("c",), ("a", "c")]
    assert [s for s, is_so in zip(sets, minimal, strict=True) if is_so] == [("b",), ("a", "c")]


@pytest.mark.parametrize("found", [[("age",)], [("sex", "race"), ("country",)], [("age", "sex", "race", "country")]])
def test_supersets_of_found_sets_are_left_out(found):
    every = [subset for size in range(1, 5) for subset in combinations(SIZES, size)]
    kept = [subset for subset in every if not any(set(small) < set(subset) for small in found)]
    assert n_groups(SIZES, found) == sum(prod(SIZES[name] for name in subset) for subset in kept)


@pytest.mark.parametrize("measure", ["group", "causal"])
def test_a_program_that_reads_no_sensitive_value_is_named_no_more_often_than_stated(measure):
    def named(variant):
        searches = (
            Themis(program, schema, confidence_level=0.95, variant=variant, random_state=seed, max_samples=300).search(
                0.05, measure=measure, sensitive_features=["sex", "race"]
            )
            for seed in range(40)
        )
        return sum(bool(search.found[measure]) for search in searches)

    yes = np.random.default_rng(0).random(20_000) < 0.5
    schema = Schema.from_dict({"sex": ["f", "m"], "race": list("abcde"), "person": range(20_000)})
    program = lambda inputs: yes[inputs["person"].to_numpy()]  # noqa: E731
    assert named("sound") == 0
    assert named("published") > 30 or measure == "causal"


def test_a_search_decides_on_the_lower_end_and_says_what_is_undecided():
    table = np.zeros((2, 2, 1000), dtype=bool)
    table[1, :, :300] = True  # x0 has a causal score of 0.3
    schema, program = as_program(table)
    searches = {t: Themis(program, schema).search(t, sensitive_features=["x0", "x1"]) for t in (0.2, 0.31, 0.5)}
    undecided = {t: [score.sensitive_features for score in search.undecided] for t, search in searches.items()}
    assert {t: search.found["causal"] for t, search in searches.items()} == {0.2: (("x0",),), 0.31: (), 0.5: ()}
    assert (undecided[0.2], undecided[0.31]) == ([], [("x0",), ("x0", "x1")])
    assert searches[0.31].summary.endswith("(3 sets tested, 0 skipped, 2 undecided)")
    # All intervals together hold, so each is wider than that of a score alone.
    alone, together = Themis(program, schema).causal_score("x1"), searches[0.5].scores[1]
    assert together.sensitive_features == alone.sensitive_features
    assert together.samples > alone.samples > 0


def test_features_of_one_value_are_not_searched():
    schema = Schema.from_dict({"sex": [0, 1], "country": ["Utopia"], "age": [0, 1]})
    result = Themis(lambda inputs: inputs["sex"].to_numpy(), schema).search(0.5, measure="group")
    tested = [score.sensitive_features for score in result.scores]
    assert (result.found, tested) == ({"group": (("sex",),)}, [("sex",), ("age",)])


# exact scores, and the domain of Themis' settings


def test_red_men():
    table, sets = output_table(*RED_MEN), ((0,), (1,), (0, 1))
    assert table.shape == (2, 4)
    for score in (group_score, causal_score):
        assert [score(table, positions) for positions in sets] == [0.25, 0.5, 1]
    balanced = np.eye(2)  # section 2: green people get the loan when young, purple ones when old
    assert (group_score(balanced, 0), causal_score(balanced, 0)) == (0, 1)


@settings(max_examples=40, deadline=None)
@given(PROGRAMS)
def test_definitions_by_brute_force(table):
    inputs = list(product(*map(range, table.shape)))
    for positions in subsets(range(table.ndim)):
        groups, changed = {}, []
        for k in inputs:
            groups.setdefault(tuple(k[p] for p in positions), []).append(table[k])
            twins = (j for j in inputs if all(j[i] == k[i] for i in range(table.ndim) if i not in positions))
            changed.append(any(table[j] != table[k] for j in twins))
        shares = [np.mean(outputs) for outputs in groups.values()]
        assert group_score(table, positions) == pytest.approx(max(shares) - min(shares))
        assert causal_score(table, positions) == pytest.approx(np.mean(changed))
        assert group_score(table, positions) <= causal_score(table, positions) + 1e-12  # theorem 4.3


def test_a_domain_too_large_to_enumerate():
    schema = Schema.from_dict({f"x{i}": range(100) for i in range(5)})
    with pytest.raises(DomainTooLargeError, match="10,000,000,000 inputs, more than 10,000,000: estimate"):
        output_table(lambda inputs: pytest.fail("was run"), schema)


SETTINGS = """<settings>
  <name>loan</name><command>python loan.py</command><seed>42</seed>
  <inputs>
    <input><name>sex</name><type>categorical</type>
      <values><value>Male</value><value> Female </value></values></input>
    <input><name>age</name><type>continuousInt</type>
      <bounds><lowerbound>18</lowerbound><upperbound>20</upperbound></bounds></input>
  </inputs>
</settings>"""


def test_the_upper_bound_is_included(tmp_path):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS)
    assert read_settings(path).to_dict() == {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("continuousInt", "float", "input 'age' has type 'float'"),
        ("<upperbound>20</upperbound>", "", "lacks 'upperbound'"),
        ("<lowerbound>18", "<lowerbound>young", "lowerbound is 'young', expected a whole number"),
        ("<lowerbound>18", "<lowerbound>30", "low 30 is above high 20"),
        ("<value>Male</value><value> Female </value>", "", "'sex': expected at least one value, found none"),
        ("<name>age</name>", "<name>sex</name>", "two inputs are named 'sex'"),
        ("</settings>", "", "settings.xml: not XML"),
    ],
)
def test_bad_settings(tmp_path, old, new, message):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS.replace(old, new))
    with pytest.raises(CaseError, match=message):
        read_settings(path)
