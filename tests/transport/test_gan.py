import json
import pickle
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairlab.networks import forward, initial_network
from fairlab.papers.fliptest import training
from fairlab.papers.fliptest.training import arrays_of, fit_gans, gan_of
from fairlab.suite import trials
from fairlab.transport import DivergenceError, ExactTransport, GANTransport, gan_training
from fairlab.transport.gan_training import train_map

pytest.importorskip("numba")
tf = pytest.importorskip("tensorflow")

# Smallest networks; one recipe and one size of sample for all tests that may share what is compiled.
SMALL = {"hidden_layers": (8,), "n_steps": 6, "batch_size": 4, "critic_steps": 1, "log_every": 3}
RNG = np.random.default_rng(0)
GROUPS = RNG.normal(size=(50, 2)), RNG.normal(size=(60, 2)) + 1


@pytest.fixture(scope="module")
def ensemble():
    """Three small maps, fitted."""
    return fit_gans([GANTransport(random_state=seed, **SMALL) for seed in (3, 4, 5)], *GROUPS, n_threads=1)


def test_a_map_rebuilt_from_a_cached_trial_is_the_same(ensemble, tmp_path):
    frames = [pd.DataFrame(X, columns=["a", "b"]) for X in GROUPS]
    alone = GANTransport(random_state=9, **SMALL).fit(*frames)
    for fitted, X in ((ensemble[1], GROUPS[0]), (alone, frames[0])):
        trials.write(tmp_path / "map.trial", arrays_of(fitted), 0)
        rebuilt = gan_of(trials.read(tmp_path / "map.trial")[0])
        assert rebuilt.get_params() == fitted.get_params()
        np.testing.assert_array_equal(rebuilt.transform(X), fitted.transform(X))
        pd.testing.assert_frame_equal(rebuilt.history_, fitted.history_)
    with pytest.raises(ValueError, match="same order"):
        rebuilt.transform(frames[0][["b", "a"]])


def test_divergence_is_an_error():
    with pytest.raises(DivergenceError, match="weights of the map of random_state 0 did not stay finite; scale"):
        GANTransport(penalty=1e38, **SMALL).fit(GROUPS[0] * 10, GROUPS[1])


@pytest.mark.parametrize("penalties", [[1e-4, 1e38], [1e38]])
def test_a_map_that_diverged_is_named_and_maps_to_nan_alone_and_among_others(penalties):
    several = [GANTransport(random_state=k, penalty=penalty, **SMALL) for k, penalty in enumerate(penalties)]
    said = rf"1 of {len(several)} maps did not stay finite, those of random_state {len(several) - 1}; scale"
    with pytest.warns(ConvergenceWarning, match=said):
        fit_gans(several, GROUPS[0] * 10, GROUPS[1])
    assert [np.isfinite(one.transform(GROUPS[0])).mean() for one in several] == [float(p < 1) for p in penalties]


