"""A table as numbers and back: standardised numbers, and one column for each value of everything else."""

import numpy as np
import pandas as pd

from fairlab.cases.table import CaseError, in_dtypes, level_names


class Encoding:
    """The numeric view of a model's features.

    Numbers are standardised; truth values are the numbers 0 and 1. Texts and categories become one column for each
    value, missing values among them. A number with missing values has a second column that says where.

    Parameters
    ----------
    table : DataFrame
        The features of a case.

    Attributes
    ----------
    names : tuple of str
        Of the columns, as ``age``, ``job = clerk``, ``age is missing``.
    source : tuple of str
        The feature that each column is made of.
    is_number : ndarray of bool of shape (n_columns,)
        Whether a column is a standardised number.
    center, scale : ndarray of shape (n_columns,)
        Mean and standard deviation that numbers are standardised with, 0 and 1 elsewhere; 1 for a constant.

    Examples
    --------
    >>> from fairlab.cases import Encoding
    >>> table = pd.DataFrame({"age": [20, 40, 60], "job": ["cook", "clerk", "cook"]})
    >>> encoding = Encoding(table)
    >>> encoding.names
    ('age', 'job = clerk', 'job = cook')
    >>> encoding.transform(table).round(2).tolist()
    [[-1.22, 0.0, 1.0], [0.0, 1.0, 0.0], [1.22, 0.0, 1.0]]
    """

    def __init__(self, table: pd.DataFrame):
        if not isinstance(table, pd.DataFrame):
            raise CaseError(f"table: expected a DataFrame, found {type(table).__name__}")
        self._dtypes = table.dtypes
        self._levels: dict[str, pd.Index | None] = {}
        self._missing: dict[str, object] = {}
        names, source, is_number, center, scale = [], [], [], [], []
        for name, column in table.items():
            missing = column.isna()
            if missing.any():
                self._missing[name] = column[missing].iloc[0]
            if pd.api.types.is_numeric_dtype(column):
                numbers = column.dropna().to_numpy(dtype=float)
                self._levels[name] = None
                names.append(name)
                is_number.append(True)
                center.append(numbers.mean() if len(numbers) else 0.0)
                scale.append((numbers.std() if len(numbers) else 0.0) or 1.0)
                labels = [f"{name} is missing"] if missing.any() else []
            else:
                self._levels[name] = _levels(column)
                labels = [f"{name} = {level}" for level in level_names(self._levels[name], missing.any())]
            names += labels
            is_number += [False] * len(labels)
            center += [0.0] * len(labels)
            scale += [1.0] * len(labels)
            source += [name] * (len(names) - len(source))
        self.names, self.source = tuple(names), tuple(source)
        self.is_number = np.array(is_number)
        self.center, self.scale = np.array(center), np.array(scale)

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Return rows as floats of shape (n_rows, n_columns).

        Raises
        ------
        CaseError
            If a column is missing, or holds what the table never held.
        """
        frame = in_dtypes(frame, self._dtypes)
        matrix = np.zeros((len(frame), len(self.names)))
        for name, places in self._places():
            column, levels = frame[name], self._levels[name]
            missing = column.isna().to_numpy()
            if missing.any() and name not in self._missing:
                raise CaseError(f"column {name!r}: misses values, which the table does not")
            if levels is None:
                numbers = column.to_numpy(dtype=float, na_value=np.nan)
                matrix[:, places[0]] = np.where(missing, self.center[places[0]], numbers)
            else:
                known = column[~missing]
                codes = known.cat.codes if hasattr(known, "cat") else levels.get_indexer(known)
                if (codes < 0).any():
                    raise CaseError(f"column {name!r}: {column[~missing][codes < 0].iloc[0]!r} is not in the table")
                matrix[np.flatnonzero(~missing), places[0] + codes] = 1
            if name in self._missing:
                matrix[missing, places[-1]] = 1
        return (matrix - self.center) / self.scale

    def inverse_transform(self, matrix: np.ndarray) -> pd.DataFrame:
        """Return rows in the table's dtypes.

        Of the columns of one feature the largest decides; whole numbers are rounded, truth values at one half; a
        number is missing where its second column is above one half.

        Parameters
        ----------
        matrix : ndarray of shape (n_rows, n_columns)

        Raises
        ------
        CaseError
            If the matrix has another shape, or a number is not finite.
        """
        matrix = self.unscaled(matrix)
        columns = {}
        for name, places in self._places():
            dtype, levels = self._dtypes[name], self._levels[name]
            missing = np.zeros(len(matrix), dtype=bool)
            if levels is None:
                values = matrix[:, places[0]]
                if pd.api.types.is_bool_dtype(dtype):
                    values = values > 0.5
                elif pd.api.types.is_integer_dtype(dtype):
                    values = np.rint(values).astype(np.int64)
                if name in self._missing:
                    missing = matrix[:, places[-1]] > 0.5
            else:
                codes = matrix[:, places].argmax(axis=1)
                missing = codes == len(levels)
                values = levels.take(np.where(missing, 0, codes)) if len(levels) else np.full(len(matrix), None)
            column = pd.Series(values)
            if missing.any():
                column = column.astype(object)
                column[missing] = self._missing[name]
            columns[name] = column
        return in_dtypes(pd.DataFrame(columns), self._dtypes)

    def unscaled(self, matrix: np.ndarray) -> np.ndarray:
        """Return rows of the encoding in the units of the table, not rounded, shape (n_rows, n_columns).

        Raises
        ------
        CaseError
            If the matrix has another shape, or a number is not finite.
        """
        try:
            matrix = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError):
            raise CaseError("matrix: expected numbers") from None
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names) or not np.isfinite(matrix).all():
            expected = f"finite numbers of shape (n_rows, {len(self.names)})"
            raise CaseError(f"matrix: expected {expected}, found shape {matrix.shape}")
        return matrix * self.scale + self.center

    def _places(self):
        """Yield each feature and the numbers of its columns."""
        start = 0
        for name, levels in self._levels.items():
            width = (1 if levels is None else len(levels)) + (name in self._missing)
            yield name, np.arange(start, start + width)
            start += width


def _levels(column: pd.Series) -> pd.Index:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.categories
    distinct = column.dropna().unique().tolist()
    return pd.Index(sorted(distinct, key=lambda value: (type(value).__name__, value)), dtype=object)
