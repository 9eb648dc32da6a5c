"""Tables of engines, as narwhals reads them: pandas, Polars, Arrow, DuckDB, Spark; only counts leave the engine."""

from collections.abc import Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial, reduce
from itertools import count
from operator import or_
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from fairlab.cases.tables.encoding import FilesError, all_rows, connected, is_folder, quoted, source_files
from fairlab.cases.tables.keys import (
    DIGEST_IN_DUCKDB,
    DIGEST_IN_SPARK,
    Code,
    Cut,
    Distance,
    Hash,
    Key,
    Split,
    Sums,
    check_keys,
    check_kind_of_key,
    digests,
)
from fairlab.cases.tables.table import MOST_CATEGORIES, Column, StoredTable, Table
from fairlab.cases.tables.thresholds import N_BINS, refine_thresholds

FIRST_ROWS = 2_000  # enough rows to see that most columns have too many values


class EngineError(ValueError):
    """An engine could not count; names the columns."""


class EngineTable(StoredTable):
    """A table of an engine.

    Parameters
    ----------
    frame : DataFrame or lazy frame
        A table of any library that narwhals reads.
    """

    def __init__(self, frame: Any):
        self._frame = nw.from_native(frame).lazy()
        schema = dict(self._frame.collect_schema())
        self._categories = {
            name: dtype for name, dtype in schema.items() if isinstance(dtype, nw.Categorical | nw.Enum)
        }
        floats = [name for name, dtype in schema.items() if dtype.is_float()]
        plain = [nw.col(name).cast(nw.String) for name in [*self._categories, *self._uuids()]]
        # Adding zero removes negative zeros, which Arrow counts separately.
        plain += [nw.when(~nw.col(name).is_nan()).then(nw.col(name) + 0.0).alias(name) for name in floats]
        if plain:
            with _about(", ".join([*self._categories, *floats])):
                self._frame = self._frame.with_columns(*plain)
        self._dtypes = dict(self._frame.collect_schema())
        self.columns: dict[object, Column] = {}
        self._codes: dict[object, dict] = {}
        self._known: dict[tuple, np.ndarray] = {}  # thresholds

    def add(self, column: Column, codes: dict | None = None) -> None:
        """Register a column with the code of each of its values; None is the key of a missing value."""
        self.columns[column.name], self._codes[column.name] = column, codes

    def is_number(self, name: str) -> bool:
        """Whether a column has a type of numbers."""
        return self._dtypes[name].is_numeric()

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return list(self._dtypes)

    @property
    def n_rows(self) -> int:
        """The number of people."""
        return self._first(nw.len())[0]

    def values(self, name: str) -> list | None:
        """Return the different values of a column, None among them if some are missing; None if there are too many."""
        column = self._frame.select(name)
        for some in (column.head(FIRST_ROWS), column):
            # For `unique`, narwhals makes a window in DuckDB, which holds all rows.
            groups = some.group_by(name).agg(nw.len().alias(f"rows of {name}"))
            found = _with_none(self._collect(groups.head(MOST_CATEGORIES + 2), name)[name].to_list())
            if len(found) > MOST_CATEGORIES + (None in found):
                return None
        return found

    def categories(self, name: str) -> pd.CategoricalDtype | None:
        """Return the categories of a column whose type says so, with their order if it has one; else None."""
        dtype = self._categories.get(name)
        names = list(map(str, dtype.categories)) if isinstance(dtype, nw.Enum) else None
        return None if dtype is None else pd.CategoricalDtype(names, ordered=names is not None)

    def _n_not_finite(self, name: str) -> float:
        n_rows, finite = self._first(nw.len(), self._float(name).is_finite().cast(nw.Int64).sum())
        return n_rows - finite

    def key_column(self, name: str) -> str:
        """Return the name of a column of whole numbers, or of a new column of digests for strings."""
        dtype, digest = self._dtypes[name], f"digest of {name}"
        is_text = isinstance(dtype, nw.String)
        check_kind_of_key(name, dtype, is_text or dtype.is_integer())
        check_keys(name, *self._first(nw.len(), nw.col(name).count(), nw.col(name).n_unique()))
        if is_text:
            with _about(name):
                self._frame = self._with_digests(name, digest)
        return digest if is_text else name

    def _uuids(self) -> list[str]:
        """Return the columns of the type that DuckDB has for UUIDs."""
        if not self._frame.implementation.is_duckdb():
            return []
        native = self._frame.to_native()
        return [name for name, kind in zip(native.columns, native.types, strict=True) if str(kind) == "UUID"]

    def _with_digests(self, name: str, digest: str) -> nw.LazyFrame:
        """Return the frame with a column of the `digests` of strings."""
        engine, native = self._frame.implementation, self._frame.to_native()
        if engine.is_duckdb():
            text = DIGEST_IN_DUCKDB.format(quoted(name))
            return nw.from_native(native.project(f"*, {text} as {quoted(digest)}"))
        if engine.is_spark_like():
            of, to = (f"`{each.replace('`', '``')}`" for each in (name, digest))
            return nw.from_native(native.selectExpr("*", f"{DIGEST_IN_SPARK.format(of)} as {to}"))
        if engine.is_polars():
            polars = engine.to_native_namespace()
            found = polars.col(name).map_batches(
                lambda texts: polars.Series(digests(texts)), return_dtype=polars.Int64, is_elementwise=True
            )
            return nw.from_native(native.with_columns(found.alias(digest)))
        frame = self._frame.collect()
        column = nw.new_series(digest, digests(frame[name].to_list()), nw.Int64, backend=frame.implementation)
        return frame.with_columns(column).lazy()

    def among(self, key: Key, code: int) -> "EngineTable":
        """Return the table of people whose key has a given code."""
        part = copy(self)
        part._known, part._frame = {}, self._frame.filter(self._mapped(key, range(key.size), {}) == code)
        return part

    def tabulate(self, keys_list: Sequence[tuple[Key | Sums, ...]]) -> list[np.ndarray]:
        """Return counts of people by the codes of keys, see `Table.tabulate`."""
        if not keys_list:
            return []
        with _about(", ".join(sorted({str(name) for keys in keys_list for key in keys for name in _columns(key)}))):
            return self._tabulated(keys_list)

    def _tabulated(self, keys_list) -> list[np.ndarray]:
        frame, used = self._with_splits(keys_list)
        different = dict.fromkeys(key for keys in keys_list for key in keys)
        terms: dict[Sums, dict[str, nw.Expr]] = {}
        for sums in different:
            if isinstance(sums, Sums):
                frame, terms[sums] = self._with_terms(frame, sums, f"sums {len(terms)}", used)
        places = {key: f"key {number}" for number, key in enumerate(different) if key not in terms}
        named = {name: self._expression(key, used) for key, name in places.items()} | {"everyone": nw.lit(0)}
        frame = frame.select(**reduce(or_, terms.values(), named))
        sets = [[places[key] for key in keys if key in places] for keys in keys_list]
        summed = [[*terms.get(keys[-1], ())] if keys else [] for keys in keys_list]
        found = self._counted(frame, sets, summed)
        return [self._array(*each) for each in zip(keys_list, found, strict=True)]

    def _with_terms(self, frame, sums: Sums, name: str, used) -> tuple[nw.LazyFrame, dict[str, nw.Expr]]:
        """Return the frame with helper columns, and the terms to sum, with unique names."""
        values, names = [self._number(each) for each in (sums.x, sums.y)], (f"{name}, {n}" for n in count())
        if sums.cell is None:
            values += map(nw.lit, sums.standards)
        else:
            code = self._mapped(sums.cell, range(sums.cell.size), used)
            values += [_chosen(code, list(map(nw.lit, some))) for some in sums.standards]

        def keep(some):
            nonlocal frame
            named = {next(names): each for each in some}
            frame = frame.with_columns(**named)
            return list(map(nw.col, named))

        x, y, *standards = keep(values)
        terms = list(sums.terms(x, y, standards, floor=nw.Expr.floor, keep=keep))
        return frame, dict(zip(names, terms, strict=False))

    def span(self, number: object) -> tuple[float, float]:
        """Return the smallest and the largest number."""
        low, high = self._first(*(end(self._number(number)) for end in (nw.Expr.min, nw.Expr.max)))
        return float(low), float(high)

    def _thresholds(self, name: object, max_bins: int) -> np.ndarray:
        """Return the thresholds of one column, by ever finer histograms."""
        with _about(name):
            return refine_thresholds(np.array([[self.n_rows, *self.span(name)]]), partial(self._finer, name), max_bins)

    def _finer(self, name: str, bins: np.ndarray) -> np.ndarray:
        """Return the contents of finer bins inside some bins, each with at least two different numbers."""
        number, place = nw.col("number"), nw.lit(-1)
        for first, (_, low, high) in enumerate(bins.tolist()):
            unit = 1.0 if np.isfinite(high - low) else 0.5  # or the width would overflow
            scale = N_BINS / max(high * unit - low * unit, 1e-304)
            part = (number * unit - low * unit) * scale  # increasing, however it is rounded
            inside = (number >= low) & (number <= high)
            place = nw.when(inside).then(part.floor().cast(nw.Int64) + first * (N_BINS + 1)).otherwise(place)
        frame = self._frame.select(self._number(name).alias("number"))
        frame = frame.with_columns(place.alias("place")).filter(nw.col("place") >= 0)
        ends = number.min().alias("low"), number.max().alias("high")
        found = self._collect(frame.group_by("place").agg(nw.len().alias("people"), *ends), name)
        return np.column_stack([np.array(found[each].to_list(), dtype=float) for each in ("people", "low", "high")])

    def sample(self, key: Hash, share: float, names: Sequence[str]) -> dict[str, Column]:
        """Return columns of people whose hash lies in the lowest `share` of all hashes, ordered by key."""
        found, columns = self.draw(key, share, names), {}
        for name in names:
            column, values = self.columns[name], found[name].to_list()
            taken = self._coded(name, values) if column.is_categorical else np.array(values, dtype=float)
            columns[name] = Column(name, taken, column.categories)
        return columns

    def draw(self, key: Hash, share: float, names: Sequence[str]) -> nw.DataFrame:
        """Return rows of people whose hash lies in the lowest `share` of all hashes, ordered by key."""
        drawn = self._frame.filter(key.of(nw.col(key.column).cast(nw.Int64)) < key.below(share)).sort(key.column)
        return self._collect(drawn.select(*names), ", ".join(names))

    def _with_splits(self, keys_list) -> tuple[nw.LazyFrame, dict[Split, str]]:
        """Return the frame with a column for each split, often without people in no list; and the columns' names."""
        frame, used = self._frame, {}
        every = [{key for key in keys if isinstance(key, Split)} for keys in keys_list]
        for split in [split for splits in every for each in splits for split in _ancestors(each)]:
            if split not in used:
                frame = frame.with_columns(self._expression(split, used).alias(name := f"split {len(used)}"))
                used[split] = name
        # Query engines would copy the expressions of a split and of all its ancestors into the filter, and nested
        # expressions double in size with each split. There, people in no list are left out afterwards.
        if not (frame.implementation.is_duckdb() or frame.implementation.is_spark_like()):
            for split in set.intersection(*every):
                frame = frame.filter(nw.col(used[split]) >= 0)
        return frame, used

    def _expression(self, key: Key, used: dict[Split, str]) -> nw.Expr:
        """Return what people are grouped by: of a category its value, else the code."""
        if isinstance(key, Code):
            return nw.col(key.column)
        if isinstance(key, Split) and key in used:
            return nw.col(used[key])
        if isinstance(key, Cut):
            return self._mapped(key, range(key.size), used)
        if key.parent is None:
            return self._mapped(*key.branches[0], used)
        parent = self._mapped(key.parent, range(key.parent.size), used)
        parts = [branch and self._mapped(*branch, used) for branch in key.branches]
        return nw.when(parent >= 0).then(_chosen(parent, parts)).otherwise(nw.lit(-1))

    def _number(self, number: object) -> nw.Expr:
        """Return a number as an expression: of a column, the code of a category, a hash, or a distance."""
        if isinstance(number, Code):
            return self._mapped(number, range(number.size), {}).cast(nw.Float64)
        if isinstance(number, Hash):
            return number.of(nw.col(number.column).cast(nw.Int64))
        if isinstance(number, Distance):
            return (self._number(number.first) - self._number(number.second)).abs()
        return self._float(number)

    def _float(self, name: str) -> nw.Expr:
        """Return the numbers of a column as the nearest floats."""
        column = nw.col(name)
        if self._dtypes[name].is_integer() and self._frame.implementation.is_pyarrow():
            # Arrow refuses to cast integers with more digits than a float has; their halves have fewer.
            high = column // 2**32
            return high.cast(nw.Float64) * 2.0**32 + (column - high * 2**32).cast(nw.Float64)
        return column.cast(nw.Float64)

    def _mapped(self, key: Key, codes: Sequence[int], used: dict[Split, str]) -> nw.Expr:
        """Return a number for each code of a key."""
        if isinstance(key, Cut):
            number, found = self._number(key.number), nw.lit(codes[-1])
            for threshold, code, after in list(zip(key.thresholds, codes[:-1], codes[1:], strict=True))[::-1]:
                if code != after:
                    found = nw.when(number <= threshold).then(nw.lit(code)).otherwise(found)
            return found
        if isinstance(key, Split) and codes == range(key.size):
            return self._expression(key, used)
        column = self._expression(key, used)
        values: dict[int, list] = {}
        every = self._codes[key.column] if isinstance(key, Code) else {code: code for code in range(key.size)}
        for value, code in every.items():
            values.setdefault(codes[code], []).append(value)
        found = nw.lit(-1)
        for code, some in values.items():
            if code >= 0:
                known = [value for value in some if value is not None]
                tests = ([column.is_in(known)] if known else []) + ([column.is_null()] if None in some else [])
                found = nw.when(reduce(or_, tests)).then(nw.lit(code)).otherwise(found)
        return found

    def _counted(self, frame: nw.LazyFrame, sets: list[list[str]], summed: list[list[str]]) -> list[list[tuple]]:
        """Return the distinct rows for each set of columns, each row with the number of people and the sums last."""
        native, engine = frame.to_native(), frame.implementation
        names = list(dict.fromkeys(name for columns in sets for name in columns))
        if engine.is_duckdb() and names:
            return self._in_grouping_sets(native, names, sets, summed)
        grouped = [
            (frame.group_by(*columns).agg if columns else frame.select)(
                nw.len().alias("people"), *(nw.col(name).sum() for name in terms)
            )
            for columns, terms in zip(sets, summed, strict=True)
        ]
        if engine.is_polars():
            collect_all = engine.to_native_namespace().collect_all
            found = [nw.from_native(each) for each in collect_all([each.to_native() for each in grouped])]
        else:
            found = [each.collect() for each in grouped]
        return [
            list(zip(*(each[name].to_list() for name in [*columns, "people", *terms]), strict=True))
            for each, columns, terms in zip(found, sets, summed, strict=True)
        ]

    def _in_grouping_sets(self, relation, names, sets, summed) -> list[list[tuple]]:
        """Do what `_counted` does, for a relation of DuckDB."""
        listed = ", ".join(f'"{name}"' for name in names)
        terms = list(dict.fromkeys(name for some in summed for name in some))
        different = {",".join(f'"{name}"' for name in columns): columns for columns in sets}
        totals = "".join(f', sum("{name}")' for name in terms)
        # A query would need a name for the relation, which may be that of a user's table.
        counted = f"{listed}, GROUPING({listed}), count(*){totals}"
        rows = relation.aggregate(counted, f"GROUPING SETS ({', '.join(f'({each})' for each in different)})").fetchall()
        columns_of = [*names, "absent", "people", *terms]
        by_set: dict[int, list] = {}
        for row in rows:
            by_set.setdefault(row[len(names)], []).append(row)
        found = []
        for columns, some in zip(sets, summed, strict=True):
            absent = sum(2 ** (len(names) - 1 - place) for place, name in enumerate(names) if name not in columns)
            places = [columns_of.index(name) for name in [*columns, "people", *some]]
            found.append([tuple(row[place] for place in places) for row in by_set.get(absent, [])])
        return found

    def _array(self, keys: tuple[Key | Sums, ...], rows: list[tuple]) -> np.ndarray:
        """Return counts, and sums, with one axis for each key, from the rows of `_counted`."""
        keyed = [key for key in keys if not isinstance(key, Sums)]
        dtype = np.int64 if len(keyed) == len(keys) else float
        counts = np.zeros([key.size for key in keys], dtype=dtype)
        if rows:
            values, totals = zip(*(row[: len(keyed)] for row in rows), strict=True), [row[len(keyed) :] for row in rows]
            codes = [
                self._coded(key.column, each) if isinstance(key, Code) else np.array(each, dtype=np.int64)
                for key, each in zip(keyed, values, strict=True)
            ]
            inside = np.all([np.ones(len(rows), dtype=bool), *(each >= 0 for each in codes)], axis=0)
            totals = np.array(totals, dtype=dtype)[inside].reshape(-1, *counts.shape[len(keyed) :])
            if not keyed:
                return totals[0]
            np.add.at(counts, tuple(each[inside] for each in codes), totals)
        return counts

    def _coded(self, name: str, values: Sequence) -> np.ndarray:
        """Return the codes of values of a column."""
        codes = self._codes[name]
        values = _with_none(values)
        if strange := [value for value in values if value not in codes]:
            raise EngineError(f"column {name!r}: found {strange[0]!r}, which it did not have before; has it changed?")
        return np.array([codes[value] for value in values], dtype=np.intp)

    def _first(self, *expressions: nw.Expr) -> tuple:
        """Return the values of expressions over everyone."""
        frame = self._frame.select(*(each.alias(f"value {place}") for place, each in enumerate(expressions)))
        return self._collect(frame, ", ".join(map(str, self._dtypes))).row(0)

    def _collect(self, frame: nw.LazyFrame, about: str) -> nw.DataFrame:
        with _about(about):
            return frame.collect()


