import numpy as np
import pytest

from fairlab.themis.spread import corrected_spread, spread_interval


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
