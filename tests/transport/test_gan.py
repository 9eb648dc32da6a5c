import json
import pickle
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from plain_data import is_plain
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from threadpoolctl import threadpool_info

pytest.importorskip("numba")

from fairlab.transport import DivergenceError, GANTransport, fit_gans, gan


def test_learns_a_shift():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(2_000, 2)), rng.normal(loc=[2, -1], size=(2_000, 2))
    options = {"n_steps": 1_500, "critic_steps": 2, "learning_rate": 1e-3, "clip": 0.05, "penalty": 1e-3}
    model = GANTransport(hidden_layers=(32,), **options)
    move = (model.fit(source, target).transform(source) - source).mean(axis=0)
    np.testing.assert_allclose(move, [2, -1], atol=0.25)
    assert np.isfinite(model.history_).all(axis=None)


def test_same_seed_same_map(groups, small):
    first, second = (GANTransport(random_state=5, **small).fit(*groups).transform(groups[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = GANTransport(random_state=6, **small).fit(*groups).transform(groups[0])
    assert not np.allclose(first, other)


def test_a_map_rebuilt_from_arrays_is_the_same(groups, ensemble, small):
    frame = pd.DataFrame(groups[0])
    alone = GANTransport(random_state=9, progress=False, **small).fit(*groups)
    for fitted in (alone, ensemble[1]):
        arrays = fitted.to_arrays()
        assert is_plain(arrays)
        rebuilt = GANTransport.from_arrays(pickle.loads(pickle.dumps(arrays)))
        assert rebuilt.get_params() == fitted.get_params()
        np.testing.assert_array_equal(rebuilt.transform(frame), fitted.transform(frame))
        pd.testing.assert_frame_equal(rebuilt.history_, fitted.history_)
        with pytest.raises(ValueError, match="expecting 2 features"):
            rebuilt.transform(groups[0][:, :1])
    with pytest.raises(NotFittedError):
        GANTransport().to_arrays()


@pytest.mark.parametrize("options", [{}, {"n_steps": 4, "hidden_layers": (4, 4), "random_state": 8}])
def test_a_second_fit_is_that_of_a_fresh_object(groups, options, small):
    again = GANTransport(**small).fit(*groups)
    again.set_params(**options).fit(groups[1], groups[0])
    fresh = GANTransport(**small | options).fit(groups[1], groups[0])
    np.testing.assert_array_equal(again.transform(groups[0]), fresh.transform(groups[0]))
    pd.testing.assert_frame_equal(again.history_, fresh.history_)


def test_history_ends_with_a_short_chunk(groups, small):
    assert GANTransport(**small | {"n_steps": 7}).fit(*groups).history_.index.tolist() == [3, 6, 7]


def test_divergence_of_the_only_map_is_an_error(groups, small):
    with pytest.raises(
        DivergenceError, match="weights of 1 of 1 maps did not stay finite, those of random_state 0; scale"
    ):
        GANTransport(penalty=1e38, **small).fit(groups[0] * 10, groups[1])


@pytest.mark.parametrize("penalty", [0, -1e-4, np.nan, np.inf])
def test_penalty_must_be_positive(groups, penalty, small):
    with pytest.raises(ValueError, match="penalty: expected"):
        GANTransport(penalty=penalty, **small).fit(*groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0}, "n_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"critic_steps": 0}, "critic_steps"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"clip": -1}, "clip"),
        ({"hidden_layers": (8, 0)}, "hidden_layers"),
        ({"random_state": -1}, "random_state: expected an integer, at least 0"),
        ({"random_state": 0.5}, "random_state: expected an integer, at least 0"),
    ],
)
def test_options_out_of_range(groups, options, message, small):
    with pytest.raises(ValueError, match=message):
        GANTransport(**small | options).fit(*groups)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([[0.0, 1.0]], [[0.0, 1.0]] * 3, "X_source: has 1 row"),
        ([[0.0, 1.0]] * 3, [[0.0, np.nan]] * 3, "X_target: column 'x1'"),
        ([[0.0, 1.0]] * 3, [[0.0]] * 3, "X_source has 2 columns, X_target has 1"),
        (np.zeros((2, 3, 2)), np.zeros((3, 2)), "array with dim 3"),
    ],
)
def test_bad_features(source, target, message, small):
    with pytest.raises(ValueError, match=message):
        GANTransport(**small).fit(source, target)


