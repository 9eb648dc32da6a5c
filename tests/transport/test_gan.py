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
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from fairlab.networks import forward, initial_network
from fairlab.transport import DivergenceError, GANTransport, fit_gans, gan, gan_training
from fairlab.transport.gan_training import train_map

pytest.importorskip("numba")


def test_learns_a_shift():
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(2_000, 2)), rng.normal(loc=[2, -1], size=(2_000, 2))
    options = {"n_steps": 1_500, "critic_steps": 2, "learning_rate": 1e-3, "clip": 0.05, "penalty": 1e-3}
    model = GANTransport(hidden_layers=(32,), **options)
    move = (model.fit(source, target).transform(source) - source).mean(axis=0)
    np.testing.assert_allclose(move, [2, -1], atol=0.25)
    assert np.isfinite(model.history_).all(axis=None)


def test_a_map_rebuilt_from_arrays_is_the_same(groups, ensemble, small):
    frames = [pd.DataFrame(X, columns=["a", "b"]) for X in groups]
    alone = GANTransport(random_state=9, progress=False, **small).fit(*frames)
    for fitted, X in ((ensemble[1], groups[0]), (alone, frames[0])):
        arrays = fitted.to_arrays()
        assert is_plain(arrays)
        rebuilt = GANTransport.from_arrays(pickle.loads(pickle.dumps(arrays)))
        assert rebuilt.get_params() == fitted.get_params()
        np.testing.assert_array_equal(rebuilt.transform(X), fitted.transform(X))
        pd.testing.assert_frame_equal(rebuilt.history_, fitted.history_)
    with pytest.raises(ValueError, match="same order"):
        rebuilt.transform(frames[0][["b", "a"]])


@pytest.mark.parametrize("options", [{}, {"n_steps": 4, "hidden_layers": (4, 4), "random_state": 8}])
def test_a_second_fit_is_that_of_a_fresh_object(groups, options, small):
    again = GANTransport(**small).fit(*groups)
    again.set_params(**options).fit(groups[1], groups[0])
    fresh = GANTransport(**small | options).fit(groups[1], groups[0])
    np.testing.assert_array_equal(again.transform(groups[0]), fresh.transform(groups[0]))
    pd.testing.assert_frame_equal(again.history_, fresh.history_)


def test_divergence_of_the_only_map_is_an_error(groups, small):
    with pytest.raises(
        DivergenceError, match="weights of 1 of 1 maps did not stay finite, those of random_state 0; scale"
    ):
        GANTransport(penalty=1e38, **small).fit(groups[0] * 10, groups[1])


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


def test_large_tables_are_mapped_in_pieces(ensemble, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(23, 2))
    whole = ensemble[0].transform(rows)
    monkeypatch.setattr("fairlab.transport.gan.ROWS", 5)
    np.testing.assert_allclose(ensemble[0].transform(rows), whole, atol=1e-6)


# gan_training


@pytest.fixture(scope="module")
def samples():
    """Source and target of a number of features."""

    def of(n_features):
        rng = np.random.default_rng(0)
        groups = rng.normal(size=(50, n_features)), rng.normal(size=(60, n_features)) + 1
        return [group.astype(np.float32) for group in groups]

    return of


RECIPE = {"random_state": 0, "penalty": 1e-4, "hidden_layers": (8,), "batch_size": 4, "critic_steps": 5}
RECIPE |= {"learning_rate": 5e-5, "clip": 0.01, "log_every": 100}


def oracle(source, target, widths, recipe):
    """Train the same map by TensorFlow's gradients in double precision; return generator and losses of every step."""
    tf = pytest.importorskip("tensorflow")

    def network(stream, n_out):
        first = initial_network(np.random.default_rng([recipe["random_state"], stream]), (*widths[:-1], n_out))
        return [tf.Variable(part, dtype=tf.float64) for part in first]

    def step_down(variables, squares, loss):
        with tf.GradientTape() as tape:
            value = loss()
        for variable, square, slope in zip(variables, squares, tape.gradient(value, variables), strict=True):
            square.assign(0.9 * square + 0.1 * slope**2)
            variable.assign_sub(recipe["learning_rate"] * slope / (tf.sqrt(square) + 1e-7))
        return float(value)

    G, D = network(0, widths[-1]), network(1, 1)
    of_g, of_d = ([tf.Variable(tf.zeros_like(part)) for part in parts] for parts in (G, D))
    n_steps, penalty = recipe["n_steps"], np.float32(recipe["penalty"])
    shape = n_steps, recipe["critic_steps"], recipe["batch_size"]
    real_rows = np.random.default_rng([recipe["random_state"], 3]).integers(len(target), size=shape)
    rows = np.random.default_rng([recipe["random_state"], 2]).integers(
        len(source), size=(n_steps, shape[1] + 1, shape[2])
    )
    source, target, losses = source.astype(float), target.astype(float), []
    for step in range(n_steps):
        for k in range(recipe["critic_steps"]):
            real, fake = target[real_rows[step, k]], forward(G, source[rows[step, k]])
            critic = step_down(D, of_d, lambda batch=real: tf.reduce_mean(forward(D, batch)))
            critic += step_down(D, of_d, lambda batch=fake: -tf.reduce_mean(forward(D, batch)))
            for part in D:
                part.assign(tf.clip_by_value(part, -recipe["clip"], recipe["clip"]))
        batch = source[rows[step, -1]]
        image = forward(G, batch)
        adversarial = tf.reduce_mean(forward(D, image))
        cost = tf.reduce_mean(tf.reduce_sum(tf.abs(batch - image), axis=1) ** 2)
        losses.append([critic, float(adversarial), float(cost)])
        step_down(
            G,
            of_g,
            lambda x=batch: (
                tf.reduce_mean(forward(D, forward(G, x)))
                + penalty * tf.reduce_mean(tf.reduce_sum(tf.abs(x - forward(G, x)), axis=1) ** 2)
            ),
        )
    return [part.numpy() for part in G], np.array(losses)


