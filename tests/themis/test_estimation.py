import time
from collections import Counter
from contextlib import contextmanager
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import binom

from fairlab.cases import AnswerCache, CaseError, Schema, queries, wrap_model
from fairlab.models import CommandSoftware, SoftwareError
from fairlab.models.loops import IS_COMPILED
from fairlab.papers.themis.programs import as_program, subsets
from fairlab.themis import Themis, causal_score, estimation, group_score
from fairlab.themis.estimation import (
    BATCH,
    SPENT,
    Looks,
    Program,
    Sampling,
    corrected_spread,
    error,
    half_width,
    look_sizes,
    outputs_of,
    samples_needed,
    spread_interval,
    z_value,
)

PROGRAMS = arrays(bool, array_shapes(min_dims=2, max_dims=4, min_side=2, max_side=3))
EXACT = {"group": group_score, "causal": causal_score}


def test_tests_are_counted_as_algorithm_2_looks_at_them():
    # One characteristic of three values decides: 0 is false, 1 and 2 are true. From 0 the first other value changes the
    # output (2 tests), and so from 1 and 2. The second characteristic never matters (2 tests, both its values).
    schema, program = as_program(np.array([[0, 0], [1, 1], [1, 1]], dtype=bool))
    themis = Themis(program, schema, stop="normal", max_samples=200, min_samples=199)
    assert themis.causal_score("x1").tests == 2 * 200
    assert themis.causal_score("x0").tests == 2 * 200
    # Three values that never matter: all are looked at.
    schema, program = as_program(np.zeros((3, 2), dtype=bool))
    assert Themis(program, schema, stop="normal").causal_score("x0").tests == 3 * 11
    # By the exact rule all six inputs are tried, since there are so few.
    assert Themis(program, schema).causal_score("x0").tests == 3 * 6


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
    schema, program = as_program(table)
    themis = Themis(program, schema, stop=stop, error_bound=0.2, random_state=seed)
    for positions in subsets(range(table.ndim)):
        with recorded_samples() as drawn:
            score = themis.causal_score([f"x{p}" for p in positions])
        expected = algorithm_2(table, np.concatenate(drawn), positions, z=z_value(0.99), error_bound=0.2, stop=stop)
        assert (score.score, score.samples, score.tests) == expected


@pytest.mark.parametrize("measure", ["group", "causal"])
def test_scores_do_not_depend_on_how_much_is_done_at_once(monkeypatch, measure):
    table = np.random.default_rng(0).random((7, 5, 4, 6)) < np.linspace(0, 1, 7)[:, None, None, None]
    schema, program = as_program(table)
    scores = []
    for groups, cells in ((2_000, 2_000_000), (2_000, 3), (2_000, 40)):
        monkeypatch.setattr(estimation, "GROUPS_AT_ONCE", groups)
        monkeypatch.setattr(estimation, "CELLS", cells)
        score = getattr(Themis(program, schema), f"{measure}_score")(["x1", "x2"])
        scores.append((score.score, score.low, score.high, score.samples, score.tests))
    assert scores[0] == scores[1] == scores[2]


def share_of_hits(n_seeds):
    """Return how often an estimate lies within its stated error and its interval covers the exact score."""
    rng = np.random.default_rng(5)
    within, covered = [], []
    table = rng.random((3, 4, 5, 20, 20)) < np.linspace(0.2, 0.7, 4)[None, :, None, None, None]
    schema, program = as_program(table)
    shared = Themis(program, schema)._program
    for seed in range(n_seeds):
        themis = Themis(program, schema, confidence_level=0.95, error_bound=0.05, random_state=seed)
        themis._program = shared  # outputs do not depend on the seed
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
    schema, program = as_program(table)
    normal, wilson = (
        [Themis(program, schema, stop=stop, random_state=seed).causal_score("x0") for seed in range(40)]
        for stop in ("normal", "wilson")
    )
    assert Counter(score.samples for score in normal).most_common(1)[0][0] == 11
    assert min(score.samples for score in wilson) > 50
    assert all(score.high > 0.02 for score in normal), "the interval says what eleven samples are worth"


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_scores_of_a_search_are_those_of_the_sets_alone(monkeypatch, variant):
    """Sets share the program's runs, however few of them at once, and nothing else."""
    table = np.random.default_rng(0).random((3, 4, 2, 5)) < np.linspace(0, 1, 3)[:, None, None, None]
    schema, program = as_program(table)
    options = {"variant": variant, "min_samples": 5, "max_samples": 60, "error_bound": 0.2}
    seen = []
    for cells, at_once in ((50_000, 16), (7, 3)):
        monkeypatch.setattr(estimation, "CELLS", cells)
        monkeypatch.setattr(estimation, "MOST_TOGETHER", at_once)
        search = Themis(program, schema, **options).search(0.5, measure="both", prune=False)
        assert sum(score.model_runs for score in search.scores) == search.scores[-1].distinct_inputs
        seen.append([(score.score, score.samples, score.tests) for score in search.scores])
    assert seen[0] == seen[1]
    if variant == "published":  # otherwise intervals of a search are wider
        alone = [
            getattr(Themis(program, schema, **options), f"{s.measure}_score")(s.sensitive_features)
            for s in search.scores
        ]
        assert [(score.score, score.samples, score.tests) for score in alone] == seen[0]


