"""Approximate transport by the map of Seguy et al.: dual potentials by stochastic ascent, then a network.

V. Seguy, B. Bhushan Damodaran, R. Flamary, N. Courty, A. Rolet, M. Blondel: Large-scale optimal transport and mapping
estimation, ICLR 2018 (arXiv 1711.02283).
"""

from functools import cache

import numpy as np
import ot

from fairlab.checks import COUNT_OR_ZERO, POSITIVE, check_count, check_parameters, checked, optional
from fairlab.networks import forward, initial_network, single_precision
from fairlab.papers.training import stacked
from fairlab.transport.cost import Cost, cost_matrix, squared_l1
from fairlab.transport.maps import DivergenceError, TransportMap, check_widths, require_memory

tf = optional("tensorflow")

RHO, EPSILON = 0.9, 1e-7  # of RMSprop, as in Keras

# Measured bytes per pair of points, for the costs and for computing the plan from them.
BYTES_PER_PAIR = 60


@checked(
    regularization=POSITIVE,
    hidden_layers=check_widths,
    n_dual_steps=check_count,
    n_map_steps=check_count,
    batch_size=check_count,
    learning_rate=POSITIVE,
    random_state=COUNT_OR_ZERO,
)
class SeguyTransport(TransportMap):
    """One map from source to target, learnt in two stages (Seguy et al., algorithms 1 and 2).

    First, the transport problem with L2 regularisation is solved in its dual form. The potentials u and v of both
    samples (vectors, as in the paper for discrete measures) are fitted by stochastic gradient ascent on::

        mean u(x) + mean v(y) - mean (u(x) + v(y) - cost(x, y))_+^2 / (4 epsilon)

    Their plan gives the pair (x, y) the weight ``(u(x) + v(y) - cost(x, y))_+ / (2 epsilon)``. Then a network is fitted
    to the barycentric projection, which sends x to the mean of the target weighted by its row of the plan; so the map
    also applies to new points. `regularization` is epsilon as a multiple of the mean cost over all pairs. In both
    stages, the learning rate falls linearly to 0. Fitted attributes: the plan's `target_potential_`, `epsilon_`,
    `projection_` and `marginal_error_` (total absolute difference of its column sums from uniform weights), and the
    `network_`.
    """

    def __init__(
        self,
        *,
        regularization: float = 0.002,
        hidden_layers: tuple[int, ...] = (128, 128),
        n_dual_steps: int = 10_000,
        n_map_steps: int = 5_000,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        cost: Cost = squared_l1,
        random_state: int = 0,
    ):
        self.regularization = regularization
        self.hidden_layers = hidden_layers
        self.n_dual_steps = n_dual_steps
        self.n_map_steps = n_map_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.cost = cost
        self.random_state = random_state

    def fit(self, X_source, X_target) -> "SeguyTransport":
        """Learn the map.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features)
        X_target : DataFrame or array of shape (n_target, n_features)
        """
        check_parameters(self)
        source, target = self._samples(X_source, X_target, min_rows=2)
        require_memory(
            BYTES_PER_PAIR * len(source) * len(target),
            f"the regularised plan of {len(source):,} x {len(target):,} points",
            advice="subsample both groups: the map applies to all points anyway; or use GANTransport",
        )
        costs = cost_matrix(self.cost, source, target)
        if not costs.any():
            raise ValueError("cost: expected some pairs above 0, found 0 for all: there is nothing to regularise")
        self.epsilon_ = float(self.regularization * costs.mean())
        # In units of epsilon, so that neither the compiled loop nor float32 sees the scale of the features.
        scaled, seed = tf.constant(costs / self.epsilon_, tf.float32), tf.constant(self.random_state, tf.int64)
        potential = compiled(dual_ascent)(scaled, seed, tf.constant(self.n_dual_steps), batch_size=self.batch_size)
        self.target_potential_ = potential.numpy().astype(float) * self.epsilon_
        plan = regularized_plan(costs, self.target_potential_, self.epsilon_)
        self.marginal_error_ = float(np.abs(plan.sum(axis=0) - 1 / len(target)).sum())
        self.projection_ = plan @ target * len(source)
        self.network_ = self._network(source)
        return self

    def _image(self, X):
        return forward(self.network_, tf.constant(single_precision(X, "X"))[None])[0].numpy().astype(float)

    def _network(self, source):
        """Return the network fitted to the projection, the second stage."""
        rng = np.random.default_rng([self.random_state, 2])
        sizes = (source.shape[1], *self.hidden_layers, source.shape[1])
        network = compiled(regression)(
            tf.constant(single_precision(source, "X_source")[None]),
            tf.constant(self.projection_[None], tf.float32),
            tf.constant([self.random_state], tf.int64),
            [tf.constant(parameter) for parameter in stacked([initial_network(rng, sizes)])],
            tf.constant(self.n_map_steps),
            tf.constant(self.learning_rate, tf.float32),
            batch_size=self.batch_size,
        )
        network = [parameter.numpy() for parameter in network]
        if not all(np.isfinite(part).all() for part in network):
            raise DivergenceError(
                f"weights of the map of random_state {self.random_state} did not stay finite; "
                "scale the features or lower learning_rate"
            )
        return network