def engine_table(table: Any, argument: str) -> Table:
    """Return a table of an engine, of a folder of codes, or of files, which DuckDB reads at each count.

    Raises
    ------
    TypeError
        If it is none.
    FilesError
        If a path stands for no file, or one cannot be read or has other columns than the first.
    ValueError
        If a column of a pandas DataFrame has a name that is no string.
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | Path):
        try:
            return _of_path(table)
        except FilesError as error:
            raise FilesError(f"{argument}: {error}") from error
    if isinstance(table, pd.DataFrame) and (strange := [name for name in table if not isinstance(name, str)]):
        raise ValueError(f"{argument}: expected strings as names of columns, found {strange[0]!r}")
    try:
        return EngineTable(table)
    except TypeError:
        raise TypeError(f"{argument}: expected a DataFrame, found {type(table).__name__}") from None


def _of_path(path: str | Path) -> Table:
    """Return the table of a folder of codes, or of files."""
    if is_folder(path):
        from fairlab.cases.tables.folder import Folder

        return Folder(path)
    connection = connected()  # which lives as long as the table
    return EngineTable(connection.sql(all_rows(connection, source_files(path))))


@contextmanager
def _about(columns: str):
    """Turn an engine's error into one that names the columns."""
    try:
        yield
    except EngineError:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise EngineError(f"columns {columns}: the engine could not count, {type(error).__name__}: {first}") from error


