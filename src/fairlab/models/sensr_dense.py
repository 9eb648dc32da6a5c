"""SenSR's training in TensorFlow: every step of the attacks asks the network of every point."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fairlab.checks import optional
from fairlab.fair_metric import FairMetric
from fairlab.models.sensr_recipe import EPSILON, PENALTY_RANGE, RATE_DECAY, Recipe
from fairlab.networks import adam, adam_start, mean_loss_gradient

tf = optional("tensorflow")


def train(X, y, batches, network, directions, recipe: Recipe) -> tuple[list[np.ndarray], float, int]:
    """Train one network; see `fairlab.models.sensr_training.train`."""
    network, penalty, skipped = _compiled_training(replace(recipe, full_rate=0.0, penalty=0.0, learning_rate=0.0))(
        X,
        y,
        batches,
        network,
        directions.astype(np.float32),
        FairMetric.from_directions(directions).projection.astype(np.float32),
        np.float32(recipe.learning_rate),
        np.float32(recipe.full_rate),
        np.float32(recipe.penalty),
    )
    return [part.numpy() for part in network], float(penalty), int(skipped)


@lru_cache
def _compiled_training(recipe: Recipe):
    """Return the training loop of a recipe, compiled once for each shape of data.

    The loop takes (X, y, batches, network, directions, projection, learning rate, full rate, penalty) and returns the
    network, the penalty and the number of batches that were skipped.
    """

    @tf.function(jit_compile=True)
    def train(X, y, batches, network, directions, projection, learning_rate, full_rate, penalty):
        def learn(network, state, batch, labels):
            gradients = mean_loss_gradient(network, batch, labels)
            return adam(network, gradients, state, learning_rate, epsilon=EPSILON)

        def rows(k):
            return tf.gather(X, batches[k]), tf.gather(y, batches[k])

        def step(k, network, state, rate, penalty, skipped):
            batch, labels = rows(k)
            attacked, distance, risen = attack(recipe, network, batch, labels, directions, projection, rate, penalty)
            new_network, new_state = learn(network, state, attacked, labels)
            network, state = tf.nest.map_structure(
                lambda new, old: tf.where(risen, new, old), (new_network, new_state), (network, state)
            )
            penalty = tf.where(risen, moved_penalty(penalty, distance, recipe.distance_target), penalty)
            rate = tf.where(risen, rate, RATE_DECAY * rate)
            return k + 1, network, state, rate, penalty, skipped + tf.cast(~risen, tf.int32)

        network = tuple(tf.convert_to_tensor(layer) for layer in network)
        # The authors' first step is a plain one.
        network, state = learn(network, adam_start(network), *rows(0))
        start = (1, network, state, full_rate, penalty, 0)
        _, network, _, _, penalty, skipped = tf.while_loop(lambda k, *_: k < batches.shape[0], step, start)
        return network, penalty, skipped

    return train


def attack(recipe: Recipe, network, X, y, directions, projection, rate, penalty):
    """Return the attacked batch, its mean squared fair distance, and whether the full attack raised its objective.

    Parameters
    ----------
    network : tuple of tensors
    X : tensor of shape (n_points, n_features)
    y : tensor of int, shape (n_points,)
    directions : tensor of shape (n_directions, n_features)
    projection : tensor of shape (n_features, n_features)
    rate, penalty : float
        Adam's rate of the full attack, and lambda.
    """
    hidden, hidden_bias, output, output_bias = network
    sign = 2 * tf.cast(y, X.dtype) - 1
    weight, bias = output[:, 1] - output[:, 0], output_bias[1] - output_bias[0]

    def mean_loss(activation):
        return tf.reduce_mean(tf.nn.softplus(-sign * (tf.linalg.matvec(tf.nn.relu(activation), weight) + bias)))

    def loss_slope(activation):
        """Return the gradient of the mean loss by what enters the hidden units."""
        odds = tf.linalg.matvec(tf.nn.relu(activation), weight) + bias
        slope = -sign * tf.sigmoid(-sign * odds) / X.shape[0]
        return slope[:, None] * tf.where(activation > 0, weight, 0.0)

    def ascend(gradient, start, n_steps, rate):
        """Return where `n_steps` steps of Adam uphill lead."""

        def step(k, moves, state):
            (moves,), state = adam((moves,), (-gradient(moves),), state, rate, epsilon=EPSILON)
            return k + 1, moves, state

        return tf.while_loop(lambda k, *_: k < n_steps, step, (0, start, adam_start((start,))))[1]

    # Inside the subspace only a few numbers per point change what enters the hidden units.
    entering = X @ hidden + hidden_bias
    along = directions @ hidden
    inside = ascend(
        lambda u: loss_slope(entering + u @ along) @ tf.transpose(along),
        tf.zeros((X.shape[0], directions.shape[0])),
        recipe.subspace_steps,
        recipe.subspace_rate,
    )
    inside = tf.where(mean_loss(entering + inside @ along) < mean_loss(entering), 0.0, inside)

    start = entering + inside @ along
    away = ascend(
        lambda v: loss_slope(start + v @ hidden) @ tf.transpose(hidden) - penalty * 2 / X.shape[0] * (v @ projection),
        tf.zeros_like(X),
        recipe.full_steps,
        rate,
    )
    distance = tf.reduce_mean(tf.reduce_sum(tf.square(away @ projection), axis=1))
    risen = mean_loss(start + away @ hidden) - penalty * distance >= mean_loss(start)
    return X + inside @ directions + away, distance, risen


def moved_penalty(penalty, distance, target):
    """Return lambda after a batch: larger if the attack went farther than the target, smaller if less far."""
    factor = tf.maximum(distance, target) / tf.minimum(distance, target)
    return tf.clip_by_value(penalty + factor * (distance - target), *PENALTY_RANGE)
