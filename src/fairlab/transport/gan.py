"""Approximate transport by FlipTest's Wasserstein GAN: a network moves the source until it passes for the target."""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from fairlab.checks import COUNT_OR_ZERO, POSITIVE, check_count, check_flag, check_parameters, checked
from fairlab.networks import forward, single_precision
from fairlab.transport.maps import CHUNK, DivergenceError, TransportMap, check_widths, require_memory

# Rows that are mapped at once, so that hidden layers of a large table stay small.
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
    progress=check_flag,
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
        Of RMSprop, for both networks.
    clip : float
        Bound of the critic's weights and biases.
    random_state : int
        Seed of weights and batches, at least 0. The same seed gives the same map, to the last bit, alone or among
        others.
    log_every : int
        Generator steps per record of the loss history.
    progress : bool
        Whether to show a progress bar.

    Attributes
    ----------
    generator_ : list of arrays
        Kernels and biases in turn; see `fairlab.networks`.
    history_ : DataFrame
        By the generator steps that were done, the means since the record before: ``critic``, mean D over real points
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
        return _fitted([self], [(X_source, X_target)], n_threads=1)[0]

    def to_arrays(self) -> dict:
        """Return everything that it takes to rebuild the fitted map, as plain data.

        Returns
        -------
        dict
            ``parameters``, those of the constructor, and ``fitted``, the attributes by their names.

        Raises
        ------
        NotFittedError
        """
        check_is_fitted(self)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        if "feature_names_in_" in fitted:
            fitted["feature_names_in_"] = fitted["feature_names_in_"].tolist()
        return {"parameters": self.get_params(), "fitted": fitted}

    @classmethod
    def from_arrays(cls, arrays: dict) -> "GANTransport":
        """Return the map that `to_arrays` took apart; it answers the same, to the last bit, and needs no numba."""
        gan = cls(**arrays["parameters"])
        vars(gan).update(arrays["fitted"])
        if hasattr(gan, "feature_names_in_"):
            gan.feature_names_in_ = np.array(gan.feature_names_in_, dtype=object)
        return gan

    def _image(self, X):
        # In plain NumPy, so that a fitted map needs none of the extras.
        image = np.empty(X.shape)
        for start in range(0, len(X), ROWS):
            image[start : start + ROWS] = forward(self.generator_, single_precision(X[start : start + ROWS], "X"))
        return image

    def _prepared(self, X_source, X_target):
        """Return both samples in float32, options and samples checked."""
        check_parameters(self)
        samples = self._samples(X_source, X_target, min_rows=2)
        return [single_precision(X, name) for X, name in zip(samples, ("X_source", "X_target"), strict=True)]

    def _training_bytes(self) -> int:
        """Return an estimate of the bytes that training takes."""
        layers = [self.n_features_in_, *self.hidden_layers, self.n_features_in_]
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(layers))
        # Two networks with mean squared gradients, a gradient and copies; their layers for a batch, there and back; the
        # rows that are drawn for a chunk of steps.
        batch = 2 * (len(layers) + 1) * max(layers) + 2 * CHUNK * (2 * self.critic_steps + 1)
        return 4 * (8 * n_weights + batch * self.batch_size)


@checked(n_threads=check_count)
def fit_gans(maps: Sequence[GANTransport], X_source, X_target, *, n_threads: int | None = None) -> list[GANTransport]:
    """Fit independent maps side by side, a core each; each is to the last bit what its own `fit` gives.

    Parameters
    ----------
    maps : sequence of GANTransport
        Not fitted; of several seeds, or penalties.
    X_source, X_target : list of DataFrame or array of shape (n, n_features), one per map; or one for all of them
    n_threads : int, optional
        Most maps to train at once; by default ``OMP_NUM_THREADS`` if set, else the cores. Fewer run at once where
        memory is short, with the same result.

    Returns
    -------
    list of GANTransport
        The same maps, fitted. One that diverged has weights that are not finite, and maps to NaN.

    Raises
    ------
    ValueError
        If the features or an option are not what is expected.
    MemoryError
        If the training of one map will not fit.
    DivergenceError
        If no map's weights stay finite.

    Warns
    -----
    ConvergenceWarning
        If some maps' weights do not.

    Examples
    --------
    >>> from fairlab.transport import GANTransport, fit_gans
    >>> women, men = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [3.0], [4.0]])
    >>> maps = [GANTransport(hidden_layers=(4,), n_steps=2, random_state=seed) for seed in range(3)]
    >>> [gan.transform(women).shape for gan in fit_gans(maps, women, men)]
    [(3, 1), (3, 1), (3, 1)]
    """
    if not np.iterable(maps) or not len(maps) or not all(isinstance(each, GANTransport) for each in maps):
        raise ValueError(f"maps: expected at least one GANTransport, found {maps!r}")
    n_cores = int(os.environ.get("OMP_NUM_THREADS") or joblib.cpu_count())
    n_threads = n_threads or n_cores
    pairs = zip(_one_each(X_source, maps, "X_source"), _one_each(X_target, maps, "X_target"), strict=True)
    return _fitted(maps, list(pairs), n_threads=n_threads)


def _fitted(maps, pairs, *, n_threads):
    """Fit each map to its pair of samples."""
    from fairlab.transport.gan_training import train_map  # with numba, which only training needs

    samples = [gan._prepared(*pair) for gan, pair in zip(maps, pairs, strict=True)]
    largest = max(gan._training_bytes() for gan in maps)
    free = require_memory(largest, "training one map", advice="use narrower hidden_layers or a smaller batch_size")
    total = sum(gan.n_steps for gan in maps)
    with (
        tqdm(total=total, disable=not any(gan.progress for gan in maps), desc="GAN", unit="step") as bar,
        # Threads of the matrix products would wait for each other, and round as they share the work.
        threadpool_limits(1, "blas"),
        ThreadPoolExecutor(min(n_threads, free // largest)) as pool,
    ):

        def train(gan, sample):
            options = {name: value for name, value in gan.get_params().items() if name != "progress"}
            return train_map(*sample, **options, done=bar.update)

        fitted = list(pool.map(train, maps, samples))
    diverged = []
    for gan, (gan.generator_, gan.history_) in zip(maps, fitted, strict=True):
        if not all(np.isfinite(part).all() for part in (*gan.generator_, gan.history_.iloc[-1])):
            diverged.append(gan.random_state)
    if diverged:
        message = (
            f"weights of {len(diverged)} of {len(maps)} maps did not stay finite, those of random_state "
            f"{', '.join(map(str, diverged))}; scale the features or lower learning_rate or penalty"
        )
        if len(diverged) == len(maps):
            raise DivergenceError(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return list(maps)


def _one_each(X, maps, name):
    """Return one sample per map: its own of a list, else the one that all share."""
    if not isinstance(X, list) or np.ndim(X[0]) != 2:
        return [X] * len(maps)
    if len(X) != len(maps):
        raise ValueError(f"{name}: expected one sample for each of {len(maps)} maps, found {len(X)}")
    return X
