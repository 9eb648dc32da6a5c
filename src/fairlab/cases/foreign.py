"""Conversion of tables of other libraries, and of dates, durations, decimals and number objects to numbers.

Only methods see these numbers. A number that stands for a value of the table is turned back into exactly that value,
any other number into a value of the same kind.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.schema import PLAIN_TYPES, CaseError, case_errors

DAY = np.timedelta64(1, "D")


def as_pandas(table) -> pd.DataFrame:
    """Return a table of pandas.

    Parameters
    ----------
    table : DataFrame of pandas, polars, or another library that narwhals knows; or a pyarrow Table

    Raises
    ------
    CaseError
        If it is no table, its columns are not named by different strings, or text is not Unicode.
    """
    if not isinstance(table, pd.DataFrame):
        table = from_other_library(table)
    for name in table.columns:
        if not isinstance(name, str):
            advice = "table.columns = [str(name) for name in table.columns]"
            raise CaseError(f"table: expected strings as names of columns, found {name!r}; {advice} makes them so")
    if not table.columns.is_unique:
        doubled = table.columns[table.columns.duplicated()].unique()
        raise CaseError(f"table: columns occur twice: {', '.join(doubled)}")
    _check_texts("table: names of columns", table.columns)
    for name, column in table.items():
        if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
            values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
            _check_texts(f"column {name!r}", values)
    return table


def _check_texts(where: str, values) -> None:
    """Raise a CaseError if a string has a lone surrogate, which no hash, file or report can hold."""
    texts = [value for value in values if isinstance(value, str)]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise CaseError(f"{where}: expected text, found the lone surrogate {error.object[error.start]!a}") from error


def plain_table(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table with numbers in place of dates, durations and decimals, and converters back, by column.

    Dates become days since 1970-01-01, durations days, decimals floats, objects that are all numbers a column of
    numbers, and categories of such values their names.

    Raises
    ------
    CaseError
        If two values of a column become one number.
    """
    originals: dict[str, Any] = {}
    columns = {}
    for name, column in table.items():
        if (kind := _kind(column)) is not None:
            columns[name] = kind.numbers(column)
            originals[name] = kind if isinstance(kind, _Categories) else Originals(column, columns[name], kind)
    return table.assign(**columns), originals


def as_numbers(rows: pd.DataFrame, originals: Mapping[str, Any]) -> pd.DataFrame:
    """Return rows with numbers in those columns that `plain_table` has made numbers of."""
    found = {name: kind for name in originals if name in rows and (kind := _kind(rows[name])) is not None}
    return rows.assign(**{name: kind.numbers(rows[name]) for name, kind in found.items()})


class Originals:
    """The original values of a column, by the numbers that stand for them.

    Parameters
    ----------
    column : Series
    numbers : Series
    kind : _Moments or _Decimals
        Makes values of numbers that the column does not have.

    Raises
    ------
    CaseError
        If one number stands for two values.
    """

    def __init__(self, column: pd.Series, numbers: pd.Series, kind: Any):
        known, self._dtype = numbers.notna().to_numpy(), column.dtype
        column, numbers, missing = column[known], numbers[known], column[~known]
        first = ~numbers.duplicated().to_numpy()
        self._numbers, self._values, self._kind = pd.Index(numbers[first]), column[first].array, kind
        if column.dtype == object:  # the missing value of the column comes last, at place -1
            last = missing.head(1).to_numpy() if len(missing) else np.array([None])
            self._values = np.append(column[first].to_numpy(), last)
        again = self._values.take(self._numbers.get_indexer(numbers))
        if not (is_same := np.asarray(again == column.array, dtype=bool)).all():
            place = is_same.argmin()
            raise CaseError(
                f"column {column.name!r} holds {again[place]} and {column.iloc[place]}, which are one number, "
                f"{numbers.iloc[place]}; round them, make them strings, or leave the column out by features="
            )

    def __call__(self, numbers: pd.Series) -> pd.Series:
        """Return the values that numbers stand for, in the dtype of the column."""
        places = self._numbers.get_indexer(numbers)
        options = {} if pd.api.types.is_object_dtype(self._dtype) else {"allow_fill": True}
        values = pd.Series(self._values.take(places, **options), index=numbers.index, dtype=self._dtype)
        if (new := (places < 0) & numbers.notna().to_numpy()).any():
            try:
                values[new] = self._kind.values(numbers.to_numpy(dtype=float, na_value=np.nan)[new])
            except (ArithmeticError, TypeError, ValueError) as error:
                most = max(numbers[new], key=abs)
                raise CaseError(
                    f"rows: column {numbers.name!r}: expected {self._kind}, found the number {most}"
                ) from error
        return values.rename(numbers.name)

    @property
    def in_words(self) -> Callable[[float], str] | None:
        """A function that writes a number as a date or a duration; None for other kinds of columns."""
        if not isinstance(self._kind, _Moments):
            return None
        return lambda number: re.sub(r" 00:00:00(?=[+-]|$)", "", str(self._kind.values(np.array([number]))[0]))