def test_a_rebuilt_map_needs_no_numba_and_training_no_other_array_library(ensemble, tmp_path):
    rows = np.random.default_rng(0).normal(size=(5, 2))
    (tmp_path / "map.pickle").write_bytes(pickle.dumps((arrays_of(ensemble[0]), rows)))
    code = """
import json, os, pickle, sys
import numpy as np
import sklearn.base  # its threadpoolctl sets variables of its own
before = dict(os.environ)
from fairlab.checks import MissingExtraError
from fairlab.papers.fliptest.training import gan_of
from fairlab.transport import ExactTransport, GANTransport
arrays, rows = pickle.load(open(sys.argv[1], "rb"))
print(json.dumps(gan_of(arrays).transform(rows).tolist()))
print("numba" in sys.modules, dict(os.environ) == before)
sys.modules["numba"] = None
X = np.eye(4)
try:
    GANTransport(n_steps=1).fit(X, X + 1)
except MissingExtraError as error:
    print(error)
del sys.modules["numba"], sys.modules["fairlab.transport.gan_training"]
GANTransport(n_steps=1).fit(X, X + 1)
print({"tensorflow", "torch", "jax", "cupy", "keras"} & set(sys.modules))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "map.pickle"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert json.loads(answer[0]) == ensemble[0].transform(rows).tolist()
    assert "this needs numba, which is not installed; the extra 'networks' brings it" in answer.pop(2)
    assert answer[1:] == ["False True", "set()"]


def several(seeds, X_source, X_target, n_threads=None, **options):
    """Return the images of the source under maps of several seeds, shape (n_maps, n_source, n_features)."""
    fitted = fit_gans([GANTransport(random_state=s, **options) for s in seeds], X_source, X_target, n_threads=n_threads)
    return np.stack([one.transform(X_source) for one in fitted])


# On networks of this size, products on several threads, or of several maps as one, would round differently.
@pytest.mark.parametrize("hidden_layers", [(128, 128), (256,)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_map_is_the_same_alone_and_among_others(hidden_layers, n_threads):
    settings = {"hidden_layers": hidden_layers, "n_steps": 10, "critic_steps": 1}
    alone = GANTransport(random_state=4, **settings).fit(*GROUPS).transform(GROUPS[0])
    for seeds in ([3, 4], [9, 8, 4, 7, 6, 5, 3]):
        np.testing.assert_array_equal(several(seeds, *GROUPS, n_threads=n_threads, **settings)[seeds.index(4)], alone)


def test_short_memory_trains_fewer_at_once_with_the_same_result(monkeypatch):
    memory, images = SimpleNamespace(), []
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(GANTransport, "training_bytes", lambda _: 1_000)
    for n_maps in (2, 1):
        memory.available = 1_000 * n_maps + 500
        with mock.patch.object(training, "ThreadPoolExecutor", wraps=training.ThreadPoolExecutor) as pool:
            images.append(several(range(6), *GROUPS, n_threads=2, **SMALL))
        pool.assert_called_once_with(n_maps)
    np.testing.assert_array_equal(*images)
    memory.available = 999
    with pytest.raises(MemoryError, match=r"training one map needs .* smaller batch_size"):
        GANTransport(**SMALL).fit(*GROUPS)


def test_large_tables_are_mapped_in_pieces(ensemble, monkeypatch):
    whole = ensemble[0].transform(GROUPS[0])
    monkeypatch.setattr("fairlab.transport.gan.ROWS", 7)
    np.testing.assert_allclose(ensemble[0].transform(GROUPS[0]), whole, atol=1e-6)


# gan_training


def samples(n_features):
    """Return source and target of a number of features."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(n, n_features)) + move).astype(np.float32) for n, move in ((50, 0), (60, 1))]


RECIPE = {
    "random_state": 0,
    "penalty": 1e-4,
    "hidden_layers": (8,),
    "batch_size": 4,
    "critic_steps": 5,
    "learning_rate": 5e-5,
    "clip": 0.01,
    "log_every": 100,
}


def plain_map(source, target, widths, recipe):
    """Train the same map by TensorFlow's gradients, in double precision; return generator and losses of every step."""
    streams = [np.random.default_rng([recipe["random_state"], stream]) for stream in range(4)]
    G, D = (
        [tf.Variable(part, dtype=tf.float64) for part in initial_network(rng, (*widths[:-1], n))]
        for rng, n in zip(streams, (widths[-1], 1), strict=False)
    )
    squares = {part.ref(): 0.0 for part in (*G, *D)}

    def on_images(X):
        """Return the mean of the critic over the images, and that of the squared moves."""
        image = forward(G, X)
        return tf.reduce_mean(forward(D, image)), tf.reduce_mean(tf.reduce_sum(abs(image - X), axis=1) ** 2)

    def rmsprop(network, loss, X, clip=np.inf):
        """Take a step down a loss of some rows, and return the loss before it."""
        with tf.GradientTape() as tape:
            before = loss(X)
        for part, slope in zip(network, tape.gradient(before, network), strict=True):
            squares[part.ref()] = 0.9 * squares[part.ref()] + 0.1 * slope**2
            step = recipe["learning_rate"] * slope / (tf.sqrt(squares[part.ref()]) + 1e-7)
            part.assign(tf.clip_by_value(part - step, -clip, clip))
        return float(before)

    n_steps, n_critic, n = (recipe[name] for name in ("n_steps", "critic_steps", "batch_size"))
    of_source = source.astype(float)[streams[2].integers(len(source), size=(n_steps, n_critic + 1, n))]
    of_target = target.astype(float)[streams[3].integers(len(target), size=(n_steps, n_critic, n))]
    losses = []
    for from_source, from_target in zip(of_source, of_target, strict=True):
        for own, other in zip(from_source, from_target, strict=False):
            on_real = rmsprop(D, lambda X: tf.reduce_mean(forward(D, X)), other)
            on_fake = -rmsprop(D, lambda X: -on_images(X)[0], own, recipe["clip"])
        losses.append([on_real - on_fake, *map(float, on_images(from_source[-1]))])
        rmsprop(G, lambda X: on_images(X)[0] + recipe["penalty"] * on_images(X)[1], from_source[-1])
    return [part.numpy() for part in G], np.array(losses)


