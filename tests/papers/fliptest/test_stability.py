import numpy as np
import pandas as pd
import pytest

from fairlab.papers.fliptest.ensembles import MapValidation
from fairlab.papers.fliptest.stability import (
    coordinate_statistics,
    equicorrelated_normal,
    interval_words,
    stability_interval,
    summary_of_setting,
    usable_draws,
)


@pytest.mark.parametrize("correlation", [0, 0.5, 0.9])
def test_features_have_unit_variance_and_the_correlation(correlation):
    X = equicorrelated_normal(np.random.default_rng(0), 100_000, 3, correlation=correlation)
    expected = np.full((3, 3), correlation) + np.eye(3) * (1 - correlation)
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.02)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)


@pytest.mark.parametrize("correlation", [-0.1, 1.0, np.nan])
def test_correlation_out_of_range(correlation):
    with pytest.raises(ValueError, match="correlation"):
        equicorrelated_normal(np.random.default_rng(0), 10, 2, correlation=correlation)


def images_of(origin, ones):
    return [{"origin": np.array(x), "ones": np.array(y)} for x, y in zip(origin, ones, strict=True)]


def test_statistics_by_hand():
    images = images_of([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]], [[1.0, 0.0], [1.0, 0.5], [0.4, 0.1]])
    table = coordinate_statistics(images)
    np.testing.assert_allclose(table["variance"], [4, 3])
    np.testing.assert_allclose(table["mean"], [0.8, 0.2])
    interval = stability_interval(images)
    np.testing.assert_allclose(interval["value"], [3.5, 0.5])
    assert (interval["low"] <= interval["value"]).all()
    assert (interval["value"] <= interval["high"]).all()


def test_intervals_cover_the_truth():
    rng = np.random.default_rng(0)
    covered = np.zeros(2)
    for _ in range(100):
        points = rng.normal(size=(60, 2, 3)) * 0.5 + 1
        interval = stability_interval(images_of(points[:, 0], points[:, 1]), n_resamples=300)
        covered += (interval["low"] < [0.25, 1]) & (interval["high"] > [0.25, 1])
    assert (covered >= 80).all()


def test_the_interval_is_that_of_resampled_draws():
    rng = np.random.default_rng(1)
    origin, ones = rng.normal(size=(2, 8, 3))
    table = stability_interval(images_of(origin, ones), n_resamples=500, random_state=2)
    chosen = np.random.default_rng(2).integers(0, 8, (500, 8))
    means = ones[chosen].mean(axis=(1, 2))
    np.testing.assert_allclose(table.loc["mean", ["low", "high"]].astype(float), np.quantile(means, [0.025, 0.975]))


def test_two_draws_are_the_fewest():
    [image] = images_of([[0.0]], [[1.0]])
    with pytest.raises(ValueError, match="1 of 2 draws"):
        coordinate_statistics([image, image | {"origin": np.array([np.nan])}])


def fit(ks, mean_l1=0.5):
    table = pd.DataFrame({"ks": [ks], "mse_target": 1.0, "mse_image": 1.0, "mse_difference": 0.0}, index=["x0"])
    return MapValidation(table, mean_l1, mean_l1**2).to_frame()


def test_draws_whose_map_missed_its_target_are_left_out():
    draws = images_of([[0.0], [1.0], [2.0]], [[1.0], [1.0], [2.0]])
    assert usable_draws(draws) == (draws, "")  # exact maps
    learnt = [draw | {"fit": fit(ks)} for draw, ks in zip(draws, (0.1, 0.3, 0.2), strict=True)]
    used, note = usable_draws(learnt)
    assert [draw["origin"].item() for draw in used] == [0, 2]
    assert note == "1 of 3 maps miss their target (KS above 0.2) and are left out"


def test_what_a_setting_does_by_hand():
    draws = images_of([[0.0, 0.0], [2.0, 4.0]], [[1.0, 0.0], [1.0, 2.0]])
    learnt = [draw | {"fit": fit(ks, l1)} for draw, ks, l1 in zip(draws, (0.1, 0.3), (1.0, 3.0), strict=True)]
    found = summary_of_setting(learnt)
    expected = {"variance": 5, "mean of ones": 1, "largest KS": 0.3, "mean L1 per feature": 1, "off target": 1}
    assert found == pytest.approx(expected)


def test_words():
    table = pd.DataFrame({"value": [0.12345], "low": [0.1], "high": [1.26]})
    assert interval_words(table).tolist() == ["0.123 [0.1, 1.3]"]
