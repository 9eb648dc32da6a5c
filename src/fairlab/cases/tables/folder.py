"""A folder of codes as a table: its files are read and counted in parts, by as many threads as there are cores."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from fairlab.cases.tables.encoding import META, FilesError, check_sources
from fairlab.cases.tables.keys import Cut, Hash, Key, Split, Sums
from fairlab.cases.tables.table import MOST_CATEGORIES, ROWS_AT_ONCE, Column, InMemory, StoredTable
from fairlab.cases.tables.thresholds import N_BINS, choose_thresholds, refine_thresholds

ROW_NUMBER = "number of the row"  # the key of a folder that was encoded without one
EVERYONE = np.array([[-np.inf, np.inf]])  # the interval of all numbers


class Folder(StoredTable):
    """A table whose codes `encode` wrote to a folder.

    Parameters
    ----------
    folder : path

    Attributes
    ----------
    key : str
        The column that people are split by: the key of the encoding, or else the number of the row.
    left_out : dict of str to str
        Columns that could not be encoded, and why.

    Raises
    ------
    FilesError
        If the encoding of the folder did not end, a file of codes has another length, or a file that the folder was
        made of has changed since.
    """

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)
        if not (self._folder / META).exists():
            raise FilesError(
                f"{folder}: expected codes, found no {META}; fairlab.cases.tables.encode writes and resumes them"
            )
        meta = json.loads((self._folder / META).read_text("utf-8"))
        check_sources(meta, self._folder)
        self._about, self.left_out, self.n_rows = meta["columns"], meta["left_out"], meta["n_rows"]
        for name, about in self._about.items():
            file, expected = self._folder / about["file"], self.n_rows * np.dtype(about["dtype"]).itemsize
            if not file.exists() or (size := file.stat().st_size) != expected:
                found = f"{size:,}" if file.exists() else "none"
                raise FilesError(f"{file}: expected {expected:,} bytes of column {name!r}, found {found}")
        self.key = meta["asked"]["key"] or ROW_NUMBER
        self._about.setdefault(self.key, {"kind": "key"})
        self.columns: dict[object, Column] = {}
        self._known: dict[tuple, np.ndarray] = {}  # thresholds
        # What the codes in a file stand for: numbers, or codes of the column.
        self.decoded = {
            name: np.array(about["values"], dtype=float)
            for name, about in self._about.items()
            if "values" in about and self.is_number(name)
        }
        self.intervals: dict[Cut, np.ndarray] = {}  # by code in a file
        self.n_in_files, self.inside = self.n_rows, None  # for each part one bit per row, since hashing is slow

    @property
    def names(self) -> list[str]:
        """Names of all columns; the last one is of the numbers of the rows, if the folder has no other key."""
        return list(self._about)

    def add(self, column: Column, codes: dict | None = None) -> None:
        """Register a column with the code of each of its values; None is the key of a missing value."""
        self.columns[column.name] = column
        if column.is_categorical:
            self.decoded[column.name] = np.array([codes[value] for value in self._about[column.name]["values"]])

    def is_number(self, name: str) -> bool:
        """Whether a column is of numbers."""
        return self._about[name]["kind"] in ("numbers", "integers", "key")

    def values(self, name: str) -> list | None:
        """Return the different values of a column, None among them if some are missing; None if there are too many."""
        found = self._about[name].get("values")
        return found if found is not None and len(found) <= MOST_CATEGORIES + (None in found) else None

    def _n_not_finite(self, name: str) -> float:
        about = self._about[name]
        counts = zip(about.get("values", ()), about.get("counts", ()), strict=True)
        return about.get("not_finite", 0) + sum(n for value, n in counts if value is None or not np.isfinite(value))

    def key_column(self, name: str) -> str:
        """Return the column, if it is the key of the encoding, which has checked it."""
        if self._about[name]["kind"] != "key":
            found = f"{name!r}; encode anew with key={name!r}"
            raise FilesError(f"key: expected {self.key!r}, the key of {self._folder}, found {found}")
        return name

    def among(self, key: Key, code: int) -> "Folder":
        """Return the table of people whose key has a given code."""

        def members(rows):
            held = np.zeros(rows.stop - rows.start, dtype=bool)
            held[rows.inside] = rows.codes(key) == code
            return np.packbits(held)

        part = copy(self)
        part._known, part.inside = {}, list(self._of_parts(members))
        part.n_rows = int(part.tabulate([()])[0])
        return part

    def tabulate(self, keys_list: Sequence[tuple[Key | Sums, ...]]) -> list[np.ndarray]:
        """Return counts of people by the codes of keys, for several lists of keys in one pass over the files."""
        counts: list = [0] * len(keys_list)
        for counted in self._of_parts(lambda rows: rows.tabulate(keys_list)) if keys_list else ():
            counts = list(map(add, counts, counted))
        return counts

    def _of_parts(self, count: Callable[["_Rows"], Any]) -> Iterator:
        """Yield the result of `count` for each part of the people, with one thread for each core."""
        with ThreadPoolExecutor(joblib.cpu_count()) as pool:
            n_parts = -(-self.n_in_files // ROWS_AT_ONCE)
            yield from pool.map(lambda number: count(_Rows(self, number)), range(n_parts))

    def span(self, number: object) -> tuple[float, float]:
        """Return the smallest and the largest number."""
        [[_, low, high]] = self._bins(number, EVERYONE, np.empty(0)).tolist()
        return low, high

    def _thresholds(self, name: object, max_bins: int) -> np.ndarray:
        values = self.decoded.get(name)
        if values is None:
            everyone = self._bins(name, EVERYONE, np.empty(0))
            return refine_thresholds(everyone, partial(self._finer, name), max_bins)
        [counts] = self.tabulate([(Cut(name, tuple(values[:-1].tolist())),)])
        return choose_thresholds(*(each[counts > 0] for each in (counts, values, values)), max_bins)[0]

    def _finer(self, name, bins: np.ndarray) -> np.ndarray:
        """Return the contents of finer bins inside some bins, see `refine_thresholds`."""
        edges = np.concatenate([np.linspace(low, high, N_BINS) for low, high in bins[:, 1:].tolist()])
        return self._bins(name, bins[:, 1:], edges)

    def _bins(self, name, inside: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return count, minimum and maximum of each non-empty bin, for the numbers in some closed intervals."""

        def of(rows):
            numbers = rows.numbers(name)
            place = np.searchsorted(inside[:, 1], numbers).clip(0, len(inside) - 1)
            numbers = numbers[(numbers >= inside[place, 0]) & (numbers <= inside[place, 1])]
            bins = pd.Series(numbers).groupby(np.searchsorted(edges, numbers))
            return bins.agg(["size", "min", "max"])

        def together(bins, more):
            return pd.concat([bins, more]).groupby(level=0).agg({"size": "sum", "min": "min", "max": "max"})

        return reduce(together, self._of_parts(of)).to_numpy(dtype=float)

    def sample(self, key: Hash, share: float, names: Sequence[str]) -> dict[str, Column]:
        """Return columns of people whose hash lies in the lowest `share` of all hashes, ordered by key."""
        drawn = Cut(key, (key.below(share) - 1.0,))

        def of(rows):
            return [rows.values(name)[rows.codes(drawn) == 0] for name in (key.column, *names)]

        keys, *columns = map(np.concatenate, zip(*self._of_parts(of), strict=True))
        order = np.argsort(keys, kind="stable")
        values = dict(zip(names, columns, strict=True))
        return {name: replace(self.columns[name], values=values[name][order]) for name in names}

    def read(self, name: object, start: int, stop: int) -> np.ndarray:
        """Return the content of a column's file for some rows."""
        about = self._about[name]
        if "file" not in about:
            return np.arange(start, stop)
        dtype = np.dtype(about["dtype"])
        found = np.fromfile(self._folder / about["file"], dtype, stop - start, offset=start * dtype.itemsize)
        if len(found) < stop - start:
            raise FilesError(f"{self._folder / about['file']}: ended while it was read")
        return found


