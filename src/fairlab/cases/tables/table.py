"""Columns of codes or numbers, and tables of them that are counted where they lie."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairlab.cases.tables.keys import Code, Cut, Distance, Hash, Key, Split, Sums
from fairlab.cases.tables.thresholds import find_thresholds

MOST_CATEGORIES = 255  # of a column of an engine, or of codes
LEAVE = "or leave the column out (in a shell, --features names the others)"
ROWS_AT_ONCE = 2**17  # rows whose terms are summed at once, to fit into a cache


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of many people.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_rows,) or None
        Codes from 0 if the attribute is categorical, else finite numbers; None if they lie in an engine.
    categories : tuple of str or None
        What the codes stand for, in order; None for a continuous attribute.
    key : Key, or object
        What people are counted by; for a number, its name in a table. By default made of the column's name.

    Examples
    --------
    >>> from fairlab.fairtest import Column
    >>> column = Column("sex", np.array([0, 1, 1]), ("f", "m"))
    >>> column.is_categorical, column.is_binary, column.take([0]).values.tolist()
    (True, True, [0])
    """

    name: str
    values: np.ndarray | None
    categories: tuple[str, ...] | None = None
    key: Any = None

    def __post_init__(self):
        n = None if self.categories is None else len(self.categories)
        if self.key is None:
            object.__setattr__(self, "key", self.name if n is None else Code(self.name, n))
        if self.values is None:
            return
        values = np.asarray(self.values)
        if values.ndim != 1:
            raise ValueError(f"values: expected one for each person of column {self.name!r}, found {self.values!r}")
        if values.dtype.kind not in "iufb":
            raise ValueError(f"values: expected numbers or codes of column {self.name!r}, found {values.dtype}")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            found = f"{(~np.isfinite(values)).sum()} missing or infinite ones"
            raise ValueError(f"values: expected numbers or codes of column {self.name!r}, found {found}")
        if n is not None and len(values) and not (values.min() >= 0 and values.max() < n):
            found = f"{values.min()} to {values.max()}"
            raise ValueError(f"values: expected codes of {n} categories of column {self.name!r}, found {found}")

    @property
    def is_categorical(self) -> bool:
        """Whether the values are codes."""
        return self.categories is not None

    @property
    def is_binary(self) -> bool:
        """Whether there are exactly two categories."""
        return self.is_categorical and len(self.categories) == 2

    def take(self, rows: ArrayLike) -> "Column":
        """Return the column of some rows."""
        return Column(self.name, self.values[rows], self.categories, self.key)


class Table(ABC):
    """People as columns of codes and numbers, from which only counts and order statistics are taken.

    Attributes
    ----------
    columns : mapping of str to Column
    n_rows : int
    """

    columns: Mapping[object, Column]
    n_rows: int

    @abstractmethod
    def tabulate(self, keys_list: Sequence[tuple[Key | Sums, ...]]) -> list[np.ndarray]:
        """Return counts of people by the codes of keys, for several lists of keys in one pass over the data.

        Returns
        -------
        list of ndarray of int, or float
            For each list of keys, an array with one axis for each key and one entry for each code. If the list ends
            with `Sums`, the last axis has the number of people, then the sums over them.
        """

    @abstractmethod
    def span(self, number: object) -> tuple[float, float]:
        """Return the smallest and the largest of the numbers that a name, or a distance, stands for."""

    @abstractmethod
    def thresholds(self, names: Sequence, max_bins: int) -> list[np.ndarray]:
        """Return the result of `find_thresholds` for each of several columns of numbers."""


