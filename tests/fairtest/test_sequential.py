"""Bounds and levels that hold at all moments at once, by hand; `test_promise` counts how often they do on streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fairlab.fairtest import (
    adaptive_level,
    difference_sequence,
    group_sequences,
    look_level,
    rate_sequence,
)
from fairlab.fairtest.sequential import BETS, evidence
from fairlab.statistics import holm


def test_evidence_by_hand():
    rate, hits = 0.3, [1, 0, 1]
    stakes = [np.prod([np.exp(b * hit) / (1 - rate + rate * np.exp(b)) for hit in hits]) for b in BETS.ravel()]
    slope = (evidence(2, 3, rate + 1e-6)[0] - evidence(2, 3, rate - 1e-6)[0]) / 2e-6
    assert [float(each) for each in evidence(2, 3, rate)] == pytest.approx([np.log(np.mean(stakes)), slope])


def test_the_mean_of_the_stake_is_one_by_enumeration():
    rate, n = 0.3, 9
    hits = np.arange(n + 1)
    assert (binom.pmf(hits, n, rate) * np.exp(evidence(hits, n, rate)[0])).sum() == pytest.approx(1)


@given(st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95]))
def test_rates_within_the_bounds_are_not_excluded(case, level):
    hits, n = case
    low, high = rate_sequence(hits, n, confidence_level=level)
    grid = np.linspace(0, 1, 401)
    is_in = evidence(hits, n, grid)[0] < -np.log1p(-level)
    assert low <= hits / n <= high
    assert ((low <= grid) & (grid <= high))[is_in].all()
    assert not ((low + 1e-6 < grid) & (grid < high - 1e-6))[~is_in].any()


def test_shapes_and_ends():
    low, high = rate_sequence([[0, 5], [0, 9]], [[0, 5], [7, 9]])
    assert (low.shape, low[0, 0], high[0, 0], high[0, 1], low[1, 0]) == ((2, 2), 0, 1, 1, 0)
    assert [len(each) for each in rate_sequence([], [])] == [0, 0]
    assert difference_sequence([0, 0], [0, 0]) == pytest.approx((-1, 1))


@pytest.mark.parametrize(
    ("hits", "totals", "found"),
    [
        ([1, 0, 1], [1, 1, 1], "a count that falls"),  # a forgotten cumsum
        ([1, 2, 2], [3, 5, 4], "a count that falls"),
        ([1, 3, 4], [5, 6, 7], "more new hits than new decisions"),
        ([0.5, 1.7], [1, 2], "more new hits than new decisions"),
    ],
)
@pytest.mark.parametrize("sequence", [rate_sequence, difference_sequence, group_sequences])
def test_counts_that_do_not_run_up_are_refused(sequence, hits, totals, found):
    counts = np.array([hits, totals], dtype=float)
    if sequence is not rate_sequence:  # a second group, whose counts run up
        counts = np.stack([counts, np.outer([1, 2], np.arange(len(hits)) + 2 * len(hits))], axis=-1)
    message = f"expected running totals along the first axis, found {found}; cumsum makes them"
    with pytest.raises(ValueError, match=message):
        sequence(*counts)


def test_running_totals_may_stand_still_and_have_rounding_errors():
    numbers = np.random.default_rng(0).choice([0.1, 0.7, 1.0], 10_000)
    rate_sequence(numbers.cumsum()[[0, 5_000, 5_000, 9_999]], [1, 5_001, 5_001, 10_000])
    totals = np.tile(np.arange(1, 31), (2, 1)).T
    tenths = np.minimum(10 * np.full(30, 0.1).cumsum()[:, None], totals)
    assert (np.diff(tenths, axis=0) > 1).any()
    difference_sequence(tenths, totals)
    assert 5.8 + 6 - 5.8 > 6
    low, high = group_sequences([[5.8, 6.0, 0.0]], [[9, 6, 0]])
    assert ((low <= [5.8 / 9 - 1, 1 - 5.8 / 9, 0]) & (high >= [5.8 / 9 - 1, 1 - 5.8 / 9, 0])).all()


COUNTS_OF_TWO = [
    *(((3, 5), (10, 10)), ((0, 30), (4, 40)), ((300, 450), (1_000, 1_000)), ((7, 0), (7, 0)), ((0, 0), (5, 0))),
    *(((10, 400_000), (20, 1_000_000)), ((10, 0), (20, 1_000_000)), ((9, 9_998), (10, 9_999)), ((2.5, 0.1), (9, 4))),
]


@pytest.mark.parametrize("counts", COUNTS_OF_TWO)
def test_a_difference_is_excluded_if_all_pairs_of_rates_are(counts):
    hits, totals = counts
    low, high = difference_sequence(hits, totals)
    grids, excluded = [], []
    for hit, total in zip(hits, totals, strict=True):  # dense where a rate may be
        ends = [float(end) for end in rate_sequence(hit, total, confidence_level=1 - 0.05 / 64)]
        grids.append(np.unique([*np.linspace(*ends, 1_001), *np.geomspace(max(ends[0], 1e-9), ends[1], 1_000)]))
        excluded.append(evidence(hit, total, grids[-1])[0])
    left = np.subtract.outer(*grids)[np.add.outer(*excluded) < -np.log(0.05)]
    assert (low, high) == pytest.approx((left.min(), left.max()), abs=0.001)
    assert low - 1e-9 <= left.min() <= left.max() <= high + 1e-9
    assert difference_sequence(hits[::-1], totals[::-1]) == pytest.approx((-high, -low), abs=1e-6)


def test_groups_and_labels_are_compared_with_everybody_else():
    hits = np.array([[[3, 5, 4], [1, 0, 9]], [[30, 55, 41], [10, 3, 80]]])  # two moments, two labels, three groups
    totals = np.array([[10, 12, 9], [100, 110, 95]])[:, None].repeat(2, axis=1)
    low, high = group_sequences(hits, totals, confidence_level=0.94)
    own = [hits[1, 1, 2], hits[1, 1, :2].sum()], [totals[1, 1, 2], totals[1, 1, :2].sum()]
    assert (low[1, 1, 2], high[1, 1, 2]) == difference_sequence(*own, confidence_level=0.99)
    assert low.shape == high.shape == hits.shape
    low, high = group_sequences(hits[:, 0, :2], totals[:, 0, :2])
    assert (low[1, 0], high[1, 0]) == (-high[1, 1], -low[1, 1]) == difference_sequence(hits[1, 0, :2], totals[1, 0, :2])


def test_levels_of_all_looks_are_the_stated_one():
    assert 0.05 * (1 - 1e-4) <= sum(look_level(number, 0.05) for number in range(1, 50_000)) < 0.05


@given(st.lists(st.floats(0, 1), max_size=40))
def test_what_adaptive_levels_spend_is_at_most_the_stated_level(largest):
    levels = [adaptive_level(largest[:k], 0.05) for k in range(len(largest) + 1)]
    spent = [level for level, p_value in zip(levels, largest, strict=False) if p_value > 0.25]
    assert sum(spent) / 0.75 <= 0.05
    assert all(level >= 0.75 * look_level(1 + k, 0.05) for k, level in enumerate(levels))
    assert levels[-1] == 0.75 * look_level(1 + len(spent), 0.05)


def looks_err(number, n_looks, *, alpha, level):
    """Return whether any look errs: hypotheses change, some are false, and whether one is may go by the past."""
    rng, largest = np.random.default_rng([number, 93]), []
    for _ in range(n_looks):
        shared = rng.random()  # p-values of one look depend on each other
        p_values = np.where(rng.random(rng.integers(1, 5)) < 0.5, shared, rng.random())
        is_true = rng.random(len(p_values)) < (0.3 if largest and largest[-1] <= 0.25 else 0.8)
        p_values = np.where(is_true, p_values, 0)  # what is false is rejected first: Holm's levels are the largest
        if (holm(p_values)[is_true] <= level(largest, alpha)).any():
            return True
        largest.append(p_values.max())
    return False


@pytest.mark.parametrize("level", [adaptive_level, lambda largest, alpha: look_level(1 + len(largest), alpha)])
def test_looks_that_depend_on_the_past_err_as_seldom_as_stated(level):
    alpha, n = 0.3, 600
    errors = sum(looks_err(number, 40, alpha=alpha, level=level) for number in range(n))
    assert binom.sf(errors - 1, n, alpha) > 0.005
    assert errors > 0.1 * n  # most of the level is used
