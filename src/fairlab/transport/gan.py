"""Approximate transport by FlipTest's Wasserstein GAN: a network moves the source until it passes for the target."""

from dataclasses import asdict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairlab.networks import forward, member
from fairlab.transport.divergence import DivergenceError, finite_members
from fairlab.transport.loss_history import LossHistory
from fairlab.transport.options import check_options, single_precision
from fairlab.transport.transport_map import TransportMap

# Rows that are mapped at once, so that hidden layers of a large table stay small.
ROWS = 16_384

REMEDY = "scale the features or lower learning_rate or penalty"


class GANTransport(TransportMap):
    """One map from source to target, learnt by the Wasserstein GAN of FlipTest (section 3.1, equation 1).

    The generator G minimises mean D(G(x)) + penalty * mean squared L1 distance of x and G(x). The critic D, whose
    weights and biases are clipped, is low on the target and high on the image of the source; each of its steps is
    one update on a target batch and one on a generated batch.

    Columns are numbers and count in their units, so scale them first; `fairlab.fliptest.match` does, and takes columns
    of any kind.

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
        Of RMSprop, for both networks.
    clip : float
        Bound of the critic's weights and biases.
    random_state : int
        Seed of weights and batches, at least 0. The same seed gives the same map, to the last bit that of a
        `GANEnsemble` with this seed.
    log_every : int
        Generator steps per record of the loss history.
    progress : bool
        Whether to show a progress bar.

    Attributes
    ----------
    generator_ : list of arrays
        Kernels and biases in turn; see `fairlab.networks`.
    history_ : LossHistory
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
        progress: bool = False,
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
        self.progress = progress

    def fit(self, X_source, X_target) -> "GANTransport":
        """Learn the map.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features)
        X_target : DataFrame or array of shape (n_target, n_features)

        Raises
        ------
        ValueError
            If the features or an option are not what is expected.
        MemoryError
            If training will not fit.
        DivergenceError
            If the weights do not stay finite.
        """
        from fairlab.transport.gan_maps import train_maps  # with numba, which only training needs

        options = training_options(self)
        seeds, penalty = checked_seeds([self.random_state], "random_state"), checked_penalty(self.penalty, 1)
        samples = self._samples(X_source, X_target, min_rows=2)
        source, target = map(single_precision, samples, ("X_source", "X_target"))
        generators, history = train_maps(source[None], target[None], seeds, penalty, **options)
        if not converged(generators, history).all():
            raise DivergenceError(
                f"weights of the map of random_state {self.random_state} did not stay finite; {REMEDY}"
            )
        self.generator_, self.history_ = member(generators, 0), history
        return self

    def to_arrays(self) -> dict:
        """Return everything that it takes to rebuild the fitted map, as plain data.

        Returns
        -------
        dict
            ``parameters``, those of the constructor, ``generator``, ``history``, ``n_features`` and, where the source
            was a DataFrame, ``feature_names``, else None.

        Raises
        ------
        NotFittedError
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "parameters": self.get_params(),
            "generator": self.generator_,
            "history": asdict(self.history_),
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else names.tolist(),
        }

    @classmethod
    def from_arrays(cls, arrays: dict) -> "GANTransport":
        """Return the map that `to_arrays` took apart; it answers the same, to the last bit, and needs no numba."""
        transport = cls(**arrays["parameters"])
        transport.generator_ = list(arrays["generator"])
        transport.history_ = LossHistory(**arrays["history"])
        transport.n_features_in_ = arrays["n_features"]
        if arrays["feature_names"] is not None:
            transport.feature_names_in_ = np.array(arrays["feature_names"], dtype=object)
        return transport

    def _image(self, X):
        return image(self.generator_, X)


def image(generator, X: np.ndarray) -> np.ndarray:
    """Return a generator's outputs as floats; in plain NumPy, so that a fitted map needs none of the extras."""
    mapped = np.empty(X.shape)
    for start in range(0, len(X), ROWS):
        mapped[start : start + ROWS] = forward(generator, single_precision(X[start : start + ROWS], "X"))
    return mapped


def converged(generators, history: LossHistory) -> np.ndarray:
    """Return whether each map's weights and its last loss are finite, shape (n_maps,)."""
    return finite_members(generators) & np.isfinite(history.cost[-1])


def training_options(estimator) -> dict:
    """Return the options of a GAN's training that an estimator holds, checked.

    Raises
    ------
    ValueError
        If one is out of its range.
    """
    from fairlab.transport.gan_training import Recipe

    counts = ("n_steps", "batch_size", "critic_steps", "log_every")
    check_options(estimator, counts=counts, positive=("learning_rate", "clip"))
    recipe = Recipe(estimator.batch_size, estimator.critic_steps, estimator.learning_rate, estimator.clip)
    names = ("hidden_layers", "n_steps", "log_every", "progress")
    return {"recipe": recipe} | {name: getattr(estimator, name) for name in names}


def checked_seeds(seeds, name: str) -> np.ndarray:
    """Return seeds as an array of int64, each at least 0."""
    found = np.atleast_1d(seeds)
    if found.ndim != 1 or len(found) == 0 or not np.issubdtype(found.dtype, np.integer) or found.min() < 0:
        raise ValueError(f"{name}: expected integers of at least 0, found {seeds!r}")
    return found.astype(np.int64)


def checked_penalty(penalty, n_maps: int) -> np.ndarray:
    """Return one penalty per map, in float32, each above 0."""
    try:
        found = np.asarray(penalty, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"penalty (lambda): expected finite numbers above 0, found {penalty!r}") from error
    if found.shape not in ((), (n_maps,)):
        raise ValueError(f"penalty: expected a number or one per map ({n_maps}), found shape {found.shape}")
    if not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"penalty (lambda): expected finite numbers above 0, found {penalty}")
    return np.broadcast_to(found, (n_maps,))
