"""Tables as users have them: rows in the dtypes that they came in, and the same rows as numbers."""

from collections.abc import Collection
from numbers import Real

import numpy as np
import pandas as pd

from fairlab.cases.schema import CaseError, Feature, case_errors, check_column, values_of
from fairlab.checks import check_array, check_kind

FEW_ROWS = 100  # a column with more values, all different, identifies rows
MOST_CATEGORIES = 1_000  # of a column that is no text


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a table.

    Raises
    ------
    CaseError
        If it has fewer than two rows, or a column holds anything but texts, booleans, numbers, categories and missing
        values.
    """
    if len(table) < 2:
        raise CaseError(f"table: expected at least 2 rows, found {len(table)}")
    for name, column in table.items():
        check_column(name, column)
    return table.copy()


def in_dtypes(rows: pd.DataFrame, dtypes: pd.Series) -> pd.DataFrame:
    """Return rows with given columns, in their order and dtypes; other columns are left out.

    Raises
    ------
    CaseError
        If a column is missing, or a value does not fit its dtype: a fraction among integers, another category, a
        missing value where there can be none.
    """
    check_kind(rows, "rows", pd.DataFrame, error=CaseError)
    if not rows.columns.equals(dtypes.index):  # selecting columns takes most of the time of a query with one row
        if missing := [name for name in dtypes.index if name not in rows.columns]:
            raise CaseError(f"rows: lack the columns {', '.join(missing)}")
        rows = rows[list(dtypes.index)]
        if rows.shape[1] > len(dtypes):
            raise CaseError(f"rows: columns occur twice: {', '.join(rows.columns[rows.columns.duplicated()])}")
    pairs = zip(dtypes.index, rows.dtypes, dtypes, strict=True)
    different = [name for name, found, expected in pairs if not _is_same(found, expected)]
    if different:
        rows = rows.assign(**{name: _cast(rows[name], dtypes[name]) for name in different})
    return rows


def _is_same(dtype, other) -> bool:
    """Return whether types are the same, categories in the same order: pandas takes those of any order for equal."""
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        return dtype.ordered == other.ordered and dtype.categories.equals(other.categories)
    return dtype == other


def _cast(column: pd.Series, dtype) -> pd.Series:
    """Return a column in another dtype with unchanged values; floats may be rounded to their dtype's precision."""
    missing = column.isna().to_numpy()
    try:
        if isinstance(dtype, pd.CategoricalDtype):
            codes = dtype.categories.get_indexer(column)
            cast = pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=column.index)
        else:
            cast = column.astype(dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise CaseError(f"rows: column {column.name!r}: expected {dtype}, found {column.dtype} ({error})") from error
    known, before = cast[~missing].astype(object), column[~missing].astype(object)
    if pd.api.types.is_float_dtype(dtype) and all(isinstance(value, Real) for value in before):
        before = known
    if (lost := (known != before).to_numpy()).any() or cast.isna().sum() > missing.sum():
        lost = lost | known.isna().to_numpy()
        raise CaseError(f"rows: column {column.name!r} holds {before[lost].iloc[0]!r}, expected {dtype}")
    return cast.rename(column.name)


def column_types(table: pd.DataFrame, exact: Collection[str] = ()) -> dict[str, dict]:
    """Return the types of columns as a monitor registers them: "category", "number" or "boolean".

    Columns that identify rows, numbers with missing values, and texts of more than 1,000 different values are left out.
    Columns in `exact` never are: those of texts have their ``categories``, those that hold only 0 and 1 are booleans.
    """
    columns: dict[str, dict] = {}
    for name, column in table.items():
        is_unique = column.is_unique and len(column) > FEW_ROWS
        if pd.api.types.is_bool_dtype(column) or (name in exact and set(column.dropna().unique()) <= {0, 1}):
            columns[name] = {"type": "boolean"}
        elif pd.api.types.is_numeric_dtype(column):
            if name in exact or not (column.isna().any() or (is_unique and pd.api.types.is_integer_dtype(column))):
                columns[name] = {"type": "number"}
        elif name in exact:
            columns[name] = {"type": "category", "categories": sorted(map(str, column.dropna().unique()))}
        elif column.nunique() <= MOST_CATEGORIES and not is_unique:  # else names or texts
            columns[name] = {"type": "category"}
    return columns


class Encoding:
    """The numeric view of a model's features.

    Numbers are standardised, and booleans as the numbers 0 and 1. Texts and categories become one column for each
    value, missing values among them. A number with missing values has a second column that says where.

    Parameters
    ----------
    table : DataFrame
        The features of a case.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, as ``age``, ``job = clerk``, ``age is missing``.
    source : tuple of str
        The feature that each column is made of.
    is_number : ndarray of bool of shape (n_columns,)
        Whether a column is a standardised number or boolean.
    center, scale : ndarray of shape (n_columns,)
        Mean and standard deviation of standardised numbers, with scale 1 for a constant; 0 and 1 for other columns.

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
        check_kind(table, "table", pd.DataFrame, error=CaseError)
        self._dtypes = table.dtypes
        # By column of the table: its columns in the encoding, and its values, None for a number.
        self._parts: dict[str, tuple[np.ndarray, Feature | None]] = {}
        columns: list[tuple[str, str, bool, float, float]] = []
        for name, column in table.items():
            known, feature = column.dropna(), None
            if pd.api.types.is_numeric_dtype(column) or column.dtype.kind == "b":  # Arrow's booleans are no numbers
                numbers = known.to_numpy(dtype=float) if len(known) else np.zeros(1)
                spread = numbers.std() if np.ptp(numbers) else 1.0  # rounding may give a constant some spread
                made = [(name, name, True, numbers.mean(), spread or 1.0)]
                made += [(f"{name} is missing", name, False, 0.0, 1.0)] * (len(known) < len(column))
            else:
                values, missing = values_of(name, column)
                if isinstance(column.dtype, pd.CategoricalDtype):  # those that do not occur, too
                    values = column.cat.categories.tolist()
                feature = Feature(name, [*values, *missing])
                made = [(f"{name} = {label}", name, False, 0.0, 1.0) for label in feature.labels]
            self._parts[name] = np.arange(len(columns), len(columns) + len(made)), feature
            columns += made
        self.names, self.source, *arrays = zip(*columns, strict=True)
        self.is_number, self.center, self.scale = map(np.array, arrays)

    def transform(self, rows: pd.DataFrame) -> np.ndarray:
        """Return rows as floats of shape (n_rows, n_columns).

        Raises
        ------
        CaseError
            If a column is missing, or holds a value that the table did not.
        """
        rows = in_dtypes(rows, self._dtypes)
        matrix = np.zeros((len(rows), len(self.names)))
        for name, (places, feature) in self._parts.items():
            if feature is not None:
                matrix[np.arange(len(rows)), places[0] + feature.encode(rows[name])] = 1
                continue
            missing = rows[name].isna().to_numpy()
            if missing.any() and len(places) == 1:
                raise CaseError(f"column {name!r} holds missing values, which the table does not")
            numbers = rows[name].to_numpy(dtype=float, na_value=np.nan)
            matrix[:, places[0]] = np.where(missing, self.center[places[0]], numbers)
            matrix[np.ix_(missing, places[1:])] = 1
        return (matrix - self.center) / self.scale

    def inverse_transform(self, matrix: np.ndarray) -> pd.DataFrame:
        """Return rows in the table's dtypes.

        The largest of a feature's value columns decides. Whole numbers are rounded, booleans cut at one half. A number
        is missing where its second column is above one half.

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
        for name, (places, feature) in self._parts.items():
            if feature is not None:
                columns[name] = pd.Series(feature.decode(matrix[:, places].argmax(axis=1)))
                continue
            numbers = matrix[:, places[0]]
            if pd.api.types.is_bool_dtype(self._dtypes[name]):
                numbers = numbers > 0.5
            elif pd.api.types.is_integer_dtype(self._dtypes[name]):
                dtype = getattr(self._dtypes[name], "numpy_dtype", self._dtypes[name])
                ends = np.iinfo(dtype)
                numbers = np.clip(np.rint(numbers), ends.min, np.nextafter(float(ends.max) + 1, 0)).astype(dtype)
            missing = (matrix[:, places[1:]] > 0.5).any(axis=1)
            columns[name] = pd.Series(numbers).astype(object).where(~missing) if missing.any() else pd.Series(numbers)
        return in_dtypes(pd.DataFrame(columns), self._dtypes)

    def unscaled(self, matrix: np.ndarray) -> np.ndarray:
        """Return rows of the encoding in the units of the table, not rounded, shape (n_rows, n_columns).

        Raises
        ------
        CaseError
            If the matrix has another shape, or a number is not finite.
        """
        with case_errors():
            matrix = check_array(matrix, "matrix")
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names):
            raise CaseError(f"matrix: expected shape (n_rows, {len(self.names)}), found shape {matrix.shape}")
        return matrix * self.scale + self.center
