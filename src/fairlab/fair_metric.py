"""Fair metrics: which people count as similar, and the sensitive directions along which they may differ (F.2).

The metric of "Statistical inference for individual fairness" (section 2) and of SenSR ignores the directions along
which sensitive features show in the other features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.linalg import orth, svdvals
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

from fairlab.checks import (
    FRACTION,
    align,
    check_array,
    check_features,
    check_flag,
    check_function,
    check_number,
    check_same_columns,
    checked,
    unless_none,
)

# A projection learned in double precision misses its definition by rounding only.
_ROUNDING = 1e-8
N_PERMUTATIONS = 999
N_FURTHER = 4_000  # added where none of these is as extreme: corrected levels may be below their least p-value
ENTRIES_AT_ONCE = 2_000_000  # of permuted attributes


@dataclass(frozen=True, eq=False)
class FairMetric:
    r"""Distance that ignores a sensitive subspace: :math:`d_x^2(x_1, x_2) = \| P (x_1 - x_2) \|^2`.

    Moves inside the subspace are free: people who differ in nothing else are alike.

    Parameters
    ----------
    projection : array-like of shape (n_features, n_features)
        P, the orthogonal projection onto the complement of the sensitive subspace.
    scale : array-like of shape (n_features,), optional
        Unit of each feature, above zero, by which differences are divided before they are projected. An attack uses
        these units too, so that it does not depend on the units of the features. Default: the features' own.
    feature_names : sequence of str, optional
        Columns that the metric is over, in order; tables with other columns raise an error.

    Raises
    ------
    ValueError
        If P is not square, finite, symmetric and idempotent, or is zero, so that everyone would be similar to everyone
        else. If `scale` or `feature_names` are not one per feature, or a unit is not above zero.
    """

    projection: np.ndarray
    scale: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self):
        projection = check_array(self.projection, "projection")
        if projection.ndim != 2 or projection.shape[0] != projection.shape[1]:
            raise ValueError(f"projection: expected a square matrix, found shape {projection.shape}")
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
        if self.scale is not None:
            scale = check_array(self.scale, "scale", finite=False)
            if scale.shape != (len(projection),) or not (np.isfinite(scale) & (scale > 0)).all():
                raise ValueError(f"scale: expected {len(projection)} numbers above 0, found {self.scale!r}")
            object.__setattr__(self, "scale", scale)
        if self.feature_names is not None:
            names = tuple(map(str, self.feature_names)) if np.iterable(self.feature_names) else ()
            if len(names) != len(projection):
                raise ValueError(f"feature_names: expected {len(projection)} names, found {len(names)}")
            object.__setattr__(self, "feature_names", names)

    @classmethod
    def from_directions(cls, directions, *, scale=None, feature_names=None) -> "FairMetric":
        """Return the metric that ignores all moves along some directions.

        Parameters
        ----------
        directions : array-like of shape (n_directions, n_features)
            Span of the sensitive subspace, in units of `scale`; neither normalised nor orthogonal, possibly dependent.
        scale, feature_names
            As for the class.

        Raises
        ------
        ValueError
            If the directions have the wrong shape, are not finite, are all zero, or span the whole space.
        """
        directions = check_array(directions, "directions")
        if directions.ndim != 2 or 0 in directions.shape:
            raise ValueError(f"directions: expected shape (n_directions, n_features), found {directions.shape}")
        _, size, rows = np.linalg.svd(directions, full_matrices=False)
        basis = rows[size > size.max() * max(directions.shape) * np.finfo(float).eps]
        if len(basis) == 0:
            raise ValueError("directions: are all zero, so that they span no sensitive subspace")
        if len(basis) == directions.shape[1]:
            raise ValueError(
                f"directions: span all {len(basis)} features; a sensitive subspace of full rank leaves no difference "
                "to see"
            )
        return cls(np.eye(directions.shape[1]) - basis.T @ basis, scale, feature_names)

    @classmethod
    def learned(
        cls, X, sensitive_features, *, solver=None, scaled=True, confidence_level: float | None = 0.95
    ) -> "FairMetric":
        """Learn the sensitive subspace from data by logistic regressions; see `sensitive_directions`.

        If the features show none of the attributes, no move is free.

        Parameters
        ----------
        X, sensitive_features, solver, confidence_level
            As for `sensitive_directions`.
        scaled : bool
            Whether the metric divides by standard deviations, so that units do not matter.
        """
        directions = sensitive_directions(
            X, sensitive_features, solver=solver, scaled=scaled, confidence_level=confidence_level
        )
        names = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
        units = _units(check_features(X)[0], scaled)
        if confidence_level is not None and not directions.any():
            return cls(np.eye(directions.shape[1]), units, names)
        return cls.from_directions(directions, scale=units, feature_names=names)

    @checked(degrees=check_number)
    def rotated(self, degrees: float) -> "FairMetric":
        """Return the metric with its subspace turned in the plane of the first two features, to study a wrong one.

        Parameters
        ----------
        degrees : float
            Counter-clockwise, from the first feature to the second.
        """
        if self.n_features < 2:
            raise ValueError("degrees: expected a metric of at least two features, found one")
        turn, (cos, sin) = np.eye(self.n_features), (np.cos(np.radians(degrees)), np.sin(np.radians(degrees)))
        turn[:2, :2] = [[cos, -sin], [sin, cos]]
        return FairMetric(turn @ self.projection @ turn.T, self.scale, self.feature_names)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.projection)

    @property
    def n_sensitive(self) -> int:
        """Dimension of the sensitive subspace."""
        return self.n_features - round(np.trace(self.projection))

    def squared_distance(self, first, second) -> np.ndarray:
        """Return d_x^2 of each row of one array to the same row of the other, shape (..., n_points).

        Parameters
        ----------
        first, second : array-like of shape (..., n_points, n_features)
            Tables have the columns of the metric, and both the same.

        Raises
        ------
        ValueError
            For other columns, or the same in another order.
        """
        parts = {"first": first, "second": second}
        named = {name: list(map(str, X.columns)) for name, X in parts.items() if isinstance(X, pd.DataFrame)}
        if self.feature_names is not None:
            named["metric"] = list(self.feature_names)
        for (name, columns), (other, others) in pairwise(named.items()):
            check_same_columns(columns, others, name, other)
        first, second = map(_floats, (first, second))
        if first.shape[-1:] != (self.n_features,) or first.shape[-1:] != second.shape[-1:]:
            found = f"{first.shape} and {second.shape}"
            raise ValueError(f"first and second: expected {self.n_features} columns each, found shapes {found}")
        apart = first - second
        if self.scale is not None:
            apart = apart / self.scale
        return np.square(apart @ self.projection).sum(axis=-1)

    def gradient(self, X, X_start):
        """Return the gradient of d_x^2(x, x_start) by x, in the shape of `X`.

        Parameters
        ----------
        X, X_start : array or tensor of shape (..., n_points, n_features)
        """
        X, X_start = (_floats(each) if isinstance(each, np.ndarray) else each for each in (X, X_start))
        dtype = getattr(X.dtype, "as_numpy_dtype", X.dtype)
        if self.scale is None:
            return 2 * (X - X_start) @ self.projection.astype(dtype)
        scale = self.scale.astype(dtype)
        return 2 * ((X - X_start) / scale) @ self.projection.astype(dtype) / scale


@checked(solver=check_function, scaled=check_flag, confidence_level=partial(unless_none, constraint=FRACTION))
def sensitive_directions(
    X,
    sensitive_features,
    *,
    solver: Callable | None = None,
    scaled: bool = True,
    confidence_level: float | None = 0.95,
) -> np.ndarray:
    """Return directions that span the sensitive subspace.

    Each sensitive feature is regressed on the features; its coefficients, without the intercept, are a direction.
    Attributes that are features themselves (columns of the same name) are left out of the regressions; their own axes
    are further directions.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
        Zeros and ones. Two tables are matched by their index.
    solver : callable, optional
        Takes columns and zeros and ones, returns the coefficients of a logistic regression without its intercept.
        Default: the minimum of the summed loss and the penalty ``0.5 * ||w||^2``.
    scaled : bool
        Whether features are centred and divided by their standard deviations first; the directions are then in these
        units. Otherwise they depend on the units of the features, as do the paper's, which are only partly
        standardised.
    confidence_level : float or None
        Of the test that the features show an attribute, see `chance_p_values`. For an attribute that they do not show,
        the direction is due to chance, and its row is set to zero. None, as in the paper: every row is kept.

    Returns
    -------
    ndarray of shape (n_directions, n_features)
        Coefficients as they are, not normalised.

    Raises
    ------
    ValueError
        For unequal numbers of rows, other row labels, or an attribute that is not zeros and ones,
        both present.
    """
    values, names = check_features(X, "X", min_rows=2)
    attributes, attribute_names = check_features(sensitive_features, "sensitive_features", min_rows=2)
    if len(attributes) != len(values):
        raise ValueError(f"sensitive_features has {len(attributes)} rows, X has {len(values)}")
    if isinstance(X, pd.DataFrame) and isinstance(sensitive_features, pd.DataFrame):
        rows = pd.Series(np.arange(len(values)), sensitive_features.index)
        attributes = attributes[align(rows, X.index, "sensitive_features").to_numpy()]
    if scaled:
        values = (values - values.mean(axis=0)) / _units(values, scaled)
    are_named = isinstance(X, pd.DataFrame) and isinstance(sensitive_features, pd.DataFrame)
    inputs = [name for name in names if are_named and name in attribute_names]
    free = np.array([name not in inputs for name in names])
    rows = np.zeros((len(attribute_names), len(names)))
    for row, name, attribute in zip(rows, attribute_names, attributes.T, strict=True):
        if not np.array_equal(np.unique(attribute), (0, 1)):
            raise ValueError(
                f"sensitive_features: column {name!r} holds {np.unique(attribute)[:5].tolist()}, expected 0 and 1, "
                "both present"
            )
        if free.any():
            coefficients = (solver or _coefficients)(values[:, free], attribute)
            if confidence_level is None or chance_p_values(values[:, free], attribute[:, None]) < 1 - confidence_level:
                row[free] = coefficients
    return np.vstack([rows, np.eye(len(names))[~free]])


def chance_p_values(
    X: np.ndarray,
    attributes: np.ndarray,
    *,
    n_permutations: int = N_PERMUTATIONS,
    n_further: int = 0,
    random_state=0,
) -> np.ndarray:
    """Return p-values of "the features do not show the attribute", by permutations of the rows, shape (n_attributes,).

    The statistic is the part of an attribute that a linear regression on the features explains, in standard deviations
    over the permutations. A p-value counts the permutations in which the statistic of any attribute is as large, so
    that the family-wise error rate is at most the level (Westfall and Young). Tests by the normal or chi-square
    distribution would reject too often with many features and few rows, or with rare categories.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    attributes : ndarray of shape (n_rows, n_attributes)
        Zeros and ones, both present.
    n_permutations : int
    n_further : int
        Further permutations, made if the first give their least p-value. The final p-value remains valid: at levels
        below that least one the finer p-value decides, above it the coarser one.
    random_state : int or Generator
    """
    # Standardised, or columns of small numbers would count as constant.
    rng, basis = np.random.default_rng(random_state), orth((X - X.mean(axis=0)) / _units(X, scaled=True))
    centred = attributes - attributes.mean(axis=0)
    at_once = max(1, ENTRIES_AT_ONCE // attributes.size)
    shown, p_values = np.square(basis.T @ centred).sum(axis=0)[None], np.ones(centred.shape[1])
    for n_drawn in (n_permutations, n_further):
        for start in range(0, n_drawn, at_once):
            size = min(at_once, n_drawn - start)
            permuted = np.hstack([centred[rng.permutation(len(X))] for _ in range(size)])
            shown = np.vstack([shown, np.square(basis.T @ permuted).sum(axis=0).reshape(size, -1)])
        by = shown - shown.mean(axis=0)
        by /= np.maximum(by.std(axis=0), _ROUNDING)  # with as many features as rows, all are alike
        p_values = (by.max(axis=1)[:, None] >= by[0] - _ROUNDING).mean(axis=0)
        if p_values.min() > 1 / (1 + n_permutations):
            break
    return p_values


def subspace_basis(X: np.ndarray, attributes: np.ndarray, directions: np.ndarray, *, alpha: float) -> np.ndarray:
    """Return an orthonormal basis of the directions of several attributes, with no more dimensions than needed.

    If groups differ in one column alone, their directions differ by chance, and would span more than that column.
    Bartlett's test of the canonical correlations determines the number of dimensions; if it is smaller than the number
    of directions, the combinations of these that vary most are used.

    Parameters
    ----------
    X, attributes, directions
        As for `chance_p_values`, and the coefficients of the attributes, which are all shown.
    alpha : float
        Level of the test for more dimensions.

    Returns
    -------
    ndarray of shape (n_features, n_dimensions)
    """
    n, n_attributes = attributes.shape
    if n_attributes < 2:
        return orth(directions.T)
    centred, sides = X - X.mean(axis=0), [orth(part - part.mean(axis=0)) for part in (X, attributes)]
    correlations = np.minimum(svdvals(sides[0].T @ sides[1]), 1 - _ROUNDING)
    n_columns, n_groups = (side.shape[1] for side in sides)
    size = 1
    while size < len(correlations):
        rest = -(n - 1 - (n_columns + n_groups + 1) / 2) * np.log1p(-np.square(correlations[size:])).sum()
        if chi2.sf(rest, (n_columns - size) * (n_groups - size)) > alpha:
            break
        size += 1
    if size < n_attributes:
        of_size = np.sqrt(attributes.sum(axis=0) * (1 - attributes.mean(axis=0)))  # proportional to their precision
        varying = np.linalg.svd(centred @ (of_size[:, None] * directions).T, full_matrices=False)[2]
        directions = varying[:size] * of_size @ directions
    return orth(directions.T)


def check_over_metric(metric, X, n_features: int) -> None:
    """Raise a ValueError unless a metric has the number of features of points, and the columns of a table.

    Parameters
    ----------
    metric : FairMetric or any other
        Attributes that it lacks are not checked.
    X : DataFrame or any other
    n_features : int
    """
    if getattr(metric, "n_features", n_features) != n_features:
        raise ValueError(f"metric is over {metric.n_features} features, X has {n_features}")
    names = getattr(metric, "feature_names", None)
    if names is not None and isinstance(X, pd.DataFrame):
        check_same_columns([str(name) for name in X.columns], list(names), "X", "metric")


def _floats(X) -> np.ndarray:
    """Return an array as floats: small whole numbers would overflow."""
    X = np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(float)


def _units(values, scaled):
    """Return the standard deviation of each column, 1 for a constant one; None where units are left as they are."""
    if not scaled:
        return None
    return np.where(np.ptp(values, axis=0) > 0, values.std(axis=0), 1.0)  # rounding gives a constant some deviation


def _coefficients(X, attribute):
    return LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(X, attribute).coef_[0]
