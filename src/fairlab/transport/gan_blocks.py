"""Training many maps of FlipTest's GAN: in blocks of members, side by side as far as memory goes.

Compiled code sums in another order for other numbers of members, and training magnifies every rounding. In blocks of
one fixed size a map is the same to the last bit whichever others are trained along.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import joblib
import numpy as np
from tqdm.auto import tqdm

from fairlab.checks import optional
from fairlab.transport.gan_training import Recipe, compiled_training, initial_networks
from fairlab.transport.loss_history import LOSSES, LossHistory
from fairlab.transport.memory import free_bytes, require_memory

tf = optional("tensorflow")

FLOAT_BYTES = 4


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
    block: int,
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
    block : int
        Members that are trained as one batch of matrices.
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
        If the networks, or one block in training, will not fit.
    """
    n_maps, width = len(seeds), X_source.shape[2]
    widths = (width, *hidden_layers, width)
    records = [(start, min(start + log_every, n_steps)) for start in range(0, n_steps, log_every)]
    affordable = affordable_blocks(X_source, X_target, widths, recipe, block=block, memory_limit_gb=memory_limit_gb)
    n_threads = min(n_threads or int(os.environ.get("TF_NUM_INTRAOP_THREADS") or joblib.cpu_count()), affordable)
    # The last block is filled up with members once more.
    blocks = np.resize(np.arange(n_maps), -(-n_maps // block) * block).reshape(-1, block)
    with (
        tqdm(total=blocks.size * n_steps, disable=not progress, desc="GAN", unit="step") as bar,
        ThreadPoolExecutor(n_threads) as pool,
    ):

        def train(rows):
            data = X_source[rows], X_target[rows], seeds[rows], penalty[rows]
            return train_block(*data, widths, records, recipe, bar)

        generators, losses = zip(*pool.map(train, blocks), strict=True)
    generators = [np.concatenate(parts)[:n_maps] for parts in zip(*generators, strict=True)]
    losses = np.concatenate(losses, axis=2)[:, :, :n_maps].transpose(1, 0, 2)
    steps = np.array([end for _, end in records])
    return generators, LossHistory(step=steps, **dict(zip(LOSSES, losses, strict=True)))


def train_block(X_source, X_target, seeds, penalty, widths, records, recipe: Recipe, bar):
    """Return the generators of some members, and their losses of shape (n_records, 3, n_members).

    Losses are NaN from where no member's were finite, and training ended.
    """
    generator = initial_networks(seeds, widths, stream=0)
    critic = initial_networks(seeds, (*widths[:-1], 1), stream=1)
    state = [generator, list(map(np.zeros_like, generator)), critic, list(map(np.zeros_like, critic))]
    state = tuple([tf.constant(part) for part in network] for network in state)
    data = [tf.constant(values) for values in (X_source, X_target, seeds, penalty)]
    train = compiled_training(recipe)
    history = np.full((len(records), len(LOSSES), len(seeds)), np.nan, np.float32)
    for record, (start, end) in enumerate(records):
        state, losses = train(*data, tf.constant(start), tf.constant(end - start), state)
        history[record] = losses
        bar.update((end - start) * len(seeds))
        if not np.isfinite(history[record]).all(axis=0).any():
            break
    return [part.numpy() for part in state[0]], history


def affordable_blocks(X_source, X_target, widths, recipe: Recipe, *, block: int, memory_limit_gb: float | None) -> int:
    """Return how many blocks can be trained side by side in the memory there is.

    Raises
    ------
    MemoryError
        If not even one can.
    """
    n_maps, n_weights = len(X_source), sum((n_in + 1) * n_out for n_in, n_out in pairwise(widths))
    kept = FLOAT_BYTES * n_maps * n_weights
    advice = "split random_states over several ensembles: a map depends on its own seed only"
    require_memory(kept, f"keeping {n_maps} networks", limit_gb=memory_limit_gb, advice=advice)
    # Measured, beside a fixed share of the compiler: the two networks with their mean squared gradients take four
    # times their size, the sample three times (sliced, handed over, gathered from), each layer's batches twice.
    n_rows, n_points = recipe.batch_size * (recipe.critic_steps + 1), X_source.shape[1] + X_target.shape[1]
    per_block = FLOAT_BYTES * block * (16 * n_weights + 4 * n_rows * sum(widths) + 3 * n_points * widths[0])
    advice = "use narrower hidden_layers, a smaller batch_size or fewer rows"
    what = f"training networks of {n_weights:,} weights on {X_source.shape[1]:,} + {X_target.shape[1]:,} rows"
    require_memory(kept + per_block, what, limit_gb=memory_limit_gb, advice=advice)
    return (free_bytes(memory_limit_gb) - kept) // per_block
