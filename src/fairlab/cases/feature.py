"""One input variable of a model, and the values that it can have."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pandas as pd

LARGEST = 2**62  # so that sums of two values fit into 64 bits


class SchemaError(ValueError):
    """A schema that describes no inputs, or inputs that do not fit theirs.

    Examples
    --------
    >>> from fairlab.cases import Feature
    >>> Feature("age", [18, 18])
    Traceback (most recent call last):
    ...
    fairlab.cases.feature.SchemaError: feature 'age': a value is listed twice
    """


@dataclass(frozen=True)
class Feature:
    """One input variable.

    Attributes
    ----------
    name : str
    values : tuple or range
        What it can be, all different. Consecutive integers in increasing order become a range, which takes no memory.
        At most one of them is a missing value: None, nan or ``pandas.NA``.
    edges : tuple of float or None
        Of a number in bins, the inner edges, each the end of a bin; every value but the missing one stands for its bin.

    Raises
    ------
    SchemaError
        If there is no value, one is listed twice, or an integer is too large for 64 bits; if edges do not part the
        values.

    Examples
    --------
    >>> from fairlab.cases import Feature
    >>> Feature("age", [18, 19, 20])
    Feature(name='age', values=range(18, 21), edges=None)
    >>> Feature("job", ["cook", "clerk"]).values
    ('cook', 'clerk')
    """

    name: str
    values: tuple | range
    edges: tuple[float, ...] | None = None

    def __post_init__(self):
        values = self.values
        if not isinstance(values, range):
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise SchemaError(f"feature {self.name!r}: expected a list of values, found {values!r}")
            values = tuple(values)
            for value in values:
                if not (is_missing(value) or isinstance(value, str | Real | np.bool_)):
                    found = f"found a {type(value).__name__}"
                    raise SchemaError(f"feature {self.name!r}: expected texts, truth values and numbers, {found}")
            known = [value for value in values if not is_missing(value)]
            if len(values) - len(known) > 1 or len(set(known)) < len(known):
                raise SchemaError(f"feature {self.name!r}: a value is listed twice")
        if not values:
            raise SchemaError(f"feature {self.name!r}: expected at least one value, found none")
        if not isinstance(values, range):
            values = _as_range(values)
        if isinstance(values, range) and max(abs(values[0]), abs(values[-1])) > LARGEST:
            raise SchemaError(f"feature {self.name!r}: {values[0]} to {values[-1]} does not fit into 64 bits")
        object.__setattr__(self, "values", values)
        if self.edges is not None:
            object.__setattr__(self, "edges", _checked_edges(self.name, self.edges))
            self._check_bins()

    def _check_bins(self):
        known = [value for value in self.values if not is_missing(value)]
        if not all(_is_number(value) for value in known):
            raise SchemaError(f"feature {self.name!r}: edges need numbers as values, found {known[:3]}")
        if np.searchsorted(self.edges, known).tolist() != list(range(len(self.edges) + 1)):
            raise SchemaError(
                f"feature {self.name!r}: expected one value in each of the {len(self.edges) + 1} bins, in order, "
                f"found {known}"
            )

    @classmethod
    def between(cls, name: str, low: int, high: int) -> "Feature":
        """Return a feature with all integers between two, both included.

        Raises
        ------
        SchemaError
            If the bounds are not whole numbers or in the wrong order.
        """
        if not all(isinstance(bound, Integral) and not isinstance(bound, bool | np.bool_) for bound in (low, high)):
            raise SchemaError(f"feature {name!r}: expected whole numbers as bounds, found {low!r} and {high!r}")
        if low > high:
            raise SchemaError(f"feature {name!r}: low {low} is above high {high}")
        return cls(name, range(int(low), int(high) + 1))

    @classmethod
    def from_description(cls, name: str, description) -> "Feature":
        """Return a feature from a list of values, the bounds of an interval, or values and edges of bins.

        Raises
        ------
        SchemaError
            If it is none of these.
        """
        if not isinstance(description, Mapping):
            return cls(name, description)
        if set(description) == {"values", "edges"}:
            return cls(name, description["values"], description["edges"])
        if set(description) == {"low", "high"}:
            return cls.between(name, description["low"], description["high"])
        found = ", ".join(map(str, description)) or "nothing"
        raise SchemaError(f"feature {name!r}: expected low and high, or values and edges, found {found}")

    @classmethod
    def from_column(
        cls, name: str, column: pd.Series, bins: int | None, wide: int, edges: Sequence[float] | None = None
    ) -> "Feature":
        """Return the values that occur in a column; see `Schema.from_frame`.

        Raises
        ------
        SchemaError
            As `Schema.from_frame`.
        """
        known = column.dropna()
        missing = [column[column.isna()].iloc[0]] if len(known) < len(column) else []
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if edges is not None and not is_number:
            raise SchemaError(f"edges: column {name!r} has type {column.dtype}, expected numbers")
        if isinstance(column.dtype, pd.CategoricalDtype):
            return cls(name, [*known.cat.remove_unused_categories().cat.categories.tolist(), *missing])
        if not is_number:
            return cls(name, [*sorted(_distinct(name, known), key=_by_type), *missing])
        if known.empty:
            return cls(name, missing)
        if column.dtype.kind == "c":
            raise SchemaError(f"column {name!r} has type {column.dtype}, expected real numbers")
        numbers = np.sort(known.to_numpy())
        if not np.isfinite(numbers.astype(float)).all():
            raise SchemaError(f"column {name!r} holds infinite values")
        distinct = np.unique(numbers)
        if edges is None and bins is not None and len(distinct) > wide:
            edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins, method="inverted_cdf"))
            edges = edges[edges < distinct[-1]]
        if edges is not None:
            return cls(name, [*_representatives(name, numbers, edges), *missing], tuple(np.asarray(edges).tolist()))
        if numbers.dtype.kind in "iu" and not missing and (bins is None or distinct[-1] - distinct[0] < wide):
            return cls.between(name, int(distinct[0]), int(distinct[-1]))
        return cls(name, [*distinct.tolist(), *missing])

    @property
    def is_interval(self) -> bool:
        """Whether the values are the integers between two bounds, each of them itself."""
        return self.edges is None and isinstance(self.values, range) and self.values.step == 1

    @property
    def has_missing(self) -> bool:
        """Whether a value can be missing."""
        return not isinstance(self.values, range) and any(map(is_missing, self.values))

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return values by their positions, in the type that they have."""
        if isinstance(self.values, range):
            return self.values.start + self.values.step * codes
        return self._array()[codes]

    def encode(self, column: pd.Series) -> np.ndarray:
        """Return the positions of values, -1 for those that the feature does not have."""
        column = pd.Series(column)
        missing = column.isna().to_numpy()
        known = column[~missing] if missing.any() else column
        codes = np.full(len(column), -1, dtype=np.int64)
        if not self.has_missing:
            values, places = self.values, None
        else:
            places = np.array([k for k, value in enumerate(self.values) if not is_missing(value)], dtype=np.int64)
            values = [self.values[k] for k in places]
            codes[missing] = np.delete(np.arange(len(self.values)), places)
        codes[~missing] = self._among(values, known) if places is None else _at(places, self._among(values, known))
        return codes

    def _among(self, values, known: pd.Series) -> np.ndarray:
        """Return the positions of known values among `values`, or of their bins."""
        if self.edges is None:
            return pd.Index(values).get_indexer(known) if len(values) else np.full(len(known), -1)
        if not pd.api.types.is_numeric_dtype(known) and not all(map(_is_number, known)):
            return np.full(len(known), -1)
        return np.searchsorted(self.edges, known.to_numpy(dtype=float))

    def describe(self) -> list | dict:
        """Return the list of values, bounds of an interval as ``{"low": ..., "high": ...}``, or values and edges."""
        if self.edges is not None:
            return {"values": list(self.values), "edges": list(self.edges)}
        if self.is_interval:
            return {"low": self.values[0], "high": self.values[-1]}
        return list(self.values)

    def _array(self) -> np.ndarray:
        if all(_is_number(value) for value in self.values) or len(set(map(type, self.values))) == 1:
            return np.asarray(self.values)
        array = np.empty(len(self.values), dtype=object)  # or numbers among texts would become texts
        array[:] = self.values
        return array


