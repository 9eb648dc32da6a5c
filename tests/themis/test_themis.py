from itertools import combinations, product
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import binom
from sklearn.base import clone

from fairlab.cases import AnswerCache, CaseError, Schema, queries
from fairlab.papers.themis.published import Normal, Wilson
from fairlab.papers.themis.settings import read_settings
from fairlab.themis import (
    DomainTooLargeError,
    Themis,
    causal_score,
    draws,
    group_score,
    output_table,
)
from fairlab.themis.draws import UniformDraw
from fairlab.themis.estimation import corrected_spread, spread_interval
from fairlab.themis.stopping import SPENT, Exact, error, look_sizes

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def as_program(table):
    """Return the program that a table of outputs describes, and the schema of its inputs."""
    schema = Schema.from_dict({f"x{axis}": range(size) for axis, size in enumerate(table.shape)})
    return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]


def subsets(positions):
    return [subset for size in range(1, len(positions) + 1) for subset in combinations(positions, size)]


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
    for score in (themis.causal_score(names), themis.group_score(names)):
        assert (score.estimate, score.low, score.high, score.n) == (expected, expected, expected, 8)
    assert (themis.model_runs, themis.estimate("group", [names])["tests"].tolist()) == (8, [8])
    sampled = Themis(*RED_MEN, stop=Normal, error_bound=0.02, random_state=1).causal_score(names)
    assert (sampled.estimate, sampled.n > 8) == (pytest.approx(expected, abs=0.02), True)


def test_output_distance():
    # Prices: sex changes the price of half of the inputs by 30 of 100 and of the rest by 10.
    schema, program = as_program(np.array([[50.0, 50.0], [80.0, 60.0]]))
    score = Themis(program, schema, output_distance=distance, error_bound=0.01).causal_score("x0")
    assert (score.estimate, score.measure) == (pytest.approx(0.2, abs=0.01), "counterfactual_distance")


@settings(max_examples=40)
@given(PROGRAMS)
def test_an_output_table_has_every_input(table):
    schema, program = as_program(table)
    assert (output_table(program, schema) == table).all()


def never(inputs):
    pytest.fail("was run")


THOUSANDS = Schema.from_dict({f"x{i}": range(1000) for i in range(3)})
GROUPS_OF_THOUSANDS = "have 1,000,000,000 combinations of values, more than 1,000,000"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Themis(never, THOUSANDS).group_score(THOUSANDS.names), GROUPS_OF_THOUSANDS),
        (lambda: Themis(never, THOUSANDS).causal_score(THOUSANDS.names), GROUPS_OF_THOUSANDS),
        (lambda: output_table(never, THOUSANDS), "1,000,000,000 inputs, more than 10,000,000: estimate"),
    ],
)
def test_a_domain_too_large_is_refused_before_anything_is_run(call, message):
    with pytest.raises(DomainTooLargeError, match=message):
        call()


def test_as_published_stops_by_the_normal_rule_and_takes_the_plain_spread():
    schema, program = as_program(np.random.default_rng(0).random((3, 40, 40)) < 0.5)
    published, sound = (Themis(program, schema, stop=stop).group_score("x0") for stop in (Normal, None))
    plain = [np.ptp(score.evidence["share"]) for score in (published, sound)]
    assert published.n != sound.n and (published.estimate, sound.low, sound.estimate < plain[1]) == (plain[0], 0, True)


def test_a_rule_that_is_given_is_told_whether_outputs_are_binary():
    schema, program = as_program(np.random.default_rng(0).random((2, 5000)) * 50)
    given = Themis(program, schema, output_distance=distance).causal_score("x0")
    assert (given.low, given.high) == Exact(0.99, 0.05, 10, 100_000, binary=False).interval(
        given.estimate * given.n, given.n
    )


