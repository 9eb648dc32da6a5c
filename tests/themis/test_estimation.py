import time
from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import binom

from fairlab.cases import AnswerCache, CaseError, Schema, queries, wrap_model
from fairlab.models import CommandSoftware, SoftwareError
from fairlab.papers.themis.programs import as_program, subsets
from fairlab.themis import Themis, estimation
from fairlab.themis.estimation import (
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


ONE_OF_THREE = [[0, 0], [1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("table", "name", "options", "tests"),
    [
        # One characteristic of three values decides: 0 is false, 1 and 2 are true. From 0 the first other value changes
        # the output (2 tests), and so from 1 and 2. The second characteristic never matters (2 tests, both its values).
        (ONE_OF_THREE, "x1", {"stop": "normal", "max_samples": 200, "min_samples": 199}, 2 * 200),
        (ONE_OF_THREE, "x0", {"stop": "normal", "max_samples": 200, "min_samples": 199}, 2 * 200),
        ([[0, 0]] * 3, "x0", {"stop": "normal"}, 3 * 11),  # three values that never matter: all are looked at
        ([[0, 0]] * 3, "x0", {}, 3 * 6),  # by the exact rule all six inputs are tried, since there are so few
    ],
)
def test_tests_are_counted_as_algorithm_2_looks_at_them(table, name, options, tests):
    schema, program = as_program(np.array(table, dtype=bool))
    assert Themis(program, schema, **options).causal_score(name).tests == tests


def algorithm_2(table, bases, positions, *, z, error_bound, stop):
    """Look at one input after the other, as the paper does; return share, samples and tests."""
    count = tests = 0
    for r, base in enumerate(bases, start=1):
        tests += 1
        for values in product(*(range(table.shape[p]) for p in positions)):
            other = base.copy()
            other[list(positions)] = values
            tests += (other != base).any()
            if table[tuple(other)] != table[tuple(base)]:
                count += 1
                break
        if r > 10 and half_width(count, r, z, rule=stop) < error_bound:
            return count / r, r, tests
    raise AssertionError("not enough inputs")


@settings(max_examples=60, deadline=None)
@given(table=PROGRAMS, stop=st.sampled_from(["normal", "wilson"]), seed=st.integers(0, 9))
def test_batches_do_what_algorithm_2_does_one_by_one(table, stop, seed):
    draw, drawn = Schema.sample_codes, []

    def record(schema, n, *, random_state):
        drawn.append(draw(schema, n, random_state=random_state))
        return drawn[-1]

    schema, program = as_program(table)
    themis = Themis(program, schema, stop=stop, error_bound=0.2, random_state=seed)
    for positions in subsets(range(table.ndim)):
        drawn.clear()
        with mock.patch.object(Schema, "sample_codes", record):
            score = themis.causal_score([f"x{p}" for p in positions])
        expected = algorithm_2(table, np.concatenate(drawn), positions, z=z_value(0.99), error_bound=0.2, stop=stop)
        assert (score.score, score.samples, score.tests) == expected


def numbers_of(scores):
    return [(score.score, score.samples, score.tests) for score in scores]


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_scores_of_a_search_are_those_of_the_sets_alone(monkeypatch, variant):
    """Sets share the program's runs, however few of them at once, and nothing else."""
    table = np.random.default_rng(0).random((3, 4, 2, 5)) < np.linspace(0, 1, 3)[:, None, None, None]
    schema, program = as_program(table)
    options, seen = {"variant": variant, "min_samples": 5, "max_samples": 60, "error_bound": 0.2}, []
    for cells, at_once in ((50_000, 16), (7, 3)):
        monkeypatch.setattr(estimation, "CELLS", cells)
        monkeypatch.setattr(estimation, "MOST_TOGETHER", at_once)
        scores = Themis(program, schema, **options).search(0.5, measure="both", prune=False).scores
        assert sum(score.model_runs for score in scores) == scores[-1].distinct_inputs
        seen.append(numbers_of(scores))
    if variant == "published":  # otherwise intervals of a search are wider
        single = (
            getattr(Themis(program, schema, **options), f"{s.measure}_score")(s.sensitive_features) for s in scores
        )
        seen.append(numbers_of(single))
    assert all(numbers == seen[0] for numbers in seen)


def one_by_one(outcomes, sampling):
    """Stop as algorithm 1 does: look after every sample."""
    count = 0
    for number, outcome in enumerate(outcomes, start=1):
        count += outcome
        width = half_width(count, number, z_value(sampling.confidence_level), rule=sampling.rule)
        if number >= sampling.max_samples or (number > sampling.min_samples and width < sampling.error_bound):
            return count, number
    raise AssertionError("not enough outcomes")


def proportions(sampling, outcomes):
    """Return what sampling returns, given the outcomes of each series, a row each."""

    def query(series):
        return (yield series)

    rounds, drawn, taken = sampling.rounds(len(outcomes), query), None, np.zeros(len(outcomes), dtype=int)
    while True:
        try:
            series = rounds.send(drawn)
        except StopIteration as end:
            return end.value
        assert (np.diff(series) >= 0).all()
        numbers, counts = np.unique(series, return_counts=True)
        parts = [outcomes[i, taken[i] : taken[i] + n] for i, n in zip(numbers, counts, strict=True)]
        taken[numbers] += counts
        drawn = np.concatenate(parts)


@pytest.mark.parametrize("rule", ["wilson", "normal"])
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
    found = zip(*proportions(sampling, outcomes), strict=True)
    assert list(found) == [one_by_one(row, sampling) for row in outcomes]


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
    counts, samples = proportions(looks, outcomes)
    for row, count, n in zip(outcomes, counts, samples, strict=True):
        enough = [s for s, spent in looks.sizes.items() if error(row[:s].sum(), s, alpha=0.05 * spent) <= bound]
        assert (n, count) == (min(enough, default=limits[1]), row[:n].sum())
    low, high = looks.interval(counts, samples, n_series=len(shares))
    assert ((low <= counts / samples) & (counts / samples <= high)).all()


@pytest.mark.parametrize("n_groups", [2, 5, 40])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_noise_is_taken_out_of_equal_shares(n_groups, rate):
    rng, samples = np.random.default_rng(0), np.full(n_groups, 400)
    counts = rng.binomial(400, rate, size=(200, n_groups))
    corrected = np.mean([corrected_spread(row, samples, rng) for row in counts])
    assert corrected < 0.6 * np.ptp(counts / samples, axis=1).mean()


def test_a_clear_difference_stays():
    rng = np.random.default_rng(0)
    clear = rng.binomial(400, np.linspace(0.2, 0.9, 5), size=(200, 5))
    assert np.mean([corrected_spread(row, np.full(5, 400), rng) for row in clear]) == pytest.approx(0.7, abs=0.01)
    assert corrected_spread(np.zeros(3), np.full(3, 10), rng) == 0


def test_interval_by_hand():
    low, high = np.array([0.1, 0.4, 0.5]), np.array([0.2, 0.6, 0.7])
    assert spread_interval(low, high) == pytest.approx((0.3, 0.6))
    assert spread_interval(low, low + 0.45) == pytest.approx((0, 0.85))


@pytest.mark.parametrize(
    ("count", "n", "z", "rule", "expected"),
    [
        (20, 100, 2, "normal", 0.08),  # z sqrt(p (1 - p) / r) with p = 0.2 and r = 100
        (0, 11, 2.58, "normal", 0),
        (0, 11, 2, "wilson", 4 / 22 / (1 + 4 / 11)),  # z² / (2n) / (1 + z² / n)
    ],
)
def test_half_widths_by_hand(count, n, z, rule, expected):
    assert half_width(count, n, z, rule=rule) == pytest.approx(expected)


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
    around = [error(0, n, alpha=SPENT[0] * alpha, binary=binary) <= bound for n in (sizes[0] - 1, sizes[0])]
    assert sizes[0] == sizes[-1] or around == [False, True]


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


HUGE = Schema.from_dict({f"x{i}": range(1000) for i in range(8)})  # 10**24 inputs, more than 64 bits can number


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(4) for i in range(3)}), HUGE])
@settings(max_examples=30, deadline=None)
@given(blocks=st.lists(st.integers(1, 60), min_size=1, max_size=60), seed=st.integers(0, 100))
def test_memory_never_runs_an_input_twice(schema, blocks, seed):
    rng, seen, asked = np.random.default_rng(seed), [], []

    def program(inputs):
        seen.extend(map(tuple, inputs.to_numpy().tolist()))
        return inputs.sum(axis=1).to_numpy() % 2

    memory, pool = Program(program, schema), schema.sample_codes(900, random_state=rng)
    for block in blocks:
        asked.append(pool[rng.integers(len(pool), size=block)])
        assert (memory(asked[-1]) == asked[-1].sum(axis=1) % 2).all()
    distinct = np.unique(np.concatenate(asked), axis=0)
    assert len(seen) == len(set(seen)) == memory.runs == len(distinct)
    codes, outputs = memory.contents()
    assert (codes == distinct).all()
    assert (outputs == codes.sum(axis=1) % 2).all()


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
def test_inputs_that_the_model_failed_on_are_run_again(schema):
    codes, broken = schema.sample_codes(5000, random_state=0), []
    memory = Program(lambda inputs: 1 / 0 if broken else inputs["x0"].to_numpy() % 2, schema)
    memory(codes[:2000])
    known = memory.runs
    broken.append(True)
    with pytest.raises(ZeroDivisionError):
        memory(codes)
    assert memory.runs == known
    assert (memory(codes[:2000]) == codes[:2000, 0] % 2).all(), "what is known needs no model"
    broken.clear()
    assert (memory(codes) == codes[:, 0] % 2).all()
    assert memory.runs == len(np.unique(codes, axis=0))


