import pickle

import numpy as np
import pandas as pd
import pytest
from plain_data import is_plain

tf = pytest.importorskip("tensorflow")

from fairlab.transport import DivergenceError, DivergenceWarning, GANEnsemble, GANTransport  # noqa: E402

SMALL = {"hidden_layers": (8,), "n_steps": 6, "batch_size": 4, "critic_steps": 2, "log_every": 3}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1


@pytest.fixture(scope="module")
def ensemble(groups):
    return GANEnsemble([3, 4, 5], n_threads=1, **SMALL).fit(*groups)


def test_learns_a_shift():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(2_000, 2)), rng.normal(loc=[2, -1], size=(2_000, 2))
    model = GANTransport(hidden_layers=(32,), n_steps=3_000, learning_rate=5e-4, clip=0.05, penalty=1e-3)
    move = (model.fit(source, target).transform(source) - source).mean(axis=0)
    np.testing.assert_allclose(move, [2, -1], atol=0.25)
    assert np.isfinite(model.history_.to_frame()).all(axis=None)


def test_penalty_per_map_holds_points_back():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    settings = {"hidden_layers": (16,), "n_steps": 1_500, "learning_rate": 1e-3, "clip": 0.1}
    free, held = GANEnsemble([0, 0], penalty=[1e-4, 10], **settings).fit(source, target).transform(source)
    assert np.square(held - source).mean() < 0.2 * np.square(free - source).mean()


def test_same_seed_same_map(groups):
    first, second = (GANTransport(random_state=5, **SMALL).fit(*groups).transform(groups[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = GANTransport(random_state=6, **SMALL).fit(*groups).transform(groups[0])
    assert not np.allclose(first, other)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_member_does_not_depend_on_the_others(groups, ensemble, n_threads):
    image = GANEnsemble([5, 9, 8, 7, 3], n_threads=n_threads, **SMALL).fit(*groups).transform(groups[0])
    np.testing.assert_array_equal(image[[4, 0]], ensemble.transform(groups[0])[[0, 2]])


def test_the_same_map_in_any_ensemble(groups):
    # On networks of this size, ensembles trained as one batch would round differently when they are large.
    settings = {"hidden_layers": (128, 128), "n_steps": 20}
    image = GANEnsemble([4], **settings).fit(*groups).transform(groups[0])[0]
    for seeds in ([3, 4], [4, 3, 5], [9, 8, 4, 7, 6, 5, 3]):
        for n_threads in (1, 2):
            several = GANEnsemble(seeds, n_threads=n_threads, **settings).fit(*groups).transform(groups[0])
            np.testing.assert_array_equal(several[seeds.index(4)], image)


def test_a_map_alone_is_that_of_the_ensemble_up_to_rounding(groups, ensemble):
    alone = GANTransport(random_state=4, **SMALL).fit(*groups)
    np.testing.assert_allclose(alone.transform(groups[0]), ensemble.transform(groups[0])[1], atol=1e-5)
    assert alone.history_.cost.shape[1] == 1


def test_members_with_their_own_samples(groups):
    source, target = groups
    own = GANEnsemble([3, 4], **SMALL).fit(np.stack([source, source[::-1]]), np.stack([target, target]))
    shared = GANEnsemble([3, 4], **SMALL).fit(source, target)
    np.testing.assert_array_equal(own.generators_[0][0], shared.generators_[0][0])
    assert not np.array_equal(own.generators_[0][1], shared.generators_[0][1])


def test_maps_are_fitted_transports_that_pickle(groups, ensemble):
    frame = pd.DataFrame(groups[0], columns=["x0", "x1"], index=range(100, 150))
    restored = pickle.loads(pickle.dumps(ensemble.maps_[1]))
    image = restored.transform(frame)
    assert restored.random_state == 4
    assert image.index.equals(frame.index)
    assert list(image.columns) == ["x0", "x1"]
    np.testing.assert_allclose(image, ensemble.transform(frame)[1], atol=1e-6)


def test_a_map_rebuilt_from_arrays_is_the_same(groups, ensemble):
    frame = pd.DataFrame(groups[0], columns=["x0", "x1"])
    alone = GANTransport(random_state=9, progress=False, **SMALL).fit(*groups)
    for fitted in (alone, ensemble.maps_[1]):
        arrays = fitted.to_arrays()
        assert is_plain(arrays)
        rebuilt = GANTransport.from_arrays(pickle.loads(pickle.dumps(arrays)))
        assert rebuilt.get_params() == fitted.get_params()
        np.testing.assert_array_equal(rebuilt.transform(frame), fitted.transform(frame))
        pd.testing.assert_frame_equal(rebuilt.history_.to_frame(), fitted.history_.to_frame())
        with pytest.raises(ValueError, match="columns"):
            rebuilt.transform(groups[0][:, :1])
    with pytest.raises(ValueError, match="not fitted"):
        GANTransport().to_arrays()


@pytest.mark.parametrize("options", [{}, {"n_steps": 4, "hidden_layers": (4, 4), "random_state": 8}])
def test_a_second_fit_is_that_of_a_fresh_object(groups, options):
    again = GANTransport(**SMALL).fit(*groups)
    again.set_params(**options).fit(groups[1], groups[0])
    fresh = GANTransport(**SMALL | options).fit(groups[1], groups[0])
    np.testing.assert_array_equal(again.transform(groups[0]), fresh.transform(groups[0]))
    pd.testing.assert_frame_equal(again.history_.to_frame(), fresh.history_.to_frame())


def test_history_has_a_row_per_record_and_map(ensemble):
    frame = ensemble.history_.to_frame()
    assert list(frame.columns) == ["step", "map", "critic", "adversarial", "cost"]
    assert frame["step"].tolist() == [3, 3, 3, 6, 6, 6]
    assert frame["map"].tolist() == [0, 1, 2, 0, 1, 2]
    assert ensemble.maps_[2].history_.cost[1, 0] == ensemble.history_.cost[1, 2]


def test_history_ends_with_a_short_chunk(groups):
    assert GANTransport(**SMALL | {"n_steps": 7}).fit(*groups).history_.step.tolist() == [3, 6, 7]


def test_diverged_member_is_named_and_maps_to_nan(groups):
    with pytest.warns(DivergenceWarning, match=r"1 of 2 maps .* \[4\]"):
        model = GANEnsemble([3, 4], penalty=[1e-4, 1e38], **SMALL).fit(groups[0] * 10, groups[1])
    assert model.converged_.tolist() == [True, False]
    image = model.transform(groups[0])
    assert np.isfinite(image[0]).all()
    assert np.isnan(image[1]).all()
    assert np.isnan(model.maps_[1].transform(groups[0])).all()


def test_divergence_of_the_only_map_is_an_error(groups):
    with pytest.raises(DivergenceError, match="random_states"):
        GANTransport(penalty=1e38, **SMALL).fit(groups[0] * 10, groups[1])


@pytest.mark.parametrize("penalty", [0, -1e-4, np.nan, np.inf])
def test_penalty_must_be_positive(groups, penalty):
    with pytest.raises(ValueError, match="lambda"):
        GANTransport(penalty=penalty, **SMALL).fit(*groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0}, "n_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"critic_steps": 0}, "critic_steps"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"clip": -1}, "clip"),
        ({"random_state": -1}, "random_states"),
        ({"random_state": 0.5}, "random_states"),
    ],
)
def test_options_out_of_range(groups, options, message):
    with pytest.raises(ValueError, match=message):
        GANTransport(**SMALL | options).fit(*groups)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([[0.0, 1.0]], [[0.0, 1.0]] * 3, "X_source: has 1 row"),
        ([[0.0, 1.0]] * 3, [[0.0, np.nan]] * 3, "X_target: column 'x1'"),
        ([[0.0, 1.0]] * 3, [[0.0]] * 3, "X_source has 2 columns, X_target has 1"),
        (np.zeros((2, 3, 2)), np.zeros((3, 2)), "2 samples for 1 random_states"),
    ],
)
def test_bad_features(source, target, message):
    with pytest.raises(ValueError, match=message):
        GANTransport(**SMALL).fit(source, target)