def test_parameters_are_kept_and_what_is_known_of_another_model_is_forgotten():
    themis = Themis(*RED_MEN, random_state=4)
    found, copy = themis.causal_score("sex").estimate, clone(themis)
    assert copy.get_params() | {"schema": None} == themis.get_params() | {"schema": None}
    assert (copy.model_runs, copy.causal_score("sex").estimate) == (0, found)
    copy.set_params(model=lambda rows: rows["sex"] == "nobody")
    assert copy.causal_score("sex").estimate == 0
    copy.model = themis.model
    assert copy.causal_score("sex").estimate == found
    runs, copy.confidence_level = copy.model_runs, 0.9
    assert copy.model_runs == runs, "what does not change the outputs forgets nothing"
    copy.schema = Schema.from_dict({"sex": ["f", "x"], "race": ["red", "green"]})
    assert (copy.causal_score("sex").estimate, copy.test_suite()["sex"].isin(["f", "x"]).all()) == (0, True)
    copy.output_distance = lambda a, b: np.abs(a - b)
    assert copy.model_runs == 0


# findings


def test_evidence_of_a_group_score_is_the_extreme_groups():
    evidence = Themis(*RED_MEN).group_score("race").evidence
    expected = {"race": ["Green", "Red"], "share": [0, 0.5], "low": [0, 0.5], "samples": [2, 2]}
    assert evidence[list(expected)].to_dict("list") == expected
    schema, program = as_program(np.random.default_rng(0).random((30, 40)) < np.linspace(0, 1, 30)[:, None])
    sampled = Themis(program, schema).group_score("x0").evidence
    assert sampled["x0"].iloc[0] < 10 < 19 < sampled["x0"].iloc[1] and (sampled["low"] <= sampled["share"]).all()


def test_evidence_of_a_causal_score_is_pairs():
    evidence = Themis(*RED_MEN).causal_score("sex").evidence
    assert evidence.attrs["generated"]
    columns = ["sex", "race", "other sex", "output", "other output"]
    expected = [["Female", "Red", "Male", False, True], ["Male", "Red", "Female", True, False]]
    found = evidence.sort_values("sex", ignore_index=True)
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=columns), check_dtype=False)
    nothing = Themis(lambda inputs: np.zeros(len(inputs)), RED_MEN[1]).causal_score("sex")
    assert (nothing.estimate, nothing.evidence.empty, list(nothing.evidence)) == (0, True, columns)


def test_evidence_shows_only_inputs_that_were_tried():
    schema, program = as_program(np.random.default_rng(0).random((3, 40, 40)) < 0.5)
    themis, fresh = Themis(program, schema), Themis(program, schema)
    evidence = themis.causal_score("x0").evidence
    pd.testing.assert_frame_equal(themis.causal_score("x0").evidence, evidence)
    fresh.estimate("causal", ["x0"])
    assert themis.model_runs == fresh.model_runs < schema.n_inputs and len(evidence) == 5


def test_evidence_with_a_distance_is_the_counterpart_furthest_away():
    schema, program = as_program(np.array([[50.0, 50.0], [80.0, 60.0], [70.0, 90.0]]))
    evidence = Themis(program, schema, output_distance=distance).causal_score("x0").evidence
    found = {tuple(row) for row in evidence[["x1", "output", "other output"]].to_numpy().tolist()}
    furthest = {(0, 50, 80), (0, 80, 50), (0, 70, 50), (1, 50, 90), (1, 60, 90), (1, 90, 50)}
    assert (len(found), found - furthest) == (5, set())


@settings(max_examples=40)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_pruned_and_unpruned_searches_find_the_same_sets(table, threshold, seed):
    # All groups are enumerated, so that group scores are exact.
    themis = Themis(*as_program(table)[::-1], min_samples=table.size, random_state=seed)
    pruned, unpruned = (themis.search(threshold, measure="group", prune=prune) for prune in (True, False))
    every = subsets(range(table.ndim))
    above = [positions for positions in every if group_score(table, positions) >= threshold]
    minimal = [large for large in above if not any(set(small) < set(large) for small in above)]
    assert unpruned.found == {"group": tuple(tuple(f"x{p}" for p in positions) for positions in minimal)}
    assert pruned.found == unpruned.found and pruned.tests <= unpruned.tests
    assert (unpruned.skipped, len(pruned.frame) + pruned.skipped["group"]) == ({"group": 0}, len(every))


def test_both_measures_are_searched_one_after_the_other():
    found = Themis(*RED_MEN, stop=Wilson).search(0.4, measure="both")
    assert (found.found, found.skipped) == (dict.fromkeys(EXACT, (("race",),)), dict.fromkeys(EXACT, 1))
    minimal = found.to_frame().query("minimal")[["measure", "sensitive_features"]]
    assert minimal.to_numpy().tolist() == [["group", ("race",)], ["causal", ("race",)]]


