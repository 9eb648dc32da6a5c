"""Training many maps of FlipTest's GAN: side by side as far as cores and memory go, each as if it were alone."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import joblib
import numpy as np
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from fairlab.networks import stacked
from fairlab.transport.gan_training import CHUNK, Recipe, train_map
from fairlab.transport.loss_history import LOSSES, LossHistory
from fairlab.transport.memory import free_bytes, require_memory

FLOAT_BYTES, INTEGER_BYTES = 4, 8


def train_maps(
    X_source,
    X_target,
    seeds,
    penalty,
    *,
    recipe: Recipe,
    hidden_layers: tuple[int, ...],
    n_steps: int,
    log_every: int,
    n_threads: int | None = None,
    memory_limit_gb: float | None = None,
    progress: bool = False,
) -> tuple[list[np.ndarray], LossHistory]:
    """Train one map for each seed.

    Parameters
    ----------
    X_source, X_target : array of float32 of shape (n_maps, n_source, n_features) and (n_maps, n_target, n_features)
    seeds : array of int64 of shape (n_maps,)
    penalty : array of float32 of shape (n_maps,)
    recipe : Recipe
    hidden_layers, n_steps, log_every, n_threads, memory_limit_gb, progress
        As for `fairlab.transport.GANEnsemble`.

    Returns
    -------
    generators : list of ndarray
        Stacked networks (see `fairlab.networks`). Not all weights need be finite.
    history : LossHistory

    Raises
    ------
    MemoryError
        If the networks, or one map in training, will not fit.
    """
    n_maps, width = len(seeds), X_source.shape[2]
    widths = (width, *hidden_layers, width)
    records = [(start, min(start + log_every, n_steps)) for start in range(0, n_steps, log_every)]
    affordable = affordable_maps(X_source, X_target, widths, recipe, memory_limit_gb=memory_limit_gb)
    n_threads = min(n_threads or int(os.environ.get("OMP_NUM_THREADS") or joblib.cpu_count()), affordable)
    with (
        tqdm(total=n_maps * n_steps, disable=not progress, desc="GAN", unit="step") as bar,
        # Threads of the matrix products would wait for each other, and round as they share the work.
        threadpool_limits(1, "blas"),
        ThreadPoolExecutor(n_threads) as pool,
    ):

        def train(k):
            data = X_source[k], X_target[k], seeds[k], penalty[k]
            return train_map(*data, widths, records, recipe, bar.update)

        generators, losses = zip(*pool.map(train, range(n_maps)), strict=True)
    steps = np.array([end for _, end in records])
    losses = np.stack(losses, axis=-1).transpose(1, 0, 2)
    return stacked(generators), LossHistory(step=steps, **dict(zip(LOSSES, losses, strict=True)))


def affordable_maps(X_source, X_target, widths, recipe: Recipe, *, memory_limit_gb: float | None) -> int:
    """Return how many maps can be trained side by side in the memory there is.

    Raises
    ------
    MemoryError
        If not even one can.
    """
    n_maps, n_weights = len(X_source), sum((n_in + 1) * n_out for n_in, n_out in pairwise(widths))
    kept = 2 * FLOAT_BYTES * n_maps * n_weights  # one by one, and stacked
    advice = "split random_states over several ensembles: a map depends on its own seed only"
    require_memory(kept, f"keeping {n_maps} networks", limit_gb=memory_limit_gb, advice=advice)
    # Two networks with their mean squared gradients, a gradient, and copies at the start and the end; two networks'
    # layers of a batch with what goes back through the widest; the rows that are drawn for a chunk of steps.
    floats = 8 * n_weights + 2 * (len(widths) + 1) * max(widths) * recipe.batch_size
    drawn = CHUNK * (2 * recipe.critic_steps + 1) * recipe.batch_size
    per_map = FLOAT_BYTES * floats + INTEGER_BYTES * drawn
    advice = "use narrower hidden_layers or a smaller batch_size"
    what = f"training networks of {n_weights:,} weights on batches of {recipe.batch_size:,}"
    require_memory(kept + per_map, what, limit_gb=memory_limit_gb, advice=advice)
    return (free_bytes(memory_limit_gb) - kept) // per_map
