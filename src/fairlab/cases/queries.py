"""How often a model was asked: rows are counted, sent in batches, remembered, and held to a limit."""

import time
from collections.abc import Callable
from contextlib import contextmanager
from numbers import Real

import numpy as np
import pandas as pd

BATCH = 100_000  # rows in one call of the model
_STEP = 0x9E3779B97F4A7C15  # the constants of splitmix64
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class BudgetSpentError(RuntimeError):
    """More rows would be asked than a limit allows; none of them was.

    Examples
    --------
    >>> from fairlab.cases import Queries
    >>> queries = Queries()
    >>> with queries.limit(1):
    ...     queries.ask("double", lambda rows: 2 * rows["x"], pd.DataFrame({"x": [1, 2]}))
    Traceback (most recent call last):
    ...
    fairlab.cases.queries.BudgetSpentError: 2 rows would be asked, the limit has 1 left
    """


class Queries:
    """Counts what a model is asked, and never asks the same twice.

    Attributes
    ----------
    asked : int
        Rows that were sent to the model.
    cached : int
        Rows that were answered from memory.
    for_case : int
        Rows among those asked that making a case took, those asked twice included.
    twice : int
        Rows among these that were sent a second time, to see whether they are answered alike.
    seconds : float
        Spent in the model.
    is_deterministic : bool
        Whether rows that were asked twice, in other batches, were answered alike.

    Examples
    --------
    >>> from fairlab.cases import Queries
    >>> queries = Queries()
    >>> rows = pd.DataFrame({"x": [1, 2, 1]})
    >>> queries.ask("double", lambda rows: 2 * rows["x"], rows).tolist()
    [2.0, 4.0, 2.0]
    >>> queries.asked, queries.cached
    (2, 1)
    """

    def __init__(self):
        self.asked = self.cached = self.for_case = self.twice = 0
        self.seconds = 0.0
        self.is_deterministic = True
        self._left = np.inf
        self._memory: dict[str, Memory] = {}
        self._keys = RowKeys()

    @property
    def left(self) -> float:
        """Rows that may still be asked within the present limit; infinite without one."""
        return self._left

    @property
    def seconds_per_row(self) -> float:
        """Seconds that the model takes for a row, on average; nan before the first."""
        return self.seconds / self.asked if self.asked else np.nan

    @contextmanager
    def limit(self, n_rows: float):
        """Hold what is asked inside a ``with`` block to a number of rows; inside another limit, to the smaller one.

        Raises
        ------
        BudgetSpentError
            Inside the block, by the question that would exceed the limit; none of its rows is asked.
        ValueError
            If `n_rows` is negative.
        """
        if not (isinstance(n_rows, Real) and n_rows >= 0):
            raise ValueError(f"n_rows: expected a number of rows, at least 0, found {n_rows!r}")
        outer, self._left = self._left, min(self._left, n_rows)
        granted = self._left
        try:
            yield self
        finally:
            self._left = outer - (granted - self._left)

    def ask(self, question: str, answer: Callable, rows: pd.DataFrame) -> np.ndarray:
        """Return one number for each row, from memory where the same row was asked before.

        Parameters
        ----------
        question : str
            What is asked: answers to different questions are kept apart.
        answer : callable
            Takes a DataFrame with new rows and a RangeIndex, returns one float each.
        rows : DataFrame
            Always of the same columns and dtypes.

        Raises
        ------
        BudgetSpentError
            If there are more new rows than the limit has left.
        """
        memory = self._memory.setdefault(question, Memory())
        keys, first, inverse = np.unique(self._keys(rows), return_index=True, return_inverse=True)
        values, known = memory.look_up(keys)
        new = rows.iloc[np.sort(first[~known])].reset_index(drop=True)
        if len(new):
            values[~known] = self.send(answer, new)[np.argsort(np.argsort(first[~known]))]
            memory.keep(keys[~known], values[~known])
        self.cached += len(rows) - len(new)
        return values[inverse.reshape(-1)]

    def tell(self, question: str, rows: pd.DataFrame, values: np.ndarray) -> None:
        """Remember answers that are known already."""
        keys, first = np.unique(self._keys(rows), return_index=True)
        memory = self._memory.setdefault(question, Memory())
        known = memory.look_up(keys)[1]
        memory.keep(keys[~known], np.asarray(values, dtype=float)[first[~known]])

    def distinct(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the distinct rows, in the order in which they occur first."""
        _, first = np.unique(self._keys(rows), return_index=True)
        return rows.iloc[np.sort(first)].reset_index(drop=True)

    def send(self, answer: Callable, rows: pd.DataFrame) -> np.ndarray:
        """Ask the model for every row, in batches, counted but not remembered; answers of batches are concatenated.

        Raises
        ------
        BudgetSpentError
            If there are more rows than the limit has left.
        """
        batches = [rows.iloc[k : k + BATCH].reset_index(drop=True) for k in range(0, len(rows), BATCH)]
        parts = self._send(answer, batches, len(rows))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def send_matrix(self, answer: Callable, matrix: np.ndarray):
        """Ask about the rows of a matrix, all at once, counted but not remembered; return what is answered.

        Raises
        ------
        BudgetSpentError
            If there are more rows than the limit has left.
        """
        return self._send(answer, [matrix], len(matrix))[0]

    def _send(self, answer, batches: list, n_rows: int) -> list:
        if n_rows > self._left:
            raise BudgetSpentError(f"{n_rows:,} rows would be asked, the limit has {int(self._left):,} left")
        self._left -= n_rows
        self.asked += n_rows
        start = time.perf_counter()
        try:
            return [answer(batch) for batch in batches]
        finally:
            self.seconds += time.perf_counter() - start

    def __repr__(self) -> str:
        noise = "" if self.is_deterministic else ", not deterministic"
        return f"Queries: {self.asked:,} asked, {self.cached:,} from memory{noise}"


class Memory:
    """Numbers by 64-bit keys, in sorted runs of growing length, so that both sides are array operations."""

    def __init__(self):
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []  # longest first

    def look_up(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of keys, and which keys are known."""
        values, known = np.full(len(keys), np.nan), np.zeros(len(keys), dtype=bool)
        for run_keys, run_values in self._runs:
            place = np.minimum(np.searchsorted(run_keys, keys), len(run_keys) - 1)
            here = run_keys[place] == keys
            values[here] = run_values[place[here]]
            known |= here
        return values, known

    def keep(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Remember the numbers of sorted keys, all of them new."""
        if not len(keys):
            return
        self._runs.append((keys, values))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            keys, values = (np.concatenate(part) for part in zip(*self._runs[-2:], strict=True))
            order = np.argsort(keys, kind="stable")
            self._runs[-2:] = [(keys[order], values[order])]


class RowKeys:
    """One 64-bit number for each row: the same for the same values of the same types, and for no others.

    Texts and other objects are numbered as they come, so that 1, "1" and True, or a missing value and any text, are
    never taken for one another. Two different rows get one number with a chance of 2**-64.
    """

    def __init__(self):
        self._numbers: dict[str, dict] = {}

    def __call__(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the keys, shape (n_rows,)."""
        keys = np.zeros(len(rows), dtype=np.uint64)
        for position, (name, column) in enumerate(rows.items()):
            keys = _mixed(keys ^ _mixed(self._codes(name, column) + np.uint64((position + 1) * _STEP % 2**64)))
        return keys

    def _codes(self, name: str, column: pd.Series) -> np.ndarray:
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return column.cat.codes.to_numpy().astype(np.int64).view(np.uint64)
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            return _bits(column.to_numpy())
        if pd.api.types.is_numeric_dtype(dtype):  # with a mask of missing values
            missing = column.isna().to_numpy()
            filled = column.array.copy()
            filled[missing] = dtype.type(0)
            bits = _bits(filled.to_numpy(dtype=dtype.numpy_dtype))
            return _mixed(bits) ^ np.where(missing, _MIX[0], np.uint64(0))
        return self._numbered(name, column)

    def _numbered(self, name: str, column: pd.Series) -> np.ndarray:
        numbers = self._numbers.setdefault(name, {})
        if isinstance(column.dtype, pd.StringDtype) or pd.api.types.infer_dtype(column, skipna=False) == "string":
            codes, distinct = pd.factorize(column)  # missing values are -1
            table = np.array(
                [numbers.setdefault((str, text), len(numbers) + 1) for text in distinct] + [0], dtype=np.uint64
            )
            return table[codes]
        typed = [(type(value), None if value is pd.NA or value != value else value) for value in column.tolist()]
        return np.array([numbers.setdefault(value, len(numbers) + 1) for value in typed], dtype=np.uint64)


def _bits(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind != "f":
        return values.astype(np.int64 if values.dtype.kind in "bi" else np.uint64).view(np.uint64)
    values = values.astype(np.float64)
    values[np.isnan(values)] = np.nan  # one pattern of bits
    return (values + 0.0).view(np.uint64)  # and one zero


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return numbers stirred so that all bits depend on all bits (the last step of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX[0]
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX[1]
    return numbers ^ (numbers >> np.uint64(31))
