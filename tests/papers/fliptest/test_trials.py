import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairlab.papers.fliptest import trials as replayed
from fairlab.papers.fliptest.ensembles import MapValidation
from fairlab.papers.fliptest.noise import floor_flipsets, identical_groups, random_label_svm
from fairlab.papers.fliptest.prior_arrests import monotone_rearrangement
from fairlab.papers.fliptest.stability import coordinate_statistics, equicorrelated_normal
from fairlab.papers.fliptest.trials import (
    exact_distances,
    exact_image,
    exact_images,
    gan_images,
    maps_by_penalty,
    noise_floor,
    noise_maps,
    seguy_images,
    train_maps,
)
from fairlab.transport import ExactTransport, squared_l1

RECIPE = {"hidden_layers": (8,), "n_steps": 4, "batch_size": 8}
PEOPLE = {"n_points": 60, "n_seen": 2, "n_telling": 1}
SIZE = {"n_points": 30, "dimension": 2, "correlation": 0.5}
SEGUY = {"hidden_layers": (8,), "n_dual_steps": 20, "n_map_steps": 20, "batch_size": 16}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    source, target = (pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]) for _ in range(2))
    return {"source": source, "target": target}


def images(maps, X):
    from fairlab.transport import GANTransport

    return [GANTransport.from_arrays(arrays).transform(X).to_numpy() for arrays in maps]


def test_a_map_depends_on_its_trial_and_its_stream_only(groups, trials):
    pytest.importorskip("tensorflow")
    first, second = images(train_maps(trials[:2], **groups, **RECIPE), groups["source"])
    [alone] = images(train_maps(trials[1:2], **groups, **RECIPE), groups["source"])
    [other] = images(train_maps(trials[1:2], **groups, stream="other", **RECIPE), groups["source"])
    np.testing.assert_array_equal(second, alone)
    assert not np.array_equal(second, first)
    assert not np.array_equal(second, other)


def test_one_map_per_trial_and_penalty(groups, trials):
    pytest.importorskip("tensorflow")
    both = maps_by_penalty(trials[:2], **groups, penalties=[1e-4, 1e-2], **RECIPE)
    [[alone]] = maps_by_penalty(trials[1:2], **groups, penalties=[1e-2], **RECIPE)
    assert [len(maps) for maps in both] == [2, 2]
    [alone] = images([alone], groups["source"])
    first, second = (images(maps, groups["source"]) for maps in both)
    np.testing.assert_array_equal(second[1], alone)
    assert not np.array_equal(second[0], alone)
    assert not np.array_equal(first[1], alone)


def test_the_exact_image_keeps_people_and_draws_who_is_split(groups, trials):
    source, target = groups["source"], groups["target"]
    image = exact_image(trials[0], **groups)
    pd.testing.assert_frame_equal(image, ExactTransport(cost=squared_l1).fit(source, target).transform(source))
    two, three = source.head(2), target.head(3)
    drawn = {exact_image(trial, source=two, target=three).to_numpy().tobytes() for trial in trials}
    assert len(drawn) > 1  # two people share three counterparts


def test_distances_of_a_subset_by_hand(groups, trials):
    source = pd.DataFrame({"a": [0.0, 10.0], "b": 0.0})
    target = pd.DataFrame({"a": [11.0, 1.0, 11.0], "b": [2.0, 0.0, 2.0]})
    found = exact_distances(trials[0], source=source, target=target.head(2), n_subset=5)
    assert found == {"mean_l1": 2, "mean_squared_l1": 5}  # moves of 1 and 3
    again, other = (exact_distances(trial, **groups, n_subset=20) for trial in trials[:2])
    assert again == exact_distances(trials[0], **groups, n_subset=20)
    assert again != other


def test_noise_floors(trials):
    pytest.importorskip("numba")
    maps = noise_maps(trials[:2], **PEOPLE, **RECIPE)
    jagged = {"C": 100.0, "gamma": 5.0}
    [floor, other] = [
        noise_floor(trial, gan=gan, n_subset=40, **PEOPLE, **jagged) for trial, gan in zip(trials, maps, strict=False)
    ]
    assert floor["moved"] != other["moved"]
    flips = floor_flipsets(other)
    gan, subset, exact = (flips[name] for name in ("GAN", "GAN, subset", "exact, subset"))
    assert (len(gan.index), len(subset.index), len(exact.index)) == (60, 40, 40)
    np.testing.assert_array_equal(gan.image_prediction[:40], subset.image_prediction)
    source, target = identical_groups(trials[1].rng("points"), 60, n_seen=2, n_telling=1)
    model = random_label_svm(np.vstack([source, target]), trials[1].rng("labels"), n_seen=2, **jagged)
    np.testing.assert_array_equal(gan.prediction, model.predict(source))
    # Proposition 2: the exact flipsets differ as the two groups' predictions do.
    assert exact.net == model.predict(source[:40]).sum() - model.predict(target[:40]).sum()
    # The same map under another model, and without an exact map.
    smooth = noise_floor(trials[1], gan=maps[1], **PEOPLE, C=1.0, gamma="scale")
    assert list(floor_flipsets(smooth)) == ["GAN"]
    assert smooth["moved"] == other["moved"]