SEQUENTIAL = ("wilson", "normal")


def one_by_one(outcomes, sampling):
    """Stop as algorithm 1 does: look after every sample."""
    count = 0
    for number, outcome in enumerate(outcomes, start=1):
        count += outcome
        width = half_width(count, number, z_value(sampling.confidence_level), rule=sampling.rule)
        if number >= sampling.max_samples or (number > sampling.min_samples and width < sampling.error_bound):
            return count, number
    raise AssertionError("not enough outcomes")


def proportions(sampling, n_series, draw):
    """Return what sampling returns, given the outcomes of its rounds."""

    def query(series):
        return (yield series)

    rounds, outcomes = sampling.rounds(n_series, query), None
    while True:
        try:
            series = rounds.send(outcomes)
        except StopIteration as end:
            return end.value
        outcomes = draw(series)


def draws_from(outcomes):
    """Return a function that draws the next outcomes of the series that it is asked for, a row of `outcomes` each."""
    taken = np.zeros(len(outcomes), dtype=int)

    def draw(series):
        assert (np.diff(series) >= 0).all()
        numbers, counts = np.unique(series, return_counts=True)
        parts = [outcomes[i, taken[i] : taken[i] + n] for i, n in zip(numbers, counts, strict=True)]
        taken[numbers] += counts
        return np.concatenate(parts)

    return draw


@pytest.mark.parametrize("rule", SEQUENTIAL)
@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    bound=st.sampled_from([0.03, 0.1, 0.4]),
    min_samples=st.integers(0, 30),
    max_samples=st.sampled_from([31, 50, 2000]),
    seed=st.integers(0, 1000),
)
def test_blocks_stop_where_single_samples_would(rule, shares, bound, min_samples, max_samples, seed):
    sampling = Sampling(0.99, bound, min_samples, max_samples, rule=rule)
    outcomes = np.random.default_rng(seed).random((len(shares), max_samples + 1)) < np.array(shares)[:, None]
    counts, samples = proportions(sampling, len(shares), draws_from(outcomes))
    expected = [one_by_one(row, sampling) for row in outcomes]
    assert list(zip(counts, samples, strict=True)) == expected


def test_the_normal_rule_ends_at_once_on_a_rare_event_and_wilson_does_not():
    samples = {"exact": proportions(Looks(0.99, 0.05, 10, 100_000), 1, np.zeros_like)[1]}
    for rule in SEQUENTIAL:
        sampling = Sampling(0.99, 0.05, 10, 100_000, rule=rule)
        _, samples[rule] = proportions(sampling, 1, np.zeros_like)
    assert samples["normal"] == 11
    assert samples["wilson"] > 50
    assert samples["exact"] == look_sizes(0.99, 0.05)[0]


@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    bound=st.sampled_from([0.03, 0.1, 0.4]),
    limits=st.sampled_from([(0, 31), (10, 400), (250, 100_000), (9_999, 10_000)]),
    seed=st.integers(0, 1000),
)
def test_looks_stop_at_the_first_look_that_meets_the_bound(shares, bound, limits, seed):
    looks = Looks(0.95, bound, *limits)
    outcomes = np.random.default_rng(seed).random((len(shares), 10_000)) < np.array(shares)[:, None]
    counts, samples = proportions(looks, len(shares), draws_from(outcomes))
    for row, count, n in zip(outcomes, counts, samples, strict=True):
        enough = [s for s, spent in looks.sizes.items() if error(row[:s].sum(), s, alpha=0.05 * spent) <= bound]
        assert n == min(enough, default=limits[1])
        assert count == row[:n].sum()
    low, high = looks.interval(counts, samples, n_series=len(shares))
    assert (low <= counts / samples).all()
    assert (counts / samples <= high).all()


