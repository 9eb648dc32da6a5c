"""Fair metrics: which people count as alike (section 2, Appendix F.2)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairlab.individual_fairness.sensitive_subspace import sensitive_directions

# A projection learned in double precision misses its definition by rounding only.
_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class FairMetric:
    r"""Distance that ignores a sensitive subspace: :math:`d_x^2(x_1, x_2) = \| P (x_1 - x_2) \|^2`.

    Moves inside the subspace are free: people who differ in nothing else are alike.

    Parameters
    ----------
    projection : array-like of shape (n_features, n_features)
        P, the orthogonal projection onto the complement of the sensitive subspace.

    Raises
    ------
    ValueError
        If P is not square, finite, symmetric and idempotent, or is zero: then everyone would be like everyone else.
    """

    projection: np.ndarray

    def __post_init__(self):
        projection = np.asarray(self.projection, dtype=float)
        if projection.ndim != 2 or projection.shape[0] != projection.shape[1]:
            raise ValueError(f"projection: expected a square matrix, found shape {projection.shape}")
        if not np.isfinite(projection).all():
            raise ValueError("projection: holds missing or infinite values")
        error = max(np.abs(projection - projection.T).max(), np.abs(projection @ projection - projection).max())
        if error > _ROUNDING:
            raise ValueError(
                f"projection: expected a symmetric matrix P with P P = P, found one that is off by {error:.2g}"
            )
        if np.abs(projection).max() < _ROUNDING:
            raise ValueError(
                f"projection: is zero; a sensitive subspace of full rank {len(projection)} leaves no difference to see"
            )
        object.__setattr__(self, "projection", projection)

    @classmethod
    def from_directions(cls, directions) -> "FairMetric":
        """Return the metric that ignores all moves along some directions.

        Parameters
        ----------
        directions : array-like of shape (n_directions, n_features)
            Span of the sensitive subspace; neither normalised nor orthogonal, possibly dependent.

        Raises
        ------
        ValueError
            If the directions have the wrong shape, are not finite, are all zero, or span the whole space.
        """
        directions = np.asarray(directions, dtype=float)
        if directions.ndim != 2 or 0 in directions.shape:
            raise ValueError(f"directions: expected shape (n_directions, n_features), found {directions.shape}")
        if not np.isfinite(directions).all():
            raise ValueError("directions: hold missing or infinite values")
        _, size, rows = np.linalg.svd(directions, full_matrices=False)
        basis = rows[size > size.max() * max(directions.shape) * np.finfo(float).eps]
        if len(basis) == 0:
            raise ValueError("directions: are all zero, so that they span no sensitive subspace")
        if len(basis) == directions.shape[1]:
            raise ValueError(
                f"directions: span all {len(basis)} features; a sensitive subspace of full rank leaves no difference "
                "to see"
            )
        return cls(np.eye(directions.shape[1]) - basis.T @ basis)

    @classmethod
    def learned(cls, X, sensitive_features, *, solver="published") -> "FairMetric":
        """Learn the sensitive subspace from data by logistic regressions; see `sensitive_directions`."""
        return cls.from_directions(sensitive_directions(X, sensitive_features, solver=solver))

    def rotated(self, degrees: float, *, plane: tuple[int, int] = (0, 1)) -> "FairMetric":
        """Return the metric with its subspace turned in the plane of two features, to study a misspecified one.

        Parameters
        ----------
        degrees : float
            Counter-clockwise, from the first feature of the plane to the second.
        plane : (int, int)
            Numbers of the features.
        """
        first, second = plane
        turn = np.eye(self.n_features)
        cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        turn[[first, second, first, second], [first, second, second, first]] = cos, cos, -sin, sin
        return FairMetric(turn @ self.projection @ turn.T)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.projection)

    @property
    def n_sensitive(self) -> int:
        """Dimension of the sensitive subspace."""
        return self.n_features - round(np.trace(self.projection))

    def squared_distance(self, first, second) -> np.ndarray:
        """Return d_x^2 of each row of one array to the same row of the other, shape (..., n_points)."""
        return np.square((np.asarray(first) - np.asarray(second)) @ self.projection).sum(axis=-1)

    def gradient(self, X, X_start):
        """Return the gradient of d_x^2(x, x_start) by x, shape (..., n_points, n_features); arrays or tensors."""
        dtype = getattr(X.dtype, "as_numpy_dtype", X.dtype)
        return 2 * (X - X_start) @ self.projection.astype(dtype)


@dataclass(frozen=True, eq=False)
class FunctionMetric:
    """Fair metric of the user's own.

    Parameters
    ----------
    function : callable
        ``function(first, second)`` takes two tensors of shape (..., n_points, n_features) and returns the squared
        distances of their rows, shape (..., n_points), by TensorFlow operations. It must be differentiable where
        both are equal: a sum of squares is, the square of a norm may not be.
    """

    function: Callable

    def squared_distance(self, first, second) -> np.ndarray:
        """Return d_x^2 of each row of one array to the same row of the other, shape (..., n_points)."""
        import tensorflow as tf

        return self.function(tf.convert_to_tensor(first), tf.convert_to_tensor(second)).numpy()

    def gradient(self, X, X_start):
        """Return the gradient of d_x^2(x, x_start) by x, a tensor of the shape of `X`."""
        import tensorflow as tf

        X = tf.convert_to_tensor(X)
        with tf.GradientTape() as tape:
            tape.watch(X)
            total = tf.reduce_sum(self.function(X, tf.convert_to_tensor(X_start)))
        return tape.gradient(total, X)
