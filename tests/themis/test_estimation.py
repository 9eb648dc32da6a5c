from collections import Counter
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fairlab.cases import Schema
from fairlab.themis import Themis, as_program, causal_score, estimation, group_score
from fairlab.themis.search import subsets
from fairlab.themis.stopping import half_width, z_value

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
    shared = Themis(program, schema)._memory
    for seed in range(n_seeds):
        themis = Themis(program, schema, confidence=0.95, error_bound=0.05, random_state=seed)
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
    schema, program = as_program(table)
    normal, wilson = (
        [Themis(program, schema, stop=stop, random_state=seed).causal_score("x0") for seed in range(40)]
        for stop in ("normal", "wilson")
    )
    assert Counter(score.samples for score in normal).most_common(1)[0][0] == 11
    assert min(score.samples for score in wilson) > 50
    assert all(score.high > 0.02 for score in normal), "the interval says what eleven samples are worth"


@pytest.mark.parametrize("reading", ["as_described", "as_published"])
def test_scores_of_a_search_are_those_of_the_sets_alone(monkeypatch, reading):
    """Sets share the program's runs, however few of them at once, and nothing else."""
    table = np.random.default_rng(0).random((3, 4, 2, 5)) < np.linspace(0, 1, 3)[:, None, None, None]
    schema, program = as_program(table)
    options = {"reading": reading, "min_samples": 5, "max_samples": 60, "error_bound": 0.2}
    seen = []
    for cells, at_once in ((50_000, 16), (7, 3)):
        monkeypatch.setattr(estimation, "CELLS", cells)
        monkeypatch.setattr(estimation, "MOST_TOGETHER", at_once)
        search = Themis(program, schema, **options).search(0.5, measure="both", prune=False)
        assert sum(score.software_runs for score in search.scores) == search.scores[-1].distinct_inputs
        seen.append([(score.score, score.samples, score.tests) for score in search.scores])
    assert seen[0] == seen[1]
    if reading == "as_published":  # as described, intervals of a search are wider
        alone = [
            getattr(Themis(program, schema, **options), f"{s.measure}_score")(s.characteristics) for s in search.scores
        ]
        assert [(score.score, score.samples, score.tests) for score in alone] == seen[0]