def test_looks_keep_within_the_limits_of_samples():
    planned = look_sizes(0.99, 0.05)
    assert list(Looks(0.99, 0.05, 10, 100_000).sizes) == list(planned)
    assert list(Looks(0.99, 0.05, 10, 300).sizes) == [*planned[:2], 300]
    assert list(Looks(0.99, 0.05, 300, 100_000).sizes) == [301, *planned[2:]]
    assert Looks(0.99, 0.05, 1_999, 2_000).sizes == {2_000: 0.5}


@pytest.mark.parametrize("n_groups", [2, 5, 40])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_noise_is_taken_out_of_equal_shares(n_groups, rate):
    rng = np.random.default_rng(0)
    samples = np.full(n_groups, 400)
    counts = rng.binomial(400, rate, size=(200, n_groups))
    plain = np.ptp(counts / samples, axis=1).mean()
    corrected = np.mean([corrected_spread(row, samples, rng) for row in counts])
    assert corrected < 0.6 * plain


def test_a_clear_difference_stays():
    rng = np.random.default_rng(0)
    samples, rates = np.full(5, 400), np.array([0.2, 0.5, 0.5, 0.6, 0.9])
    counts = rng.binomial(samples, rates, size=(200, 5))
    assert np.mean([corrected_spread(row, samples, rng) for row in counts]) == pytest.approx(0.7, abs=0.01)


def test_shares_that_are_all_alike_have_no_spread():
    rng = np.random.default_rng(0)
    assert corrected_spread(np.zeros(3), np.full(3, 10), rng) == 0
    assert corrected_spread(np.full(3, 10), np.full(3, 10), rng) == 0


def test_interval_by_hand():
    low, high = np.array([0.1, 0.4, 0.5]), np.array([0.2, 0.6, 0.7])
    assert spread_interval(low, high) == pytest.approx((0.3, 0.6))
    assert spread_interval(low, low + 0.45) == pytest.approx((0, 0.85))


def test_z_is_two_sided():
    assert [round(z_value(c), 2) for c in (0.8, 0.9, 0.95, 0.98, 0.99)] == [1.28, 1.64, 1.96, 2.33, 2.58]


def test_half_widths_by_hand():
    # z sqrt(p (1 - p) / r) with p = 0.2 and r = 100.
    assert half_width(20, 100, 2, rule="normal") == pytest.approx(0.08)
    assert half_width(0, 11, 2.58, rule="normal") == 0
    # Wilson, p = 0: z² / (2n) / (1 + z² / n).
    assert half_width(0, 11, 2, rule="wilson") == pytest.approx(4 / 22 / (1 + 4 / 11))


@pytest.mark.parametrize("rule", ["wilson", "normal"])
@settings(deadline=None)
@given(st.integers(1, 200), st.floats(0, 1), st.floats(0.005, 0.2))
def test_needed_samples_reach_the_bound_and_no_fewer(rule, n_samples, share, bound):
    needed = samples_needed(share * n_samples, n_samples, 2.58, bound, rule=rule)
    assert half_width(share * needed, needed, 2.58, rule=rule) <= bound * (1 + 1e-9) if needed else share in (0, 1)
    if needed > 2:
        fewer = needed - 1.5
        assert half_width(share * fewer, fewer, 2.58, rule=rule) > bound * (1 - 1e-9)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(("confidence", "bound"), [(0.99, 0.05), (0.95, 0.1), (0.9, 0.3), (0.99, 0.6)])
def test_looks_begin_and_end_where_the_bound_is_met(confidence, bound, binary):
    sizes, alpha = look_sizes(confidence, bound, binary=binary), 1 - confidence
    assert sorted(sizes) == list(sizes)
    last = error(np.arange(sizes[-1] + 1), sizes[-1], alpha=SPENT[-1] * alpha, binary=binary)
    assert last.max() <= bound
    assert sizes[0] == sizes[-1] or error(0, sizes[0], alpha=SPENT[0] * alpha, binary=binary) <= bound
    assert sizes[0] == sizes[-1] or error(0, sizes[0] - 1, alpha=SPENT[0] * alpha, binary=binary) > bound


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
    assert max(off) <= 1 - confidence
    assert max(off) >= (1 - confidence) / 10, "not at any price"