@pytest.mark.parametrize("schema", [Schema.from_dict({f"x{i}": range(50) for i in range(3)}), HUGE])
@pytest.mark.parametrize(("owner", "place"), [(AnswerCache, "_keep"), (queries, "_longer"), (estimation, "outputs_of")])
def test_a_memory_that_was_interrupted_is_right_when_it_is_asked_again(schema, owner, place):
    memory = Program(lambda inputs: inputs["x0"].to_numpy() % 2, schema)
    codes = schema.sample_codes(30_000, random_state=0)
    memory(codes[:9_000])
    for n in (300, 20_000):  # by arrays, and by the compiled loop
        with mock.patch.object(owner, place, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            memory(codes[9_000 : 9_000 + n])
            memory(codes[29_000:])
    assert (memory(codes[::-1]) == codes[::-1, 0] % 2).all()
    assert memory.runs == len(memory.contents()[0]) == len(np.unique(codes, axis=0))


SCHEMA = Schema.from_dict({"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}})


def run(program):
    return outputs_of(wrap_model(program), SCHEMA, SCHEMA.assignments((0, 1)))


def command(script, **options):
    """Return a shell script as software."""
    return CommandSoftware(["sh", "-c", script, "sh"], n_jobs=1, **options)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('[ "$2" = 19 ] && { echo broken >&2; exit 3; }; echo 1', "failed on input Male 19: status 3: broken"),
        ('[ "$2" = 19 ] && echo perhaps || echo 0', "failed on input Male 19: printed 'perhaps', expected '1' or '0'"),
        ('[ "$2" = 19 ] && kill -9 $$; echo 1', "failed on input Male 19: status -9"),
    ],
)
def test_command_that_fails_is_reported_with_its_input(script, message):
    with pytest.raises(SoftwareError, match=message):
        run(command(script))


def test_command_that_hangs_is_ended_with_what_it_started(tmp_path):
    alive = tmp_path / "alive"
    program = command(f'[ "$2" = 19 ] && {{ sleep 1; touch {alive}; }}; echo 1', timeout=0.2)
    with pytest.raises(SoftwareError, match=r"failed on input Male 19: no answer within 0\.2 s"):
        run(program)
    time.sleep(1.1)
    assert not alive.exists()


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
        run(program)
