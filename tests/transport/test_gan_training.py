from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf

from fairlab.networks import EPSILON, member
from fairlab.transport.gan_training import Recipe, compiled_training, draw_rows, initial_networks


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 2)), rng.normal(size=(60, 2)) + 1


def keras_network(parameters):
    import keras

    widths = [parameters[0].shape[1], *(weights.shape[2] for weights in parameters[::2])]
    layers = [keras.layers.Dense(n_out, activation="relu") for _, n_out in pairwise(widths)]
    layers[-1].activation = keras.activations.linear
    model = keras.Sequential([keras.Input((widths[0],)), *layers])
    model.set_weights([part[0] for part in parameters])
    return model


def keras_update(model, optimizer, loss):
    with tf.GradientTape() as tape:
        value = loss()
    optimizer.apply_gradients(
        zip(tape.gradient(value, model.trainable_variables), model.trainable_variables, strict=True)
    )
    return float(value)


def test_three_compiled_steps_equal_keras(groups):
    import keras

    recipe, penalty, seed = Recipe(batch_size=16, critic_steps=5, learning_rate=1e-3, clip=0.05), 0.3, 7
    X, Y = (tf.constant(values[None], tf.float32) for values in groups)
    seeds = tf.constant([seed], tf.int64)
    G, D = initial_networks([seed], (2, 12, 12, 2), 0), initial_networks([seed], (2, 12, 12, 1), 1)
    zeros = [[np.zeros_like(p) for p in network] for network in (G, D)]
    state = tuple([tf.constant(p) for p in network] for network in (G, zeros[0], D, zeros[1]))
    (generator, _, critic, _), losses = compiled_training(recipe)(
        X, Y, seeds, tf.constant([penalty]), tf.constant(0), tf.constant(3), state
    )

    g, d = keras_network(G), keras_network(D)
    # Keras 3 has epsilon under the root; its square there is Keras 2's epsilon, up to rounding.
    g_optimizer, d_optimizer = (keras.optimizers.RMSprop(recipe.learning_rate, epsilon=EPSILON**2) for _ in range(2))
    expected = []
    for step in range(3):
        real = draw_rows(Y, seeds, step, 1, 5 * 16)[0]
        source = draw_rows(X, seeds, step, 0, 6 * 16)[0]
        for k in range(5):
            batch = slice(k * 16, (k + 1) * 16)
            on_real = keras_update(d, d_optimizer, lambda batch=batch, real=real: tf.reduce_mean(d(real[batch])))
            fake = g(source[batch])
            on_fake = keras_update(d, d_optimizer, lambda fake=fake: -tf.reduce_mean(d(fake)))
            d.set_weights([np.clip(w, -recipe.clip, recipe.clip) for w in d.get_weights()])
        x = source[80:]
        adversarial = float(tf.reduce_mean(d(g(x))))
        cost = float(tf.reduce_mean(tf.reduce_sum(tf.abs(x - g(x)), 1) ** 2))
        keras_update(
            g,
            g_optimizer,
            lambda x=x: tf.reduce_mean(d(g(x))) + penalty * tf.reduce_mean(tf.reduce_sum(tf.abs(x - g(x)), 1) ** 2),
        )
        expected.append([on_real + on_fake, adversarial, cost])

    for ours, theirs in ((generator, g), (critic, d)):
        for parameter, reference in zip(ours, theirs.get_weights(), strict=True):
            error = np.abs(np.squeeze(parameter) - np.squeeze(reference))
            assert np.median(error) < 1e-6
            assert error.max() < 5e-4
    np.testing.assert_allclose(losses[:, 0], np.mean(expected, axis=0), atol=1e-5, rtol=1e-4)


def test_critic_weights_and_biases_are_clipped(groups):
    recipe = Recipe(batch_size=8, critic_steps=1, learning_rate=1e-3, clip=1e-3)
    networks = [initial_networks([0], (2, 8, n_out), n_out) for n_out in (2, 1)]
    state = tuple([tf.constant(p * factor) for p in network] for network in networks for factor in (1, 0))
    data = [tf.constant(values[None], tf.float32) for values in groups]
    loop = compiled_training(recipe)
    (_, _, critic, _), _ = loop(
        *data, tf.constant([0], tf.int64), tf.constant([1e-4]), tf.constant(0), tf.constant(3), state
    )
    assert max(np.abs(parameter).max() for parameter in critic) == pytest.approx(1e-3)
    # Its gradient is +1 on real and -1 on generated points: it drifts to the bound and stays.
    assert np.squeeze(critic[-1]) == pytest.approx(-1e-3)


def test_networks_of_a_seed_do_not_depend_on_the_others():
    together = initial_networks([7, 8], (2, 5, 2), stream=0)
    np.testing.assert_equal(member(together, 1), member(initial_networks([8], (2, 5, 2), stream=0), 0))
    assert (together[0][0] != together[0][1]).all()
    assert (together[0] != initial_networks([7, 8], (2, 5, 2), stream=1)[0]).all()


def test_rows_are_drawn_from_the_members_own_sample():
    X = tf.reshape(tf.range(24.0), (2, 12, 1))
    seeds = tf.constant([3, 4], tf.int64)
    drawn = draw_rows(X, seeds, 5, 0, 200).numpy()
    assert drawn.shape == (2, 200, 1)
    assert set(drawn[0].ravel()) == set(range(12))
    assert set(drawn[1].ravel()) == set(range(12, 24))
    np.testing.assert_array_equal(drawn[1:], draw_rows(X[1:], seeds[1:], 5, 0, 200))
    for step, stream in ((6, 0), (5, 1)):
        assert (drawn != draw_rows(X, seeds, step, stream, 200).numpy()).any()
