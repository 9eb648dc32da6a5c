"""The domain of a model's inputs: its features, the values that each can have, and their codes."""

import datetime
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import floor, prod
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairlab.checks import (
    COUNT_OR_ZERO,
    check_count,
    check_features,
    check_kind,
    check_names,
    check_seed,
    check_text,
    checked,
    is_number,
)

LARGEST_INTEGER = 2**62  # so that sums of two values fit into 64 bits
N_BINS = 10
MAX_VALUES = 100  # numbers with more different values than this are binned
PLAIN_TYPES = (str, bytes, Real, np.bool_)  # of values
PLAIN = ("string", "boolean", "empty", "integer", "floating", "mixed-integer-float")  # types that pandas infers
# Types of columns that no model is given, and what to do about them.
UNFIT = (
    (
        lambda dtype: (
            pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype)
        ),
        "make it a number, as the age in years, or leave it out by features=",
    ),
    (pd.api.types.is_timedelta64_dtype, "make it a number, as .dt.total_seconds() does"),
    (lambda dtype: isinstance(dtype, pd.SparseDtype), "make it dense, as .sparse.to_dense() does"),
    (lambda dtype: dtype.kind == "c", "make it real numbers"),
    (lambda dtype: dtype == np.float16, "make it wider, as .astype('float32') does"),
)
MAX_SIZE = 1e75  # of numbers: fourth powers must be finite
MAX_GROUP_VALUES = 10  # numbers with more different values than this make four groups
MIN_SIZE_KEPT = 0.8  # share of a group's size that rounding its edges must keep


class CaseError(ValueError):
    """A model, a table or a schema that cannot be used as they are; says what was expected and what was found.

    Examples
    --------
    >>> import fairlab
    >>> fairlab.Case(lambda rows: rows["x"] > 1, pd.DataFrame({"x": [1, 2]}), sensitive_features="sex")
    Traceback (most recent call last):
    ...
    fairlab.cases.schema.CaseError: sensitive_features: no column 'sex' (known: x)
    """


class ModelFailedError(CaseError):
    """A model that answers for the people of its table, and fails on rows that a method made."""


@contextmanager
def case_errors(before: str = "", after: str = ""):
    """Turn a TypeError, ValueError or OSError inside the block into a CaseError, with text around its message."""
    try:
        yield
    except (TypeError, ValueError, OSError) as error:
        raise CaseError(f"{before}{error}{after}") from error


