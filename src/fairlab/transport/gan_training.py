"""The training loop of FlipTest's Wasserstein GAN (section 3.1, equation 1), compiled, for many maps at once.

Everything here has a leading axis of members: independent maps that are trained side by side as batched matrices (see
`fairlab.networks`). Each draws from its own seed, so that its map does not depend on which others are trained with it.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fairlab.checks import optional
from fairlab.networks import forward, initial_network, rmsprop, stacked
from fairlab.transport.loss_history import LOSSES

tf = optional("tensorflow")


@dataclass(frozen=True)
class Recipe:
    """How to train: everything that the compiled loop is specialised to.

    Attributes
    ----------
    batch_size : int
    critic_steps : int
        Critic steps per generator step.
    learning_rate : float
        Of RMSprop, for both networks.
    clip : float
        Bound of the critic's weights and biases.
    """

    batch_size: int = 64
    critic_steps: int = 5
    learning_rate: float = 5e-5
    clip: float = 0.01


def initial_networks(seeds, widths, stream: int) -> list[np.ndarray]:
    """Return stacked initial networks, each member's from its own seed; `stream` tells those of one seed apart."""
    return stacked([initial_network(np.random.default_rng([seed, stream]), widths) for seed in seeds])


def draw_rows(X, seeds, step, stream: int, n_rows: int):
    """Return `n_rows` rows of each member's sample, drawn with replacement.

    Parameters
    ----------
    X : tensor of shape (n_members, n, n_features)
    seeds : tensor of int64, shape (n_members,)
    step : int
        Number of the generator step; each has its own draw.
    stream : {0, 1}
        Tells the draws from source and target apart.
    """
    seed_step = 2 * tf.cast(step, tf.int64) + stream
    row = [
        tf.random.stateless_uniform((n_rows,), (seed, seed_step), 0, tf.shape(X)[1], tf.int32, alg="philox")
        for seed in tf.unstack(seeds)
    ]
    return tf.gather(X, tf.stack(row), batch_dims=1)


@lru_cache
def compiled_training(recipe: Recipe):
    """Return the compiled training loop of a recipe.

    The loop takes (X_source, X_target, seeds, penalty, first_step, n_steps, state), where the state is the tuple
    (generator, its mean squared gradients, critic, its mean squared gradients), and returns the state after
    `n_steps` generator steps and the losses, shape (3, n_members), averaged over them.
    """

    def train(X_source, X_target, seeds, penalty, first_step, n_steps, state):
        def step(i, losses, state):
            state, new = training_step(recipe, X_source, X_target, seeds, penalty, i, state)
            return i + 1, losses + new, state

        losses = tf.zeros((len(LOSSES), seeds.shape[0]))
        _, losses, state = tf.while_loop(lambda i, *_: i < first_step + n_steps, step, (first_step, losses, state))
        return state, losses / tf.cast(n_steps, tf.float32)

    return tf.function(train, jit_compile=True)


def training_step(recipe: Recipe, X_source, X_target, seeds, penalty, step, state):
    """Return the state after one generator step, and the losses on its way, shape (3, n_members)."""
    generator, generator_squares, critic, critic_squares = state
    size = recipe.batch_size
    # The generator stands still during the critic's steps: all its batches of this step are one draw and one pass.
    n_real = recipe.critic_steps * size
    real = tf.split(draw_rows(X_target, seeds, step, 1, n_real), recipe.critic_steps, axis=1)
    source = draw_rows(X_source, seeds, step, 0, n_real + size)
    fake = tf.split(forward(generator, source[:, :n_real]), recipe.critic_steps, axis=1)

    for real_batch, fake_batch in zip(real, fake, strict=True):
        critic_loss = 0.0
        for sign, batch in ((1, real_batch), (-1, fake_batch)):
            loss, gradients = _critic_gradients(critic, batch, sign)
            critic, critic_squares = rmsprop(critic, critic_squares, gradients, recipe.learning_rate)
            critic_loss += loss
        critic = [tf.clip_by_value(parameter, -recipe.clip, recipe.clip) for parameter in critic]

    batch = source[:, n_real:]
    adversarial, cost, gradients = _generator_gradients(generator, critic, batch, penalty)
    generator, generator_squares = rmsprop(generator, generator_squares, gradients, recipe.learning_rate)
    state = (generator, generator_squares, critic, critic_squares)
    return state, tf.stack([critic_loss, adversarial, cost])


def _critic_gradients(critic, batch, sign):
    """Return sign * mean D(batch) of each member and its gradients: low for real points, high for generated ones."""
    with tf.GradientTape() as tape:
        tape.watch(critic)
        loss = sign * tf.reduce_mean(forward(critic, batch), axis=(1, 2))
    return loss, tape.gradient(loss, critic)


def _generator_gradients(generator, critic, batch, penalty):
    """Return mean D(G(x)), the mean squared L1 move, and the gradients of their sum weighted as in equation 1."""
    with tf.GradientTape() as tape:
        tape.watch(generator)
        image = forward(generator, batch)
        adversarial = tf.reduce_mean(forward(critic, image), axis=(1, 2))
        cost = tf.reduce_mean(tf.square(tf.reduce_sum(tf.abs(batch - image), axis=2)), axis=1)
        loss = adversarial + penalty * cost
    return adversarial, cost, tape.gradient(loss, generator)
