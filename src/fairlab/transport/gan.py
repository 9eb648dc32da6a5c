"""Approximate transport by FlipTest's Wasserstein GAN: a network moves the source until it passes for the target."""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.base import BaseEstimator
from tqdm.auto import tqdm

from fairlab.checks import check_features, check_same_columns
from fairlab.networks import forward
from fairlab.transport.gan_training import LOSSES, Recipe, compiled_training, initial_networks
from fairlab.transport.memory import free_bytes, require_memory

# Members of an ensemble that are trained as one batch of matrices: enough to gain what batching gains, few enough that
# padding costs little and blocks can run side by side, one per thread. Wide networks gain nothing from batching.
BLOCK = 5
WIDE = 256

# Rows that are mapped at once, so that hidden layers of a large table stay small.
ROWS = 16_384

FLOAT_BYTES = 4


class DivergenceError(RuntimeError):
    """Training ended in weights that are not finite."""


class DivergenceWarning(UserWarning):
    """Some members of an ensemble diverged; their images are NaN."""


@dataclass(frozen=True)
class LossHistory:
    """Losses of an ensemble, each the mean over the steps since the one before.

    Attributes
    ----------
    step : array of shape (n_records,)
        Generator steps done.
    critic : array of shape (n_records, n_maps)
        Mean D over real points minus mean D over generated ones, at the last critic step.
    adversarial : array of shape (n_records, n_maps)
        Mean D over generated points, which the generator minimises.
    cost : array of shape (n_records, n_maps)
        Mean squared L1 move, without the penalty's factor.
    """

    step: np.ndarray
    critic: np.ndarray
    adversarial: np.ndarray
    cost: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record and map, with columns step, map, critic, adversarial, cost."""
        n_records, n_maps = self.critic.shape
        columns = {"step": np.repeat(self.step, n_maps), "map": np.tile(np.arange(n_maps), n_records)}
        return pd.DataFrame(columns | {name: getattr(self, name).ravel() for name in LOSSES})


class GANTransport(BaseEstimator):
    """One map from source to target, learnt by the Wasserstein GAN of FlipTest (section 3.1, equation 1).

    The generator G minimises mean D(G(x)) + penalty * mean squared L1 distance of x and G(x). The critic D, whose
    weights and biases are clipped, is low on the target and high on the image of the source; each of its steps is
    one update on a target batch and one on a generated batch.

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
        Seed of weights and batches, at least 0. The same seed gives the same map. It is that of a `GANEnsemble` with
        this seed but for the rounding of float32, which takes another order there and which training magnifies.
    log_every : int
        Generator steps per record of the loss history.
    progress : bool
        Whether to show a progress bar.

    Attributes
    ----------
    generator_ : list of arrays
        Weights and biases of each layer in turn.
    history_ : LossHistory
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
        DivergenceError
            If the weights do not stay finite.
        """
        settings = self.get_params()
        ensemble = GANEnsemble([settings.pop("random_state")], **settings)
        ensemble._fit(X_source, X_target, block=1)
        self._take(ensemble, 0)
        return self

    def transform(self, X):
        """Return the image of every row, fitted or not.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)

        Returns
        -------
        DataFrame or array of shape (n_rows, n_features)
            As `X`: a DataFrame keeps its columns and index.

        Raises
        ------
        ValueError
            If the map is not fitted, or the features are not what is expected.
        """
        _require_fitted(self, "generator_")
        values, columns = check_features(X, "X")
        check_same_columns(columns, self.columns_, "X", "the fitted X_source")
        image = _image(self.generator_, values)
        return pd.DataFrame(image, index=X.index, columns=X.columns) if isinstance(X, pd.DataFrame) else image

    def to_arrays(self) -> dict:
        """Return everything that it takes to rebuild the fitted map, as plain data.

        Returns
        -------
        dict
            ``parameters``, those of the constructor, ``generator``, ``columns`` and ``history``.
        """
        _require_fitted(self, "generator_")
        return {
            "parameters": self.get_params(),
            "generator": self.generator_,
            "columns": self.columns_,
            "history": asdict(self.history_),
        }

    @classmethod
    def from_arrays(cls, arrays: dict) -> "GANTransport":
        """Return the map that `to_arrays` took apart; it answers the same, to the last bit."""
        transport = cls(**arrays["parameters"])
        transport.generator_ = list(arrays["generator"])
        transport.columns_ = list(arrays["columns"])
        transport.history_ = LossHistory(**arrays["history"])
        return transport

    def _take(self, ensemble: "GANEnsemble", member: int) -> None:
        """Become one fitted member of an ensemble."""
        self.generator_ = [parameter[member] for parameter in ensemble.generators_]
        self.columns_ = ensemble.columns_
        history = {name: getattr(ensemble.history_, name)[:, [member]] for name in LOSSES}
        self.history_ = LossHistory(step=ensemble.history_.step, **history)


class GANEnsemble(BaseEstimator):
    """Independent maps, trained at once as batched matrices (see `GANTransport` for the recipe).

    Parameters
    ----------
    random_states : sequence of int
        One seed per map. A map depends on its own seed only, to the last bit, whichever others are in the ensemble.
    penalty : float or array-like of shape (n_maps,)
        The paper's lambda; one per map shows how sensitive the map is to it.
    n_threads : int, optional
        Most blocks of members to train side by side; by default ``TF_NUM_INTRAOP_THREADS`` if set, else the cores.
        Fewer run at once where memory is short, with the same result.
    memory_limit_gb : float, optional
        Memory in GiB that training and mapping may take; by default what the machine has free.
    **recipe
        The other options of `GANTransport`.

    Attributes
    ----------
    generators_ : list of arrays
        Weights, shape (n_maps, n_in, n_out), and biases, shape (n_maps, 1, n_out), of each layer in turn.
    history_ : LossHistory
    converged_ : bool array of shape (n_maps,)
        False where the weights did not stay finite.
    maps_ : list of GANTransport
        The members, fitted. A diverged one maps to NaN.
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
            If the fitted networks, or one block of members in training, will not fit.
        DivergenceError
            If no map's weights stay finite.

        Warns
        -----
        DivergenceWarning
            If some maps' weights do not.
        """
        return self._fit(X_source, X_target, block=BLOCK if max(self.hidden_layers, default=0) < WIDE else 1)

    def _fit(self, X_source, X_target, *, block):
        seeds, penalty = self._checked_options()
        n_maps = len(seeds)
        source, columns = _samples(X_source, n_maps, "X_source")
        target, target_columns = _samples(X_target, n_maps, "X_target")
        check_same_columns(columns, target_columns, "X_source", "X_target")

        # Compiled code sums in another order for other numbers of members, and training magnifies every rounding. In
        # blocks of one fixed size a member is the same to the last bit in every ensemble. The last block is filled up
        # with members once more.
        members = np.resize(np.arange(n_maps), -(-n_maps // block) * block)
        blocks = members.reshape(-1, block)
        n_threads = self._affordable_threads(source, target, block)
        with (
            tqdm(total=len(members) * self.n_steps, disable=not self.progress, desc="GAN", unit="step") as bar,
            ThreadPoolExecutor(n_threads) as pool,
        ):
            trained = list(
                pool.map(lambda part: self._train(source[part], target[part], seeds[part], penalty[part], bar), blocks)
            )
        generators, losses = zip(*trained, strict=True)
        self.generators_ = [np.concatenate(parameter)[:n_maps] for parameter in zip(*generators, strict=True)]
        self.columns_ = columns
        self.history_ = LossHistory(
            step=np.array([end for _, end in self._chunks()]),
            **dict(zip(LOSSES, np.concatenate(losses, axis=2)[:, :, :n_maps].transpose(1, 0, 2), strict=True)),
        )
        finite = [np.isfinite(parameter).reshape(n_maps, -1).all(axis=1) for parameter in self.generators_]
        self.converged_ = np.all(finite, axis=0) & np.isfinite(self.history_.cost[-1])
        self._report_divergence(seeds)
        self.maps_ = [self._member(k, seeds[k], penalty[k]) for k in range(n_maps)]
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
        ValueError
            If the maps are not fitted, or the features are not what is expected.
        MemoryError
            If the images will not fit.
        """
        _require_fitted(self, "generators_")
        values, columns = check_features(X, "X")
        check_same_columns(columns, self.columns_, "X", "the fitted X_source")
        require_memory(
            len(self.converged_) * values.nbytes,
            f"the image of {len(values):,} rows under {len(self.converged_)} maps",
            limit_gb=self.memory_limit_gb,
            advice="map fewer rows at once, or one map of maps_ after the other",
        )
        image = np.full((len(self.converged_), *values.shape), np.nan)
        for member in np.flatnonzero(self.converged_):
            image[member] = _image([parameter[member] for parameter in self.generators_], values)
        return image

    def _checked_options(self):
        """Return seeds and penalties as arrays of shape (n_maps,)."""
        seeds = np.atleast_1d(self.random_states)
        if seeds.ndim != 1 or len(seeds) == 0 or not np.issubdtype(seeds.dtype, np.integer) or seeds.min() < 0:
            raise ValueError(f"random_states: expected integers of at least 0, found {self.random_states!r}")
        penalty = np.asarray(self.penalty, dtype=np.float32)
        if penalty.shape not in ((), seeds.shape):
            raise ValueError(f"penalty: expected a number or one per map ({len(seeds)}), found shape {penalty.shape}")
        options = {name: getattr(self, name) for name in ("learning_rate", "clip")}
        for name, value in {"penalty (lambda)": penalty, **options}.items():
            if not np.all(np.isfinite(value) & (np.asarray(value) > 0)):
                raise ValueError(f"{name}: expected finite numbers above 0, found {value}")
        for name in ("n_steps", "batch_size", "critic_steps", "log_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, found {getattr(self, name)}")
        if any(width < 1 for width in self.hidden_layers):
            raise ValueError(f"hidden_layers: expected widths of at least 1, found {self.hidden_layers}")
        if self.n_threads is not None and self.n_threads < 1:
            raise ValueError(f"n_threads: expected at least 1, found {self.n_threads}")
        return seeds.astype(np.int64), np.broadcast_to(penalty, seeds.shape)

    def _affordable_threads(self, source, target, block):
        """Return how many blocks to train side by side in the memory there is."""
        (n_maps, n_source, width), n_target = source.shape, target.shape[1]
        n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise((width, *self.hidden_layers, width)))
        advice = "split random_states over several ensembles: a map depends on its own seed only"
        kept = FLOAT_BYTES * n_maps * n_weights
        require_memory(kept, f"keeping {n_maps} networks", limit_gb=self.memory_limit_gb, advice=advice)
        # Measured, beside a fixed share of the compiler: the two networks with their mean squared gradients take four
        # times their size, the sample three times (sliced, handed over, gathered from), each layer's batches twice.
        n_rows = self.batch_size * (self.critic_steps + 1)
        in_layers = 4 * n_rows * (2 * width + sum(self.hidden_layers))
        per_block = FLOAT_BYTES * block * (16 * n_weights + in_layers + 3 * (n_source + n_target) * width)
        advice = "use narrower hidden_layers, a smaller batch_size or fewer rows"
        what = f"training networks of {n_weights:,} weights on {n_source:,} + {n_target:,} rows"
        require_memory(kept + per_block, what, limit_gb=self.memory_limit_gb, advice=advice)
        affordable = (free_bytes(self.memory_limit_gb) - kept) // per_block
        return min(self.n_threads or _available_threads(), affordable)

    def _train(self, X_source, X_target, seeds, penalty, bar):
        """Return the generators of some members, and their losses of shape (n_records, 3, n_members)."""
        width = X_source.shape[2]
        generator = initial_networks(seeds, (width, *self.hidden_layers, width), stream=0)
        critic = initial_networks(seeds, (width, *self.hidden_layers, 1), stream=1)
        state = [generator, _zeros_like(generator), critic, _zeros_like(critic)]
        state = tuple([tf.constant(parameter) for parameter in network] for network in state)
        train = compiled_training(Recipe(self.batch_size, self.critic_steps, self.learning_rate, self.clip))
        data = [tf.constant(values) for values in (X_source, X_target, seeds, penalty)]
        history = np.full((len(self._chunks()), len(LOSSES), len(seeds)), np.nan, np.float32)
        for record, (start, end) in enumerate(self._chunks()):
            state, losses = train(*data, tf.constant(start), tf.constant(end - start), state)
            history[record] = losses
            bar.update((end - start) * len(seeds))
            if not np.isfinite(history[record]).all(axis=0).any():
                break
        return [parameter.numpy() for parameter in state[0]], history

    def _chunks(self):
        """Return first and one past the last step of every stretch between two records."""
        starts = range(0, self.n_steps, self.log_every)
        return [(start, min(start + self.log_every, self.n_steps)) for start in starts]

    def _report_divergence(self, seeds):
        if self.converged_.all():
            return
        message = (
            f"weights of {np.sum(~self.converged_)} of {len(seeds)} maps did not stay finite, those of random_states "
            f"{seeds[~self.converged_].tolist()}; scale the features or lower learning_rate or penalty"
        )
        if not self.converged_.any():
            raise DivergenceError(message)
        warnings.warn(message, DivergenceWarning, stacklevel=3)

    def _member(self, member, seed, penalty):
        settings = {name: value for name, value in self.get_params().items() if name in GANTransport().get_params()}
        fitted = GANTransport(**settings | {"random_state": int(seed), "penalty": float(penalty)})
        fitted._take(self, member)
        return fitted