@dataclass(frozen=True)
class Feature:
    """One input variable: its values, or bins of a number, and their codes.

    The code of a value is its position among `values`, or that of its bin. `find` and `decode` go from values to codes
    and back; `categories` gives a column with names in place of values.

    Attributes
    ----------
    name : str
    values : tuple or range
        What it can be, all different. Consecutive integers in increasing order become a range, which takes no memory.
        At most one of them is a missing value: None, nan or ``pandas.NA``.
    edges : tuple of float or None
        Inner edges of the bins of a number, each the end of a bin; each value but the missing one represents its bin.

    Raises
    ------
    CaseError
        If there is no value, one is listed twice, or an integer is too large for 64 bits; if edges do not separate the
        values.

    Examples
    --------
    >>> from fairlab.cases import Feature
    >>> Feature("age", [18, 19, 20])
    Feature(name='age', values=range(18, 21), edges=None)
    >>> Feature("age", [18, 18])
    Traceback (most recent call last):
    ...
    fairlab.cases.schema.CaseError: feature 'age': a value is listed twice
    >>> job = Feature.from_column("job", pd.Series(["cook", "clerk", None]))
    >>> job.labels, job.find(pd.Series(["cook", None, "baker"])).tolist()
    (['clerk', 'cook', '(missing)'], [1, 2, -1])
    """

    name: str
    values: Sequence
    edges: Sequence[float] | None = None

    def __post_init__(self):
        check_text(self.name, "name")
        values = self.values
        if not isinstance(values, range):
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise CaseError(f"feature {self.name!r}: expected a list of values, found {values!r}")
            values = tuple(values)
            check_values(values, f"feature {self.name!r}")
            known = [value for value in values if not is_missing(value)]
            if len(values) - len(known) > 1 or len(set(known)) < len(known):
                raise CaseError(f"feature {self.name!r}: a value is listed twice")
        if not values:
            raise CaseError(f"feature {self.name!r}: expected at least one value, found none")
        if not isinstance(values, range):
            values = _as_range(values)
        if isinstance(values, range) and not _fits(values):
            if abs(values[-1] - values[0]) >= MAX_VALUES:
                raise CaseError(f"feature {self.name!r}: {values[0]} to {values[-1]} does not fit into 64 bits")
            values = tuple(values)
        object.__setattr__(self, "values", values)
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self.name, self.edges))
            known = [value for value in self.values if not is_missing(value)]
            if not all(map(_is_real, known)):
                raise CaseError(f"feature {self.name!r}: edges need numbers as values, found {known[:3]}")
            if [bisect_left(self.edges, value) for value in known] != list(range(len(self.edges) + 1)):
                raise CaseError(
                    f"feature {self.name!r}: expected one value in each of the {len(self.edges) + 1} bins, in order, "
                    f"found {known}"
                )

    @classmethod
    def between(cls, name: str, low: int, high: int) -> "Feature":
        """Return a feature with all integers between two, both included.

        Raises
        ------
        CaseError
            If the bounds are not whole numbers, or are in the wrong order.
        """
        if not all(isinstance(bound, Integral) and not isinstance(bound, bool | np.bool_) for bound in (low, high)):
            raise CaseError(f"feature {name!r}: expected whole numbers as low and high, found {low!r} and {high!r}")
        if low > high:
            raise CaseError(f"feature {name!r}: low {low} is above high {high}")
        return cls(name, range(int(low), int(high) + 1))

    @classmethod
    def from_description(cls, name: str, description: Mapping[str, Any]) -> "Feature":
        """Return a feature from a list of values, the bounds of an interval, or values and edges of bins.

        Raises
        ------
        CaseError
            If it is none of these.
        """
        if not isinstance(description, Mapping):
            return cls(name, description)
        if set(description) == {"values", "edges"}:
            return cls(name, description["values"], description["edges"])
        if set(description) == {"low", "high"}:
            return cls.between(name, description["low"], description["high"])
        found = ", ".join(map(str, description)) or "nothing"
        raise CaseError(f"feature {name!r}: expected low and high, or values and edges, found {found}")

    @classmethod
    def from_column(
        cls,
        name: str,
        column: pd.Series,
        *,
        bins: int | None = N_BINS,
        edges: Sequence[float] | None = None,
    ) -> "Feature":
        """Return the domain of a column: values that occur, all integers between, or bins; see `Schema.from_frame`.

        Whole numbers, none missing, become all integers between their extremes if these are at most 100 and at least
        half of them occur. Otherwise they are taken for codes, and integers that do not occur are left out.

        Parameters
        ----------
        name : str
        column : Series
        bins : int or None
            Number of bins, of similar size, for more than 100 different numbers; None to list all values, or all
            integers between if no value is missing.
        edges : sequence of float or None
            Inner edges of bins, instead of quantiles; a value that is an edge belongs to the bin below.

        Raises
        ------
        CaseError
            If the column is empty, or holds anything but strings, booleans and numbers; if edges are not increasing, or
            leave a bin empty.
        """
        values, missing = values_of(name, column)
        if edges is not None and not is_number(column):
            raise CaseError(f"edges: column {name!r} has type {column.dtype}, expected numbers")
        numbers = np.sort(column.dropna().to_numpy()) if is_number(column) else np.empty(0)
        if edges is None and bins is not None and len(numbers) and len(values) > MAX_VALUES:
            inner = np.unique(np.quantile(numbers, np.arange(1, bins) / bins, method="inverted_cdf"))
            edges = inner[inner < values[-1]].tolist()
        if edges is not None:
            return cls(name, [*_representatives(name, numbers, edges), *missing], edges)
        is_whole = numbers.dtype.kind in "iu" and not missing
        n_between = values[-1] - values[0] + 1 if is_whole and values else 0
        if n_between and (bins is None or (n_between <= MAX_VALUES and n_between <= 2 * len(values))):
            return cls(name, range(values[0], values[-1] + 1))
        return cls(name, [*values, *missing])

    @classmethod
    def groups(
        cls,
        name: str,
        column: pd.Series,
        *,
        most: int = MAX_GROUP_VALUES,
        n_groups: int = 4,
        edges: Sequence[float] | None = None,
    ) -> "Feature":
        """Return the values that occur in a column; more than `most` different numbers make groups of similar size.

        Groups lie between rounded quantiles, or given edges. Their names have these edges, not the smallest and largest
        numbers, which belong to somebody: "up to 28", "28 to 37", "above 37".

        Parameters
        ----------
        name : str
        column : Series
        most : int
        n_groups : int
            Groups between quantiles; ties may leave fewer.
        edges : sequence of float or None
            Inner edges, each of which ends its group.

        Raises
        ------
        CaseError
            If the column holds anything but strings, booleans and numbers, or edges are not increasing.
        """
        values, missing = values_of(name, column)
        if is_number(column) and (edges is not None or len(values) > most):
            edges = _rounded_quantiles(_widened(column.dropna()), n_groups) if edges is None else edges
            return cls(name, [*edges, np.inf, *missing], edges)
        return cls(name, [*values, *missing])

    @property
    def is_interval(self) -> bool:
        """Whether the values are all integers between two bounds, without bins."""
        return self.edges is None and isinstance(self.values, range) and self.values.step == 1

    @property
    def missing_code(self) -> int | None:
        """The code of the missing value; None where none can be missing."""
        if isinstance(self.values, range):
            return None
        return next((code for code, value in enumerate(self.values) if is_missing(value)), None)

    @property
    def labels(self) -> list[str]:
        """Names of the values, all different: 1 and "1" have two, as have a missing value and any string."""
        return self.named()

    def named(self, in_words: Callable[[float], str] | None = None) -> list[str]:
        """Return `labels` with numbers in other words, as dates."""
        known = [value for value in self.values if not is_missing(value)]
        if self.edges is not None:
            ends = list(map(in_words or number_in_words, self.edges))
            between = [f"{low} to {high}" for low, high in pairwise(ends)]
            known = [f"up to {ends[0]}", *between, f"above {ends[-1]}"] if ends else ["any number"]
        elif in_words is not None:
            known = list(map(in_words, known))
        names = list(map(_as_written, known))
        often = Counter(names)
        names = [
            repr(value) if isinstance(value, str) and often[value] > 1 else name
            for name, value in zip(names, known, strict=True)
        ]
        if self.missing_code is not None:
            name = "(missing)"
            while name in names:
                name = f"({name})"
            names.insert(self.missing_code, name)
        return names

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return values by their codes, in the type that they have."""
        if isinstance(self.values, range):
            return self.values.start + self.values.step * np.asarray(codes, dtype=np.int64)
        return self._array()[codes]

    def find(self, column: pd.Series) -> np.ndarray:
        """Return the codes of a column, -1 for values that the feature does not have."""
        column = pd.Series(column)
        missing = column.isna().to_numpy()
        codes, values = np.full(len(column), -1, dtype=np.int64), self.values
        if (place := self.missing_code) is not None:
            codes[missing], values = place, [*values[:place], *values[place + 1 :]]
        found = self._among(values, column[~missing] if missing.any() else column)
        codes[~missing] = found if place is None else found + (found >= place)
        return codes

    def encode(self, column: pd.Series) -> np.ndarray:
        """Return the codes of a column.

        Raises
        ------
        CaseError
            If it holds a value that the feature does not have.
        """
        codes = self.find(column)
        if (strange := codes < 0).any():
            raise CaseError(f"column {self.name!r} holds {column[strange].tolist()[0]!r}, not among its values")
        return codes

    def categories(self, column: pd.Series, labels: Sequence[str] | None = None) -> pd.Series:
        """Return a column as ordered categories, called by their labels; those that do not occur are left out."""
        places, values = pd.factorize(column, use_na_sentinel=False)  # each is looked up once
        codes = self.find(pd.Series(values))[places]
        named = pd.Categorical.from_codes(codes, self.labels if labels is None else labels, ordered=True)
        return pd.Series(named.remove_unused_categories(), index=column.index, name=column.name)

    def _among(self, values, known: pd.Series) -> np.ndarray:
        """Return the positions of known values among `values`, or of their bins."""
        if self.edges is None:
            return pd.Index(values).get_indexer(known) if len(values) else np.full(len(known), -1)
        if not pd.api.types.is_numeric_dtype(known) and not all(map(_is_real, known)):
            return np.full(len(known), -1)
        whole = pd.api.types.is_integer_dtype(known)
        numbers = known.to_numpy() if whole else _widened(known)
        return np.searchsorted(_edges_among(numbers, self.edges), numbers)

    def describe(self) -> list | dict:
        """Return the list of values, bounds of an interval as ``{"low": ..., "high": ...}``, or values and edges."""
        if self.edges is not None:
            return {"values": list(self.values), "edges": list(self.edges)}
        if self.is_interval:
            return {"low": self.values[0], "high": self.values[-1]}
        return list(self.values)

    def _array(self) -> np.ndarray:
        kinds = {int if isinstance(value, Integral) else float for value in self.values}
        is_one = len(kinds) == 1 or self.missing_code is None  # integers beside a missing value must not become floats
        if (is_one and all(map(_is_real, self.values))) or len(set(map(type, self.values))) == 1:
            array = np.asarray(self.values)
            if all(
                found == value or is_missing(value) for found, value in zip(array.tolist(), self.values, strict=True)
            ):
                return array
        # Object dtype, or numbers among strings would become strings, and large integers floats.
        array = np.empty(len(self.values), dtype=object)
        array[:] = self.values
        return array


def is_missing(value) -> bool:
    """Return whether a value stands for a missing one: None, nan, ``pandas.NA`` or ``pandas.NaT``."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, Real) and value != value)