def _at(places: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.where(codes < 0, -1, places[codes]) if len(places) else codes


def is_missing(value) -> bool:
    """Return whether a value stands for a missing one: None, nan, ``pandas.NA`` or ``pandas.NaT``."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))


def _is_number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _distinct(name: str, known: pd.Series) -> list:
    """Return the different values of a column of texts, truth values or anything."""
    if pd.api.types.infer_dtype(known) in ("string", "boolean", "empty"):
        return known.unique().tolist()
    for value in known:
        if not isinstance(value, str | Real | np.bool_) or isinstance(value, datetime.date):
            kind = type(value).__name__
            raise SchemaError(f"column {name!r}: expected texts, truth values and numbers, found a {kind}")
    distinct = dict.fromkeys((type(value), value) for value in known)
    return [value for _, value in distinct]


def _by_type(value) -> tuple:
    return (type(value).__name__, value)


def _as_range(values: tuple) -> tuple | range:
    """Return consecutive integers as a range, anything else as it is; truth values are no integers."""
    if not all(isinstance(value, Integral) and not isinstance(value, bool | np.bool_) for value in values):
        return values
    consecutive = range(int(values[0]), int(values[0]) + len(values))
    return consecutive if all(value == number for value, number in zip(values, consecutive, strict=True)) else values


def _checked_edges(name: str, edges) -> tuple[float, ...]:
    edges = tuple(edges) if isinstance(edges, Iterable) else (edges,)
    if not edges or not all(_is_number(edge) and np.isfinite(edge) for edge in edges) or any(np.diff(edges) <= 0):
        raise SchemaError(f"feature {name!r}: expected increasing numbers as edges, found {list(edges)}")
    return edges


def _representatives(name: str, numbers: np.ndarray, edges) -> list:
    """Return the middle one of the sorted numbers in each bin."""
    edges = np.asarray(_checked_edges(name, edges))
    ends = np.searchsorted(numbers, edges, side="right")
    parts = np.split(numbers, ends)
    for k, part in enumerate(parts):
        if not len(part):
            low, high = [-np.inf, *edges.tolist()][k], [*edges.tolist(), np.inf][k]
            raise SchemaError(f"edges: column {name!r} has no value above {low:g} and up to {high:g}")
    return [part[(len(part) - 1) // 2].item() for part in parts]
