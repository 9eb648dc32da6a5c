import numpy as np
import pytest

pytest.importorskip("numba")

from fairlab.networks import forward, initial_network
from fairlab.transport import gan_training
from fairlab.transport.gan_training import train_map


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