def _is_real(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_values(values: Iterable, what: str, advice: str = "") -> None:
    """Raise a CaseError unless values are strings, booleans, numbers or missing; dates are none of them."""
    if isinstance(values, pd.Series) and pd.api.types.infer_dtype(values) in PLAIN:
        return
    for value in values:
        if not (is_missing(value) or isinstance(value, PLAIN_TYPES)):
            is_date = isinstance(value, datetime.date | np.datetime64)
            advice = "; make it a number, as the age in years" if is_date else advice
            advice = "; astype(float) makes numbers of them" if isinstance(value, Decimal) else advice
            raise CaseError(f"{what}: expected strings, booleans or numbers, found a {type(value).__name__}{advice}")


def check_column(name: str, column: pd.Series) -> None:
    """Raise a CaseError unless a column holds strings, booleans, finite numbers, or categories of these."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        column, dtype = dtype.categories.to_series(), dtype.categories.dtype
    for is_such, advice in UNFIT:
        if is_such(dtype):
            raise CaseError(f"column {name!r} has type {dtype}; {advice}")
    if pd.api.types.is_numeric_dtype(dtype):
        numbers = column.dropna().to_numpy(dtype=float)
        if np.isinf(numbers).any():
            raise CaseError(f"column {name!r} holds infinite values; expected finite or missing ones")
        check_size(numbers, f"column {name!r}")
        return
    check_values(column, f"column {name!r}", "; features= can leave it out")
    if column.dtype == object and pd.api.types.infer_dtype(column) not in PLAIN:
        are_flags = {isinstance(each, bool | np.bool_) for each in column.dropna() if isinstance(each, Real | np.bool_)}
        if len(are_flags) > 1:
            raise CaseError(f"column {name!r} mixes booleans with numbers, which are equal to them; make them strings")


def check_size(numbers: np.ndarray, what: str) -> None:
    """Raise a CaseError if numbers are so large, or all so small, that their fourth powers overflow or vanish."""
    largest = np.abs(numbers).max(initial=0.0)
    if largest and not 1 / MAX_SIZE <= largest <= MAX_SIZE:
        raise CaseError(
            f"{what}: expected numbers of a size from {1 / MAX_SIZE:g} to {MAX_SIZE:g}, found {largest:g}; "
            "take another unit, or make it missing if it stands for that"
        )


def values_of(name: str, column: pd.Series) -> tuple[list, list]:
    """Return the different values of a column in order, and a list of its missing value, if there is one.

    Categories keep their order, numbers and strings are sorted. Equal values of two types, as 1 and True, are one.
    """
    check_column(name, column)
    known = column.dropna()
    missing = [column[column.isna()].iloc[0]] if len(known) < len(column) else []
    if isinstance(column.dtype, pd.CategoricalDtype):
        return known.cat.remove_unused_categories().cat.categories.tolist(), missing
    if is_number(column):
        return np.unique(known.to_numpy()).tolist(), missing
    return sorted(known.unique().tolist(), key=lambda value: (type(value).__name__, value)), missing


def _as_written(value) -> str:
    """Return a value as text, a whole float without a point: engines differ in which numbers they hold as floats."""
    return str(int(value) if isinstance(value, float) and abs(value) < 2**53 and value % 1 == 0 else value)


def _as_range(values: tuple) -> tuple | range:
    """Return consecutive integers within 64 bits as a range, anything else as it is; booleans are no integers."""
    if not all(isinstance(value, Integral) and not isinstance(value, bool | np.bool_) for value in values):
        return values
    consecutive = range(int(values[0]), int(values[0]) + len(values))
    is_one = _fits(consecutive) and all(value == number for value, number in zip(values, consecutive, strict=True))
    return consecutive if is_one else values


def _fits(values: range) -> bool:
    """Return whether the values, their number, and sums of two values fit into 64 bits."""
    return max(abs(values[0]), abs(values[-1]), abs(values[-1] - values[0]) + 1) <= LARGEST_INTEGER


def _checked_edges(name: str, edges) -> tuple[float, ...]:
    edges = tuple(edges) if isinstance(edges, Iterable) else (edges,)
    if not all(_is_real(edge) and np.isfinite(edge) for edge in edges) or any(np.diff(edges) <= 0):
        raise CaseError(f"feature {name!r}: expected increasing numbers as edges, found {list(edges)}")
    return edges


def _edges_among(numbers: np.ndarray, edges) -> np.ndarray:
    """Return edges to compare numbers with: integers for integers, which floats may round, if they fit the type."""
    if numbers.dtype.kind in "iu":
        with suppress(OverflowError):
            return np.array([floor(edge) for edge in edges], dtype=numbers.dtype)
    return np.array(edges, dtype=float)


def _representatives(name: str, numbers: np.ndarray, edges) -> list:
    """Return the lower median of the sorted numbers in each bin."""
    edges = _checked_edges(name, edges)
    parts = np.split(numbers, np.searchsorted(numbers, _edges_among(numbers, edges), side="right"))
    for part, (low, high) in zip(parts, pairwise([-np.inf, *edges, np.inf]), strict=True):
        if not len(part):
            raise CaseError(f"edges: column {name!r} has no value above {low:g} and up to {high:g}")
    return [part[(len(part) - 1) // 2].item() for part in parts]


def _widened(column: pd.Series) -> np.ndarray:
    """Return numbers as 64-bit floats; shorter floats by their decimals, like the edges: .1 stays .1."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)
    if not isinstance(kind, np.dtype) or kind.kind != "f" or kind.itemsize > 4:
        return column.to_numpy(dtype=float)
    values, places = np.unique(column.to_numpy(dtype=kind), return_inverse=True)
    return values.astype(str).astype(float)[places]


def _rounded_quantiles(numbers: np.ndarray, n_groups: int) -> list[float]:
    """Return edges between groups, in the fewest significant digits, three or more, that roughly keep their sizes.

    People are grouped by the rounded edges, so that the names of groups are exact. Each group keeps `MIN_SIZE_KEPT` of
    its size, so rounding depends on the spread of the numbers, not on their magnitude.
    """
    exact = np.unique(np.quantile(numbers, np.arange(1, n_groups) / n_groups, method="inverted_cdf"))
    exact = exact[exact < numbers.max()]
    sizes = _sizes(exact, numbers)
    for digits in range(3, 17):
        edges = np.array([float(f"{edge:.{digits - 1}e}") for edge in exact])
        if (_sizes(edges, numbers) >= MIN_SIZE_KEPT * sizes).all():  # equal rounded edges leave a group empty
            return edges.tolist()
    return exact.tolist()


def _sizes(edges: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, numbers), minlength=len(edges) + 1)


