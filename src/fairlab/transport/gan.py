"""Approximate transport by FlipTest's Wasserstein GAN: a network moves the source until it passes for the target."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from fairlab.checks import COUNT_OR_ZERO, POSITIVE, check_count, check_parameters, checked
from fairlab.networks import forward, single_precision
from fairlab.transport.maps import STEPS_AT_ONCE, DivergenceError, TransportMap, check_widths, require_memory

# Rows mapped at once, so that the hidden layers of a large table stay small.
ROWS = 16_384


@checked(
    hidden_layers=check_widths,
    penalty=POSITIVE,
    n_steps=check_count,
    batch_size=check_count,
    critic_steps=check_count,
    learning_rate=POSITIVE,
    clip=POSITIVE,
    random_state=COUNT_OR_ZERO,
    log_every=check_count,
)
class GANTransport(TransportMap):
    """One map from source to target, learnt by the Wasserstein GAN of FlipTest (section 3.1, equation 1).

    The generator G minimises mean D(G(x)) + penalty * mean squared L1 distance of x and G(x). The critic D, whose
    weights and biases are clipped, is low on the target and high on the image of the source; each of its steps is
    one update on a target batch and one on a generated batch.

    Columns are numbers and count in their units, so scale them first.

    Parameters
    ----------
    hidden_layers : tuple of int
        Widths of the hidden layers of both networks, with ReLU: (128, 128) for small problems, (512,) * 4 for SSL.
    penalty : float
        The paper's lambda, above 0.
    n_steps : int
        Generator steps.
    batch_size : int
        Rows per batch, drawn with replacement.
    critic_steps : int
        Critic steps per generator step.
    learning_rate : float
        Learning rate of RMSprop, for both networks.
    clip : float
        Bound of the critic's weights and biases.
    random_state : int
        Seed of weights and batches, at least 0. The same seed gives the same map, to the last bit, alone or among
        others.
    log_every : int
        Generator steps per record of the loss history.

    Attributes
    ----------
    generator_ : list of arrays
        Kernels and biases in turn; see `fairlab.networks`.
    history_ : DataFrame
        Indexed by completed generator steps, the means since the previous record: ``critic``, mean D over real points
        minus mean D over generated ones, at the last critic step; ``adversarial``, mean D over generated points, which
        the generator minimises; ``cost``, the mean squared L1 move without the penalty's factor.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the source was a DataFrame.

    Examples
    --------
    >>> from fairlab.transport import GANTransport
    >>> GANTransport(n_steps=500).get_params()["n_steps"]
    500
    """

    def __init__(
        self,
        *,
        hidden_layers: tuple[int, ...] = (128, 128),
        penalty: float = 1e-4,
        n_steps: int = 20_000,
        batch_size: int = 64,
        critic_steps: int = 5,
        learning_rate: float = 5e-5,
        clip: float = 0.01,
        random_state: int = 0,
        log_every: int = 100,
    ):
        self.hidden_layers = hidden_layers
        self.penalty = penalty
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.critic_steps = critic_steps
        self.learning_rate = learning_rate
        self.clip = clip
        self.random_state = random_state
        self.log_every = log_every

    def fit(self, X_source, X_target) -> "GANTransport":
        """Learn the map.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features)
        X_target : DataFrame or array of shape (n_target, n_features)

        Raises
        ------
        ValueError
            If the features or an option are invalid.
        MemoryError
            If training will not fit.
        DivergenceError
            If the weights do not stay finite.
        """
        if not self.prepare(X_source, X_target)():
            found = f"weights of the map of random_state {self.random_state} did not stay finite"
            raise DivergenceError(f"{found}; scale the features or lower learning_rate or penalty")
        return self

    def _image(self, X):
        # In plain NumPy, so that a fitted map needs none of the extras.
        image = np.empty(X.shape)
        for start in range(0, len(X), ROWS):
            image[start : start + ROWS] = forward(self.generator_, single_precision(X[start : start + ROWS], "X"))
        return image

    def prepare(self, X_source, X_target) -> Callable[[], bool]:
        """Return the training as a function, with options and samples checked; maps may be trained in parallel.

        The function returns whether all weights stayed finite.

        Parameters
        ----------
        X_source, X_target
            As for `fit`.
        """
        from fairlab.transport.gan_training import train_map  # with numba, which only training needs

        check_parameters(self)
        samples = self._samples(X_source, X_target, min_rows=2)
        source, target = map(single_precision, samples, ("X_source", "X_target"))
        advice = "use narrower hidden_layers or a smaller batch_size"
        require_memory(self.training_bytes(), "training one map", advice=advice)

        def train() -> bool:
            # Threads of the matrix products would wait for each other, and round as they share the work.
            with threadpool_limits(1, "blas"):
                self.generator_, self.history_ = train_map(source, target, **self.get_params())
            return all(np.isfinite(part).all() for part in (*self.generator_, self.history_.iloc[-1]))

        return train

    def training_bytes(self) -> int:
        """Return an estimate of the bytes that training takes."""
        layers = [self.n_features_in_, *self.hidden_layers, self.n_features_in_]
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(layers))
        # Two networks with mean squared gradients, a gradient and copies; their layers for a batch, there and back; the
        # rows that are drawn for a chunk of steps.
        batch = 2 * (len(layers) + 1) * max(layers) + 2 * STEPS_AT_ONCE * (2 * self.critic_steps + 1)
        return 4 * (8 * n_weights + batch * self.batch_size)
