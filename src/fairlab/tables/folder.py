"""A folder of codes as a table: its files are read and counted in parts, by as many threads as there are cores."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from operator import mul
from pathlib import Path

import joblib
import numpy as np

from fairlab.models.loops import IS_COMPILED, compiled
from fairlab.tables.encoding import META, FilesError, check_sources
from fairlab.tables.keys import OTHER_PRIME, PRIME, Code, Cut, Distance, Hash, Key, Split, Sums
from fairlab.tables.table import MOST_CATEGORIES, ROWS_AT_ONCE, Column, StoredTable
from fairlab.tables.thresholds import N_BINS, choose_thresholds, refine_thresholds

ROW_NUMBER = "number of the row"  # the key of a folder that was encoded without one
EVERYONE = np.array([[-np.inf, np.inf]])  # the interval of all numbers
MAX_COMPARED = 32  # thresholds, each of which is compared with


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
        self._folder, self._member = Path(folder), None
        if not (self._folder / META).exists():
            raise FilesError(
                f"{folder}: expected codes, found no {META}; fairlab.tables.encode writes and resumes them"
            )
        meta = json.loads((self._folder / META).read_text("utf-8"))
        check_sources(meta, self._folder)
        self._about, self.left_out, self._n_rows = meta["columns"], meta["left_out"], meta["n_rows"]
        for name, about in self._about.items():
            file, expected = self._folder / about["file"], self._n_rows * np.dtype(about["dtype"]).itemsize
            if not file.exists() or (size := file.stat().st_size) != expected:
                found = f"{size:,}" if file.exists() else "none"
                raise FilesError(f"{file}: expected {expected:,} bytes of column {name!r}, found {found}")
        self.key = meta["asked"]["key"] or ROW_NUMBER
        self._about.setdefault(self.key, {"kind": "key"})
        self.columns: dict[object, Column] = {}
        self._tables: dict[object, np.ndarray | None] = {}  # of the codes in a file, those of the column
        self._known: dict[tuple, np.ndarray] = {}  # thresholds

    @property
    def names(self) -> list[str]:
        """Names of all columns; the last one is of the numbers of the rows, if the folder has no other key."""
        return list(self._about)

    @property
    def n_rows(self) -> int:
        """The number of people."""
        return self._n_rows if self._member is None else int(self.tabulate([()])[0])

    def add(self, column: Column, codes: dict | None = None) -> None:
        """Make a column known, with the code of each of its values; None for the value of a missing one."""
        self.columns[column.name] = column
        values = self._about[column.name].get("values")
        if column.is_categorical:
            table = np.array([codes[value] for value in values])
            same = np.array_equal(table, np.arange(len(table)))
            self._tables[column.name] = None if same else table.astype(np.uint8)

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
        """Return the column, if it is the key of the encoding, which was looked at then."""
        if self._about[name]["kind"] != "key":
            found = f"{name!r}; encode anew with key={name!r}"
            raise FilesError(f"key: expected {self.key!r}, the key of {self._folder}, found {found}")
        return name

    def among(self, key: Key, code: int) -> "Folder":
        """Return the table of those people whose key has a code."""
        part = object.__new__(Folder)
        member = Split(None, ((key, tuple(0 if each == code else -1 for each in range(key.size))),), 1)
        part.__dict__ |= self.__dict__ | {"_member": member, "_known": {}, "_inside": {}}
        return part

    def tabulate(self, keys_list: Sequence[tuple[Key | Sums, ...]]) -> list[np.ndarray]:
        """Return how many people there are of each kind, by several lists of keys in one pass over the files."""
        if not keys_list:
            return []
        count = _Count(keys_list)
        with ThreadPoolExecutor(n_threads := joblib.cpu_count()) as pool:
            counts = sum(pool.map(count.of, [self._parts(each, n_threads) for each in range(n_threads)]))
        return count.by_list(counts)

    def span(self, number: object) -> tuple[float, float]:
        """Return the smallest and the largest number."""
        [[_, low, high]] = self._bins(number, EVERYONE, np.empty(0)).tolist()
        return low, high

    def _thresholds(self, name: object, max_bins: int) -> np.ndarray:
        values = self.numbers_of(name)
        if values is None:
            everyone = self._bins(name, EVERYONE, np.empty(0))
            return refine_thresholds(everyone, partial(self._finer, name), max_bins)
        [counts] = self.tabulate([(Cut(name, tuple(values[:-1].tolist())),)])
        return choose_thresholds(*(each[counts > 0] for each in (counts, values, values)), max_bins)[0]

    def _finer(self, name, bins: np.ndarray) -> np.ndarray:
        """Return what is in the parts of some bins, see `refine_thresholds`."""
        edges = np.concatenate([np.linspace(low, high, N_BINS) for low, high in bins[:, 1:].tolist()])
        return self._bins(name, bins[:, 1:], edges)

    def _bins(self, name, inside: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the count, least and largest number of each bin that has some, of numbers in some closed intervals."""

        def of(parts):
            bins = np.tile([[0.0], [np.inf], [-np.inf]], len(edges) + 1)
            for rows in parts:
                numbers = rows.numbers(name)
                place = np.searchsorted(inside[:, 1], numbers)
                numbers = np.sort(
                    numbers[(place < len(inside)) & (numbers >= inside[place.clip(0, len(inside) - 1), 0])]
                )
                ends = np.searchsorted(numbers, edges, side="right")
                starts, ends = np.append(0, ends), np.append(ends, len(numbers))
                some = np.flatnonzero(ends > starts)
                bins[0, some] += (ends - starts)[some]
                bins[1, some] = np.minimum(bins[1, some], numbers[starts[some]])
                bins[2, some] = np.maximum(bins[2, some], numbers[ends[some] - 1])
            return bins

        with ThreadPoolExecutor(n_threads := joblib.cpu_count()) as pool:
            found = np.stack(list(pool.map(of, [self._parts(each, n_threads) for each in range(n_threads)])))
        bins = np.stack([found[:, 0].sum(axis=0), found[:, 1].min(axis=0), found[:, 2].max(axis=0)])
        return bins[:, bins[0] > 0].T

    def sample(self, key: Hash, share: float, names: Sequence[str]) -> dict[str, Column]:
        """Return columns of those people whose hash lies in its first share, in the order of their keys."""
        drawn = Split(None, ((Cut(key, (key.below(share) - 1.0,)), (0, -1)),), 1)
        found = {name: [] for name in (key.column, *names)}
        for rows in self._parts(0, 1):
            rows.keep(np.flatnonzero(rows.codes(drawn) >= 0))
            for name, some in found.items():
                is_code = name in self.columns and self.columns[name].is_categorical
                some.append(rows.codes(self.columns[name].key) if is_code else rows.numbers(name))
        joined = {name: np.concatenate(some) for name, some in found.items()}
        order = np.argsort(joined[key.column], kind="stable")
        return {name: replace(self.columns[name], values=joined[name][order]) for name in names}

    def _parts(self, number, n_parts) -> Iterator["_Rows"]:
        """Yield every n-th part of the people."""
        for start in range(number * ROWS_AT_ONCE, self._n_rows, n_parts * ROWS_AT_ONCE):
            rows = _Rows(self, start, min(start + ROWS_AT_ONCE, self._n_rows))
            if self._member is not None:
                if start not in self._inside:  # a bit for each row, as hashing takes longer than all the rest
                    self._inside[start] = np.packbits(rows.codes(self._member) >= 0)
                rows.keep(np.flatnonzero(np.unpackbits(self._inside[start], count=len(rows))))
            yield rows

    def read(self, name: str, start: int, stop: int) -> np.ndarray:
        """Return what the file of a column has for some rows."""
        about = self._about[name]
        if "file" not in about:
            return np.arange(start, stop)
        dtype = np.dtype(about["dtype"])
        found = np.fromfile(self._folder / about["file"], dtype, stop - start, offset=start * dtype.itemsize)
        if len(found) < stop - start:
            raise FilesError(f"{self._folder / about['file']}: ended while it was read")
        return found

    def table(self, name: str) -> np.ndarray | None:
        """Return the codes of a column for those in its file; None where they are the same."""
        return self._tables.get(name)

    def numbers_of(self, name: object) -> np.ndarray | None:
        """Return the numbers that the codes in a file stand for; None if the numbers themselves are there."""
        values = self._about.get(name, {}).get("values")
        return None if values is None else np.array(values, dtype=float)