SCHEMA = Schema.from_dict({"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}})
HUGE = Schema.from_dict({f"x{i}": range(1000) for i in range(8)})  # 10**24 inputs, more than 64 bits can number


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(4) for i in range(3)}), HUGE])
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.integers(1, 60), min_size=1, max_size=60), seed=st.integers(0, 100))
def test_memory_never_runs_an_input_twice(schema, blocks, seed):
    rng, seen = np.random.default_rng(seed), []

    def program(inputs):
        seen.extend(map(tuple, inputs.to_numpy().tolist()))
        return inputs.sum(axis=1).to_numpy() % 2

    memory = Program(program, schema)
    pool = schema.sample_codes(900, random_state=rng)
    asked = []
    for block in blocks:
        codes = pool[rng.integers(len(pool), size=block)]
        assert (memory(codes) == codes.sum(axis=1) % 2).all()
        asked.append(codes)
    distinct = np.unique(np.concatenate(asked), axis=0)
    assert len(seen) == len(set(seen)) == memory.runs == len(distinct)
    codes, outputs = memory.contents()
    assert (codes == distinct).all()
    assert (outputs == codes.sum(axis=1) % 2).all()


def test_memory_keeps_other_outputs_as_they_are():
    memory = Program(lambda inputs: inputs["sex"].str.upper().to_numpy(), SCHEMA, binary=False)
    assert memory(np.array([[1, 0], [1, 0]])).tolist() == ["FEMALE", "FEMALE"]
    assert memory(np.array([[0, 0], [1, 0]])).tolist() == ["MALE", "FEMALE"]


def test_empty_memory():
    codes, outputs = Program(lambda inputs: 0, SCHEMA).contents()
    assert (codes.shape, outputs.shape) == ((0, 2), (0,))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
def test_inputs_that_the_model_failed_on_are_run_again(schema):
    def program(inputs):
        if broken:
            raise RuntimeError("no answer")
        return inputs["x0"].to_numpy() % 2

    memory, codes, broken = Program(program, schema), schema.sample_codes(5000, random_state=0), False
    memory(codes[:2000])
    known, broken = memory.runs, True
    with pytest.raises(RuntimeError, match="no answer"):
        memory(codes)
    assert memory.runs == known
    assert (memory(codes[:2000]) == codes[:2000, 0] % 2).all(), "what is known needs no model"
    broken = False
    assert (memory(codes) == codes[:, 0] % 2).all()
    assert memory.runs == len(np.unique(codes, axis=0))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