class StoredTable(Table):
    """A table of an engine or of a folder, whose columns are registered one by one.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    """

    names: list[str]
    _known: dict[tuple, np.ndarray]  # thresholds

    @abstractmethod
    def add(self, column: Column, codes: dict | None = None) -> None:
        """Register a column with the code of each of its values; None is the key of a missing value."""

    @abstractmethod
    def is_number(self, name: str) -> bool:
        """Whether a column is of numbers."""

    @abstractmethod
    def values(self, name: str) -> list | None:
        """Return the different values of a column, None among them if some are missing; None if there are too many."""

    def categories(self, name: str) -> pd.CategoricalDtype | None:
        """Return the categories of a column whose type says so, with their order if it has one; else None."""
        return None

    @abstractmethod
    def among(self, key: Key, code: int) -> "StoredTable":
        """Return the table of people whose key has a given code."""

    @abstractmethod
    def sample(self, key: Hash, share: float, names: Sequence[str]) -> dict[str, Column]:
        """Return columns of people whose hash lies in the lowest `share` of all hashes, ordered by key."""

    @abstractmethod
    def key_column(self, name: str) -> str:
        """Return the column of whole numbers by which people are divided if `name` is their key.

        Raises
        ------
        ValueError
            If it is not a column of whole numbers or strings, unique for each person.
        """

    def check_numbers(self, name: str) -> None:
        """Raise a ValueError unless a column is of numbers, none of them missing or infinite."""
        if not self.is_number(name):
            raise ValueError(f"column {name!r} has more than {MOST_CATEGORIES} different values; group them, {LEAVE}")
        if n := self._n_not_finite(name):
            raise ValueError(f"column {name!r}: {n:.0f} values are missing or infinite; fill them, {LEAVE}")

    def thresholds(self, names: Sequence, max_bins: int) -> list[np.ndarray]:
        """Return thresholds of columns of numbers, exactly those of `find_thresholds`."""
        for name in names:
            if (name, max_bins) not in self._known:
                self._known[name, max_bins] = self._thresholds(name, max_bins)
        return [self._known[name, max_bins] for name in names]

    @abstractmethod
    def _n_not_finite(self, name: str) -> float:
        """Return how many numbers of a column are missing or infinite."""

    @abstractmethod
    def _thresholds(self, name: object, max_bins: int) -> np.ndarray:
        """Return the thresholds of one column."""


