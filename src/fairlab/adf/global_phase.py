"""ADF's global phase: move seeds along the gradients of both sides of a pair until it is discriminatory (Algorithm 1).

Two readings. `as_published` is what stands behind the printed tables: gradients in float32, which are exactly 0 for
many inputs; a seed whose own gradient is 0 stays where it is, one whose partner's is 0 moves by +1 along every
attribute of nonzero gradient; without any common direction one attribute is drawn and moved. `as_described` is
Algorithm 1 with gradients that cannot vanish by rounding. In both the label of the loss is the predicted class: section
2 says so, the algorithm's text says ground truth, which inputs that were made up do not have.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from fairlab.adf.discrimination import counterparts
from fairlab.adf.result import repeated
from fairlab.cases.schema import Schema
from fairlab.networks import Network

READINGS = ("as_published", "as_described")


@dataclass(frozen=True, eq=False)
class GlobalPhase:
    """Seeds that became discriminatory.

    Attributes
    ----------
    inputs : ndarray of int of shape (n_found, n_attributes)
    partner : ndarray of int of shape (n_found, n_sensitive)
        Protected values that give another class.
    seed : ndarray of int of shape (n_found,)
        Number of the seed.
    iterations : ndarray of int of shape (n_seeds,)
        Steps taken; `max_iter` for seeds that failed.

    Examples
    --------
    >>> from fairlab.adf import GlobalPhase
    >>> phase = GlobalPhase(np.array([[3, 0], [9, 1]]), np.array([1, -1]), np.array([0, 1]), np.array([2, 10]))
    >>> phase.successful.tolist()
    [True, True]
    """

    inputs: np.ndarray
    partner: np.ndarray
    seed: np.ndarray
    iterations: np.ndarray

    @property
    def successful(self) -> np.ndarray:
        """Whether each seed became discriminatory."""
        return np.isin(np.arange(len(self.iterations)), self.seed)


def run_global_phase(
    network: Network,
    seeds: np.ndarray,
    *,
    schema: Schema,
    sensitive,
    max_iter: int,
    reading: str,
    rng: np.random.Generator,
    tried: Schema | None = None,
    stop=lambda: False,
) -> GlobalPhase:
    """Advance all seeds together, one step at a time.

    An input that another seed became already does not count: its seed goes on.

    Parameters
    ----------
    tried : Schema or None
        Another schema for the values of the protected attributes that are tried here; see `fairlab.adf.ADF`.
    stop : callable
        Asked before every step whether to end early.
    """
    tried = tried or schema
    columns = schema.positions(sensitive)
    X = seeds.copy()
    active = np.arange(len(X))
    iterations = np.full(len(X), max_iter)
    values = tried.values(sensitive)
    found, partners, owners = np.empty((0, X.shape[1]), dtype=X.dtype), [], []
    for step in range(max_iter + 1):
        if stop() or not len(active):
            break
        partner, flips = choose_partner(network, X[active], schema=tried, sensitive=sensitive, reading=reading)
        hits = np.flatnonzero(flips)
        together = np.concatenate([found, X[active[hits]]])
        hits = hits[~repeated(together, columns)[len(found) :]]
        found = np.concatenate([found, X[active[hits]]])
        partners.append(values[partner[hits]])
        owners.append(active[hits])
        iterations[active[hits]] = step
        left = np.setdiff1d(np.arange(len(active)), hits)
        active, partner = active[left], partner[left]
        if step < max_iter and len(active):
            other = with_partner(X[active], partner, schema=tried, sensitive=sensitive)
            X[active] = schema.clip(X[active] + direction(network, X[active], other, columns, reading, rng))
    owner = np.concatenate([np.empty(0, dtype=int), *owners])
    order = np.argsort(owner)
    partner = np.concatenate([np.empty((0, len(columns)), dtype=int), *partners])[order]
    return GlobalPhase(found[order], partner, owner[order], iterations)


def choose_partner(network: Network, X, *, schema: Schema, sensitive, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """Return which combination of protected values to pair every input with, and whether it has another class.

    The first combination of another class; without one, that of the largest difference of probability (equation 3). As
    published, -1 if every difference is exactly 0.
    """
    every = counterparts(X, sensitive, schema=schema)
    logits = network.logits(every.reshape(-1, X.shape[1])).reshape(*every.shape[:2], -1)
    own_logits = network.logits(X)
    if reading == "as_described":
        logits, own_logits = logits.astype(float), own_logits.astype(float)
    probabilities, own = softmax(logits, axis=-1), softmax(own_logits, axis=-1)
    label = own.argmax(axis=1)
    flips = probabilities.argmax(axis=2) != label[:, None]
    difference = np.abs(
        np.take_along_axis(probabilities, label[:, None, None], axis=2)[:, :, 0]
        - own[np.arange(len(X)), label][:, None]
    )
    furthest = difference.argmax(axis=1)
    if reading == "as_published":
        furthest[difference.max(axis=1) == 0] = -1
    else:
        same = (every == X[:, None, :]).all(axis=2)
        furthest = np.where(same, -1.0, difference).argmax(axis=1)
    return np.where(flips.any(axis=1), flips.argmax(axis=1), furthest), flips.any(axis=1)


def with_partner(X: np.ndarray, partner: np.ndarray, *, schema: Schema, sensitive) -> np.ndarray:
    """Return every input with its partner's protected values; they are -1 where it has none."""
    values = np.concatenate([schema.values(sensitive), [[-1] * len(schema.positions(sensitive))]])
    other = X.copy()
    other[:, schema.positions(sensitive)] = values[partner]
    return other


def direction(network: Network, X, other, sensitive: np.ndarray, reading: str, rng) -> np.ndarray:
    """Return the step of every input in {-1, 0, 1}: where both sides of the pair agree in sign."""
    if reading == "as_described":
        own, theirs = (-np.sign(network.margin_gradient(side)[1]) for side in (X, other))
        step = np.where(own == theirs, own, 0)
        step[:, sensitive] = 0
        return step
    own, theirs = (np.sign(network.loss_gradient(side)) for side in (X, other))
    no_own, no_theirs = (~side.any(axis=1, keepdims=True) for side in (own, theirs))
    mask = np.where(no_own, theirs, np.where(no_theirs, own, own == theirs))
    mask[:, sensitive] = 0
    nowhere = np.flatnonzero(~mask.any(axis=1))
    free = np.setdiff1d(np.arange(X.shape[1]), sensitive)
    mask[nowhere, rng.choice(free, len(nowhere))] = 1
    return own * mask