def test_transform_before_fit_and_of_other_columns(groups, ensemble):
    with pytest.raises(NotFittedError, match="not fitted"):
        GANTransport().transform(groups[0])
    with pytest.raises(ValueError, match="X has 1 features, but GANTransport is expecting 2"):
        ensemble[0].transform(groups[0][:, :1])


def test_columns_are_those_of_the_fit(groups, small):
    frames = [pd.DataFrame(X, columns=["a", "b"]) for X in groups]
    fitted = GANTransport(**small).fit(*frames)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    restored = GANTransport.from_arrays(fitted.to_arrays())
    for transport in (fitted, restored):
        with pytest.raises(ValueError, match="same order"):
            transport.transform(frames[0][["b", "a"]])
        with pytest.raises(ValueError, match="unseen at fit time:\n- c\n"):
            transport.transform(frames[0].rename(columns={"b": "c"}))
        with pytest.raises(ValueError, match="column 'b' holds nan in row 3"):
            transport.transform(frames[0].mask(frames[0].index.to_series() == 3).assign(a=0))
    with pytest.raises(ValueError, match="only in X_source: b; only in X_target: c"):
        GANTransport(**small).fit(frames[0], frames[1].rename(columns={"b": "c"}))


def test_output_is_as_the_input_or_as_set(groups, ensemble):
    one = GANTransport.from_arrays(ensemble[0].to_arrays())
    frame = pd.DataFrame(groups[0], index=range(100, 150))
    assert isinstance(one.transform(groups[0]), np.ndarray)
    image = one.set_output(transform="pandas").transform(groups[0])
    assert image.columns.tolist() == one.get_feature_names_out().tolist() == ["x0", "x1"]
    np.testing.assert_array_equal(image, ensemble[0].transform(groups[0]))
    assert ensemble[0].transform(frame).index.equals(frame.index)


def test_large_tables_are_mapped_in_pieces(ensemble, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(23, 2))
    whole = ensemble[0].transform(rows)
    monkeypatch.setattr("fairlab.transport.gan.ROWS", 5)
    np.testing.assert_allclose(ensemble[0].transform(rows), whole, atol=1e-6)


def test_a_rebuilt_map_needs_no_numba(ensemble, tmp_path):
    rows = np.random.default_rng(0).normal(size=(5, 2))
    (tmp_path / "map.pickle").write_bytes(pickle.dumps((ensemble[0].to_arrays(), rows)))
    code = f"""
import pickle, sys
from fairlab.transport import GANTransport
arrays, rows = pickle.load(open({str(tmp_path / "map.pickle")!r}, "rb"))
print(GANTransport.from_arrays(arrays).transform(rows).tolist())
assert "numba" not in sys.modules
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == ensemble[0].transform(rows).tolist()


def test_training_needs_no_tensorflow_and_says_who_brings_numba():
    code = """
import sys
import numpy as np
from fairlab.checks import MissingExtraError
from fairlab.transport import GANTransport
sys.modules["numba"] = None
X = np.eye(4)
try:
    GANTransport(n_steps=1).fit(X, X + 1)
except MissingExtraError as error:
    print(error)