def test_features_of_one_value_are_not_searched():
    schema = Schema.from_dict({"sex": [0, 1], "country": ["Utopia"], "age": [0, 1]})
    result = Themis(lambda inputs: inputs["sex"].to_numpy(), schema).search(0.5, measure="group")
    assert (result.found, result.frame["sensitive_features"].tolist()) == ({"group": (("sex",),)}, [("sex",), ("age",)])


def test_a_search_decides_on_the_lower_end_and_says_what_is_undecided():
    table = np.zeros((2, 2, 1000), dtype=bool)
    table[1, :, :300] = True  # x0 has a causal score of 0.3
    schema, program = as_program(table)
    sure, unsure, none = (Themis(program, schema).search(t, sensitive_features=["x0", "x1"]) for t in (0.2, 0.31, 0.5))
    assert [search.found["causal"] for search in (sure, unsure, none)] == [(("x0",),), (), ()]
    assert (sure.undecided.empty, unsure.undecided["sensitive_features"].tolist()) == (True, [("x0",), ("x0", "x1")])
    assert unsure.summary.endswith("(3 sets tested, 0 skipped, 2 undecided)")
    # All intervals together hold, so each is wider than that of a score alone.
    alone, together = Themis(program, schema).causal_score("x1"), none.frame.iloc[1]
    assert together["sensitive_features"] == alone.sensitive_features and together["samples"] > alone.n > 0


# exact scores, and the domain of Themis' settings


@settings(max_examples=40)
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
        found = group_score(table, positions), causal_score(table, positions)
        assert found == pytest.approx((max(shares) - min(shares), np.mean(changed)))
        assert found[0] <= found[1] + 1e-12  # theorem 4.3


SETTINGS = """<settings>
  <name>loan</name><command>python loan.py</command><seed>42</seed>
  <inputs>
    <input><name>sex</name><type>categorical</type>
      <values><value>Male</value><value> Female </value></values></input>
    <input><name>age</name><type>continuousInt</type>
      <bounds><lowerbound>18</lowerbound><upperbound>20</upperbound></bounds></input>
  </inputs>
</settings>"""


def read(folder, text):
    """Return the schema of settings of this text."""
    (folder / "settings.xml").write_text(text)
    return read_settings(folder / "settings.xml")


def test_the_upper_bound_is_included(tmp_path):
    assert read(tmp_path, SETTINGS).to_dict() == {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}


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
    with pytest.raises(CaseError, match=message):
        read(tmp_path, SETTINGS.replace(old, new))


# estimation


def plain_loop(program, schema, row, positions, distance):
    """Return what `UniformDraw.compare` finds of one input, as its docstring has it."""
    decide = lambda codes: program(schema.decode(codes[None]))[0]  # noqa: E731
    own, changed, partner, looked = decide(row), 0.0, 0, {tuple(row)}
    for number, values in enumerate(schema.assignments(positions)):
        other = row.copy()
        other[positions] = values
        looked.add(tuple(other))
        if (difference := distance(own, decide(other)) if distance else float(own != decide(other))) > changed:
            changed, partner = difference, number
            if distance is None:
                break
    return own, changed, partner, len(looked)


@settings(max_examples=20)
@given(PROGRAMS, st.booleans(), st.sampled_from([1, 7, 50_000]), st.integers(0, 5))
def test_inputs_are_compared_together_as_by_the_plain_loop(table, is_binary, cells, seed):
    table = table if is_binary else np.random.default_rng(seed).integers(0, 100, table.shape).astype(float)
    schema, program = as_program(table)
    apart = None if is_binary else distance
    sets = [list(positions) for positions in subsets(range(table.ndim))]
    inputs = schema.sample_codes(4 * len(sets), random_state=seed)
    owner = np.sort(np.random.default_rng(seed).integers(len(sets), size=len(inputs)))
    with mock.patch.object(draws, "INPUTS_AT_ONCE", cells):
        found = UniformDraw(program, schema, apart).compare(inputs, sets, owner)
    expected = [plain_loop(program, schema, row, sets[k], apart) for row, k in zip(inputs, owner, strict=True)]
    names = ["own", "changed", "partner", "tests"]
    found = pd.DataFrame({name: getattr(found, name) for name in names})
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=names), check_dtype=False)


