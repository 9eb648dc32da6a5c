"""Training that ended in weights that are not finite."""

import numpy as np


class DivergenceError(RuntimeError):
    """Training ended in weights that are not finite.

    Examples
    --------
    >>> from fairlab.transport import DivergenceError
    >>> issubclass(DivergenceError, RuntimeError)
    True
    """


class DivergenceWarning(UserWarning):
    """Some members of an ensemble diverged; their images are NaN.

    Examples
    --------
    >>> from fairlab.transport import DivergenceWarning
    >>> issubclass(DivergenceWarning, UserWarning)
    True
    """


def finite_members(network) -> np.ndarray:
    """Return whether all weights of each member of a stacked network are finite, shape (n_members,)."""
    return np.all([np.isfinite(part).reshape(len(part), -1).all(axis=1) for part in network], axis=0)
