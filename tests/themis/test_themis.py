from collections import Counter
from contextlib import contextmanager
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema, SchemaError
from fairlab.themis import DomainTooLargeError, Themis, causal_score, group_score
from fairlab.themis import themis as module
from fairlab.themis.exact import subsets
from fairlab.themis.stopping import half_width, z_value

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def lookup(table):
    schema = Schema.from_dict({f"x{i}": range(size) for i, size in enumerate(table.shape)})
    return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]


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


def test_tests_are_counted_as_algorithm_2_looks_at_them():
    # One characteristic of three values decides: 0 is false, 1 and 2 are true. From 0 the first other value changes the
    # output (2 tests), and so from 1 and 2. The second characteristic never matters (2 tests, both its values).
    schema, program = lookup(np.array([[0, 0], [1, 1], [1, 1]], dtype=bool))
    themis = Themis(program, schema, max_samples=200, min_samples=199)
    assert themis.causal_score("x1").tests == 2 * 200
    assert themis.causal_score("x0").tests == 2 * 200
    # Three values that never matter: all are looked at.
    schema, program = lookup(np.zeros((3, 2), dtype=bool))
    assert Themis(program, schema).causal_score("x0").tests == 3 * 11


def algorithm_2(table, bases, positions, *, z, error_bound, stop):
    """Look at one input after the other, as the paper does; return share, samples and tests."""
    count = tests = 0
    for r, base in enumerate(bases, start=1):
        tests += 1
        for values in product(*(range(table.shape[p]) for p in positions)):
            other = base.copy()
            other[list(positions)] = values
            if (other == base).all():
                continue
            tests += 1
            if table[tuple(other)] != table[tuple(base)]:
                count += 1
                break
        if r > 10 and half_width(count, r, z, rule=stop) < error_bound:
            return count / r, r, tests
    raise AssertionError("not enough inputs")


@contextmanager
def recorded_samples():
    """Yield a list that gets every block of inputs that is drawn."""
    drawn, sample = [], Schema.sample_codes

    def record(schema, n, *, random_state):
        drawn.append(sample(schema, n, random_state=random_state))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schema, "sample_codes", record)
        yield drawn


@settings(max_examples=60, deadline=None)
@given(table=PROGRAMS, stop=st.sampled_from(["normal", "wilson"]), seed=st.integers(0, 9))
def test_batches_do_what_algorithm_2_does_one_by_one(table, stop, seed):
    schema, program = lookup(table)
    themis = Themis(program, schema, stop=stop, error_bound=0.2, random_state=seed)
    for positions in subsets(table.ndim):
        with recorded_samples() as drawn:
            score = themis.causal_score([f"x{p}" for p in positions])
        expected = algorithm_2(table, np.concatenate(drawn), positions, z=z_value(0.99), error_bound=0.2, stop=stop)
        assert (score.score, score.samples, score.tests) == expected


@pytest.mark.parametrize("measure", ["group", "causal"])
def test_scores_do_not_depend_on_how_much_is_done_at_once(monkeypatch, measure):
    table = np.random.default_rng(0).random((7, 5, 4, 6)) < np.linspace(0, 1, 7)[:, None, None, None]
    schema, program = lookup(table)
    scores = []
    for groups, cells in ((2_000, 2_000_000), (2_000, 3), (2_000, 40)):
        monkeypatch.setattr(module, "GROUPS_AT_ONCE", groups)
        monkeypatch.setattr(module, "CELLS", cells)
        score = getattr(Themis(program, schema), f"{measure}_score")(["x1", "x2"])
        scores.append((score.score, score.low, score.high, score.samples, score.tests))
    assert scores[0] == scores[1] == scores[2]


def test_a_score_is_the_same_whatever_else_is_tested(make_program):
    schema, program = make_program(np.random.default_rng(1).random((6, 6, 6)) < 0.3)
    alone = Themis(program, schema).causal_score("x1")
    themis = Themis(program, schema)
    themis.group_score(["x0", "x2"])
    after = themis.causal_score("x1")
    assert (alone.score, alone.samples, alone.tests) == (after.score, after.samples, after.tests)
    assert after.software_runs < alone.software_runs


def test_the_software_is_never_run_twice_over_all_scores(make_program):
    schema, program = make_program(np.random.default_rng(2).random((5, 4, 3, 6)) < 0.5)
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