@pytest.mark.parametrize("stop", [None, Normal])
def test_scores_of_a_search_are_those_of_the_sets_alone(monkeypatch, stop):
    """Sets are queried together, however many of them at once, and share nothing else."""
    table = np.random.default_rng(0).random((3, 4, 2, 5)) < np.linspace(0, 1, 3)[:, None, None, None]
    schema, program = as_program(table)
    options, seen = {"stop": stop, "min_samples": 5, "max_samples": 60, "error_bound": 0.2}, []
    for sizes in ({}, {"draws.INPUTS_AT_ONCE": 7, "themis.SETS_AT_ONCE": 3, "stopping.SAMPLES_AT_ONCE": 50}):
        for name, size in sizes.items():
            monkeypatch.setattr(f"fairlab.themis.{name}", size)
        themis = Themis(program, schema, **options)
        search = themis.search(0.5, measure="both", prune=False)
        assert search.model_runs == themis.model_runs
        seen.append(search.frame.drop(columns="minimal"))
    if stop is Normal:  # otherwise intervals of a search are wider
        seen.append(
            pd.concat(
                [
                    Themis(program, schema, **options).estimate(measure, [names])
                    for measure, names in seen[0][["measure", "sensitive_features"]].to_numpy()
                ],
                ignore_index=True,
            )
        )
    for frame in seen[1:]:
        pd.testing.assert_frame_equal(frame, seen[0])


def proportions(rule, outcomes):
    """Return what a rule returns, given the outcomes of each series, a row each."""
    rows = list(map(iter, outcomes))

    def next_of(series):
        assert (np.diff(series) >= 0).all()
        return np.array([next(rows[number]) for number in series])

    return rule.count(len(outcomes), next_of)


@settings(max_examples=40)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    bound=st.sampled_from([0.03, 0.1, 0.4]),
    limits=st.sampled_from([(0, 31), (10, 400), (250, 100_000), (9_999, 10_000)]),
    seed=st.integers(0, 1000),
)
def test_the_exact_rule_stops_at_the_first_look_that_meets_the_bound(shares, bound, limits, seed):
    rule = Exact(0.95, bound, *limits)
    outcomes = np.random.default_rng(seed).random((len(shares), 10_000)) < np.array(shares)[:, None]
    counts, samples = proportions(rule, outcomes)
    for row, count, n in zip(outcomes, counts, samples, strict=True):
        enough = [s for s, spent in rule.sizes.items() if error(row[:s].sum(), s, alpha=0.05 * spent) <= bound]
        assert (n, count) == (min(enough, default=limits[1]), row[:n].sum())
    low, high = rule.interval(counts, samples, n_series=len(shares))
    assert ((low <= counts / samples) & (counts / samples <= high)).all()


@pytest.mark.parametrize("n_groups", [2, 5, 40])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_noise_is_taken_out_of_equal_shares_and_a_clear_difference_stays(n_groups, rate):
    rng, samples = np.random.default_rng(0), np.full(n_groups, 400)
    alike, apart = (
        rng.binomial(400, shares, size=(200, n_groups)) for shares in (rate, np.linspace(0.2, 0.9, n_groups))
    )
    noise, clear = (np.mean([corrected_spread(row, samples, rng) for row in counts]) for counts in (alike, apart))
    assert noise < 0.6 * np.ptp(alike / samples, axis=1).mean() and clear == pytest.approx(0.7, abs=0.01)


def test_a_spread_is_corrected_by_what_sampling_adds_to_shrunk_shares():
    # Expected counts of shares that are half as far again from each other as those given.
    rng = mock.Mock(**{"binomial.side_effect": lambda n, p, size: np.broadcast_to(n * (1.5 * p - 0.25), size)})
    # The shares' variance is 0.18, that of sampling 0.25 / 10; half of the shrunk spread is added.
    half = 0.3 * (1 - 0.025 / 0.18)
    assert corrected_spread(np.array([2, 8]), np.array([10, 10]), rng) == pytest.approx(0.6 - half)
    np.testing.assert_allclose(rng.binomial.call_args.args[1], [0.5 - half, 0.5 + half])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [([0.1, 0.4, 0.5], [0.2, 0.6, 0.7], (0.3, 0.6)), ([0.1, 0.4, 0.5], [0.55, 0.85, 0.95], (0, 0.85))],
)
def test_interval_by_hand(low, high, expected):
    assert spread_interval(np.array(low), np.array(high)) == pytest.approx(expected)


