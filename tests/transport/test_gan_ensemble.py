import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("numba")

from fairlab.transport import DivergenceWarning, GANEnsemble, GANTransport


def test_penalty_per_map_holds_points_back():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    settings = {"hidden_layers": (16,), "n_steps": 1_000, "critic_steps": 2, "learning_rate": 1e-3, "clip": 0.1}
    free, held = GANEnsemble([0, 0], penalty=[1e-4, 10], **settings).fit(source, target).transform(source)
    assert np.square(held - source).mean() < 0.2 * np.square(free - source).mean()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_member_does_not_depend_on_the_others(groups, ensemble, n_threads, small):
    image = GANEnsemble([5, 9, 8, 7, 3], n_threads=n_threads, **small).fit(*groups).transform(groups[0])
    np.testing.assert_array_equal(image[[4, 0]], ensemble.transform(groups[0])[[0, 2]])


def test_the_same_map_in_any_ensemble(groups):
    # On networks of this size, products on several threads, or of several maps as one, would round differently.
    settings = {"hidden_layers": (128, 128), "n_steps": 20, "critic_steps": 1}
    image = GANEnsemble([4], **settings).fit(*groups).transform(groups[0])[0]
    for seeds in ([3, 4], [4, 3, 5], [9, 8, 4, 7, 6, 5, 3]):
        for n_threads in (1, 2):
            several = GANEnsemble(seeds, n_threads=n_threads, **settings).fit(*groups).transform(groups[0])
            np.testing.assert_array_equal(several[seeds.index(4)], image)


def test_a_second_fit_is_that_of_a_fresh_object(groups, small):
    again = GANEnsemble([3, 4, 5], **small).fit(*groups)
    again.set_params(random_states=[8, 9], hidden_layers=(4, 4)).fit(groups[1], groups[0])
    fresh = GANEnsemble([8, 9], **small | {"hidden_layers": (4, 4)}).fit(groups[1], groups[0])
    np.testing.assert_array_equal(again.transform(groups[0]), fresh.transform(groups[0]))
    assert len(again.maps_) == 2


def test_a_map_alone_is_that_of_the_ensemble(groups, ensemble, small):
    alone = GANTransport(random_state=4, **small).fit(*groups)
    np.testing.assert_array_equal(alone.transform(groups[0]), ensemble.transform(groups[0])[1])
    assert alone.history_.cost.shape[1] == 1


def test_members_with_their_own_samples(groups, small):
    source, target = groups
    own = GANEnsemble([3, 4], **small).fit(np.stack([source, source[::-1]]), np.stack([target, target]))
    shared = GANEnsemble([3, 4], **small).fit(source, target)
    np.testing.assert_array_equal(own.generators_[0][0], shared.generators_[0][0])
    assert not np.array_equal(own.generators_[0][1], shared.generators_[0][1])


def test_maps_are_fitted_transports_that_pickle(groups, ensemble):
    frame = pd.DataFrame(groups[0], index=range(100, 150))
    restored = pickle.loads(pickle.dumps(ensemble.maps_[1]))
    image = restored.transform(frame)
    assert restored.random_state == 4
    assert image.index.equals(frame.index)
    assert list(image.columns) == [0, 1]
    np.testing.assert_allclose(image, ensemble.transform(frame)[1], atol=1e-6)


def test_diverged_member_is_named_and_maps_to_nan(groups, small):
    with pytest.warns(DivergenceWarning, match=r"1 of 2 maps .* \[4\]"):
        model = GANEnsemble([3, 4], penalty=[1e-4, 1e38], **small).fit(groups[0] * 10, groups[1])
    assert model.converged_.tolist() == [True, False]
    image = model.transform(groups[0])
    assert np.isfinite(image[0]).all()
    assert np.isnan(image[1]).all()
    assert np.isnan(model.maps_[1].transform(groups[0])).all()


def test_ensemble_options(groups, small):
    with pytest.raises(ValueError, match="one per map"):
        GANEnsemble([1, 2], penalty=[1e-4] * 3, **small).fit(*groups)
    with pytest.raises(ValueError, match="random_states"):
        GANEnsemble([], **small).fit(*groups)
    with pytest.raises(ValueError, match="hidden_layers"):
        GANEnsemble([1], **small | {"hidden_layers": (8, 0)}).fit(*groups)
    with pytest.raises(ValueError, match="n_threads: expected a positive integer"):
        GANEnsemble([1], n_threads=0, **small).fit(*groups)
    three = np.zeros((3, 5, 2))
    for name, samples in (("X_source", (three, groups[1])), ("X_target", (groups[0], three))):
        with pytest.raises(ValueError, match=f"{name}: has 3 samples for 2 random_states"):
            GANEnsemble([1, 2], **small).fit(*samples)


def test_wide_networks_are_the_same_alone_and_in_an_ensemble(groups):
    settings = {"hidden_layers": (256,), "n_steps": 3, "critic_steps": 1}
    alone = GANTransport(random_state=4, **settings).fit(*groups).transform(groups[0])
    image = GANEnsemble([3, 4], **settings).fit(*groups).transform(groups[0])
    np.testing.assert_array_equal(image[1], alone)


def test_what_cannot_fit_is_refused_with_advice(groups, ensemble, small):
    with pytest.raises(MemoryError, match=r"keeping 1000 networks .* split random_states over several ensembles"):
        GANEnsemble(range(1000), hidden_layers=(512, 512), memory_limit_gb=0.5).fit(*groups)
    with pytest.raises(MemoryError, match=r"training networks of .* smaller batch_size"):
        GANEnsemble([0], hidden_layers=(512, 512), memory_limit_gb=0.005).fit(*groups)
    model = GANEnsemble([3, 4], memory_limit_gb=1e-4, **small)
    model.__dict__ |= {name: value for name, value in vars(ensemble).items() if name.endswith("_")}
    with pytest.raises(MemoryError, match="map fewer rows at once"):
        model.transform(np.zeros((10_000, 2)))