class _Count:
    """One pass over a table: what all lists of keys have in common is combined once."""

    def __init__(self, keys_list):
        self._sums = [keys[-1] if keys and isinstance(keys[-1], Sums) else None for keys in keys_list]
        keys_list = [keys if sums is None else keys[:-1] for keys, sums in zip(keys_list, self._sums, strict=True)]
        self._lists = keys_list
        shared = [key for key in dict.fromkeys(keys_list[0]) if all(key in keys for keys in keys_list)]
        # Who is not counted at all is left out first.
        self._shared = sorted(shared, key=lambda key: not (isinstance(key, Split) and key.parent is None))
        self._others = [[key for key in keys if key not in shared] for keys in keys_list]
        sizes = [prod(key.size for key in keys) for keys in keys_list]
        widths = [1 if sums is None else sums.size for sums in self._sums]
        self._ends = np.cumsum([0, *map(mul, sizes, widths)]).tolist()

    def of(self, parts: "Iterator[_Rows]") -> np.ndarray:
        """Return the counts of some parts of the table, those of one list after those of another."""
        counts = np.zeros(self._ends[-1], dtype=float if any(self._sums) else np.int64)
        for rows in parts:
            kinds = np.zeros(len(rows), dtype=np.int64)
            for key in self._shared:
                codes = rows.codes(key)
                kinds = kinds * key.size + codes
                if isinstance(key, Split) and (codes < 0).any():
                    inside = np.flatnonzero(codes >= 0)
                    rows.keep(inside)
                    kinds = kinds[inside]
            for number, others in enumerate(self._others):
                *first, last = others or [None]
                here = kinds
                for key in first:
                    here = combine(here, rows.codes(key), key.size)
                codes, size = (np.zeros(len(kinds), np.uint8), 1) if last is None else (rows.codes(last), last.size)
                found = counts[self._ends[number] : self._ends[number + 1]]
                if (sums := self._sums[number]) is None:
                    add(here, codes, size, found)
                    continue
                here, found = combine(here, codes, size), found.reshape(sums.size, -1)
                inside = here >= 0
                for place, term in enumerate((np.ones(len(here)), *rows.terms(sums))):
                    found[place] += np.bincount(here[inside], term[inside], len(found[place]))
        return counts

    def by_list(self, counts: np.ndarray) -> list[np.ndarray]:
        """Return the counts of each list, with its axes in the order of its keys."""
        found = []
        for number, (keys, others) in enumerate(zip(self._lists, self._others, strict=True)):
            order = [*self._shared, *others]
            axes, sizes = [order.index(key) for key in keys], [key.size for key in order]
            table = counts[self._ends[number] : self._ends[number + 1]]
            if (sums := self._sums[number]) is not None:
                axes, table = [*axes, len(axes)], table.reshape(sums.size, -1).T
                sizes.append(sums.size)
            table = table.reshape(sizes).transpose(axes)
            found.append(np.array(table, order="C"))
        return found