def _samples(X, n_maps, name):
    """Return float32 samples of shape (n_maps, n, n_features), and the names of the columns."""
    if np.ndim(X) != 3:
        values, columns = check_features(X, name, min_rows=2)
        return np.broadcast_to(values.astype(np.float32), (n_maps, *values.shape)), columns
    if len(X) != n_maps:
        raise ValueError(f"{name}: has {len(X)} samples for {n_maps} random_states, expected one each")
    values, columns = zip(*(check_features(x, f"{name}[{k}]", min_rows=2) for k, x in enumerate(X)), strict=True)
    return np.stack(values).astype(np.float32), columns[0]


def _image(generator, X):
    """Return a generator's outputs for float `X`; plain NumPy, so that a fitted map needs no session."""
    image = np.empty(X.shape)
    for start in range(0, len(X), ROWS):
        rows = X[start : start + ROWS].astype(np.float32)
        image[start : start + ROWS] = forward(generator, rows)
    return image


def _zeros_like(network):
    return [np.zeros_like(parameter) for parameter in network]


def _available_threads():
    return int(os.environ.get("TF_NUM_INTRAOP_THREADS") or joblib.cpu_count())


def _require_fitted(estimator, attribute):
    if not hasattr(estimator, attribute):
        raise ValueError(f"this {type(estimator).__name__} is not fitted yet; call fit first")
