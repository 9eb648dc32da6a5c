"""Trials of each experiment, and the map of Seguy et al. (2018) that one of them learns."""

import numpy as np
import ot
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairlab.papers.fliptest import noise, seguy, stability, trials
from fairlab.papers.fliptest.ensembles import MapValidation
from fairlab.papers.fliptest.prior_arrests import monotone_rearrangement
from fairlab.seeds import Trial
from fairlab.transport import DivergenceError, ExactTransport, GANTransport, squared_l1

TRIALS = [Trial("x/y", k, 0) for k in range(7)]
tf = pytest.importorskip("tensorflow")
pytest.importorskip("numba")
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
    return [GANTransport.from_arrays(arrays).transform(X).to_numpy() for arrays in maps]


def test_a_map_depends_on_its_trial_and_its_stream_only(groups):
    first, second = images(trials.train_maps(TRIALS[:2], **groups, **RECIPE), groups["source"])
    [alone] = images(trials.train_maps(TRIALS[1:2], **groups, **RECIPE), groups["source"])
    [other] = images(trials.train_maps(TRIALS[1:2], **groups, stream="other", **RECIPE), groups["source"])
    assert [np.array_equal(second, image) for image in (alone, first, other)] == [True, False, False]


def test_one_map_per_trial_and_penalty(groups):
    both = trials.maps_by_penalty(TRIALS[:2], **groups, penalties=[1e-4, 1e-2], **RECIPE)
    [[alone]] = trials.maps_by_penalty(TRIALS[1:2], **groups, penalties=[1e-2], **RECIPE)
    [alone] = images([alone], groups["source"])
    others = [image for maps in both for image in images(maps, groups["source"])]
    assert [np.array_equal(image, alone) for image in others] == [False, False, False, True]


def test_the_exact_image_keeps_people_and_draws_who_is_split(groups):
    source, target = groups["source"], groups["target"]
    image = trials.exact_image(TRIALS[0], **groups)
    pd.testing.assert_frame_equal(image, ExactTransport(cost=squared_l1).fit(source, target).transform(source))
    two, three = source.head(2), target.head(3)
    drawn = {trials.exact_image(trial, source=two, target=three).to_numpy().tobytes() for trial in TRIALS}
    assert len(drawn) > 1  # two people share three counterparts


def test_distances_of_a_subset_by_hand():
    source = pd.DataFrame({"a": [0.0, 10.0], "b": 0.0})
    target = pd.DataFrame({"a": [11.0, 1.0, 11.0], "b": [2.0, 0.0, 2.0]})
    found = trials.exact_distances(TRIALS[0], source=source, target=target.head(2), n_subset=5)
    assert found == {"mean_l1": 2, "mean_squared_l1": 5}  # moves of 1 and 3


def test_noise_floors():
    maps = trials.noise_maps(TRIALS[:2], **PEOPLE, **RECIPE)
    jagged = {"C": 100.0, "gamma": 5.0}
    flips = noise.floor_flipsets(trials.noise_floor(TRIALS[1], gan=maps[1], n_subset=40, **PEOPLE, **jagged))
    gan, subset, exact = (flips[name] for name in ("GAN", "GAN, subset", "exact, subset"))
    assert (len(gan.index), len(subset.index), len(exact.index)) == (60, 40, 40)
    np.testing.assert_array_equal(gan.image_prediction[:40], subset.image_prediction)
    source, target = noise.identical_groups(TRIALS[1].rng("points"), 60, n_seen=2, n_telling=1)
    model = noise.random_label_svm(np.vstack([source, target]), TRIALS[1].rng("labels"), n_seen=2, **jagged)
    np.testing.assert_array_equal(gan.prediction, model.predict(source))
    # Proposition 2: the exact flipsets differ as the two groups' predictions do.
    assert exact.net == model.predict(source[:40]).sum() - model.predict(target[:40]).sum()


@pytest.fixture
def last_diverges(monkeypatch):
    """Give the last of several maps a penalty that is beyond its numbers."""
    gans = trials._gans

    def with_penalty(*args, **options):
        maps = gans(*args, **options)
        maps[-1].set_params(penalty=3e38)
        return maps

    monkeypatch.setattr(trials, "_gans", with_penalty)


def test_a_map_that_diverged_has_no_flips(last_diverges):
    with pytest.warns(ConvergenceWarning):
        maps = trials.noise_maps(TRIALS[:2], **PEOPLE, **RECIPE | {"n_steps": 20})
    healthy, diverged = (
        trials.noise_floor(trial, gan=gan, **PEOPLE, C=1.0, gamma="scale")
        for trial, gan in zip(TRIALS[:2], maps, strict=True)
    )
    assert MapValidation.from_frame(diverged["fit"]).diverged
    assert (diverged["flips"], len(healthy["flips"])) == ([], 1)


def test_exact_images_are_those_of_the_closed_form():
    found = trials.exact_images(TRIALS[3], n_points=50, dimension=1, correlation=0.0)
    rng = TRIALS[3].rng("sample")
    source, target = (stability.equicorrelated_normal(rng, 50, 1)[:, 0] for _ in range(2))
    for point, name in enumerate(("origin", "ones")):
        source[0] = point
        assert found[name] == pytest.approx([monotone_rearrangement(source, target)[0]])