@pytest.mark.parametrize("n_features", [1, 7])
@pytest.mark.parametrize("hidden_layers", [(8,), (16, 16), (12, 10, 8, 6), ()])
def test_the_compiled_loop_takes_the_steps_of_the_plain_one(hidden_layers, n_features):
    recipe = {
        "hidden_layers": hidden_layers,
        "random_state": 7,
        "penalty": 0.3,
        "n_steps": 3,
        "log_every": 1,
        "batch_size": 16,
        "critic_steps": 2,
        "learning_rate": 1e-3,
        "clip": 0.05,
    }
    network, losses = train_map(*samples(n_features), **recipe)
    expected, expected_losses = plain_map(*samples(n_features), (n_features, *hidden_layers, n_features), recipe)
    for ours, theirs in zip(network, expected, strict=True):
        # RMSprop divides by gradients: the few that nearly cancel out go another way in single precision.
        error = np.abs(ours - theirs)
        assert (ours.dtype, np.median(error) < 1e-6, error.max() < 2e-4) == (np.float32, True, True)
    assert np.abs(expected_losses).min() > 1e-5
    np.testing.assert_allclose(losses, expected_losses, atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize(("n_out", "n_in", "size"), [(128, 128, 64), (200, 150, 100), (70, 3, 5_000), (300, 400, 64)])
def test_products_in_parts_are_products(n_out, n_in, size):
    rng, sizes = np.random.default_rng(0), ((n_out, n_in), (n_in, size), (n_out, size))
    kernel, batch, slopes = (rng.normal(size=s).astype(np.float32) for s in sizes)
    outputs, biases = np.empty((1, n_out, size), np.float32), np.zeros(n_out, np.float32)
    product = gan_training._forward(np.append(kernel.ravel(), biases), np.array([n_in, n_out]), batch, outputs)
    np.testing.assert_allclose(product, kernel @ batch, atol=2e-4)
    np.testing.assert_allclose(gan_training._below(kernel, slopes), kernel.T @ slopes, atol=2e-4)


def test_the_map_does_not_depend_on_how_its_steps_are_cut(monkeypatch):
    whole, losses = train_map(*samples(2), **RECIPE, n_steps=10)
    monkeypatch.setattr(gan_training, "STEPS_AT_ONCE", 3)
    cut, more = train_map(*samples(2), **RECIPE | {"log_every": 4}, n_steps=10)
    np.testing.assert_array_equal(np.concatenate([*map(np.ravel, whole)]), np.concatenate([*map(np.ravel, cut)]))
    np.testing.assert_allclose(np.average(more, axis=0, weights=[4, 4, 2]), losses.iloc[0], rtol=1e-12)


def test_training_ends_where_losses_are_not_finite():
    with mock.patch.object(gan_training, "_steps", wraps=gan_training._steps) as steps:
        _, losses = train_map(*samples(2), **RECIPE | {"penalty": 1e38, "log_every": 2}, n_steps=8)
    assert losses.iloc[-1].isna().all()
    assert steps.call_count < len(losses) == 4


def test_faded_mean_squares_do_not_slow_training_down():
    # On its way to 0 a mean square would stay denormal for ever, which takes a hundred times as long.
    weights, gradient, squares = np.zeros((3, 100), np.float32)
    squares += 1e-38
    for _ in range(50):
        gan_training._rmsprop(weights, squares, gradient, np.float32(1e-4), np.float32(1))
    assert (squares == 0).all()


# scikit-learn's own checks of every map


class ToItself:
    """The checks know features and labels only: the target is the source."""

    def fit(self, X, y=None):
        return super().fit(X, X)


class ExactToItself(ToItself, ExactTransport):
    pass


class GANToItself(ToItself, GANTransport):
    pass


NOT_NUMBERS = {"check_dtype_object": "what is no number is a ValueError that names the table, not a TypeError"}
EXPECTED = {
    ExactToItself: NOT_NUMBERS
    | dict.fromkeys(
        ("check_methods_subset_invariance", "check_methods_sample_order_invariance", "check_fit_idempotent"),
        "the exact map is defined for the fitted rows, all of them, in their order",
    ),
    GANToItself: NOT_NUMBERS | {"check_fit2d_1sample": "the error speaks of rows, not of samples"},
}


@parametrize_with_checks(
    [ExactToItself(random_state=0), GANToItself(hidden_layers=(2,), n_steps=1, batch_size=2, critic_steps=1)],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator)],
)
def test_scikit_learn(estimator, check):
    check(estimator)
