"""Ensembles of GAN maps: independent ones, trained side by side."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlab.checks import check_count, check_features, check_same_columns, estimator_features
from fairlab.networks import member
from fairlab.transport.divergence import DivergenceError, DivergenceWarning
from fairlab.transport.gan import (
    REMEDY,
    GANTransport,
    checked_penalty,
    checked_seeds,
    converged,
    image,
    training_options,
)
from fairlab.transport.memory import require_memory
from fairlab.transport.options import single_precision
from fairlab.transport.transport_map import one_each


class GANEnsemble(BaseEstimator):
    """Independent maps, trained side by side (see `GANTransport` for the recipe).

    Parameters
    ----------
    random_states : sequence of int
        One seed per map. A map depends on its own seed only, to the last bit, whichever others are in the ensemble.
    penalty : float or array-like of shape (n_maps,)
        The paper's lambda; one per map shows how sensitive the map is to it.
    n_threads : int, optional
        Most members to train side by side, a core each; by default ``OMP_NUM_THREADS`` if set, else the cores.
        Fewer run at once where memory is short, with the same result.
    memory_limit_gb : float, optional
        Memory in GiB that training and mapping may take; by default what the machine has free.
    **recipe
        The other options of `GANTransport`.

    Attributes
    ----------
    generators_ : list of arrays
        Kernels (n_maps, n_in, n_out) and biases (n_maps, n_out) in turn; see `fairlab.networks`.
    history_ : LossHistory
    converged_ : bool array of shape (n_maps,)
        False where the weights did not stay finite.
    maps_ : list of GANTransport
        The members, fitted. A diverged one maps to NaN.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the source was a DataFrame.

    Examples
    --------
    >>> from fairlab.transport import GANEnsemble
    >>> GANEnsemble(n_steps=500, random_states=[0, 1]).get_params()["random_states"]
    [0, 1]
    """

    def __init__(
        self,
        random_states,
        *,
        hidden_layers: tuple[int, ...] = (128, 128),
        penalty=1e-4,
        n_steps: int = 20_000,
        batch_size: int = 64,
        critic_steps: int = 5,
        learning_rate: float = 5e-5,
        clip: float = 0.01,
        log_every: int = 100,
        progress: bool = False,
        n_threads: int | None = None,
        memory_limit_gb: float | None = None,
    ):
        self.random_states = random_states
        self.hidden_layers = hidden_layers
        self.penalty = penalty
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.critic_steps = critic_steps
        self.learning_rate = learning_rate
        self.clip = clip
        self.log_every = log_every
        self.progress = progress
        self.n_threads = n_threads
        self.memory_limit_gb = memory_limit_gb

    def fit(self, X_source, X_target) -> "GANEnsemble":
        """Learn all maps.

        Parameters
        ----------
        X_source : DataFrame or array of shape (n_source, n_features), or array of shape (n_maps, n_source, n_features)
            With three dimensions each map has its own sample.
        X_target : DataFrame or array of shape (n_target, n_features), or array of shape (n_maps, n_target, n_features)

        Raises
        ------
        ValueError
            If the features or an option are not what is expected.
        MemoryError
            If the fitted networks, or one member in training, will not fit.
        DivergenceError
            If no map's weights stay finite.

        Warns
        -----
        DivergenceWarning
            If some maps' weights do not.
        """
        from fairlab.transport.gan_maps import train_maps

        options = training_options(self) | {"n_threads": self.n_threads, "memory_limit_gb": self.memory_limit_gb}
        if self.n_threads is not None:
            check_count(self.n_threads, "n_threads")
        seeds = checked_seeds(self.random_states, "random_states")
        penalty = checked_penalty(self.penalty, len(seeds))
        source, target = samples(self, X_source, X_target, len(seeds))
        self.generators_, self.history_ = train_maps(source, target, seeds, penalty, **options)
        self.converged_ = converged(self.generators_, self.history_)
        if not self.converged_.all():
            message = (
                f"weights of {np.sum(~self.converged_)} of {len(seeds)} maps did not stay finite, those of "
                f"random_states {seeds[~self.converged_].tolist()}; {REMEDY}"
            )
            if not self.converged_.any():
                raise DivergenceError(message)
            warnings.warn(message, DivergenceWarning, stacklevel=2)
        self.maps_ = [self._map(k, seeds[k], penalty[k]) for k in range(len(seeds))]
        return self

    def transform(self, X) -> np.ndarray:
        """Return the image of every row under every map.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_maps, n_rows, n_features)
            NaN for a map that diverged.

        Raises
        ------
        NotFittedError
            If the maps are not fitted.
        ValueError
            If the features are not what is expected.
        MemoryError
            If the images will not fit.
        """
        check_is_fitted(self)
        values = estimator_features(self, X, fitting=False)
        require_memory(
            len(self.converged_) * values.nbytes,
            f"the image of {len(values):,} rows under {len(self.converged_)} maps",
            limit_gb=self.memory_limit_gb,
            advice="map fewer rows at once, or one map of maps_ after the other",
        )
        images = np.full((len(self.converged_), *values.shape), np.nan)
        for k in np.flatnonzero(self.converged_):
            images[k] = image(member(self.generators_, k), values)
        return images

    def _map(self, k, seed, penalty) -> GANTransport:
        """Return one member as a fitted transport of its own."""
        options = {name: value for name, value in self.get_params().items() if name in GANTransport().get_params()}
        one = GANTransport(**options | {"random_state": int(seed), "penalty": float(penalty)})
        one.generator_, one.history_ = member(self.generators_, k), self.history_.of_map(k)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(one, name, getattr(self, name))
        return one


def samples(estimator, X_source, X_target, n_maps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two float32 arrays of shape (n_maps, n, n_features): every map's own sample, or the one that all share.

    The columns are remembered in `estimator`.

    Raises
    ------
    ValueError
        If features are not what is expected, or there is not one sample for each map.
    """
    source, columns = _stacked_sample(X_source, n_maps, "X_source")
    target, target_columns = _stacked_sample(X_target, n_maps, "X_target")
    check_same_columns(columns, target_columns, "X_source", "X_target")
    validate_data(estimator, X_source if np.ndim(X_source) == 2 else X_source[0], skip_check_array=True)
    return source, target


def _stacked_sample(X, n_maps, name):
    if np.ndim(X) != 3:
        values, columns = check_features(X, name, min_rows=2)
        return np.broadcast_to(single_precision(values, name), (n_maps, *values.shape)), columns
    own = one_each(X, n_maps, name)
    values, columns = zip(*(check_features(x, f"{name}[{k}]", min_rows=2) for k, x in enumerate(own)), strict=True)
    return single_precision(np.stack(values), name), columns[0]
