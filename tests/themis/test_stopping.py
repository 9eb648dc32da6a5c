import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fairlab.themis.stopping import (
    SPENT,
    error,
    exact_interval,
    half_width,
    look_sizes,
    samples_needed,
    wilson_interval,
    z_value,
)


def test_z_is_two_sided():
    assert [round(z_value(c), 2) for c in (0.8, 0.9, 0.95, 0.98, 0.99)] == [1.28, 1.64, 1.96, 2.33, 2.58]


def test_half_widths_by_hand():
    # z sqrt(p (1 - p) / r) with p = 0.2 and r = 100.
    assert half_width(20, 100, 2, rule="normal") == pytest.approx(0.08)
    assert half_width(0, 11, 2.58, rule="normal") == 0
    # Wilson, p = 0: z² / (2n) / (1 + z² / n).
    assert half_width(0, 11, 2, rule="wilson") == pytest.approx(4 / 22 / (1 + 4 / 11))


def test_wilson_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    for count, n_samples in ((0, 11), (3, 40), (40, 40)):
        expected = binomtest(count, n_samples).proportion_ci(0.99, method="wilson")
        assert wilson_interval(count, n_samples, alpha=0.01) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("rule", ["wilson", "normal"])
@settings(deadline=None)
@given(st.integers(1, 200), st.floats(0, 1), st.floats(0.005, 0.2))
def test_needed_samples_reach_the_bound_and_no_fewer(rule, n_samples, share, bound):
    needed = samples_needed(share * n_samples, n_samples, 2.58, bound, rule=rule)
    assert half_width(share * needed, needed, 2.58, rule=rule) <= bound * (1 + 1e-9) if needed else share in (0, 1)
    if needed > 2:
        fewer = needed - 1.5
        assert half_width(share * fewer, fewer, 2.58, rule=rule) > bound * (1 - 1e-9)


def test_ends_of_the_wilson_interval_are_exact():
    n_samples = np.arange(1, 2000)
    low, _ = wilson_interval(0 * n_samples, n_samples, alpha=0.01)
    _, high = wilson_interval(n_samples, n_samples, alpha=0.01)
    assert (low == 0).all()
    assert (high == 1).all()


def test_exact_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    for count, n_samples in ((0, 11), (3, 40), (40, 40)):
        expected = binomtest(count, n_samples).proportion_ci(0.99, method="exact")
        assert exact_interval(count, n_samples, alpha=0.01) == pytest.approx((expected.low, expected.high))


def test_intervals_of_any_outcomes_are_chernoffs():
    low, high = exact_interval([0, 3.5, 10], 10, alpha=0.05, binary=False)
    # Of a mean of 0, (1 - high)^n is half of alpha; else n KL(mean, end) is log(2 / alpha).
    assert low[0] == 0
    assert high[0] == pytest.approx(1 - 0.025**0.1)
    assert (low[2], high[2]) == (pytest.approx(0.025**0.1), 1)
    for end in (low[1], high[1]):
        assert 10 * (0.35 * np.log(0.35 / end) + 0.65 * np.log(0.65 / (1 - end))) == pytest.approx(np.log(40))
    narrow = exact_interval(3.0, 10, alpha=0.05)
    wide = exact_interval(3.0, 10, alpha=0.05, binary=False)
    assert wide[0] < narrow[0]
    assert wide[1] > narrow[1]


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
