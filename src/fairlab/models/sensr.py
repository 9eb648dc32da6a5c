"""SenSR: a network trained on batches that are attacked along the sensitive subspace (Yurochkin et al. 2020)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fairlab.checks import check_count, check_number, optional
from fairlab.fair_metric import FairMetric, sensitive_directions
from fairlab.models.network import NetworkClassifier
from fairlab.networks import adam, adam_start, mean_loss_gradient

tf = optional("tensorflow")

EPSILON = 1e-8  # of Adam, in the authors' TensorFlow
PENALTY_RANGE = (1e-5, 10.0)
RATE_DECAY = 0.999  # of the full attack's rate, after an attack that failed


@dataclass(frozen=True)
class Recipe:
    """How a batch is attacked: everything that the compiled loop is specialised to.

    Attributes
    ----------
    subspace_steps, full_steps : int
        Adam steps of both attacks.
    subspace_rate : float
        Adam's rate inside the subspace, in units of the sensitive directions.
    distance_target : float
        rho, the mean squared fair distance that the penalty steers to.
    """

    subspace_steps: int
    full_steps: int
    subspace_rate: float
    distance_target: float


class SenSR(NetworkClassifier):
    """Sensitive subspace robustness: learn to do well on the worst people alike to those in the data.

    Each batch is attacked twice before the network learns from it: first freely inside the sensitive subspace, then
    in all directions with a penalty on the fair distance. Both go by the units of the features, which should be
    standardised: rates, penalty and distance are in these units. An attack that lowers its own objective is undone, or
    makes the network skip the batch.

    Parameters
    ----------
    n_hidden : int
    learning_rate : float
        Of Adam, for the network.
    n_steps : int
        Batches.
    batch_size : int
        Half negatives, half positives, drawn with replacement.
    subspace_steps, subspace_rate
        Adam steps and rate of the attack inside the subspace.
    full_steps, full_rate
        Those of the attack in all directions.
    penalty : float
        lambda at the start; it moves within `PENALTY_RANGE`.
    distance_target : float
        rho.
    solver : {"converged", "published", "liblinear"}
        Of the regressions that find the subspace; see `sensitive_directions`. The paper took liblinear on Adult,
        published on COMPAS.
    from_logits : bool
        How the loss is taken when the model is attacked; see `WhiteBoxClassifier`.
    random_state : int
        Of the initial weights and the batches.

    Attributes
    ----------
    network_ : tuple of ndarray
        Weights and biases; see `fairlab.models.network.NetworkClassifier`.
    directions_ : ndarray of shape (n_directions, n_features)
        Sensitive directions, not normalised.
    penalty_ : float
        lambda at the end.
    n_skipped_ : int
        Batches that the network did not learn from.
    classes_ : ndarray of shape (2,)

    References
    ----------
    Yurochkin, Bower, Sun. Training individually fair ML models with sensitive subspace robustness. ICLR 2020.
    """

    def __init__(
        self,
        *,
        n_hidden=100,
        learning_rate=1e-5,
        n_steps=20_000,
        batch_size=1000,
        subspace_steps=10,
        subspace_rate=10.0,
        full_steps=50,
        full_rate=1e-4,
        penalty=2.0,
        distance_target=1e-3,
        solver="converged",
        from_logits=True,
        random_state=0,
    ):
        self.n_hidden = n_hidden
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.subspace_steps = subspace_steps
        self.subspace_rate = subspace_rate
        self.full_steps = full_steps
        self.full_rate = full_rate
        self.penalty = penalty
        self.distance_target = distance_target
        self.solver = solver
        self.from_logits = from_logits
        self.random_state = random_state

    def fit(self, X, y, *, sensitive_features) -> "SenSR":
        """Learn the sensitive directions, then train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
            Zeros and ones; see `fairlab.fair_metric.sensitive_directions`.
        """
        for name in ("subspace_steps", "full_steps"):
            check_count(getattr(self, name), name, least=0)
        for name in ("subspace_rate", "full_rate", "penalty", "distance_target"):
            check_number(getattr(self, name), name, above=0)
        features, labels, network, batches = self._start(X, y, bias=0.1)
        self.directions_ = sensitive_directions(
            X, sensitive_features, solver=self.solver, scaled=False, confidence=None
        )
        projection = FairMetric.from_directions(self.directions_).projection
        recipe = Recipe(self.subspace_steps, self.full_steps, self.subspace_rate, self.distance_target)
        network, penalty, skipped = _compiled_training(recipe)(
            features,
            labels,
            batches,
            network,
            self.directions_.astype(np.float32),
            projection.astype(np.float32),
            np.float32(self.learning_rate),
            np.float32(self.full_rate),
            np.float32(self.penalty),
        )
        self.penalty_ = float(penalty)
        self.n_skipped_ = int(skipped)
        return self._keep(network)


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