class InMemory(Table):
    """A table of columns that are arrays, of one length.

    Examples
    --------
    >>> from fairlab.cases.tables import Code, Column, Cut, InMemory
    >>> table = InMemory({"sex": Column("sex", np.array([0, 1, 1]), ("f", "m")), "age": Column("age", np.arange(3.0))})
    >>> table.tabulate([(Code("sex", 2), Cut("age", (0.5, 1.5)))])[0].tolist()
    [[1, 0, 0], [0, 1, 1]]
    """

    def __init__(self, columns: Mapping[object, Column]):
        self.columns = columns
        self.n_rows = len(next(iter(columns.values())).values)
        self._codes: dict[Key, np.ndarray] = {}

    def tabulate(self, keys_list: Sequence[tuple[Key, ...]]) -> list[np.ndarray]:
        """Return counts of people by the codes of keys; endings that lists share are combined once."""
        known: dict[tuple[Key, ...], tuple] = {(): (None, np.zeros(self.n_rows, dtype=np.intp))}
        counted = []
        for several in keys_list:
            keys, sums = (several[:-1], several[-1]) if several and isinstance(several[-1], Sums) else (several, None)
            for start in range(len(keys) - 1, 0, -1):
                if keys[start:] not in known:
                    known[keys[start:]] = self._kinds(keys[start:], *known[keys[start + 1 :]])
            rows, kinds = self._kinds(keys, *known[keys[1:]]) if keys else known[()]
            counts = np.bincount(kinds, minlength=prod(key.size for key in keys))
            if sums is not None:
                counts = np.column_stack([counts, self._summed(sums, rows, kinds, len(counts))])
            counted.append(counts.reshape([key.size for key in several]))
        return counted

    def _summed(self, sums: Sums, rows, kinds, n_kinds) -> np.ndarray:
        """Return the sums over the people of each kind; `rows` are the people counted, None for everyone."""
        found = np.zeros((n_kinds, sums.size - 1))
        x, y = (self.numbers(each) for each in (sums.x, sums.y))
        codes = None if sums.cell is None else self.codes(sums.cell)
        for start in range(0, len(kinds), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE) if rows is None else rows[start : start + ROWS_AT_ONCE]
            standards = sums.standards if codes is None else np.array(sums.standards)[:, codes[some]]
            for place, term in enumerate(sums.terms(x[some], y[some], standards)):
                found[:, place] += np.bincount(kinds[start : start + ROWS_AT_ONCE], term, n_kinds)
        return found

    def _kinds(self, keys, rows, kinds) -> tuple:
        """Return who is counted (None for everyone) and the kind of each, given those by all keys but the first."""
        codes = self.codes(keys[0], rows)
        kinds = codes * prod(key.size for key in keys[1:]) + kinds if len(keys) > 1 else codes
        if isinstance(keys[0], Split) and (codes < 0).any():
            inside = np.flatnonzero(codes >= 0)
            return inside if rows is None else rows[inside], kinds[inside]
        return rows, kinds

    def codes(self, key: Key, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the codes of a key, for everyone or for some rows."""
        if key not in self._codes:
            found = {Code: self._category, Cut: self._interval, Split: self._part}[type(key)](key)
            if isinstance(key, Split):  # only the last one is kept, usually the parent of the next
                self._codes = {known: codes for known, codes in self._codes.items() if not isinstance(known, Split)}
            self._codes[key] = found
        return self._codes[key] if rows is None else self._codes[key][rows]

    def values(self, name: object) -> np.ndarray:
        """Return each person's number, or code, in a column."""
        return self.columns[name].values

    def _category(self, key: Code) -> np.ndarray:
        return np.asarray(self.values(key.column), dtype=np.intp)

    def _interval(self, key: Cut) -> np.ndarray:
        return np.searchsorted(key.thresholds, self.numbers(key.number), side="left")

    def span(self, number: object) -> tuple[float, float]:
        """Return the smallest and the largest number."""
        found = self.numbers(number)
        return float(found.min()), float(found.max())

    def thresholds(self, names: Sequence, max_bins: int) -> list[np.ndarray]:
        """Return thresholds of columns of numbers, see `find_thresholds`."""
        return [find_thresholds(self.numbers(name), max_bins) for name in names]

    def numbers(self, number: object) -> np.ndarray:
        """Return everybody's number: of a column, the code of a category, a hash, or a distance."""
        if isinstance(number, Hash):
            return number.of(self.values(number.column).astype(np.int64))
        if isinstance(number, Distance):
            return np.abs(self.numbers(number.first) - self.numbers(number.second))
        return self.values(number.column if isinstance(number, Code) else number)

    def _part(self, split: Split) -> np.ndarray:
        """Return each person's part; -1 for people in no part of the parent, or in one that is not split."""
        branches = [branch or (None, ()) for branch in split.branches]
        keys = list(dict.fromkeys(key for key, _ in branches if key))
        starts = np.cumsum([0, *(len(parts) for _, parts in branches)])
        parts = np.array([part for _, some in branches for part in some])
        parents = np.zeros(self.n_rows, dtype=np.intp) if split.parent is None else self.codes(split.parent)
        # Number of the key that splits each person's part; the last one is for people in none.
        number = np.array([*(keys.index(key) if key else -1 for key, _ in branches), -1])[parents]
        found = np.full(self.n_rows, -1, dtype=np.intp)
        for place, key in enumerate(keys):
            rows = np.flatnonzero(number == place)
            found[rows] = parts[starts[parents[rows]] + self.codes(key, rows)]
        return found


def tabulate(frame: Mapping, keys: Mapping) -> np.ndarray:
    """Return counts of people by the codes of keys: all that trees, tests and intervals of tables need.

    Parameters
    ----------
    frame : DataFrame or dict of ndarray
        Columns of codes from 0, of shape (n_rows,).
    keys : dict of int
        The columns that people are counted by, and how many codes each has.

    Returns
    -------
    ndarray of int
        One axis for each key, with one entry for each of its codes.

    Examples
    --------
    >>> from fairlab.fairtest import tabulate
    >>> people = pd.DataFrame({"sex": [0, 1, 1], "offer": [0, 1, 0]})
    >>> tabulate(people, {"offer": 2, "sex": 2}).tolist()
    [[1, 1], [0, 1]]
    """
    sizes = tuple(keys.values())
    codes = [np.asarray(frame[name]).astype(np.intp, casting="same_kind", copy=False) for name in keys]
    return np.bincount(np.ravel_multi_index(codes, sizes), minlength=prod(sizes)).reshape(sizes)
