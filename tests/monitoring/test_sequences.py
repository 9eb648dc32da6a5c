"""Bounds and levels that hold at all moments at once; docs/truth/monitoring.csv has the counts of streams.

``python tests/monitoring/test_sequences.py --write`` writes them anew.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fairlab.monitoring import (
    adaptive_level,
    difference_sequence,
    group_sequences,
    look_level,
    rate_sequence,
)
from fairlab.monitoring.sequences import BETS, evidence
from fairlab.statistics import holm

COUNTS = Path(__file__).parents[2] / "docs" / "truth" / "monitoring.csv"
LEVEL = 0.95


def test_evidence_by_hand():
    rate, hits = 0.3, [1, 0, 1]
    stakes = [np.prod([np.exp(b * hit) / (1 - rate + rate * np.exp(b)) for hit in hits]) for b in BETS.ravel()]
    log, slope = evidence(2, 3, rate)
    assert log == pytest.approx(np.log(np.mean(stakes)))
    assert slope == pytest.approx((evidence(2, 3, rate + 1e-6)[0] - evidence(2, 3, rate - 1e-6)[0]) / 2e-6)


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
    with pytest.raises(ValueError, match="hits: expected from 0 up to the number of decisions"):
        rate_sequence([3], [2])


COUNTS_OF_TWO = [
    *(((3, 5), (10, 10)), ((0, 30), (4, 40)), ((300, 450), (1_000, 1_000)), ((7, 0), (7, 0)), ((0, 0), (5, 0))),
    *(((10, 400_000), (20, 1_000_000)), ((10, 0), (20, 1_000_000)), ((9, 9_998), (10, 9_999)), ((2.5, 0.1), (9, 4))),
]


@pytest.mark.parametrize("counts", COUNTS_OF_TWO)
def test_a_difference_is_excluded_if_all_pairs_of_rates_are(counts):
    hits, totals = counts
    low, high = difference_sequence(hits, totals)
    grids = []
    for hit, total in zip(hits, totals, strict=True):  # dense where a rate may be
        ends = [float(end) for end in rate_sequence(hit, total, confidence_level=1 - 0.05 / 64)]
        grids.append(np.unique([*np.linspace(*ends, 1_001), *np.geomspace(max(ends[0], 1e-9), ends[1], 1_000)]))
    first, second = (evidence(hit, total, grid)[0] for hit, total, grid in zip(hits, totals, grids, strict=True))
    left = (grids[0][:, None] - grids[1])[first[:, None] + second < -np.log(0.05)]
    assert (low, high) == pytest.approx((left.min(), left.max()), abs=0.001)
    assert low <= left.min() + 1e-9
    assert high >= left.max() - 1e-9
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
    levels = [look_level(number, 0.05) for number in range(1, 50_000)]
    assert sum(levels) == pytest.approx(0.05, rel=1e-4)
    assert sum(levels) < 0.05


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


def stream(number, length, *, changes):
    """Return chances of a stream, and whether each decision was favourable: one rate, or one that goes by the past."""
    rng = np.random.default_rng([number, 91])
    chances = np.full(length, rng.uniform(0.02, 0.98))
    if not changes:
        return chances, rng.random(length) < chances
    drawn, hits = rng.random(length), np.zeros(length, dtype=bool)
    other = rng.uniform(0.02, 0.98)
    for k in range(length):  # a decision changes the chance of the next one; the mean drifts
        chances[k] = other if (k and hits[k - 1]) != (k > length // 3) else chances[0]
        hits[k] = drawn[k] < chances[k]
    return chances, hits


def holds_throughout(number, length, *, changes=False):
    """Return whether the mean of a stream's chances is within the bounds after every decision."""
    chances, hits = stream(number, length, changes=changes)
    n = np.arange(1, length + 1)
    return bool((evidence(np.cumsum(hits), n, np.cumsum(chances) / n)[0] < -np.log1p(-LEVEL)).all())


def holds_the_difference(number, length=2_500, *, equal):
    """Return whether bounds of two groups' difference hold the true one at each of 50 moments."""
    rng = np.random.default_rng([number, 92])
    rates = np.full(2, rng.uniform(0.05, 0.95)) if equal else rng.uniform(0.05, 0.95, 2)
    group = (rng.random(length) < rng.uniform(0.1, 0.9)).astype(int)
    own = np.stack([group == 0, group == 1], axis=-1)
    hits = own & (rng.random(length) < rates[group])[:, None]
    moments = np.arange(50, length + 1, 50) - 1
    counts = (np.cumsum(each, axis=0)[moments] for each in (hits, own))
    low, high = difference_sequence(*counts, confidence_level=LEVEL)
    return bool(((low <= rates[0] - rates[1]) & (rates[0] - rates[1] <= high)).all())


STATEMENTS = {
    "bounds of a rate hold after each of 20,000 decisions": (lambda k: holds_throughout(k, 20_000), 1_000),
    "bounds hold the mean of a rate that goes by the past": (lambda k: holds_throughout(k, 2_000, changes=True), 1_000),
    "equal groups never differ at any of 50 moments": (lambda k: holds_the_difference(k, equal=True), 300),
    "bounds of a difference hold at each of 50 moments": (lambda k: holds_the_difference(k, equal=False), 300),
}


def counted(statement, streams=None):
    """Return the row of one statement."""
    holds, all_streams = STATEMENTS[statement]
    streams = streams or all_streams
    held = sum(holds(number) for number in range(streams))
    return {"statement": statement, "streams": streams, "held": held, "share": held / streams, "stated": LEVEL}


def test_committed_counts_are_within_what_is_stated():
    frame = pd.read_csv(COUNTS)
    assert frame["statement"].tolist() == list(STATEMENTS)
    assert (binom.cdf(frame["held"], frame["streams"], frame["stated"]) > 0.005).all()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_some_streams_come_out_as_stated(statement):
    row = counted(statement, 20)
    assert binom.cdf(row["held"], row["streams"], row["stated"]) > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_counts_come_out_again(statement):
    assert counted(statement)["held"] == pd.read_csv(COUNTS).set_index("statement").loc[statement, "held"]


if __name__ == "__main__" and "--write" in sys.argv:
    pd.DataFrame(map(counted, STATEMENTS)).to_csv(COUNTS, index=False)