def off_by_more(p, confidence, bound):
    """Return how often the exact rule ends further from the truth than its bound, by enumeration of all paths."""
    sizes, off = look_sizes(confidence, bound), 0.0
    paths, before = np.ones(1), 0
    for size, spent in zip(sizes, SPENT, strict=True):
        paths = np.convolve(paths, binom.pmf(np.arange(size - before + 1), size - before, p))
        counts, before = np.arange(size + 1), size
        ends = error(counts, size, alpha=spent * (1 - confidence)) <= bound
        off += paths[ends & (np.abs(counts / size - p) > bound + 1e-12)].sum()
        paths = np.where(ends, 0.0, paths)
    assert paths.sum() < 1e-9, "the last look ends everything"
    return off


@pytest.mark.parametrize(("confidence", "bound"), [(0.99, 0.05), (0.95, 0.05), (0.9, 0.1)])
def test_the_exact_rule_keeps_its_bound_whatever_the_truth(confidence, bound):
    off = [off_by_more(p, confidence, bound) for p in [*np.linspace(0.001, 0.2, 60), *np.linspace(0.2, 0.5, 13)]]
    assert (1 - confidence) / 10 <= max(off) <= 1 - confidence, "not at any price"


HUGE = Schema.from_dict({f"x{i}": range(1000) for i in range(8)})  # 10**24 inputs, more than 64 bits can number


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(4) for i in range(3)}), HUGE])
@settings(max_examples=30)
@given(blocks=st.lists(st.integers(1, 60), min_size=1, max_size=60), seed=st.integers(0, 100))
def test_memory_never_runs_an_input_twice(schema, blocks, seed):
    rng, seen, asked = np.random.default_rng(seed), [], []

    def program(inputs):
        seen.extend(map(tuple, inputs.to_numpy().tolist()))
        return inputs.sum(axis=1).to_numpy() % 2

    memory, pool = UniformDraw(program, schema), schema.sample_codes(900, random_state=rng)
    for block in blocks:
        asked.append(pool[rng.integers(len(pool), size=block)])
        assert (memory.decide(asked[-1]) == asked[-1].sum(axis=1) % 2).all()
    distinct = np.unique(np.concatenate(asked), axis=0)
    assert len(seen) == len(set(seen)) == memory.runs == len(distinct)
    np.testing.assert_equal(memory.contents(), (distinct, distinct.sum(axis=1) % 2))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
@pytest.mark.parametrize(("owner", "place"), [(AnswerCache, "keep"), (queries, "_longer"), (draws, "outputs_of")])
def test_a_memory_that_was_interrupted_is_right_when_it_is_asked_again(schema, owner, place, monkeypatch):
    monkeypatch.setattr(queries, "VERY_LARGE", 0)
    memory = UniformDraw(lambda inputs: inputs["x0"].to_numpy() % 2, schema)
    codes = schema.sample_codes(30_000, random_state=0)
    memory.decide(codes[:9_000])
    for n in (300, 20_000):  # by arrays, and by the compiled loop
        with mock.patch.object(owner, place, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            memory.decide(codes[9_000 : 9_000 + n])
            memory.decide(codes[29_000:])
    assert (memory.decide(codes[::-1]) == codes[::-1, 0] % 2).all()
    assert memory.runs == len(memory.contents()[0]) == len(np.unique(codes, axis=0))


def test_a_score_that_is_the_threshold_but_for_rounding_is_found():
    schema = Schema.from_dict({"sex": ["f", "m"], "p": {"low": 1, "high": 10}})
    program = Themis(lambda rows: np.where(rows["sex"] == "m", rows["p"] <= 7, rows["p"] <= 4), schema)
    search = program.search(0.3, measure="group", sensitive_features=["sex"])  # 0.7 - 0.4 is below 0.3
    assert search.frame["minimal"].tolist() == [True] and not len(search.undecided)
