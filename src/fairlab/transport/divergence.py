"""Training that ended in weights that are not finite."""

import numpy as np


class DivergenceError(RuntimeError):
    """Training ended in weights that are not finite."""


class DivergenceWarning(UserWarning):
    """Some members of an ensemble diverged; their images are NaN."""


def finite_members(network) -> np.ndarray:
    """Return whether all weights of each member of a stacked network are finite, shape (n_members,)."""
    return np.all([np.isfinite(part).reshape(len(part), -1).all(axis=1) for part in network], axis=0)