def test_a_map_of_noise_depends_on_its_trial_only(trials):
    pytest.importorskip("numba")
    both, [alone] = noise_maps(trials[:2], **PEOPLE, **RECIPE), noise_maps(trials[1:2], **PEOPLE, **RECIPE)
    for one, same in zip(both[1]["fitted"]["generator_"], alone["fitted"]["generator_"], strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.fixture
def last_diverges(monkeypatch):
    """Give the last of several maps a penalty that is beyond its numbers."""
    gans = replayed._gans

    def with_penalty(*args, **options):
        maps = gans(*args, **options)
        maps[-1].set_params(penalty=3e38)
        return maps

    monkeypatch.setattr(replayed, "_gans", with_penalty)


def test_a_map_that_diverged_has_no_flips(trials, last_diverges):
    pytest.importorskip("numba")
    with pytest.warns(ConvergenceWarning):
        maps = noise_maps(trials[:2], **PEOPLE, **RECIPE | {"n_steps": 20})
    healthy, diverged = (
        noise_floor(trial, gan=gan, **PEOPLE, C=1.0, gamma="scale") for trial, gan in zip(trials[:2], maps, strict=True)
    )
    assert MapValidation.from_frame(diverged["fit"]).diverged
    assert diverged["flips"] == []
    assert len(healthy["flips"]) == 1


def test_exact_images_are_those_of_the_closed_form(trials):
    found = exact_images(trials[3], n_points=50, dimension=1, correlation=0.0)
    rng = trials[3].rng("sample")
    source, target = (equicorrelated_normal(rng, 50, 1)[:, 0] for _ in range(2))
    for point, name in enumerate(("origin", "ones")):
        source[0] = point
        assert found[name] == pytest.approx([monotone_rearrangement(source, target)[0]])
    assert "fit" not in found


def test_learnt_maps_share_the_sample_of_the_exact_map(trials, monkeypatch):
    pytest.importorskip("tensorflow")
    from fairlab.papers.fliptest.seguy import SeguyTransport

    seen = []
    for owner, name in ((replayed, "fit_gans"), (SeguyTransport, "fit")):
        fit = getattr(owner, name)

        def spied(first, source, target, fit=fit):
            seen.append((source, target) if isinstance(source, np.ndarray) else (source[1], target[1]))
            return fit(first, source, target)

        monkeypatch.setattr(owner, name, spied)
    gan_images(trials[:2], **SIZE, **RECIPE)
    seguy_images(trials[:2], **SIZE, **SEGUY)
    rng = trials[1].rng("sample")
    source, target = (equicorrelated_normal(rng, 30, 2, correlation=0.5) for _ in range(2))
    source[0] = 0
    assert len(seen) == 3
    for sample in (seen[0], seen[2]):
        np.testing.assert_array_equal(sample[0], source)
        np.testing.assert_array_equal(sample[1], target)


@pytest.mark.parametrize(("function", "recipe"), [(gan_images, RECIPE), (seguy_images, SEGUY)])
def test_in_whatever_pieces_the_images_are_the_same(function, recipe, trials):
    pytest.importorskip("tensorflow")
    whole = function(trials, **SIZE, **recipe)
    pieces = [draw for few in (trials[:1], trials[1:4], trials[4:]) for draw in function(few, **SIZE, **recipe)]
    for draw, piece in zip(whole, pieces, strict=True):
        for name in ("origin", "ones"):
            np.testing.assert_array_equal(draw[name], piece[name])
        pd.testing.assert_frame_equal(draw["fit"], piece["fit"])
    assert len({draw["origin"].tobytes() for draw in whole}) == len(trials)
    assert whole[0]["fit"].shape == (2, 6)
    assert np.isfinite(whole[0]["fit"]).all(axis=None)


def test_a_diverged_map_has_no_images_and_is_counted_out(trials, last_diverges):
    pytest.importorskip("tensorflow")
    with pytest.warns(UserWarning, match="did not stay finite"):
        draws = gan_images(trials[:3], **SIZE, **RECIPE | {"n_steps": 20})
    assert MapValidation.from_frame(draws[2]["fit"]).diverged
    assert np.isnan(draws[2]["origin"]).all()
    np.testing.assert_array_equal(coordinate_statistics(draws), coordinate_statistics(draws[:2]))