@pytest.mark.parametrize(("owner", "place"), [(AnswerCache, "_keep"), (queries, "_longer"), (estimation, "outputs_of")])
def test_a_memory_that_was_interrupted_is_right_when_it_is_asked_again(schema, owner, place, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    memory = Program(lambda inputs: inputs["x0"].to_numpy() % 2, schema)
    codes = schema.sample_codes(30_000, random_state=0)
    memory(codes[:9_000])
    for n in (300, 20_000):  # by arrays, and by the compiled loop
        with monkeypatch.context() as only_here, pytest.raises(KeyboardInterrupt):
            only_here.setattr(owner, place, interrupt)
            memory(codes[9_000 : 9_000 + n])
            memory(codes[29_000:])
    assert (memory(codes[::-1]) == codes[::-1, 0] % 2).all()
    assert memory.runs == len(np.unique(codes, axis=0))
    assert memory.contents()[0].shape == (memory.runs, len(schema.sizes))


def test_it_says_to_which_inputs_the_model_was_applied():
    memory = Program(lambda inputs: inputs["age"].to_numpy() == 19, SCHEMA)
    memory(np.array([[1, 1]]))
    outputs, is_new = memory.query(np.array([[0, 0], [1, 1], [0, 1], [0, 0]]))
    assert outputs.tolist() == [False, True, True, False]
    assert is_new.tolist() == [True, False, True, False]


def test_memory_grows_also_where_many_inputs_want_the_last_slots(monkeypatch):
    schema = Schema.from_dict({f"x{i}": range(50) for i in range(3)})
    monkeypatch.setattr(AnswerCache, "_places", lambda self, keys: np.maximum(len(self._slots) - 1 - keys % 3, 0))
    memory, codes = Program(lambda inputs: inputs["x0"].to_numpy() % 2, schema), schema.sample_codes(500)
    distinct = len(np.unique(codes, axis=0))
    for known in (400, 500, 500):  # makes room before it runs the last hundred
        assert (memory(codes[:known]) == codes[:known, 0] % 2).all()
    assert memory.runs == distinct


@pytest.mark.skipif(not IS_COMPILED, reason="numba is not installed")
def test_a_memory_is_the_same_with_and_without_the_compiled_loop(monkeypatch):
    schema = Schema.from_dict({"a": range(30), "b": range(30), "c": range(30)})
    rng, asked = np.random.default_rng(1), []

    def program(rows):
        asked.append(len(rows))
        return (rows["a"] + rows["b"]) % 2 == 0

    monkeypatch.setattr(queries, "LARGE", 10**9)
    by_arrays, by_loop = Program(program, schema), Program(program, schema)
    for _ in range(4):
        codes = rng.integers(30, size=(6_000, 3))
        expected = by_arrays.query(codes)
        with monkeypatch.context() as only_here:
            only_here.setattr(queries, "LARGE", 1)
            found = by_loop.query(codes)
        assert all((one == other).all() for one, other in zip(expected, found, strict=True))
    assert by_arrays.runs == by_loop.runs == len({tuple(row) for row in by_loop.contents()[0].tolist()})
    assert sum(asked) == 2 * by_loop.runs


SCHEMA_SOFTWARE = Schema.from_dict({"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}})


def run(program, schema, codes):
    return outputs_of(wrap_model(program), schema, codes)


@pytest.fixture
def command(tmp_path):
    """Write a shell script and return it as software."""

    def make(script, **options):
        path = tmp_path / "program.sh"
        path.write_text(script)
        return CommandSoftware(["sh", str(path)], **options)

    return make


def test_command_gets_the_values_in_the_order_of_the_schema(command):
    program = command('[ "$1" = Male ] && [ "$2" -ge 19 ] && echo " 1 " || echo 0')
    codes = SCHEMA_SOFTWARE.assignments((0, 1))
    assert run(program, SCHEMA_SOFTWARE, codes).tolist() == [False, True, True, False, False, False]


def test_command_that_prints_words(command):
    program = command('[ "$2" = 20 ] && echo yes || echo no', true="yes", false="no")
    assert run(program, SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1))).tolist() == [False, False, True] * 2
    lenient = command('[ "$2" = 20 ] && echo yes || echo perhaps', true="yes", false=None)
    assert run(lenient, SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1))).tolist() == [False, False, True] * 2


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('[ "$2" = 19 ] && { echo broken >&2; exit 3; }; echo 1', "failed on input Male 19: status 3: broken"),
        ('[ "$2" = 19 ] && echo perhaps || echo 0', "failed on input Male 19: printed 'perhaps', expected '1' or '0'"),
        ('[ "$2" = 19 ] && kill -9 $$; echo 1', "failed on input Male 19: status -9"),
    ],
)
def test_command_that_fails_is_reported_with_its_input(command, script, message):
    with pytest.raises(SoftwareError, match=message):
        run(command(script, n_jobs=1), SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1)))


def test_command_that_hangs_is_ended_with_what_it_started(command, tmp_path):
    alive = tmp_path / "alive"
    program = command(f'[ "$2" = 19 ] && {{ sleep 1; touch {alive}; }}; echo 1', timeout=0.2, n_jobs=1)
    with pytest.raises(SoftwareError, match=r"failed on input Male 19: no answer within 0\.2 s"):
        run(program, SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1)))
    time.sleep(1.1)
    assert not alive.exists()


def test_command_that_does_not_exist():
    with pytest.raises(SoftwareError, match=r"no-such-program failed on input Male 18: .*No such file"):
        run(CommandSoftware(["no-such-program"]), SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1)))


def test_large_inputs_come_in_batches():
    sizes = []

    def program(inputs):
        sizes.append(len(inputs))
        return inputs["age"].to_numpy() > 18

    codes = np.resize(SCHEMA_SOFTWARE.assignments((0, 1)), (BATCH + 5, 2))
    assert (run(program, SCHEMA_SOFTWARE, codes) == (codes[:, 1] > 0)).all()
    assert sizes == [BATCH, 5]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda inputs: 1, "model: expected one value for each row, found int"),
        (lambda inputs: np.ones(5), "model: expected 6 values, one for each row, found 5"),
        (lambda inputs: np.ones((6, 2)), r"found shape \(6, 2\)"),
        (
            lambda inputs: inputs["age"].to_numpy() / 20,
            r"returned 0\.9 on input \(sex Male, age 18\), expected 0 or 1",
        ),
        (lambda inputs: np.full(6, np.nan), r"returned nan on .*, expected 0 or 1"),
        (lambda inputs: np.full(6, "1"), r"returned '1' on .*, expected 0 or 1"),
    ],
)
def test_outputs_that_are_not_binary(program, message):
    with pytest.raises(CaseError, match=message):
        run(program, SCHEMA_SOFTWARE, SCHEMA_SOFTWARE.assignments((0, 1)))