def test_ensemble_options(groups):
    with pytest.raises(ValueError, match="one per map"):
        GANEnsemble([1, 2], penalty=[1e-4] * 3, **SMALL).fit(*groups)
    with pytest.raises(ValueError, match="random_states"):
        GANEnsemble([], **SMALL).fit(*groups)


def test_transform_before_fit_and_of_other_columns(groups, ensemble):
    with pytest.raises(ValueError, match="not fitted"):
        GANTransport().transform(groups[0])
    with pytest.raises(ValueError, match="columns"):
        ensemble.maps_[0].transform(groups[0][:, :1])


def test_wide_networks_are_the_same_alone_and_in_an_ensemble(groups):
    settings = {"hidden_layers": (256,), "n_steps": 3}
    alone = GANTransport(random_state=4, **settings).fit(*groups).transform(groups[0])
    image = GANEnsemble([3, 4], **settings).fit(*groups).transform(groups[0])
    np.testing.assert_array_equal(image[1], alone)


def test_short_memory_trains_fewer_blocks_at_once_with_the_same_result(groups, monkeypatch):
    settings = {"hidden_layers": (128, 128), "n_steps": 20}
    seeds, running, most = range(10), [], []
    train = GANEnsemble._train

    def counted(self, *args):
        running.append(1)
        most.append(len(running))
        result = train(self, *args)
        running.pop()
        return result

    monkeypatch.setattr(GANEnsemble, "_train", counted)
    free = GANEnsemble(seeds, n_threads=2, **settings).fit(*groups).transform(groups[0])
    assert max(most) == 2
    most.clear()
    tight = GANEnsemble(seeds, n_threads=2, memory_limit_gb=0.018, **settings).fit(*groups).transform(groups[0])
    assert max(most) == 1
    np.testing.assert_array_equal(free, tight)


def test_what_cannot_fit_is_refused_with_advice(groups, ensemble):
    with pytest.raises(MemoryError, match=r"keeping 1000 networks .* split random_states over several ensembles"):
        GANEnsemble(range(1000), hidden_layers=(512, 512), memory_limit_gb=0.5).fit(*groups)
    with pytest.raises(MemoryError, match=r"training networks of .* smaller batch_size"):
        GANEnsemble([0], hidden_layers=(512, 512), memory_limit_gb=0.005).fit(*groups)
    model = GANEnsemble([3, 4], memory_limit_gb=1e-4, **SMALL)
    model.__dict__ |= {name: value for name, value in vars(ensemble).items() if name.endswith("_")}
    with pytest.raises(MemoryError, match="map fewer rows at once"):
        model.transform(np.zeros((10_000, 2)))


def test_large_tables_are_mapped_in_pieces(ensemble, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(23, 2))
    whole = ensemble.transform(rows)
    monkeypatch.setattr("fairlab.transport.gan.ROWS", 5)
    np.testing.assert_allclose(ensemble.transform(rows), whole, atol=1e-6)
    with pytest.raises(ValueError, match="hidden_layers"):
        GANEnsemble([1], hidden_layers=(8, 0)).fit(rows, rows)
