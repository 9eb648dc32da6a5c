from dataclasses import replace

import numpy as np
import pytest

from fairlab.papers.fliptest.stability import (
    FixedPointImages,
    coordinate_statistics,
    equicorrelated_normal,
    exact_images,
    gan_images,
    seguy_images,
    stability_interval,
)
from fairlab.seeds import Trial
from fairlab.suite.trials import run_trials
from fairlab.transport import monotone_rearrangement

TRIALS = [Trial("x/y", k, 0) for k in range(7)]
SIZE = {"n_points": 30, "dimension": 2, "correlation": 0.5}
GAN = {"hidden_layers": (8,), "n_steps": 5, "batch_size": 8}
SEGUY = {"hidden_layers": (8,), "n_dual_steps": 20, "n_map_steps": 20, "batch_size": 16}


def as_array(images):
    return np.array([(image.origin, image.ones) for image in images])


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


def test_exact_images_are_those_of_the_closed_form():
    size = {"n_points": 50, "dimension": 1, "correlation": 0.0}
    image = exact_images(TRIALS[3], **size)
    rng = TRIALS[3].rng("sample")
    source, target = (equicorrelated_normal(rng, 50, 1)[:, 0] for _ in range(2))
    for point, found in ((0, image.origin), (1, image.ones)):
        source[0] = point
        assert found == pytest.approx([monotone_rearrangement(source, target)[0]])
    assert image.validation is None


def test_learnt_maps_share_the_sample_of_the_exact_map(monkeypatch):
    pytest.importorskip("tensorflow")
    from fairlab.transport import GANEnsemble, SeguyEnsemble

    seen = []
    for ensemble in (GANEnsemble, SeguyEnsemble):
        fit = ensemble.fit

        def spied(self, source, target, fit=fit):
            seen.append((source, target))
            return fit(self, source, target)

        monkeypatch.setattr(ensemble, "fit", spied)
    gan_images(TRIALS[:2], **SIZE, **GAN)
    seguy_images(TRIALS[:2], **SIZE, **SEGUY)
    rng = TRIALS[1].rng("sample")
    source, target = (equicorrelated_normal(rng, 30, 2, correlation=0.5) for _ in range(2))
    source[0] = 0
    for sources, targets in seen:
        np.testing.assert_array_equal(sources[1], source)
        np.testing.assert_array_equal(targets[1], target)


@pytest.mark.parametrize(("function", "recipe"), [(gan_images, GAN), (seguy_images, SEGUY)])
def test_stopped_and_started_again_the_numbers_are_those_of_one_go(function, recipe, tmp_path):
    pytest.importorskip("tensorflow")

    def run(trials, folder, batch):
        options = {"batch": batch, "progress": False, "cache": tmp_path / folder}
        return run_trials(function, trials, SIZE | recipe, **options)[0]

    whole = as_array(run(TRIALS, "whole", batch=10))
    run([TRIALS[k] for k in (1, 5, 6)], "pieces", batch=2)
    pieces = as_array(run(TRIALS, "pieces", batch=3))
    np.testing.assert_array_equal(pieces, whole)
    assert whole.shape == (7, 2, 2)
    assert len(np.unique(whole[:, 0, 0])) == 7


def test_learnt_maps_are_validated_on_fresh_points():
    pytest.importorskip("tensorflow")
    for image in (gan_images(TRIALS[:1], **SIZE, **GAN)[0], seguy_images(TRIALS[:1], **SIZE, **SEGUY)[0]):
        assert image.validation.features.shape == (2, 4)
        assert np.isfinite(image.validation.mean_l1)
        assert image.to_frame().shape == (2, 2)


def test_a_diverged_map_has_no_images_and_is_counted_out():
    pytest.importorskip("tensorflow")
    with pytest.warns(UserWarning, match="did not stay finite"):
        images = gan_images(TRIALS[:3], **SIZE, **GAN | {"n_steps": 20}, penalty=[1e-4, 1e-4, 1e38])
    assert images[2].validation.diverged
    assert np.isnan(images[2].origin).all()
    whole = coordinate_statistics(images)
    assert np.isfinite(whole).all(axis=None)
    np.testing.assert_array_equal(whole, coordinate_statistics(images[:2]))


def images_of(origin, ones):
    return [FixedPointImages(np.array(x), np.array(y)) for x, y in zip(origin, ones, strict=True)]


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


def test_two_draws_are_the_fewest():
    [image] = images_of([[0.0]], [[1.0]])
    with pytest.raises(ValueError, match="1 of 2 draws"):
        coordinate_statistics([image, replace(image, origin=np.array([np.nan]))])
