import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from fairlab.fliptest import Flipset, flipset_intervals


def flips(n_positive, n_negative, n):
    prediction = np.zeros(n, dtype=int)
    prediction[:n_positive] = 1
    image = np.zeros(n, dtype=int)
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_sizes_have_the_quantiles_of_the_binomial():
    table = flipset_intervals(flips(120, 30, 1000), n_resamples=100_000, random_state=1)
    assert table["size"].tolist() == [120, 30, 90]
    for sign, size in (("positive", 120), ("negative", 30)):
        expected = binom.ppf([0.025, 0.975], 1000, size / 1000)
        np.testing.assert_allclose(table.loc[sign, ["low", "high"]].astype(float), expected, atol=1)


def test_net_is_resampled_jointly():
    # F+ and F- of the same people are negatively correlated, so their difference varies more than if independent.
    table = flipset_intervals(flips(500, 500, 1000), n_resamples=50_000)
    half = (table.loc["net", "high"] - table.loc["net", "low"]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(1000), rel=0.03)


def test_empty_flipsets_have_empty_intervals():
    assert (flipset_intervals(flips(0, 0, 50)) == 0).all(axis=None)


def test_the_level_widens_and_the_seed_repeats():
    flip = flips(40, 60, 500)
    narrow, wide = (flipset_intervals(flip, confidence=level) for level in (0.5, 0.99))
    assert (wide["high"] - wide["low"] > narrow["high"] - narrow["low"]).all()
    pd.testing.assert_frame_equal(wide, flipset_intervals(flip, confidence=0.99))


@pytest.mark.parametrize("options", [{"confidence": 1}, {"confidence": 0}, {"n_resamples": 0}])
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        flipset_intervals(flips(1, 1, 10), **options)
