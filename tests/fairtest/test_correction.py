import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from fairlab.fairtest.correction import bonferroni_confidence, holm


def test_holm_by_hand():
    # Sorted: 0.01 x 4, 0.02 x 3, 0.03 x 2 (not below its predecessor), 0.9.
    np.testing.assert_allclose(holm([0.02, 0.9, 0.01, 0.03]), [0.06, 0.9, 0.04, 0.06])
    np.testing.assert_allclose(holm([0.6, 0.4]), [0.8, 0.8])


def test_holm_is_that_of_statsmodels_bit_for_bit():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 60, 300):
        p_values = rng.random(n) ** rng.integers(1, 50)
        p_values[rng.random(n) < 0.2] = 0.01  # ties
        p_values[rng.random(n) < 0.1] = 1.0
        np.testing.assert_array_equal(holm(p_values), multipletests(p_values, method="holm")[1])


def test_corrected_p_values_are_at_most_one_and_nothing_is_below_the_floor():
    np.testing.assert_allclose(holm([0.0, 0.8]), [2e-180, 0.8])
    assert holm([0.7, 0.8, 0.9]).tolist() == [1, 1, 1]
    assert holm([]).size == 0


def test_bonferroni():
    assert bonferroni_confidence(0.95, 5) == pytest.approx(0.99)
    assert bonferroni_confidence(0.95, 1) == pytest.approx(0.95)
