"""Tables of other libraries, and columns of dates and decimals: numbers for methods, what they were for the model."""

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pandas as pd

from fairlab.cases.schema import CaseError

DAY = pd.Timedelta(days=1)
Originals = Mapping[str, Callable[[pd.Series], pd.Series]]


def plain_table(table) -> tuple[pd.DataFrame, Originals]:
    """Return a table of pandas with numbers in place of dates and decimals, and how each such column is got back.

    Parameters
    ----------
    table : DataFrame of pandas, polars, or another library that narwhals knows; or a pyarrow Table
        Dates become days since 1970-01-01, decimals floats.

    Raises
    ------
    CaseError
        If it is no table.
    """
    if not isinstance(table, pd.DataFrame):
        table = _from_other_library(table)
    originals: dict[str, Any] = {}
    columns = {}
    if not table.columns.is_unique:  # refused later, by name
        return table, originals
    for name, column in table.items():
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            columns[name], originals[name] = _days(column), _Dates(column.dtype)
        elif column.dtype == object and (kind := _kind(column)) is not None:
            columns[name], originals[name] = kind(column)
    return table.assign(**{str(name): column for name, column in columns.items()}), originals


def with_originals(function: Callable, originals: Originals) -> Callable:
    """Return a function of rows that gives another one the columns as they were."""

    def of_originals(rows, *more):
        named = {name: back(rows[name]) for name, back in originals.items() if name in rows}
        return function(rows.assign(**named), *more)

    return of_originals


def _from_other_library(table) -> pd.DataFrame:
    import narwhals

    try:
        return narwhals.from_native(table, eager_only=True).to_pandas()
    except TypeError:
        raise CaseError(f"table: expected a DataFrame, found {type(table).__name__}") from None
    except ImportError as error:
        raise CaseError(f"table: {error}; pandas needs it to read a {type(table).__module__} table") from None


def _kind(column: pd.Series) -> Callable | None:
    """Return what makes numbers of a column of objects, if all are dates, or all are decimals."""
    known = column.dropna()
    for types, make in (((datetime.date,), _of_dates), ((Decimal,), _of_decimals)):
        if len(known) and known.map(lambda value, types=types: isinstance(value, types)).all():
            return make
    return None


def _of_dates(column: pd.Series):
    moments = pd.to_datetime(column)
    has_times = column.dropna().map(lambda value: isinstance(value, datetime.datetime)).any()
    return _days(moments), _Dates(moments.dtype, only_days=not has_times)


def _of_decimals(column: pd.Series):
    exponents = column.dropna().map(lambda value: value.as_tuple().exponent)
    return column.astype(float), _Decimals(int(exponents.min()))


def _days(column: pd.Series) -> pd.Series:
    """Return days since 1970-01-01 in Greenwich."""
    moments = column.dt.tz_convert("UTC").dt.tz_localize(None) if column.dt.tz is not None else column
    days = (moments - pd.Timestamp(0)) / DAY
    return days.astype("int64") if (days % 1 == 0).all() else days


class _Dates:
    """Makes dates of days."""

    def __init__(self, dtype, *, only_days: bool = False):
        self.dtype, self.only_days = dtype, only_days

    def __call__(self, days: pd.Series) -> pd.Series:
        moments = (pd.Timestamp(0) + pd.to_timedelta(days.astype(float), unit="D")).dt.round("us")
        if getattr(self.dtype, "tz", None) is not None:
            return moments.dt.tz_localize("UTC").dt.tz_convert(self.dtype.tz).astype(self.dtype)
        return moments.dt.date if self.only_days else moments.astype(self.dtype)


class _Decimals:
    """Makes decimals of floats, with as many places as the column had at most."""

    def __init__(self, exponent: int):
        self.unit = Decimal(1).scaleb(exponent)

    def __call__(self, numbers: pd.Series) -> pd.Series:
        found = [None if number != number else Decimal(str(number)).quantize(self.unit) for number in numbers]
        return pd.Series(found, index=numbers.index, dtype=object)
