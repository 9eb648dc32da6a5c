import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from fairlab.fliptest import Flipset, difference_of_shares, flipset_intervals
from fairlab.fliptest.intervals import check_confidence, exclusive_correlation


def flips(n_positive, n_negative, n):
    prediction = np.zeros(n, dtype=int)
    prediction[:n_positive] = 1
    image = np.zeros(n, dtype=int)
    image[n_positive : n_positive + n_negative] = 1
    return Flipset(prediction, image, pd.RangeIndex(n))


def test_sizes_have_the_quantiles_of_the_binomial():
    table = flipset_intervals(flips(120, 30, 1000), method="bootstrap", n_resamples=100_000, random_state=1)
    assert table["size"].tolist() == [120, 30, 90]
    for sign, size in (("positive", 120), ("negative", 30)):
        expected = binom.ppf([0.025, 0.975], 1000, size / 1000)
        np.testing.assert_allclose(table.loc[sign, ["low", "high"]].astype(float), expected, atol=1)


def test_net_is_resampled_jointly():
    # F+ and F- of the same people are negatively correlated, so their difference varies more than if independent.
    table = flipset_intervals(flips(500, 500, 1000), method="bootstrap", n_resamples=50_000)
    half = (table.loc["net", "high"] - table.loc["net", "low"]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(1000), rel=0.03)


def test_empty_flipsets():
    assert (flipset_intervals(flips(0, 0, 50), method="bootstrap") == 0).all(axis=None)
    exact = flipset_intervals(flips(0, 0, 50))
    assert (exact["size"] == exact.loc["positive":"negative", "low"].max()).all()
    assert exact.loc["positive", "high"] == pytest.approx(50 * (1 - 0.025 ** (1 / 50)))
    assert exact.loc["net", "low"] == -exact.loc["net", "high"] < 0


def test_exact_intervals_by_hand():
    exact = flipset_intervals(flips(12, 3, 100))
    assert tuple(exact.loc["positive", ["low", "high"]]) == pytest.approx(
        100 * np.array(proportion_confint(12, 100, method="beta"))
    )
    bounds = difference_of_shares((12, 3), (100, 100), correlation=exclusive_correlation(12, 3, 100))
    assert tuple(exact.loc["net"]) == pytest.approx(100 * np.array(bounds))
    # Everyone in F+ is one fewer for F-.
    assert exclusive_correlation(50, 50, 100) == -1
    assert exclusive_correlation(0, 50, 100) == 0


def test_the_level_widens_and_the_seed_repeats():
    flip = flips(40, 60, 500)
    narrow, wide = (flipset_intervals(flip, confidence=level) for level in (0.5, 0.99))
    assert (wide["high"] - wide["low"] > narrow["high"] - narrow["low"]).all()
    pd.testing.assert_frame_equal(wide, flipset_intervals(flip, confidence=0.99))


@pytest.mark.parametrize(
    "options", [{"confidence": 1}, {"confidence": 0}, {"n_resamples": 0}, {"n_resamples": 2.5}, {"method": "normal"}]
)
def test_bad_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        flipset_intervals(flips(1, 1, 10), **options)


def test_difference_of_shares_by_hand():
    estimate, low, high = difference_of_shares((8, 5), (20, 20))
    (first_low, first_high), (second_low, second_high) = (
        proportion_confint(count, 20, method="beta") for count in (8, 5)
    )
    assert estimate == pytest.approx(0.15)
    assert low == pytest.approx(0.15 - np.hypot(0.4 - first_low, second_high - 0.25))
    assert high == pytest.approx(0.15 + np.hypot(first_high - 0.4, 0.25 - second_low))


def test_difference_of_shares_at_the_ends():
    assert difference_of_shares((0, 50), (50, 50))[:2] == (-1, -1)
    estimate, low, high = difference_of_shares((0, 0), (50, 50), factor=0.5)
    assert estimate == 0
    assert low < 0 < high


@pytest.mark.parametrize("rates", [(0.02, 0.5), (0.3, 0.3), (0.95, 1.0)])
def test_difference_of_shares_holds_the_truth(rates):
    counts = np.random.default_rng(0).binomial(60, rates, size=(2_000, 2))
    intervals = np.array([difference_of_shares(pair, (60, 60)) for pair in np.unique(counts, axis=0)])
    by_pair = {tuple(pair): bounds for pair, bounds in zip(np.unique(counts, axis=0), intervals[:, 1:], strict=True)}
    held = [by_pair[tuple(pair)][0] <= rates[0] - rates[1] <= by_pair[tuple(pair)][1] for pair in counts]
    assert np.mean(held) >= 0.94


def test_confidence_is_a_share():
    check_confidence(0.5)
    with pytest.raises(ValueError, match="confidence: expected a number between 0 and 1, found 95"):
        check_confidence(95)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (((5, 3), (2, 2)), {}, r"counts: expected at most the sizes \[2, 2\], found \[5, 3\]"),
        (((0, 0), (0, 2)), {}, "sizes: expected a positive integer, found 0"),
        (((0.5, 0), (2, 2)), {}, "counts: expected"),
        (((1, 1), (2, 2)), {"factor": -1}, "factor: expected a finite number above 0"),
    ],
)
def test_bad_counts(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        difference_of_shares(*arguments, **options)