class _Rows:
    """Some rows of a folder, and their codes by keys."""

    def __init__(self, table, start, stop):
        self._table, self._start, self._stop = table, start, stop
        self._kept, self._codes = None, {}

    def __len__(self):
        return self._stop - self._start if self._kept is None else len(self._kept)

    def keep(self, places: np.ndarray) -> None:
        """Leave out all others."""
        self._kept = places if self._kept is None else self._kept[places]
        self._codes = {key: codes[places] for key, codes in self._codes.items()}

    def codes(self, key: Key) -> np.ndarray:
        """Return everybody's code by a key; -1 for none, in types that can be negative."""
        if key not in self._codes:
            find = {Code: self._code, Cut: self._cut, Split: self._part}[type(key)]
            self._codes[key] = find(key)
        return self._codes[key]

    def _read(self, name) -> np.ndarray:
        found = self._table.read(name, self._start, self._stop)
        return found if self._kept is None else found[self._kept]

    def numbers(self, number: object) -> np.ndarray:
        """Return everybody's number: of a column, its key, the code of a category, a hash, or a distance."""
        if isinstance(number, Code):
            return self.codes(number)
        if isinstance(number, Hash):
            return hashed(self._read(number.column), np.array(number.coefficients))
        if isinstance(number, Distance):
            return np.abs(self.numbers(number.first) - self.numbers(number.second))
        values = self._table.numbers_of(number)
        return self._read(number) if values is None else values[self._read(number)]

    def terms(self, sums: Sums) -> Iterator[np.ndarray]:
        """Return what is summed of everybody."""
        standards = sums.standards if sums.cell is None else np.array(sums.standards)[:, self.codes(sums.cell)]
        return sums.terms(self.numbers(sums.x), self.numbers(sums.y), standards)

    def _code(self, key: Code) -> np.ndarray:
        table = self._table.table(key.column)
        return self._read(key.column) if table is None else table[self._read(key.column)]

    def _cut(self, key: Cut) -> np.ndarray:
        if (values := self._table.numbers_of(key.number)) is None:
            return cut(self.numbers(key.number), np.array(key.thresholds))
        codes = np.searchsorted(key.thresholds, values, side="left")
        return codes.astype(np.uint8 if key.size <= 2**8 else np.uint16)[self._read(key.number)]

    def _part(self, split: Split) -> np.ndarray:
        parents = np.zeros(len(self), dtype=np.int32) if split.parent is None else self.codes(split.parent)
        keys, line, starts, parts = _branches(split)
        codes = np.array([self.codes(key) for key in keys], dtype=np.uint16).reshape(len(keys), len(self))
        return follow(parents.astype(np.int32, copy=False), codes, line, starts, parts)