AS_THEY_ARE = {
    "flag": [False, True],
    "half": [0.0, 1.0],
    "maybe": [None, "yes"],
    "mixed": [1, "1", 2.5],
    "count": [0, 1],
    "text": ["0", "1"],
}


def test_values_reach_the_program_as_they_are():
    """`~flag`, `flag is True`, whole floats, None and mixed types: all are what the schema says."""
    schema, seen = Schema.from_dict(AS_THEY_ARE), []

    def program(inputs):
        seen.append(inputs)
        return ~inputs["flag"]

    outputs = run(program, schema, schema.assignments(range(len(schema.sizes))))
    assert outputs.sum() == len(outputs) / 2
    [inputs] = seen
    for name, values in AS_THEY_ARE.items():
        assert {(type(v), v) for v in inputs[name].tolist()} == {(type(v), v) for v in values}, name
    assert inputs["flag"].dtype == bool
    assert [inputs[name].dtype.kind for name in ("half", "count")] == ["f", "i"]
    assert run(lambda x: [flag is True for flag in x["flag"].tolist()], schema, np.eye(6, dtype=int)).tolist() == [
        True, *[False] * 5,
    ]  # fmt: skip


def test_a_command_gets_the_values_that_a_program_gets(tmp_path):
    echo = tmp_path / "seen"
    command = CommandSoftware(["sh", "-c", f'printf "[%s]" "$@" >> {echo}; echo 1', "sh"], n_jobs=1)
    schema = Schema.from_dict(AS_THEY_ARE)
    run(command, schema, np.array([[1, 1, 0, 1, 1, 1]]))
    assert echo.read_text() == "[True][1.0][][1][1][1]"


def test_outputs_with_an_index_go_by_it():
    codes = SCHEMA_SOFTWARE.assignments((0, 1))
    expected = codes[:, 1] > 0

    def by_age(inputs):
        return inputs.sort_values("age", ascending=False)["age"] > 18

    assert (run(by_age, SCHEMA_SOFTWARE, codes) == expected).all()
    assert (run(lambda x: by_age(x).astype("boolean"), SCHEMA_SOFTWARE, codes) == expected).all()
    for strange in (
        lambda x: by_age(x).set_axis(range(1, 7)),
        lambda x: by_age(x).set_axis([0, 0, 1, 2, 3, 4]),
        lambda x: by_age(x).set_axis(x["sex"]),
    ):
        with pytest.raises(CaseError, match=r"model: (has the row label|row labels occur twice)"):
            run(strange, SCHEMA_SOFTWARE, codes)
    with pytest.raises(CaseError, match="returned <NA> on input"):
        run(lambda x: pd.Series([True, None] * 3, dtype="boolean"), SCHEMA_SOFTWARE, codes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "python decide.py"}, r"command: expected a list such as \['python', 'decide.py'\]"),
        ({"command": []}, "command: expected a list of texts"),
        ({"command": ["python", 3]}, "command: expected a list of texts"),
        ({"command": None}, "command: expected a list of texts"),
        ({"timeout": 0}, "timeout: expected a number above 0, found 0"),
        ({"timeout": "1"}, "timeout: expected a number above 0, found '1'"),
        ({"timeout": float("nan")}, "timeout: expected a number above 0, found nan"),
        ({"n_jobs": 0}, "n_jobs: expected a positive integer, found 0"),
        ({"n_jobs": -1}, "n_jobs: expected a positive integer, found -1"),
        ({"n_jobs": 1.5}, "n_jobs: expected a positive integer, found 1.5"),
        ({"true": 1}, "true: expected a text, found 1"),
        ({"true": "yes", "false": "yes"}, "false: expected another text than 'yes', or None"),
    ],
)
def test_commands_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        CommandSoftware(**{"command": ["true"]} | options)
