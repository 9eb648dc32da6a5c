"""Costs of moving one person to another: the paper's, and one composed column by column.

A cost is any callable ``cost(X_source, X_target)`` that takes both samples, of shape (n_source, n_features) and
(n_target, n_features), and returns the matrix of shape (n_source, n_target) of all costs, none of them negative.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from fairlab.checks import (
    check_array,
    check_choice,
    check_flag,
    check_names,
    check_number,
    check_same_columns,
    checked,
    is_number,
)

Cost = Callable[[np.ndarray, np.ndarray], np.ndarray]
Table = pd.DataFrame | np.ndarray
KINDS = ("absolute", "squared", "mismatch")


@checked(X_source=check_array, X_target=check_array)
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
    """Raise a ValueError unless both samples have two dimensions and the same number of columns.

    Parameters
    ----------
    X_source, X_target : array or DataFrame
    """
    for name, X in (("X_source", X_source), ("X_target", X_target)):
        if np.ndim(X) != 2:
            raise ValueError(f"{name}: expected shape (n_rows, n_features), found {np.shape(X)}")
    if np.shape(X_source)[1] != np.shape(X_target)[1]:
        raise ValueError(f"X_source has {np.shape(X_source)[1]} columns, X_target has {np.shape(X_target)[1]}")


def cost_matrix(cost: Cost, X_source: np.ndarray, X_target: np.ndarray) -> np.ndarray:
    """Return the costs of all pairs as a C-ordered float array, checked.

    Parameters
    ----------
    cost : callable
    X_source, X_target : array or DataFrame of shape (n_source, n_features) and (n_target, n_features)

    Raises
    ------
    ValueError
        If `cost` is no function; if it returns another shape than (n_source, n_target), a negative number, NaN or
        infinity.
    """
    if not callable(cost):
        raise ValueError(f"cost: expected a function of both samples, found {cost!r}")
    matrix = np.ascontiguousarray(_pairwise(cost, X_source, X_target, "cost"))
    # NaN survives both reductions, and neither needs a second array of this size.
    lowest, highest = matrix.min(), matrix.max()
    if not np.isfinite(lowest + highest):
        raise ValueError("cost: returned NaN or infinite values, expected finite costs")
    if lowest < 0:
        raise ValueError(f"cost: returned {lowest:g}, expected costs of at least 0")
    return matrix


@dataclass(frozen=True, eq=False)
class ColumnCosts:
    r"""A cost of moving one person to another, composed of a cost per column.

    By default :math:`c(x, y) = (\sum_j w_j d_j(x_j, y_j))^2`, where :math:`d_j` is, for numbers, the absolute
    difference in standard deviations of the pooled samples and, for categories, 0 if they are equal and 1 if not. On
    scaled numbers this is the cost of FlipTest (section 3.1), whatever the units. A missing value has distance 0 from
    another missing value, and 1 from everything else.

    Parameters
    ----------
    columns : dict of str to str or callable, optional
        Other costs for single columns: ``"absolute"`` or ``"squared"`` difference of numbers, in standard deviations,
        ``"mismatch"`` for categories that are written as numbers, or a function of two Series, the column in the source
        and in the target, that returns an array of shape (n_source, n_target).
    number : {"absolute", "squared", "mismatch"}
        Cost of all other columns of numbers. Booleans, text, categories and everything else are categories.
    weights : dict of str to float, optional
        By column, 1 by default; 0 leaves a column out.
    squared : bool
        Whether to square the sum.

    Examples
    --------
    >>> from fairlab.transport import ColumnCosts
    >>> people = pd.DataFrame({"age": [20, 30, 40], "job": ["clerk", "clerk", "cook"]})
    >>> ColumnCosts(squared=False)(people[:2], people[2:]).round(2)
    array([[3.45],
           [2.22]])
    """

    columns: Mapping[str, str | Callable] = field(default_factory=dict)
    number: str = "absolute"
    weights: Mapping[str, float] = field(default_factory=dict)
    squared: bool = True

    def __post_init__(self):
        for argument in ("columns", "weights"):
            if not isinstance(getattr(self, argument), Mapping):
                raise ValueError(f"{argument}: expected a dict by column, found {getattr(self, argument)!r}")
        check_flag(self.squared, "squared")
        kinds = {f"columns[{name!r}]": kind for name, kind in self.columns.items() if not callable(kind)}
        for what, kind in (kinds | {"number": self.number}).items():
            check_choice(kind, what, KINDS)
        for name, weight in self.weights.items():
            check_number(weight, f"weights[{name!r}]", least=0)

    def __call__(self, X_source: Table, X_target: Table) -> np.ndarray:
        """Return the costs of all pairs.

        Parameters
        ----------
        X_source, X_target : DataFrame or array of shape (n_source, n_features) and (n_target, n_features)

        Returns
        -------
        array of shape (n_source, n_target)

        Raises
        ------
        ValueError
            If the tables differ in columns; if a named column does not exist, a column to compare as numbers is not
            numeric, or holds infinite values or dates; or if a function returns another shape.
        """
        check_shapes(X_source, X_target)
        source, target = as_table(X_source), as_table(X_target)
        check_same_columns(*(list(map(str, table.columns)) for table in (source, target)), "X_source", "X_target")
        for argument in ("columns", "weights"):
            check_names(getattr(self, argument), argument, list(map(str, source.columns)))
        total = np.zeros((len(source), len(target)))
        numbers, categories, weights = [], [], []
        kinds, factors = ({str(name): of for name, of in given.items()} for given in (self.columns, self.weights))
        for name in source.columns:
            pair, weight = (source[name], target[name]), factors.get(str(name), 1.0)
            kind = kinds.get(str(name)) or self._kind(name, pair)
            if weight == 0:
                continue
            if callable(kind):
                total += weight * _pairwise(kind, *pair, f"columns[{name!r}]")
            elif kind == "mismatch":
                categories.append(codes_of(*pair))
                weights.append(weight)
            else:
                x, y = _standardised(name, *pair)
                if kind == "absolute" and not (np.isnan(x).any() or np.isnan(y).any()):
                    numbers.append((weight * x, weight * y))
                else:
                    total += weight * _difference(x, y, squared=kind == "squared")
        if numbers:
            total += cdist(*map(np.column_stack, zip(*numbers, strict=True)), metric="cityblock")
        if categories:
            # SciPy's distance is the weighted share of columns that differ.
            share = cdist(*map(np.column_stack, zip(*categories, strict=True)), metric="hamming", w=weights)
            total += share * sum(weights)
        return np.square(total, out=total) if self.squared else total

    def _kind(self, name, pair):
        if any(pd.api.types.is_datetime64_any_dtype(column.dtype) for column in pair):
            raise ValueError(f"column {name!r} holds dates, expected numbers or categories; make it an age in days")
        return self.number if all(map(is_number, pair)) else "mismatch"


def as_table(X: Table, name: str = "X") -> pd.DataFrame:
    """Return a table as a DataFrame; columns of an array are called ``x0``, ``x1``, ...

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    name : str
        What to call it in an error.
    """
    if isinstance(X, pd.DataFrame):
        return X
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"{name}: expected shape (n_rows, n_features), found {values.shape}")
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


def is_mixed(X_source: Table, X_target: Table) -> bool:
    """Return whether two DataFrames have columns that are no numbers, or miss values.

    Parameters
    ----------
    X_source, X_target : DataFrame or array
    """
    tables = (X_source, X_target)
    if not all(isinstance(X, pd.DataFrame) for X in tables):
        return False
    plain = (
        pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype) for X in tables for dtype in X.dtypes
    )
    return not all(plain) or any(X.isna().to_numpy().any() for X in tables)


def check_mixed(X_source: pd.DataFrame, X_target: pd.DataFrame, *names: str) -> None:
    """Raise a ValueError unless both tables have rows and the same columns, of numbers in both or in neither.

    Parameters
    ----------
    X_source, X_target : DataFrame
    *names : str
        What to call them in an error.
    """
    names = names or ("X_source", "X_target")
    for name, X in zip(names, (X_source, X_target), strict=True):
        if not len(X):
            raise ValueError(f"{name}: is empty, expected at least 1")
        if doubled := sorted({str(column) for column in X.columns if (X.columns == column).sum() > 1}):
            raise ValueError(f"{name}: columns occur twice: {', '.join(doubled)}")
    check_same_columns(*(list(map(str, X.columns)) for X in (X_source, X_target)), *names)
    for name in X_source.columns:
        pair = X_source[name], X_target[name]
        if is_number(pair[0]) != is_number(pair[1]) and not any(column.isna().all() for column in pair):
            raise ValueError(
                f"column {name!r} has type {pair[0].dtype} in {names[0]} and {pair[1].dtype} in {names[1]}; "
                "expected numbers in both or in neither"
            )


def _standardised(name, source, target):
    """Return both columns in standard deviations of all values together; missing values are NaN."""
    x, y = (_floats(name, column) for column in (source, target))
    both = np.concatenate([x, y])
    if np.isinf(both).any():
        raise ValueError(f"column {name!r} holds infinite values, expected finite numbers")
    deviation = np.nanstd(both) if not np.isnan(both).all() else 0.0
    return (
        (x / deviation, y / deviation) if deviation > 0 else (np.where(np.isnan(x), x, 0), np.where(np.isnan(y), y, 0))
    )


def _floats(name, column):
    if pd.api.types.is_complex_dtype(column.dtype):
        raise ValueError(f"column {name!r} has complex numbers, expected real ones")
    try:
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: expected numbers, found type {column.dtype} ({error})") from error


def _difference(x, y, *, squared):
    """Return the differences of all pairs; between a number and a missing one it is 1, between two missing ones 0."""
    difference = np.abs(x[:, None] - y)
    one_is_missing = np.isnan(x)[:, None] != np.isnan(y)
    difference = np.where(one_is_missing, 1.0, np.nan_to_num(difference))
    return difference**2 if squared else difference


def codes_of(source, target):
    """Return both columns as codes of their distinct values, a missing value being one of them.

    Parameters
    ----------
    source, target : Series

    Raises
    ------
    ValueError
        If values cannot be told apart, as lists cannot.
    """
    both = pd.concat([source.astype(object), target.astype(object)], ignore_index=True)
    try:
        codes = pd.factorize(both)[0].astype(float)
    except TypeError as error:
        raise ValueError(f"column {source.name!r}: expected values that can be told apart ({error})") from error
    return codes[: len(source)], codes[len(source) :]


def _pairwise(cost, source, target, name):
    """Return the costs of all pairs by a function, after checking their shape."""
    matrix = np.asarray(cost(source, target), dtype=float)
    expected = (len(source), len(target))
    if matrix.shape != expected:
        raise ValueError(f"{name}: returned shape {matrix.shape}, expected {expected}, a row per source point")
    return matrix