def from_other_library(table) -> pd.DataFrame:
    """Return another library's table as a pandas DataFrame; raises a CaseError if it is not a table."""
    import narwhals

    try:
        return in_pandas(narwhals.from_native(table, eager_only=True))
    except TypeError:
        raise CaseError(f"table: expected a DataFrame, found {type(table).__name__}") from None
    except ImportError as error:
        raise CaseError(f"table: {error}; pandas needs it to read a {type(table).__module__} table") from None


def in_pandas(frame) -> pd.DataFrame:
    """Return a narwhals frame as a pandas one, where integers become floats if some are missing.

    Integers too large for floats stay integers. Unordered categories are sorted, since their order may depend on the
    order of the rows.
    """
    found = with_integers(frame.to_pandas(), frame)
    for name, column in found.items():
        if isinstance(column.dtype, pd.CategoricalDtype) and not column.cat.ordered:
            found[name] = column.cat.reorder_categories(sorted(column.cat.categories))
    return found


def with_integers(found: pd.DataFrame, frame) -> pd.DataFrame:
    """Return `found`, which pandas made of a narwhals frame, with integers too large for floats restored."""
    for name, dtype in frame.schema.items():
        if dtype.is_integer() and name in found and found[name].dtype.kind == "f" and found[name].abs().max() >= 2**53:
            kind = "UInt64" if dtype.is_unsigned_integer() else "Int64"
            found[name] = pd.Series(frame[name].to_list(), found.index, dtype=kind)
    return found


def _kind(column: pd.Series):
    """Return the converter for a column of dates, durations, decimals or number objects; None for any other."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        is_plain = all(isinstance(value, PLAIN_TYPES) for value in column.cat.categories)
        return None if is_plain else _Categories(column)
    values = _of_pandas(column)
    if values.dtype.kind in "Mm":
        return _Moments(column)
    known = values.dropna() if values.dtype == object else values[:0]
    if len(known) and known.infer_objects().dtype.kind in "iuf":
        return _Numbers(column)
    for type_, make in ((datetime.date, _Moments), (Decimal, _Decimals)):
        if len(known) and known.map(lambda value, type_=type_: isinstance(value, type_)).all():
            return make(column)
    return None


def _of_pandas(column: pd.Series) -> pd.Series:
    """Return a column unchanged, but Arrow's dates, durations and decimals in a NumPy dtype."""
    is_arrow = isinstance(column.dtype, pd.ArrowDtype) and column.dtype.kind in "MmO"
    return pd.Series(column.to_numpy(), column.index, name=column.name) if is_arrow else column


class _Categories:
    """Categories such as dates and intervals; methods see their names."""

    def __init__(self, column: pd.Series):
        self._categories = column.cat.categories

    def numbers(self, column: pd.Series) -> pd.Series:
        """Return the categories by name."""
        names = [value if isinstance(value, str) else str(value) for value in column.cat.categories]
        if len(set(names)) < len(names):
            raise CaseError(f"column {column.name!r}: expected categories with different names, found {names}")
        return column.cat.rename_categories(names)

    def __call__(self, column: pd.Series) -> pd.Series:
        return column.cat.rename_categories(self._categories)