def number_in_words(edge: float) -> str:
    """Return an edge of bins as text."""
    return f"{float(edge):,}".removesuffix(".0")


@dataclass(frozen=True)
class Schema:
    """All features of an input, in the order in which the model takes them.

    An input is a row of values, or of their codes: `encode` and `decode` convert one to the other. `low`, `high`,
    `bounds`, `values`, `sample`, `check`, `clip` and `outside` use inputs as integers, as networks take them: the
    integers themselves for an interval, the codes for any other feature.

    Attributes
    ----------
    features : tuple of Feature

    Raises
    ------
    CaseError
        If there is no feature, or two have one name.

    Examples
    --------
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "age": {"low": 18, "high": 99}})
    >>> schema.n_inputs
    164
    """

    features: tuple[Feature, ...]

    def __post_init__(self):
        given = self.features if isinstance(self.features, Iterable) else [self.features]
        object.__setattr__(self, "features", tuple(given))
        if strange := [each for each in self.features if not isinstance(each, Feature)]:
            raise CaseError(f"features: expected a Feature each, found {strange[0]!r}")
        if not self.features:
            raise CaseError("features: a schema needs at least one feature, found none")
        if doubled := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise CaseError(f"two features of the schema are named {doubled[0]!r}")

    @classmethod
    def from_dict(cls, content: Mapping) -> "Schema":
        """Return a schema from a mapping of names to values.

        ``{low: 0, high: 9}`` stands for the integers between, ``{values: [5, 40], edges: [18]}`` for a number in bins:
        a value that represents each bin, and the inner edges, each the end of a bin.

        Raises
        ------
        CaseError
            If a description is none of these, or bounds or edges are in the wrong order.
        """
        check_kind(content, "content", Mapping, advice="; give values by name", error=CaseError)
        return cls(tuple(Feature.from_description(str(name), values) for name, values in content.items()))

    @classmethod
    def from_bounds(cls, bounds: Mapping[str, tuple[int, int]]) -> "Schema":
        """Return a schema of intervals from the lowest and the highest value of each, both included.

        Raises
        ------
        CaseError
            If bounds are not pairs of whole numbers, or are in the wrong order.
        """
        check_kind(bounds, "bounds", Mapping, advice="; give pairs of integers by name", error=CaseError)
        for name, pair in bounds.items():
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise CaseError(f"feature {name!r}: expected a pair of integers, low and high, found {pair!r}")
        return cls(tuple(Feature.between(str(name), low, high) for name, (low, high) in bounds.items()))

    @classmethod
    def from_yaml(cls, path: str | Path) -> "Schema":
        """Read a YAML file with the content of `from_dict`; ``yes`` and ``no`` are strings, unlike ``true``."""
        return cls.from_dict(read_schema(path))

    @classmethod
    def from_frame(cls, table: pd.DataFrame, *, bins: int | None = N_BINS) -> "Schema":
        """Return the schema of a table, from the values that occur in it.

        Strings are sorted, categories keep their order, and missing values are the last value. Whole numbers, none
        missing, become all integers between their extremes if these are at most 100 and at least half of them occur;
        codes such as 1, 2 and 9 stay as they are. Wide numbers (more than 100 different ones) are put into bins.

        Parameters
        ----------
        table : DataFrame
        bins : int or None
            Bins of a wide number, of equal size as far as ties allow; None to list all values, or all integers between
            if none is missing.

        Raises
        ------
        CaseError
            If a column occurs twice or holds anything but strings, booleans and numbers, or there is no row.
        """
        check_kind(table, "table", pd.DataFrame, error=CaseError)
        if bins is not None:
            check_count(bins, "bins")
        return cls(tuple(Feature.from_column(str(name), table.iloc[:, k], bins=bins) for k, name in enumerate(table)))

    def to_dict(self) -> dict[str, list | dict]:
        """Return the values by name, intervals as bounds, bins with edges; plain enough for YAML."""
        return {feature.name: feature.describe() for feature in self.features}

    @property
    def names(self) -> list[str]:
        """Names of the features, in order."""
        return [feature.name for feature in self.features]

    @cached_property
    def _index(self) -> pd.Index:
        """The names as an index, which takes pandas longer to make than a table of some rows."""
        return pd.Index(self.names)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each feature."""
        return tuple(len(feature.values) for feature in self.features)

    @property
    def n_inputs(self) -> int:
        """Number of different inputs."""
        return prod(self.sizes)

    def positions(self, names: str | Iterable[str]) -> list[int]:
        """Return the positions of the features to vary, in the schema's order.

        Raises
        ------
        CaseError
            If a name is unknown or given twice, there is none, or a feature has only one value.
        """
        with case_errors():
            found = check_names(names, "sensitive_features", self.names, what="feature")
        if not found:
            raise CaseError("sensitive_features: expected at least one feature of the schema, found none")
        positions = sorted(map(self.names.index, found))
        for position in positions:
            if self.sizes[position] == 1:
                raise CaseError(f"feature {self.names[position]!r}: expected at least two values to vary, found one")
        return positions

    def n_assignments(self, positions: Iterable[int]) -> int:
        """Return how many combinations of values the features at some positions have."""
        return prod(self.sizes[position] for position in positions)

    def assignments(self, positions: Iterable[int], numbers: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Return combinations of values of some features as codes, the last one varying fastest.

        Parameters
        ----------
        positions : iterable of int
        numbers : sequence of int or None
            Which combinations; all by default.

        Returns
        -------
        ndarray of shape (n, n_positions)
        """
        sizes = [self.sizes[position] for position in positions]
        return np.column_stack(np.unravel_index(np.arange(prod(sizes)) if numbers is None else numbers, sizes))

    def combinations(self, positions: Iterable[int], numbers: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Return `assignments` as codes of inputs, shape (n, n_features), with code 0 for all other features."""
        positions = list(positions)
        codes = np.zeros(
            (self.n_assignments(positions) if numbers is None else len(numbers), len(self.sizes)), np.int64
        )
        if positions:
            codes[:, positions] = self.assignments(positions, numbers)
        return codes

    @cached_property
    def recoded(self) -> Feature | None:
        """The first numeric feature with codes other than its values; None without one."""
        for each in self.features:
            if each.is_interval or not any(isinstance(value, Real) for value in each.values):
                continue
            if list(each.values) != list(range(len(each.values))):
                return each
        return None

    @property
    def of_codes(self) -> "Schema":
        """The schema whose inputs as integers are the codes of this one."""
        return Schema(tuple(Feature(each.name, range(len(each.values))) for each in self.features))

    @checked(n=COUNT_OR_ZERO, random_state=check_seed)
    def sample_codes(self, n: int, *, random_state: int | np.random.Generator | None = 0) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as codes of shape (n, n_features)."""
        return np.random.default_rng(random_state).integers(self.sizes, size=(n, len(self.sizes)))

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return inputs as values; for a bin, the value that represents it.

        Raises
        ------
        CaseError
            If codes are no integers of shape (n_rows, n_features), or stand for no value; names the feature.
        """
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.features) or codes.dtype.kind not in "iu":
            expected = f"expected integers of shape (n_rows, {len(self.features)})"
            raise CaseError(f"codes: {expected}, found {codes.dtype} of shape {codes.shape}")
        columns = np.array(codes.T, dtype=np.int64, order="C")
        # Read as unsigned, negative codes are too large.
        too_large = columns.view(np.uint64).max(axis=1, initial=0) >= self.sizes
        if too_large.any():
            place = int(too_large.argmax())
            expected, column = f"expected 0 to {self.sizes[place] - 1}", columns[place]
            strange = column[(column < 0) | (column >= self.sizes[place])][0]
            raise CaseError(f"codes: {expected} of feature {self.names[place]!r}, found {strange}")
        ranges = [each.values for each in self.features if isinstance(each.values, range)]
        if len(ranges) == len(self.features):
            for column, values in zip(columns, ranges, strict=True):
                if (values.start, values.step) != (0, 1):
                    column[:] = values.start + values.step * column
            return pd.DataFrame(columns.T, columns=self._index.view(), copy=False)  # callers may set its name
        decoded = {each.name: each.decode(column) for each, column in zip(self.features, columns, strict=True)}
        # Object dtype keeps None, which is not a missing number, and numbers among strings.
        return pd.DataFrame(
            {name: pd.Series(each, dtype=object) if each.dtype == object else each for name, each in decoded.items()}
        )

    def encode(self, inputs: pd.DataFrame) -> np.ndarray:
        """Return the codes of inputs, shape (n_rows, n_features); other columns are left out.

        Raises
        ------
        CaseError
            If a column is missing or holds a value that its feature does not have.
        """
        check_kind(inputs, "inputs", pd.DataFrame, error=CaseError)
        if missing := [name for name in self.names if name not in inputs.columns]:
            raise CaseError(f"inputs lack the columns {', '.join(missing)}")
        return np.column_stack([feature.encode(inputs[feature.name]) for feature in self.features])

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        """Lowest and highest value of every feature, by name."""
        return dict(zip(self.names, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    @property
    def low(self) -> np.ndarray:
        """Lower bounds, shape (n_features,)."""
        return np.array([feature.values[0] if feature.is_interval else 0 for feature in self.features], dtype=np.int64)

    @property
    def high(self) -> np.ndarray:
        """Upper bounds, shape (n_features,)."""
        return self.low + self.sizes - 1

    def values(self, names: str | Iterable[str]) -> np.ndarray:
        """Return all combinations of values of some features, in increasing order.

        Returns
        -------
        ndarray of int of shape (n_combinations, n_names)
            Columns in the schema's order.
        """
        positions = self.positions(names)
        return self.low[positions] + self.assignments(positions)

    def sample(self, n: int, *, random_state: int | np.random.Generator | None = 0) -> np.ndarray:
        """Draw inputs uniformly from the whole domain, as integers of shape (n, n_features)."""
        return np.add(self.low, self.sample_codes(n, random_state=random_state), order="C")  # row by row in memory

    def check(self, X: Any, name: str = "X") -> np.ndarray:
        """Return `X` as integers of shape (n_rows, n_features); inputs outside of the bounds are let through.

        Raises
        ------
        ValueError
            If `X` has other columns, or holds anything but integers; names the column.
        """
        values, columns = check_features(X, name)
        if values.shape[1] != len(self.names) or (isinstance(X, pd.DataFrame) and columns != self.names):
            raise ValueError(f"{name}: has the columns {', '.join(columns)}; the schema has {', '.join(self.names)}")
        if (wide := (np.abs(values) >= 2**53).any(axis=0)).any():  # 2**53 + 1 is no float
            raise ValueError(f"{name}: column {self.names[wide.argmax()]!r} holds values of 2**53 or more")
        fractional = (values != np.trunc(values)).any(axis=0)
        if fractional.any():
            raise ValueError(f"{name}: column {self.names[fractional.argmax()]!r} holds fractions, expected integers")
        return values.astype(np.int64)

    def clip(self, X: np.ndarray) -> np.ndarray:
        """Return `X` moved to the nearest input of the domain, truncated to integers."""
        return np.clip(X, self.low, self.high).astype(np.int64)

    def outside(self, X: Any) -> pd.Series:
        """Return how many rows of `X` lie outside of the bounds of each feature."""
        values = self.check(X)
        outside = (values < self.low) | (values > self.high)
        return pd.Series(outside.sum(axis=0), index=self.names, name="rows outside")


def check_schema(schema) -> Schema:
    """Return a schema as it is; raise a TypeError if it is none."""
    return check_kind(schema, "schema", Schema)


def read_schema(path: str | Path) -> dict:
    """Return the mapping in a YAML file; raises a CaseError if it holds anything else."""
    import yaml  # here, because Python in a browser can do without

    class Loader(yaml.SafeLoader):
        """YAML in which ``yes``, ``no``, ``on`` and ``off`` are strings."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|True|TRUE|false|False|FALSE)$"), "tTfF")
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=Loader)
    except yaml.YAMLError as error:
        raise CaseError(f"{path}: expected YAML, found {error}") from error
    if not isinstance(content, dict):
        raise CaseError(f"{path}: expected names and values, found {type(content).__name__}")
    return content