@pytest.mark.parametrize("n_features", [1, 7])
@pytest.mark.parametrize("hidden_layers", [(8,), (16, 16), (12, 10, 8, 6), ()])
def test_steps_are_those_of_the_gradients(samples, hidden_layers, n_features):
    recipe = {"hidden_layers": hidden_layers, "random_state": 7, "penalty": 0.3, "n_steps": 3, "log_every": 1}
    recipe |= {"batch_size": 16, "critic_steps": 2, "learning_rate": 1e-3, "clip": 0.05}
    network, losses = train_map(*samples(n_features), **recipe)
    expected, expected_losses = oracle(*samples(n_features), (n_features, *hidden_layers, n_features), recipe)
    for ours, theirs in zip(network, expected, strict=True):
        assert ours.dtype == np.float32
        # RMSprop divides by gradients: the few that nearly cancel out go another way in single precision.
        error = np.abs(ours - theirs)
        assert np.median(error) < 1e-6
        assert error.max() < 2e-4
    assert np.abs(expected_losses).min() > 1e-5
    np.testing.assert_allclose(losses, expected_losses, atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize(("n_out", "n_in", "size"), [(128, 128, 64), (200, 150, 100), (70, 3, 5_000), (300, 400, 64)])
def test_products_in_parts_are_products(n_out, n_in, size):
    rng = np.random.default_rng(0)
    kernel, batch, slopes = (
        rng.normal(size=s).astype(np.float32) for s in ((n_out, n_in), (n_in, size), (n_out, size))
    )
    outputs = np.empty((1, n_out, size), np.float32)
    weights = np.concatenate([kernel.ravel(), np.zeros(n_out, np.float32)])
    product = gan_training._forward(weights, np.array([n_in, n_out]), batch, outputs)
    np.testing.assert_allclose(product, kernel @ batch, atol=2e-4)
    np.testing.assert_allclose(gan_training._below(kernel, slopes), kernel.T @ slopes, atol=2e-4)


def test_critic_weights_and_biases_are_clipped(samples, monkeypatch):
    critics, steps = [], gan_training._steps

    def kept(*arguments):
        critics.append(arguments[5][0])
        return steps(*arguments)

    monkeypatch.setattr(gan_training, "_steps", kept)
    recipe = {"batch_size": 8, "critic_steps": 1, "learning_rate": 1e-3, "clip": 1e-3, "n_steps": 3}
    train_map(*samples(2), **RECIPE | recipe)
    assert np.abs(critics[0]).max() == pytest.approx(1e-3)
    # The last bias' gradient is +1 on real and -1 on generated points: it drifts to the bound and stays.
    assert critics[0][-1] == pytest.approx(-1e-3)


def test_the_map_does_not_depend_on_how_its_steps_are_cut(samples, monkeypatch):
    whole, losses = train_map(*samples(2), **RECIPE, n_steps=10)
    told = []
    monkeypatch.setattr(gan_training, "CHUNK", 3)
    cut, more = train_map(*samples(2), **RECIPE | {"log_every": 4}, n_steps=10, done=told.append)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.average(more, axis=0, weights=[4, 4, 2]), losses.iloc[0], rtol=1e-12)
    assert told == [4, 4, 2]


def test_training_ends_where_losses_are_not_finite(samples):
    told = []
    recipe = RECIPE | {"penalty": 1e38, "log_every": 2, "n_steps": 8}
    _, losses = train_map(*samples(2), **recipe, done=told.append)
    assert losses.iloc[-1].isna().all()
    assert len(told) < len(losses) == 4


def test_faded_mean_squares_do_not_slow_training_down():
    # On its way to 0 a mean square would stay denormal for ever, which takes a hundred times as long.
    weights, squares, rate = np.zeros(100_000, np.float32), np.full(100_000, 1e-38, np.float32), np.float32(1e-4)
    gradient, clip = np.zeros_like(weights), np.float32(1)
    for _ in range(50):
        gan_training._rmsprop(weights, squares, gradient, rate, clip)
    assert (squares == 0).all()
