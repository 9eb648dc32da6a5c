"""Networks of the paper's shape, several trained at once, and retraining with discriminatory inputs (section 4.2, RQ3).

The members of an ensemble are an array axis: they share every instruction and nothing else.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairlab.cases.model import wrap_model
from fairlab.checks import check_count, check_features, check_seed
from fairlab.models.loops import IS_COMPILED, compiled
from fairlab.networks import DENORMAL
from fairlab.papers.training import BETA_1, BETA_2, Training, backpropagate

HIDDEN = (64, 32, 16, 8, 4)
LEARNING_RATE, EPSILON = 0.01, 1e-8  # of Adam, as in TensorFlow 1
RESTS = np.float32(1 - BETA_1), np.float32(1 - BETA_2)
ZERO = np.float32(0)
BATCH_SIZE = 128
MOST_EPOCHS = 1000


def train_networks(X: ArrayLike, y: ArrayLike, random_states: Sequence[int], *, n_steps: int) -> list[list[np.ndarray]]:
    """Train networks from scratch as the authors' code does, but for the number of steps.

    Columns of standard normal weights scaled to unit length, biases 0; softmax cross-entropy, Adam with rate 0.01,
    batches of 128, rows reshuffled every epoch.

    Parameters
    ----------
    X : array of int of shape (n_rows, n_attributes)
        Not normalised.
    y : array of int of shape (n_rows,)
        Classes from 0.
    random_states : sequence of int
        One per network.
    n_steps : int
        Maximum number of steps, rounded down to whole epochs: at least one and at most 1,000, the authors' number.

    Returns
    -------
    list of list of ndarray
        Kernels and biases of each network, in turn; see `fairlab.networks.FeedForward`.

    Raises
    ------
    ValueError
        If the rows are no numbers, `y` is not one class per row, counted from 0, or `n_steps` is no count.

    Examples
    --------
    >>> from fairlab.papers.adf.training import train_networks
    >>> X, y = np.arange(20).reshape(10, 2), np.repeat([0, 1], 5)
    >>> (weights,) = train_networks(X, y, [0], n_steps=1)
    >>> [part.shape for part in weights][:2]
    [(2, 64), (64,)]
    """
    X = check_features(X)[0].astype(np.float32)
    n_steps, y = check_count(n_steps, "n_steps"), _check_classes(y, len(X))
    rngs = _generators(random_states)
    widths = [X.shape[1], *HIDDEN, int(y.max()) + 1]
    start = [_initial(widths, rng) for rng in rngs]
    n_epochs = int(np.clip(n_steps // -(-len(X) // BATCH_SIZE), 1, MOST_EPOCHS))
    return fit(start, X, y, [np.arange(len(X))] * len(start), rngs, n_epochs=n_epochs)


def trained(trials, X, y, n_steps) -> list[list[np.ndarray]]:
    """Return the weights of one network per trial, each by its own seed; for `Experiment.trials` with ``batch``.

    Parameters
    ----------
    trials : sequence of Trial
    X, y, n_steps
        As for `train_networks`.
    """
    return train_networks(X, y, [trial.seed("network") for trial in trials], n_steps=n_steps)


def majority_vote(voters: Sequence, X: ArrayLike) -> np.ndarray:
    """Return the class that most models give each input; ties go to the smallest class.

    Parameters
    ----------
    voters : sequence of models
        Each gives classes, counted from 0.

    Raises
    ------
    ValueError
        If there is no voter, or one returns anything but classes.

    Examples
    --------
    >>> from fairlab.papers.adf.training import majority_vote
    >>> voters = [
    ...     lambda X: np.zeros(len(X), dtype=int),
    ...     lambda X: np.ones(len(X), dtype=int),
    ...     lambda X: X[:, 0] > 1,
    ... ]
    >>> majority_vote(voters, np.array([[0], [2]])).tolist()
    [0, 1]
    """
    _check_voters(voters)
    if np.ndim(X) != 2:
        raise ValueError(f"X: expected shape (n_rows, n_attributes), found {np.shape(X)}")
    votes = np.stack([_check_classes(wrap_model(voter).classes_of(X), len(X), "voters") for voter in voters])
    counts = (votes[:, :, None] == np.arange(votes.max() + 1)).sum(axis=0)
    return counts.argmax(axis=1)


def retrain(
    weights: Sequence[np.ndarray],
    X: ArrayLike,
    y: ArrayLike,
    additions: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    *,
    n_epochs: int,
    random_states: Sequence[int],
) -> Any:
    """Continue training a network on its data and discriminatory inputs.

    Parameters
    ----------
    weights : list of ndarray
        The network.
    X, y : arrays of shape (n_rows, n_attributes) and (n_rows,)
        Its training data.
    additions : sequence of arrays of int of shape (n_added, n_attributes)
        One per network wanted; may be empty, for comparison with training alone.
    labels : sequence of arrays of int of shape (n_added,)
        Classes of these inputs, such as those of `majority_vote`.
    n_epochs : int
    random_states : sequence of int
        One per network wanted.

    Returns
    -------
    list of list of ndarray
        Weights of each retrained network.

    Raises
    ------
    ValueError
        If additions, labels and random states differ in number, `y` or labels are not one class per row, counted from
        0, or `n_epochs` is no count.

    Examples
    --------
    >>> from fairlab.papers.adf.training import retrain, train_networks
    >>> X, y = np.arange(20).reshape(10, 2), np.repeat([0, 1], 5)
    >>> (weights,) = train_networks(X, y, [0], n_steps=1)
    >>> len(retrain(weights, X, y, [X[:2]], [[1, 1]], n_epochs=1, random_states=[0]))
    1
    """
    X = check_features(X)[0]
    n_epochs, y, rngs = check_count(n_epochs, "n_epochs"), _check_classes(y, len(X)), _generators(random_states)
    if not np.iterable(additions):
        raise ValueError(f"additions: expected rows for each network, found {additions!r}")
    if not len(additions) == len(labels) == len(random_states):
        found = f"{len(additions)}, {len(labels)} and {len(random_states)}"
        raise ValueError(f"additions, labels, random_states: expected as many of each, found {found}")
    additions = [np.asarray(added) for added in additions]
    for added in additions:
        if added.ndim != 2 or added.shape[1] != np.shape(X)[1]:
            raise ValueError(f"additions: expected {np.shape(X)[1]} columns, found shape {added.shape}")
    if not np.iterable(weights) or len(weights) < 2 or np.shape(weights[0])[:1] != np.shape(X)[1:]:
        raise ValueError(f"weights: expected kernels and biases of a network of {np.shape(X)[1]} columns")
    added = np.concatenate(additions)
    classes = [_check_classes(own, len(rows), "labels") for own, rows in zip(labels, additions, strict=True)]
    ends = np.cumsum([0, *map(len, additions)]) + len(X)
    rows = [np.concatenate([np.arange(len(X)), np.arange(low, high)]) for low, high in pairwise(ends)]
    everything = np.concatenate([np.asarray(X), added]).astype(np.float32)
    return fit([weights] * len(rows), everything, np.concatenate([y, *classes]), rows, rngs, n_epochs=n_epochs)


class TrainingInOnePass(Training):
    """`Training` with Adam in one compiled pass; results are the same bit for bit.

    The moments of units that are never active decay to denormal numbers, which are slow; these are set to 0. They are
    negligible beside epsilon long before.
    """

    def step(self, X, y) -> None:
        """Learn from a batch of each network, as `Training` does."""
        backpropagate(self.network, X, y, out=self._slopes)
        self._n_steps += 1
        rate = self._learning_rate * np.sqrt(1 - BETA_2**self._n_steps) / (1 - BETA_1**self._n_steps)
        state = self._flat, self._gradient, self._mean, self._square
        _adam(*(part.reshape(-1) for part in state), rate, RESTS, np.float32(self._epsilon))


@compiled
def _adam(parameters, gradient, mean, square, rate, rests, epsilon):
    """Take a step of Adam on vectors, as `fairlab.papers.training.adam` does on arrays."""
    for i in range(len(parameters)):
        m = mean[i] + rests[0] * (gradient[i] - mean[i])
        s = square[i] + rests[1] * (gradient[i] * gradient[i] - square[i])
        mean[i], square[i] = m if abs(m) >= DENORMAL else ZERO, s if s >= DENORMAL else ZERO
        parameters[i] = parameters[i] - rate * mean[i] / np.float64(np.sqrt(square[i]) + epsilon)


def fit(start, X, y, rows, rngs, *, n_epochs: int) -> list[list[np.ndarray]]:
    """Train an ensemble, each member from its own weights on its own rows.

    Members with fewer rows than others go through theirs again, so that all take the same number of steps.

    Parameters
    ----------
    start : list of list of ndarray
        Kernels and biases of each network.
    X : ndarray of float32 of shape (n_rows, n_attributes)
    y : ndarray of int of shape (n_rows,)
    rows : sequence of ndarray of int
        For each network, the rows that it is trained on.
    rngs : sequence of Generator
        One per network.
    n_epochs : int
    """
    training = (TrainingInOnePass if IS_COMPILED else Training)(start, LEARNING_RATE, epsilon=EPSILON)
    n_batches = -(-max(map(len, rows)) // BATCH_SIZE)
    for _ in range(n_epochs):
        order = np.stack([_shuffled(own, n_batches * BATCH_SIZE, rng) for own, rng in zip(rows, rngs, strict=True)])
        for members in np.split(order, n_batches, axis=1):
            training.learn_from(X, y, members)
    return training.networks()


def _generators(random_states) -> list[np.random.Generator]:
    if not np.iterable(random_states) or not len(random_states):
        raise ValueError(f"random_states: expected one for each network, found {random_states!r}")
    return [np.random.default_rng(check_seed(state, "random_states")) for state in random_states]


def _check_voters(voters) -> None:
    if not np.iterable(voters) or not len(voters):
        raise ValueError(f"voters: expected at least one model, found {voters!r}")


def _check_classes(y, n_rows: int, name: str = "y") -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"{name}: expected one class for each of {n_rows} rows, found shape {y.shape}")
    if y.dtype.kind not in "biuf" or not (np.isfinite(y) & (y >= 0) & (y == np.trunc(y))).all():
        raise ValueError(f"{name}: expected classes counted from 0, found {y[:3].tolist()} ...")
    return y.astype(int)


def _shuffled(rows, n, rng) -> np.ndarray:
    """Return `n` of the rows in random order; no row repeats before all have occurred."""
    return np.concatenate([rng.permutation(rows) for _ in range(-(-n // len(rows)))])[:n]


def _initial(widths, rng) -> list[np.ndarray]:
    weights = []
    for n_in, n_out in pairwise(widths):
        kernel = rng.standard_normal((n_in, n_out))
        weights += [kernel / np.linalg.norm(kernel, axis=0), np.zeros(n_out)]
    return weights
