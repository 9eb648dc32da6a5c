"""Costs of moving one point to another.

A cost is any callable ``cost(X_source, X_target)`` that takes arrays of shape (n_source, n_features) and
(n_target, n_features) and returns the matrix of shape (n_source, n_target) of all costs, none of them negative.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

Cost = Callable[[np.ndarray, np.ndarray], np.ndarray]


def squared_l1(X_source: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Return the square of the L1 distance of every pair, the cost of FlipTest (section 3.1).

    Parameters
    ----------
    X_source : array of shape (n_source, n_features)
    X_target : array of shape (n_target, n_features)

    Returns
    -------
    array of shape (n_source, n_target)
        In the squared unit of the features.

    Raises
    ------
    ValueError
        If a sample is not of shape (n_rows, n_features), or they have different numbers of features.

    Examples
    --------
    >>> from fairlab.transport import squared_l1
    >>> squared_l1(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[9.0, 1.0]]
    """
    check_shapes(X_source, X_target)
    distance = cdist(X_source, X_target, metric="cityblock")
    return np.square(distance, out=distance)


def check_shapes(X_source, X_target) -> None:
    """Raise a ValueError unless both samples have two dimensions, and as many columns."""
    for name, X in (("X_source", X_source), ("X_target", X_target)):
        if np.ndim(X) != 2:
            raise ValueError(f"{name}: expected shape (n_rows, n_features), found {np.shape(X)}")
    if np.shape(X_source)[1] != np.shape(X_target)[1]:
        raise ValueError(f"X_source has {np.shape(X_source)[1]} columns, X_target has {np.shape(X_target)[1]}")


def cost_matrix(cost: Cost, X_source: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Return the costs of all pairs as a C-ordered float array, checked.

    Raises
    ------
    ValueError
        If `cost` is no function; if it returns another shape than (n_source, n_target), a negative number, NaN or
        infinity.
    """
    if not callable(cost):
        raise ValueError(f"cost: expected a function of both samples, found {cost!r}")
    matrix = np.ascontiguousarray(cost(X_source, X_target), dtype=float)
    expected = (len(X_source), len(X_target))
    if matrix.shape != expected:
        raise ValueError(f"cost: returned shape {matrix.shape}, expected {expected}, a row per source point")
    # NaN survives both reductions, and neither needs a second array of this size.
    lowest, highest = matrix.min(), matrix.max()
    if not np.isfinite(lowest + highest):
        raise ValueError("cost: returned NaN or infinite values, expected finite costs")
    if lowest < 0:
        raise ValueError(f"cost: returned {lowest:g}, expected costs of at least 0")
    return matrix