@lru_cache(maxsize=16)
def _branches(split: Split) -> tuple[list[Key], np.ndarray, np.ndarray, np.ndarray]:
    """Return the keys of a split; for each code of the parent which one it is, and where its parts begin; all parts."""
    keys = list(dict.fromkeys(branch[0] for branch in split.branches if branch))
    line = np.array([keys.index(branch[0]) if branch else -1 for branch in split.branches], dtype=np.int32)
    parts = [branch[1] if branch else () for branch in split.branches]
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    return keys, line, starts, np.array([part for some in parts for part in some], dtype=np.int32)


# The loops over rows, and what they do in NumPy.


def plain_hashed(keys: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return what `Hash.of` does of keys."""
    return Hash(None, tuple(coefficients.tolist())).of(keys)


def plain_cut(numbers: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return how many of increasing thresholds lie below each number."""
    return np.searchsorted(thresholds, numbers, side="left")


def plain_follow(parents, codes, line, starts, parts) -> np.ndarray:
    """Return the part that everybody is in after a split: -1 of who was in none, or is in one that is not split."""
    lines = np.where(parents < 0, -1, line[parents])
    found = np.full(len(parents), -1, dtype=np.int32)
    inside = np.flatnonzero(lines >= 0)
    found[inside] = parts[starts[parents[inside]] + codes[lines[inside], inside]]
    return found


def plain_combine(kinds, codes, size) -> np.ndarray:
    """Return kinds by one more key; -1 of who has no code."""
    return np.where((kinds < 0) | (codes < 0), -1, kinds * size + codes)


def plain_add(kinds, codes, size, counts) -> None:
    """Add to counts how many people there are of each kind and code."""
    found = plain_combine(kinds, codes, size)
    counts += np.bincount(found[found >= 0], minlength=len(counts))


@compiled
def _compiled_hashed(keys, coefficients):
    found = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        near = keys[i] % PRIME * coefficients[0] % PRIME
        far = keys[i] % OTHER_PRIME * coefficients[1] % PRIME
        mixed = (near + far) % PRIME
        value = mixed * coefficients[2] % PRIME
        for k in range(3, 6):
            value = (value + coefficients[k]) % PRIME * mixed % PRIME
        found[i] = (value + coefficients[6]) % PRIME
    return found


@compiled
def _compiled_cut(numbers, thresholds):
    if len(thresholds) > MAX_COMPARED:
        return np.searchsorted(thresholds, numbers)
    found = np.zeros(len(numbers), np.int64)
    for i in range(len(numbers)):
        for threshold in thresholds:  # without branches, which would be mispredicted
            found[i] += numbers[i] > threshold
    return found


@compiled
def _compiled_follow(parents, codes, line, starts, parts):
    found = np.full(len(parents), -1, np.int32)
    for i in range(len(parents)):
        parent = parents[i]
        if parent >= 0 and line[parent] >= 0:
            found[i] = parts[starts[parent] + codes[line[parent], i]]
    return found


@compiled
def _compiled_combine(kinds, codes, size):
    found = np.full(len(kinds), -1, np.int64)
    for i in range(len(kinds)):
        if kinds[i] >= 0 and codes[i] >= 0:
            found[i] = kinds[i] * size + codes[i]
    return found


@compiled
def _compiled_add(kinds, codes, size, counts):
    for i in range(len(kinds)):
        if kinds[i] >= 0 and codes[i] >= 0:
            counts[kinds[i] * size + codes[i]] += 1


LOOPS = {
    "plain": (plain_hashed, plain_cut, plain_follow, plain_combine, plain_add),
    "compiled": (_compiled_hashed, _compiled_cut, _compiled_follow, _compiled_combine, _compiled_add),
}
hashed, cut, follow, combine, add = LOOPS["compiled" if IS_COMPILED else "plain"]
