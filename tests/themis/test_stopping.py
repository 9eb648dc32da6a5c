import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlab.themis.stopping import RULES, half_width, samples_needed, wilson_interval, z_value


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


@pytest.mark.parametrize("rule", RULES)
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