def _with_none(values: Sequence) -> list:
    """Return values with None for a missing one, which pandas has as nan or NA."""
    return [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in values]


def _chosen(code: nw.Expr, values: Sequence, first: int = 0) -> nw.Expr:
    """Return an expression for the value of each code from `first` on, by bisection; -1 for codes without one."""
    if not any(value is not None for value in values):
        return nw.lit(-1)
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    low, high = _chosen(code, values[:half], first), _chosen(code, values[half:], first + half)
    return nw.when(code < first + half).then(low).otherwise(high)


def _ancestors(split: Split) -> list[Split]:
    """Return a split, after all splits that it builds on."""
    return [*(_ancestors(split.parent) if isinstance(split.parent, Split) else ()), split]


def _columns(key: Key) -> set[object]:
    """Return the names of the columns of a key."""
    if isinstance(key, Code | Hash):
        return {key.column}
    if isinstance(key, Cut):
        return _columns(key.number)
    if isinstance(key, Distance | Sums):
        first, second = (key.first, key.second) if isinstance(key, Distance) else (key.x, key.y)
        return _columns(first) | _columns(second)
    if not isinstance(key, Split):
        return {key}
    keys = [key.parent, *(branch[0] for branch in key.branches if branch)]
    return {name for each in keys if each is not None for name in _columns(each)}