del sys.modules["numba"], sys.modules["fairlab.transport.gan_training"]
GANTransport(n_steps=1).fit(X, X + 1)
print([name for name in ("tensorflow", "keras") if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, heavy = answer.stdout.splitlines()
    assert "this needs numba, which is not installed; the extra 'networks' brings it" in message
    assert heavy == "[]"


def several(seeds, X_source, X_target, n_threads=None, **options):
    """Return the images of the source under maps of several seeds, shape (n_maps, n_source, n_features)."""
    maps = fit_gans([GANTransport(random_state=s, **options) for s in seeds], X_source, X_target, n_threads=n_threads)
    return np.stack([one.transform(X_source) for one in maps])


def test_a_larger_penalty_holds_points_back():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 3
    settings = {"hidden_layers": (16,), "n_steps": 1_000, "critic_steps": 2, "learning_rate": 1e-3, "clip": 0.1}
    maps = fit_gans([GANTransport(penalty=penalty, **settings) for penalty in (1e-4, 10)], source, target)
    free, held = (np.square(one.transform(source) - source).mean() for one in maps)
    assert held < 0.2 * free


# On networks of this size, products on several threads, or of several maps as one, would round differently.
@pytest.mark.parametrize("hidden_layers", [(128, 128), (256,)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_map_is_the_same_alone_and_among_others(groups, hidden_layers, n_threads):
    settings = {"hidden_layers": hidden_layers, "n_steps": 10, "critic_steps": 1}
    alone = GANTransport(random_state=4, **settings).fit(*groups).transform(groups[0])
    for seeds in ([3, 4], [9, 8, 4, 7, 6, 5, 3]):
        images = several(seeds, *groups, n_threads=n_threads, **settings)
        np.testing.assert_array_equal(images[seeds.index(4)], alone)


def test_maps_with_their_own_samples(groups, small):
    source, target = groups
    own = fit_gans([GANTransport(random_state=s, **small) for s in (3, 4)], [source, source[::-1]], target)
    for one, sample in zip(own, (source, source[::-1]), strict=True):
        alone = GANTransport(random_state=one.random_state, **small).fit(sample, target)
        np.testing.assert_array_equal(one.transform(source), alone.transform(source))


def test_a_map_that_diverged_is_named_and_maps_to_nan(groups, small):
    maps = [GANTransport(random_state=3, **small), GANTransport(random_state=4, penalty=1e38, **small)]
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 maps did not stay finite, those of random_state 4; scale"):
        fit_gans(maps, groups[0] * 10, groups[1])
    first, second = (one.transform(groups[0]) for one in maps)
    assert np.isfinite(first).all()
    assert np.isnan(second).all()


def test_bad_requests_for_several_maps(groups, small):
    maps = [GANTransport(**small) for _ in range(2)]
    with pytest.raises(ValueError, match="maps: expected at least one, found none"):
        fit_gans([], *groups)
    with pytest.raises(ValueError, match="n_threads: expected a positive integer"):
        fit_gans(maps, *groups, n_threads=0)
    for name, samples in (("X_source", ([groups[0]] * 3, groups[1])), ("X_target", (groups[0], [groups[1]] * 3))):
        with pytest.raises(ValueError, match=f"{name}: expected one sample for each of 2 maps, found 3"):
            fit_gans(maps, *samples)


def test_short_memory_trains_fewer_at_once_with_the_same_result(groups, small, monkeypatch):
    from fairlab.transport import gan_training

    running, most, train = [], [], gan_training.train_map

    def counted(*args, **options):
        running.append(1)
        time.sleep(0.05)
        most.append(len(running))
        result = train(*args, **options)
        running.pop()
        return result

    monkeypatch.setattr(gan_training, "train_map", counted)
    monkeypatch.setattr(GANTransport, "_training_bytes", lambda _: 1_000)
    images = {}
    for n_maps in (2, 1):
        memory = type("Memory", (), {"available": 1_000 * n_maps + 500})
        monkeypatch.setattr(psutil, "virtual_memory", lambda memory=memory: memory)
        images[n_maps] = several(range(6), *groups, n_threads=2, **small)
        assert max(most) == n_maps
        most.clear()
    np.testing.assert_array_equal(images[1], images[2])
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 999}))
    with pytest.raises(MemoryError, match=r"training one map needs .* smaller batch_size"):
        GANTransport(**small).fit(*groups)


def test_matrix_products_have_one_thread_in_training_and_as_many_as_before_after_it(groups, small, monkeypatch):
    from fairlab.transport import gan_training

    seen, train = [], gan_training.train_map

    def watched(*args, **options):
        seen.append(threads())
        return train(*args, **options)

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    monkeypatch.setattr(gan_training, "train_map", watched)
    with gan.threadpool_limits(2, "blas"):
        GANTransport(**small).fit(*groups)
        assert set(seen[0]) == {1}
        assert set(threads()) == {2}
    assert "scipy" in str([pool["filepath"] for pool in threadpool_info()])