class _Rows(InMemory):
    """Some rows of one part of a folder, of which a column is read when it is counted."""

    def __init__(self, folder: Folder, number: int, inside: np.ndarray | None = None):
        self._folder, self._number, self._codes = folder, number, {}
        self.start = number * ROWS_AT_ONCE
        self.stop = min(self.start + ROWS_AT_ONCE, folder.n_in_files)
        if inside is None and folder.inside is not None:
            inside = np.flatnonzero(np.unpackbits(folder.inside[number], count=self.stop - self.start))
        self.inside = np.arange(self.stop - self.start) if inside is None else inside
        self.n_rows = len(self.inside)

    def codes(self, key: Key, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the codes of a key, for everyone or for some rows."""
        if rows is None or isinstance(key, Split):
            return super().codes(key, rows)
        return _Rows(self._folder, self._number, self.inside[rows]).codes(key)  # only these rows are looked up

    def values(self, name: object) -> np.ndarray:
        """Return each person's number, or code, in a column."""
        found = self._read(name)
        return self._folder.decoded[name][found] if name in self._folder.decoded else found

    def _read(self, name) -> np.ndarray:
        found = self._folder.read(name, self.start, self.stop)
        return found if len(found) == self.n_rows else found[self.inside]

    def _interval(self, key: Cut) -> np.ndarray:
        known, decoded = self._folder.intervals, self._folder.decoded
        if key.number not in decoded:
            return super()._interval(key)
        if key not in known:
            known[key] = np.searchsorted(key.thresholds, decoded[key.number])
        return known[key][self._read(key.number)]