def share_of_hits(n_seeds):
    """Return how often an estimate lies within its stated error and its interval covers the exact score."""
    rng = np.random.default_rng(5)
    within, covered = [], []
    table = rng.random((3, 4, 5, 20, 20)) < np.linspace(0.2, 0.7, 4)[None, :, None, None, None]
    schema, program = lookup(table)
    shared = Themis(program, schema)._memory
    for seed in range(n_seeds):
        themis = Themis(program, schema, confidence=0.95, error_bound=0.05, stop="wilson", random_state=seed)
        themis._memory = shared  # outputs do not depend on the seed
        for measure, positions in (("causal", (0,)), ("causal", (1, 2)), ("group", (0,)), ("group", (1,))):
            score = getattr(themis, f"{measure}_score")([f"x{p}" for p in positions])
            exact = EXACT[measure](table, positions)
            # A group score is the difference of two shares, each with the stated error.
            within.append(abs(score.score - exact) <= (0.05 if measure == "causal" else 0.1))
            covered.append(score.low <= exact <= score.high)
    return np.reshape(within, (n_seeds, -1)).mean(axis=0), np.reshape(covered, (n_seeds, -1)).mean(axis=0)


@pytest.mark.parametrize("n_seeds", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_estimates_are_within_their_error_at_their_confidence(n_seeds):
    within, covered = share_of_hits(n_seeds)
    allowed = 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_seeds)
    assert (within >= allowed).all(), within
    assert (covered >= allowed).all(), covered


def test_the_papers_rule_stops_early_on_rare_discrimination():
    table = np.zeros((2, 50), dtype=bool)
    table[1, 0] = True  # the causal score of x0 is 0.02
    schema, program = lookup(table)
    normal, wilson = (
        [Themis(program, schema, stop=stop, random_state=seed).causal_score("x0") for seed in range(40)]
        for stop in ("normal", "wilson")
    )
    assert Counter(score.samples for score in normal).most_common(1)[0][0] == 11
    assert min(score.samples for score in wilson) > 50
    assert all(score.high > 0.02 for score in normal), "the interval says what eleven samples are worth"


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_pruned_and_unpruned_searches_find_the_same_sets(table, threshold, seed):
    schema, program = lookup(table)
    # All groups are enumerated, so that group scores are exact.
    options = {"min_samples": table.size, "random_state": seed}
    pruned, unpruned = (
        Themis(program, schema, **options).search(threshold, measure="group", prune=prune) for prune in (True, False)
    )
    assert pruned.found == unpruned.found
    assert pruned.tests <= unpruned.tests
    assert unpruned.skipped == {"group": 0}
    every = subsets(table.ndim)
    above = [positions for positions in every if group_score(table, positions) >= threshold]
    minimal = [large for large in above if not any(set(small) < set(large) for small in above)]
    assert pruned.found["group"] == tuple(tuple(f"x{p}" for p in positions) for positions in minimal)
    assert len(pruned.scores) + pruned.skipped["group"] == len(every)


@settings(max_examples=40, deadline=None)
@given(PROGRAMS, st.sampled_from([0.1, 0.3, 0.5, 0.75, 1.0]), st.integers(0, 5))
def test_an_unpruned_search_tells_what_a_pruned_one_would_test(table, threshold, seed):
    schema, program = lookup(table)
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
    schema, program = lookup(table)
    scores = [causal_score(table, positions) for positions in subsets(table.ndim)]
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


def test_search_over_some_characteristics(make_program):
    schema, program = make_program(np.random.default_rng(3).random((3, 3, 3, 3)) < 0.5)
    result = Themis(program, schema).search(1.0, characteristics=["x3", "x1"], prune=False)
    assert [score.characteristics for score in result.scores] == [("x1",), ("x3",), ("x1", "x3")]
    small = Themis(program, schema).search(1.0, max_size=1, prune=False)
    assert [score.characteristics for score in small.scores] == [(f"x{i}",) for i in range(4)]


def test_output_distance():
    # Prices: sex changes the price of half of the inputs by 30 of 100 and of the rest by 10.
    prices = np.array([[50.0, 50.0], [80.0, 60.0]])
    schema, program = lookup(prices)

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
    schema, program = lookup(table)
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
