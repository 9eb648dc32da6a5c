"""Tables as users have them: rows in the dtypes that they came in, names of groups, and the same rows as numbers."""

import datetime
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real

import numpy as np
import pandas as pd

from fairlab.checks import check_count, suggestion
from fairlab.seeds import derive_seed

GROUPS = 10  # numbers with more different values than this make four groups
MOST_NAMED = 3  # groups in a sentence


class CaseError(ValueError):
    """A model and a table that cannot be examined as they are; says what was expected and what was found.

    Examples
    --------
    >>> import fairlab
    >>> fairlab.Case(lambda rows: rows["x"] > 1, pd.DataFrame({"x": [1, 2]}), sensitive_features="sex")
    Traceback (most recent call last):
    ...
    fairlab.cases.table.CaseError: sensitive: the table has no column 'sex'; it has x
    """


def check_table(table, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a copy of some columns of a table; all of them by default.

    Raises
    ------
    CaseError
        If it is no DataFrame, has fewer than two rows, no column, names that are no texts or occur twice, lacks a
        column, or a column holds anything but texts, truth values, numbers, categories and missing values.
    """
    if not isinstance(table, pd.DataFrame):
        raise CaseError(f"table: expected a DataFrame, found {type(table).__name__}")
    for name in table.columns:
        if not isinstance(name, str):
            advice = "table.columns = [str(name) for name in table.columns]"
            raise CaseError(f"table: expected texts as names of columns, found {name!r}; {advice} makes them so")
    if not table.columns.is_unique:
        doubled = table.columns[table.columns.duplicated()].unique()
        raise CaseError(f"table: columns occur twice: {', '.join(doubled)}")
    for name in columns or ():
        if name not in table.columns:
            raise CaseError(f"table: has no column {name!r}{suggestion(name, table.columns)}")
    table = table if columns is None else table[list(columns)]
    if not len(table.columns):
        raise CaseError("table: has no columns")
    if len(table) < 2:
        raise CaseError(f"table: expected at least 2 rows, found {len(table)}")
    for name, column in table.items():
        _check_column(name, column)
    return table.copy()


def check_names(names, argument: str, table: pd.DataFrame) -> tuple[str, ...]:
    """Return names of columns of a table, each given once; raises a CaseError that names the argument."""
    if not isinstance(names, str | Sequence | np.ndarray | pd.Index):
        raise CaseError(f"{argument}: expected a column of the table or a list of them, found {names!r}")
    names = (names,) if isinstance(names, str) else tuple(names)
    if strange := [name for name in names if not isinstance(name, str)]:
        raise CaseError(f"{argument}: expected names of columns, found {strange[0]!r}")
    if not names:
        raise CaseError(f"{argument}: expected at least one column of the table, found none")
    if len(set(names)) < len(names):
        raise CaseError(f"{argument}: expected every column once, found {', '.join(map(str, names))}")
    if strange := [name for name in names if name not in table.columns]:
        known = ", ".join(map(str, table.columns))
        raise CaseError(f"{argument}: the table has no column {strange[0]!r}; it has {known}")
    return names


def feature_names(table, features, fitted, y_name) -> tuple[str, ...]:
    """Return what a model gets: as given, else what it was fitted to, else all columns but the labels."""
    if features is not None:
        return check_names(features, "features", table)
    if fitted is None:
        return check_names([name for name in table.columns if name != y_name], "features", table)
    if lacking := [name for name in fitted if name not in table.columns]:
        raise CaseError(f"table: lacks {', '.join(lacking)}, which the model was fitted to")
    return tuple(fitted)


def sample_of(n: int, n_rows: int, random_state: int) -> np.ndarray | None:
    """Return the numbers of rows drawn without replacement, in order; None if all are wanted."""
    n_rows, random_state = check_count(n_rows, "n_rows"), check_count(random_state, "random_state", least=0)
    if n <= n_rows:
        return None
    return np.sort(
        np.random.default_rng(derive_seed("sample of a case", random_state)).choice(n, n_rows, replace=False)
    )


def in_dtypes(rows: pd.DataFrame, dtypes: pd.Series) -> pd.DataFrame:
    """Return rows with given columns, in their order and dtypes; other columns are left out.

    Raises
    ------
    CaseError
        If a column is missing, or a value does not fit its dtype: a fraction among integers, another category, a
        missing value where there can be none.
    """
    if not isinstance(rows, pd.DataFrame):
        raise CaseError(f"rows: expected a DataFrame, found {type(rows).__name__}")
    if missing := [name for name in dtypes.index if name not in rows.columns]:
        raise CaseError(f"rows: lack the columns {', '.join(missing)}")
    rows = rows[list(dtypes.index)]
    if rows.shape[1] > len(dtypes):
        raise CaseError(f"rows: columns occur twice: {', '.join(rows.columns[rows.columns.duplicated()])}")
    different = [name for name in dtypes.index if not _is_same(rows.dtypes[name], dtypes[name])]
    if different:
        rows = rows.assign(**{name: _cast(rows[name], dtypes[name]) for name in different})
    return rows


def levels_of(column: pd.Series, edges: Sequence[float] | None = None) -> pd.Series:
    """Return a column as categories with names.

    Texts and numbers are sorted, categories keep their order; more than ten different numbers make four groups of
    nearly one size between rounded edges, or those between given ones. They are named by their edges, not by the
    smallest and the largest number, which belong to somebody: "up to 28", "28 to 37", "above 37". Missing values are a
    category of their own, the last, and never that of any text.

    Parameters
    ----------
    column : Series
    edges : sequence of float or None
        Inner edges, each of which ends its group.

    Returns
    -------
    Series of ordered categories
        With the index of `column`.
    """
    missing = column.isna().to_numpy()
    known = column[~missing]
    codes = np.full(len(column), -1)
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = known.cat.remove_unused_categories().cat.categories
        codes[~missing] = levels.get_indexer(known)
        names = level_names(levels, missing.any())
    elif pd.api.types.is_numeric_dtype(column) and (edges is not None or known.nunique() > GROUPS):
        numbers = known.to_numpy().astype(float)
        edges = _round_quartiles(numbers) if edges is None else edges
        places, codes[~missing] = np.unique(np.searchsorted(edges, numbers), return_inverse=True)
        spans = _spans(edges)
        names = level_names([spans[place] for place in places], missing.any())
    else:
        typed = [(type(value).__name__, value) for value in known.tolist()]
        order = {value: k for k, value in enumerate(sorted(set(typed)))}
        codes[~missing] = [order[value] for value in typed]
        names = level_names([value for _, value in order], missing.any())
    codes[missing] = len(names) - 1
    return pd.Series(pd.Categorical.from_codes(codes, names, ordered=True), index=column.index, name=column.name)


def level_names(levels, with_missing: bool) -> list[str]:
    """Return the names of values, told apart where 1 and "1" would read alike; "(missing)" last, told from any text."""
    levels = list(levels)
    names = [str(level) for level in levels]
    often = Counter(names)
    names = [repr(level) if often[name] > 1 else name for name, level in zip(names, levels, strict=True)]
    if with_missing:
        name = "(missing)"
        while name in names:
            name = f"({name})"
        names.append(name)
    return names


def few(names: Sequence[str]) -> str:
    """Return the first names in words, and how many there are besides."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def small_groups(name: str, sizes: pd.Series, fewest: int) -> list[str]:
    """Return one sentence on the groups of a column that have fewer people than a method needs, if there are any.

    Parameters
    ----------
    name : str
        Of the column.
    sizes : Series of int
        People by group; empty groups do not count.
    fewest : int
    """
    small = [f"{group} ({size})" for group, size in sizes.items() if 0 < size < fewest]
    return [f"{name}: fewer than {fewest} people are {few(small)}."] if small else []


def _check_column(name: str, column: pd.Series) -> None:
    dtype = column.dtype
    advice = None
    if isinstance(dtype, pd.CategoricalDtype):
        column, dtype = dtype.categories.to_series(), dtype.categories.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        advice = "make it a number, as the age in years, or leave it out by features="
    elif pd.api.types.is_timedelta64_dtype(dtype):
        advice = "make it a number, as .dt.total_seconds() does"
    elif isinstance(dtype, pd.SparseDtype):
        advice = "make it dense, as .sparse.to_dense() does"
    elif dtype.kind == "c":
        advice = "make it real numbers"
    if advice:
        raise CaseError(f"table: column {name!r} has type {dtype}; {advice}")
    if pd.api.types.is_numeric_dtype(dtype):
        numbers = column.dropna().to_numpy(dtype=float)
        if np.isinf(numbers).any():
            raise CaseError(f"table: column {name!r} holds infinite values; expected finite or missing ones")
    elif not isinstance(dtype, pd.StringDtype) and pd.api.types.infer_dtype(column) not in ("string", "boolean"):
        for value in column[column.notna()]:
            if isinstance(value, datetime.date | datetime.time | np.datetime64):
                raise CaseError(f"table: column {name!r} holds dates; make them numbers, as the age in years")
            if not isinstance(value, str | Real | np.bool_):
                found = f"found a {type(value).__name__}"
                raise CaseError(f"table: column {name!r}: expected texts, truth values or numbers, {found}")


def _is_same(dtype, other) -> bool:
    """Return whether types are the same, categories in the same order: pandas takes those of any order for equal."""
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        return dtype.ordered == other.ordered and dtype.categories.equals(other.categories)
    return dtype == other


def _cast(column: pd.Series, dtype) -> pd.Series:
    """Return a column in another dtype, every value what it was."""
    name, missing = column.name, column.isna()
    error = CaseError(f"rows: column {name!r} has type {column.dtype}, expected {dtype}")
    if pd.api.types.is_object_dtype(dtype):
        return column.astype(object)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = dtype.categories.get_indexer(column)
        cast = pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=column.index, name=name)
        if (lost := cast.isna() & ~missing).any():
            raise CaseError(f"rows: column {name!r} holds {column[lost].iloc[0]!r}, which is none of its categories")
        return cast
    if isinstance(dtype, pd.StringDtype):
        if pd.api.types.infer_dtype(column.dropna().astype(object)) not in ("string", "empty"):
            raise error
        return column.astype(dtype)
    if missing.any() and isinstance(dtype, np.dtype) and dtype.kind in "biu":
        raise CaseError(f"rows: column {name!r} misses values, which its type {dtype} has not")
    numbers = column[~missing]
    if not pd.api.types.is_numeric_dtype(numbers):
        if not all(isinstance(value, Real | np.bool_) for value in numbers):
            raise error
        numbers = pd.to_numeric(numbers.astype(object))
    whole = pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
    if whole and not np.isfinite(numbers.astype(float)).all():
        raise CaseError(f"rows: column {name!r} holds infinite values, expected {dtype}")
    if whole and (numbers != np.trunc(numbers.astype(float))).any():
        raise CaseError(f"rows: column {name!r} holds fractions, expected {dtype}")
    if pd.api.types.is_bool_dtype(dtype) and not numbers.isin([0, 1]).all():
        raise error
    if isinstance(dtype, np.dtype):
        cast = pd.Series(np.nan if dtype.kind == "f" else 0, index=column.index, dtype=dtype, name=name)
    else:
        cast = pd.Series(pd.NA, index=column.index, dtype=dtype, name=name)
    cast[~missing] = numbers.astype(dtype)
    if whole and (cast[~missing].astype(float) != numbers.astype(float)).any():
        raise CaseError(f"rows: column {name!r} holds numbers that are too large for {dtype}")
    return cast


def _round_quartiles(numbers: np.ndarray) -> np.ndarray:
    """Return edges between quarters, in the fewest significant digits, three or more, that keep them near their size.

    Edges are rounded before anything is put between them, so that their names are true.
    """
    exact = np.unique(np.quantile(numbers, (0.25, 0.5, 0.75), method="inverted_cdf"))
    exact = exact[exact < numbers.max()]
    sizes = _sizes(exact, numbers)
    for digits in range(3, 17):
        edges = np.array([float(f"{edge:.{digits - 1}e}") for edge in exact])
        if (np.diff(edges) > 0).all() and (_sizes(edges, numbers) >= sizes / 2).all():
            return edges
    return exact


def _sizes(edges: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, numbers), minlength=len(edges) + 1)


def _spans(edges: Sequence[float]) -> list[str]:
    """Return names of what lies up to the first edge, between two, and above the last."""
    ends = [f"{float(edge):,}".removesuffix(".0") for edge in edges]
    if not ends:
        return ["any number"]
    return [f"up to {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)), f"above {ends[-1]}"]


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