def test_learnt_maps_share_the_sample_of_the_exact_map_with_the_origin_in_the_first_place(monkeypatch):
    seen = []
    monkeypatch.setattr(trials, "fit_gans", lambda maps, *samples: seen.extend(samples))
    monkeypatch.setattr(trials, "_learnt_images", lambda *given: None)
    trials.gan_images(TRIALS[1:2], **SIZE, **RECIPE)
    rng = TRIALS[1].rng("sample")
    source, target = (stability.equicorrelated_normal(rng, 30, 2, correlation=0.5) for _ in range(2))
    source[0] = 0
    np.testing.assert_array_equal(seen, [[source], [target]])


@pytest.mark.parametrize(("function", "recipe"), [(trials.gan_images, RECIPE), (trials.seguy_images, SEGUY)])
def test_in_whatever_pieces_the_images_are_the_same(function, recipe):
    whole = function(TRIALS, **SIZE, **recipe)
    pieces = [draw for few in (TRIALS[:1], TRIALS[1:4], TRIALS[4:]) for draw in function(few, **SIZE, **recipe)]
    for draw, piece in zip(whole, pieces, strict=True):
        for name in ("origin", "ones"):
            np.testing.assert_array_equal(draw[name], piece[name])
        pd.testing.assert_frame_equal(draw["fit"], piece["fit"])
    assert len({draw["origin"].tobytes() for draw in whole}) == len(TRIALS)


def test_a_diverged_map_has_no_images_and_is_counted_out(last_diverges):
    with pytest.warns(UserWarning, match="did not stay finite"):
        draws = trials.gan_images(TRIALS[:3], **SIZE, **RECIPE | {"n_steps": 20})
    assert MapValidation.from_frame(draws[2]["fit"]).diverged
    assert np.isnan(draws[2]["origin"]).all()
    np.testing.assert_array_equal(stability.coordinate_statistics(draws), stability.coordinate_statistics(draws[:2]))


SMALL = {"hidden_layers": (8,), "n_dual_steps": 50, "n_map_steps": 50, "batch_size": 16}


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), rng.normal(size=(50, 2)) + 1


@pytest.fixture(scope="module")
def costs(shifted):
    return squared_l1(*shifted)


def ascend(costs, epsilon, n_steps=20_000, seed=0):
    potential = seguy.compiled(seguy.dual_ascent)(
        tf.constant(costs / epsilon, tf.float32), tf.constant(seed, tf.int64), tf.constant(n_steps), batch_size=32
    )
    return potential.numpy() * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ascent_reaches_the_optimum_of_a_deterministic_solver(costs, epsilon):
    n_source, n_target = costs.shape
    plan = seguy.regularized_plan(costs, ascend(costs, epsilon), epsilon)
    weights = np.full(n_source, 1 / n_source), np.full(n_target, 1 / n_target)
    # POT's penalty is half its strength times the sum of squared weights, ours epsilon times the mean squared density.
    reference = ot.smooth.smooth_ot_semi_dual(*weights, costs, 2 * epsilon * n_source * n_target, reg_type="l2")
    assert np.abs(plan.sum(axis=0) - 1 / n_target).sum() < 0.02
    assert np.abs(plan - reference).sum() < 0.05
    far = seguy.regularized_plan(costs, ascend(costs, epsilon, n_steps=100), epsilon)
    assert np.abs(far - reference).sum() > 3 * np.abs(plan - reference).sum()


def test_rows_are_drawn_from_the_members_own_sample():
    X = tf.reshape(tf.range(24.0), (2, 12, 1))
    seeds = tf.constant([3, 4], tf.int64)
    drawn = seguy.draw_rows(X, seeds, 5, 200).numpy()
    assert drawn.shape == (2, 200, 1)
    assert [set(of_member.ravel()) for of_member in drawn] == [set(range(12)), set(range(12, 24))]
    np.testing.assert_array_equal(drawn[1:], seguy.draw_rows(X[1:], seeds[1:], 5, 200))
    assert (drawn != seguy.draw_rows(X, seeds, 6, 200).numpy()).any()


def test_shift_of_a_normal_distribution_is_recovered():
    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    model = seguy.SeguyTransport(n_dual_steps=10_000, n_map_steps=2_000).fit(source, target)
    unseen = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(model.transform(unseen), unseen + 3, atol=0.25)


@pytest.mark.parametrize(
    "options", [{"regularization": 0}, {"n_dual_steps": 0}, {"batch_size": 0}, {"hidden_layers": (8, 0)}]
)
def test_options_out_of_range(shifted, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        seguy.SeguyTransport(**SMALL | options).fit(*shifted)


def test_divergence_is_an_error(shifted):
    with pytest.raises(DivergenceError, match="random_state 7"):
        seguy.SeguyTransport(random_state=7, **SMALL | {"learning_rate": 1e30}).fit(*shifted)


def test_rmsprop_by_hand():
    [moved], [square] = seguy.rmsprop([tf.constant([1.0])], [tf.constant([0.0])], [tf.constant([2.0])], 0.1)
    assert [float(moved[0]), float(square[0])] == pytest.approx([1 - 0.1 * 2 / np.sqrt(0.4), 0.1 * 2**2])