class _Moments:
    """Dates and times, or durations: of pandas, or of Python's `datetime`."""

    def __init__(self, column: pd.Series):
        first, moments = column.dropna().head(1), _moments(column)
        self._dtype, self._type = column.dtype, type(first.iloc[0]) if _of_pandas(first).dtype == object else None
        self._zone = (
            getattr(moments.dtype, "tz", None) if self._type is None else getattr(first.iloc[0], "tzinfo", None)
        )
        self._numpy = np.dtype(f"{moments.dtype.kind}8[{moments.dt.unit}]")

    def __str__(self):
        return str(self._dtype) if self._type is None else self._type.__name__

    def numbers(self, column: pd.Series) -> pd.Series:
        """Return days, counted from 1970-01-01 UTC for dates: integers if all are whole and none is missing."""
        moments = _moments(column)
        if getattr(moments.dtype, "tz", None) is not None:
            moments = moments.dt.tz_convert(None)
        missing, ticks = moments.isna().to_numpy(), moments.to_numpy().astype(np.int64)
        per_day = round(DAY / np.timedelta64(1, moments.dt.unit))
        days = np.where(missing, np.nan, ticks / per_day)
        if not missing.any() and not (ticks % per_day).any():
            days = ticks // per_day
        return pd.Series(days, index=column.index, name=column.name)

    def values(self, days: np.ndarray):
        # Days as a float cannot resolve nanoseconds.
        unit: Any = np.datetime_data(self._numpy)[0]
        steps = 1000 if unit == "ns" else 1
        ticks = np.rint(days * (DAY / np.timedelta64(steps, unit))) * steps
        if (np.abs(ticks) >= 2**63).any():
            raise ValueError("beyond 64 bits")
        moments = pd.Series(ticks.astype(np.int64).view(self._numpy))
        if self._type is not None and not moments.dt.year.between(datetime.MINYEAR, datetime.MAXYEAR).all():
            raise ValueError("beyond year 9999")
        if self._zone is not None:
            moments = moments.dt.tz_localize("UTC").dt.tz_convert(self._zone)
        if self._type is not None:
            is_time, is_pandas = issubclass(self._type, datetime.datetime), self._type is pd.Timestamp
            moments = (
                moments.astype(object) if is_pandas else moments.dt.to_pydatetime() if is_time else moments.dt.date
            )
        return pd.Series(moments, dtype=self._dtype).array


def _moments(column: pd.Series) -> pd.Series:
    """Return dates and times, or durations, in a dtype of pandas."""
    moments = _of_pandas(column)
    if moments.dtype != object:
        return moments
    has_zone = moments.dropna().map(lambda value: getattr(value, "tzinfo", None) is not None)
    if has_zone.any() and not has_zone.all():
        raise CaseError(f"column {column.name!r}: expected all dates with a time zone, or none, found some")
    with case_errors(f"column {column.name!r}: "):
        return pd.to_datetime(moments, utc=True) if has_zone.any() else moments.astype("datetime64[us]")


class _Decimals:
    """Decimals, rounded to the largest number of places in the column."""

    def __init__(self, column: pd.Series):
        self._dtype = column.dtype
        exponents = [value.as_tuple().exponent for value in column.dropna().unique()]
        self._unit = Decimal(1).scaleb(
            min((exponent for exponent in exponents if isinstance(exponent, int)), default=0)
        )
        self._context = Context(prec=700)  # of any float

    def __str__(self):
        return "decimal"

    def numbers(self, column: pd.Series) -> pd.Series:
        """Return decimals as floats."""
        return column.astype(object).where(column.notna(), np.nan).astype(float)

    def values(self, numbers: np.ndarray):
        """Return decimals."""
        found = [Decimal(str(number)).quantize(self._unit, context=self._context) for number in numbers.tolist()]
        return pd.Series(found, dtype=self._dtype).array


class _Numbers:
    """Numbers that came as objects, as from an array of mixed types; a numeric dtype keeps them numbers."""

    def __init__(self, column: pd.Series):
        kind = column.dropna().infer_objects().dtype
        may_miss = {"i": "Int64", "u": "UInt64"}.get(kind.kind, kind)  # integers may be too large for floats
        self._dtype = may_miss if column.isna().any() else kind

    def __str__(self):
        return "number"

    def numbers(self, column: pd.Series) -> pd.Series:
        """Return the numbers in a numeric dtype."""
        return column.where(column.notna(), np.nan).astype(self._dtype)

    def values(self, numbers: np.ndarray):
        """Return the numbers as objects."""
        return pd.Series(numbers, dtype=object).array