def regularized_plan(costs, target_potential, epsilon: float) -> np.ndarray:
    """Return the plan of the L2-regularised problem that belongs to the target's potential.

    The source's potential is optimal given the target's, so every row of the plan is a projection onto the simplex.

    Parameters
    ----------
    costs : ndarray of shape (n_source, n_target)
    target_potential : ndarray of shape (n_target,)
    epsilon : float
        Strength of the regularisation.
    """
    n_source, n_target = costs.shape
    rows = (target_potential - costs) / (2 * epsilon * n_target)
    return ot.smooth.projection_simplex(rows, axis=1) / n_source


@cache
def compiled(function):
    """Return a function of tensors that is compiled at its first call."""
    return tf.function(function, jit_compile=True)


def dual_ascent(costs, seed, n_steps, *, batch_size: int):
    """Return the target's potential after stochastic ascent (Seguy et al., algorithm 1), all in units of epsilon.

    Parameters
    ----------
    costs : tensor of shape (n_source, n_target)
    seed, n_steps : int
    batch_size : int
    """

    def step(k, u, v):
        seeds = [(seed, 2 * tf.cast(k, tf.int64) + side) for side in (0, 1)]
        i, j = (
            tf.random.stateless_uniform((batch_size,), own, 0, n, tf.int32, alg="philox")
            for own, n in zip(seeds, costs.shape, strict=True)
        )
        excess = tf.gather(u, i)[:, None] + tf.gather(v, j) - tf.gather(tf.gather(costs, i), j, axis=1)
        gradient = 1 - tf.nn.relu(excess) / 2
        rate = falling_rate(1.0, k, n_steps)
        u = tf.tensor_scatter_nd_add(u, i[:, None], rate * tf.reduce_mean(gradient, axis=1))
        v = tf.tensor_scatter_nd_add(v, j[:, None], rate * tf.reduce_mean(gradient, axis=0))
        return k + 1, u, v

    # Feasible potentials: from zeros, it would take most of the steps to reach the first cost.
    start = (tf.constant(0), tf.reduce_min(costs, axis=1), tf.zeros(costs.shape[1]))
    return tf.while_loop(lambda k, *_: k < n_steps, step, start)[2]


def regression(X, Y, seeds, network, n_steps, learning_rate, *, batch_size: int):
    """Return networks fitted to pairs of rows by least squares (Seguy et al., algorithm 2).

    The algorithm averages over target points in every batch; here Y holds these averages, which has the same minimum.

    Parameters
    ----------
    X, Y : tensor of shape (n_members, n_rows, n_features)
    seeds : tensor of int of shape (n_members,)
    network : list of tensor
        Initial weights.
    n_steps : int
    learning_rate : float
        Initial rate.
    batch_size : int
    """

    def step(k, network, squares):
        batch, wanted = (draw_rows(values, seeds, k, batch_size) for values in (X, Y))
        with tf.GradientTape() as tape:
            tape.watch(network)
            error = tf.square(forward(network, batch) - wanted)
            loss = tf.reduce_sum(tf.reduce_mean(tf.reduce_sum(error, axis=2), axis=1))
        gradients = tape.gradient(loss, network)
        network, squares = rmsprop(network, squares, gradients, falling_rate(learning_rate, k, n_steps))
        return k + 1, network, squares

    start = (tf.constant(0), network, [tf.zeros_like(parameter) for parameter in network])
    return tf.while_loop(lambda k, *_: k < n_steps, step, start)[1]


def rmsprop(parameters, squares, gradients, learning_rate):
    """Return parameters and running mean squares after one step downhill; epsilon outside the root, as in Keras 2.

    Parameters
    ----------
    parameters, squares, gradients : list of tensor
    learning_rate : float
    """
    squares = [RHO * s + (1 - RHO) * g * g for s, g in zip(squares, gradients, strict=True)]
    moved = zip(parameters, squares, gradients, strict=True)
    return [p - learning_rate * g / (tf.sqrt(s) + EPSILON) for p, s, g in moved], squares


def draw_rows(X, seeds, step, n_rows: int):
    """Return `n_rows` rows of each member's sample, drawn with replacement by its own seed, anew in every step.

    Parameters
    ----------
    X : tensor of shape (n_members, n_rows, n_features)
    seeds : tensor of int of shape (n_members,)
    step, n_rows : int
    """
    own = 2 * tf.cast(step, tf.int64)
    row = [
        tf.random.stateless_uniform((n_rows,), (seed, own), 0, tf.shape(X)[1], tf.int32, alg="philox")
        for seed in tf.unstack(seeds)
    ]
    return tf.gather(X, tf.stack(row), batch_dims=1)


def falling_rate(initial, step, n_steps):
    """Return a rate that falls linearly to 0, so that both stages end without the noise of their last batches.

    Parameters
    ----------
    initial : float
    step, n_steps : int
    """
    return initial * (1 - tf.cast(step, tf.float32) / tf.cast(n_steps, tf.float32))
