"""Model queries: rows are counted, sent in batches, cached, and held to a limit."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import get_cached_controller

from fairlab.checks import check_number

BATCH_ROWS = 100_000  # rows in one call of the model
FEW_ROWS = 10_000  # rows in a call that one thread answers
ROWS_REPEATED = 1000  # rows that are sent a second time
FEWEST_REPEATED = 100  # rows repeated for a smaller table; each is then sent several times
REPEAT_SECONDS = 2.0  # seconds for repeated queries
MAX_SECONDS = 1e8  # longest timer
KEYS_AT_ONCE = 200_000  # keys put into new slots in one step
MOST_FULL = 0.55  # largest share of the slots in use
LARGE, VERY_LARGE = 5_000, 500_000  # keys in a query that justify compiling, in a cache that justify loading numba
_STEP = 0x9E3779B97F4A7C15  # an odd number whose multiples spread over all 64 bits


class BudgetSpentError(RuntimeError):
    """More rows would be sent to the model than a limit allows; none of them was.

    Examples
    --------
    >>> from fairlab.cases import Queries
    >>> queries = Queries()
    >>> with queries.limit(1):
    ...     queries.answers("double", lambda rows: 2 * rows["x"], pd.DataFrame({"x": [1, 2]}))
    Traceback (most recent call last):
    ...
    fairlab.cases.queries.BudgetSpentError: limit: expected at most 1 more model queries, found 2
    """


class DeadlineError(BudgetSpentError):
    """The seconds that a model may take are over."""


class _TimeUpError(BaseException):
    """Raised in the middle of a model, which may catch every `Exception`."""


@contextmanager
def time_limit(seconds: float, name: str = "deadline") -> Iterator[None]:
    """Interrupt a ``with`` block after some seconds; in the main thread, and where the system has timers, as on Unix.

    Python code, and what waits for files, programs or other computers, is interrupted; compiled code when it returns.

    Parameters
    ----------
    seconds : float
        May be infinite.
    name : str
        Begins the error.

    Raises
    ------
    DeadlineError
        If the block did not end in time.

    Examples
    --------
    >>> from fairlab.cases.queries import time_limit
    >>> with time_limit(0.1):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    ...
    fairlab.cases.queries.DeadlineError: deadline: the model did not answer within 0.1 seconds
    """
    is_main = threading.current_thread() is threading.main_thread()
    if seconds > MAX_SECONDS or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise _TimeUpError

    handler = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), 1.0)  # again, in case that the model caught it
    try:
        yield
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeUpError:
        raise DeadlineError(f"{name}: the model did not answer within {seconds:.3g} seconds") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


class Queries:
    """Counts the rows that a model is applied to, and caches its answers, so that no row is sent twice.

    A limit allows the same queries whatever was cached before: within the outermost limit each row counts once, even if
    its answer is cached, unless it is a row of the case.

    Attributes
    ----------
    n_queries : int
        Rows that count: those that were sent to the model, and within a limit those that were cached before it.
    n_sent : int
        Rows that were sent to the model.
    n_cached : int
        Rows whose answers were cached.
    n_for_case : int
        Rows among `n_queries` that making the case took, including the repeated ones.
    n_repeated : int
        Rows among `n_queries` that were sent a second time, for the determinism check.
    n_confirmed : int
        Rows passed to `confirm`, counted in each call, in addition to `n_queries`.
    seconds : float
        Spent in the model.
    shortest : float
        Seconds of its quickest call, about the time to start a program or reach a server; infinite before the first
        call.
    is_deterministic : bool
        Whether repeated rows, sent in other batches, got the same answers: some rows of the case, and evidence.
    left : float
        Rows that may still be sent within the present limit; infinite without one.
    watch : callable or None
        Takes the number of rows that count, before they are sent.

    Examples
    --------
    >>> from fairlab.cases import Queries
    >>> queries = Queries()
    >>> rows = pd.DataFrame({"x": [1, 2, 1]})
    >>> queries.answers("double", lambda rows: 2 * rows["x"], rows).tolist()
    [2, 4, 2]
    >>> queries.n_queries, queries.n_cached
    (2, 1)
    """

    def __init__(self) -> None:
        self.n_queries = self.n_sent = self.n_cached = self.n_for_case = self.n_repeated = self.n_confirmed = 0
        self.seconds, self.shortest = 0.0, np.inf
        self.is_deterministic = True
        self.watch: Callable[[int], object] | None = None
        self.left = self._until = np.inf
        self._answers: dict[str, AnswerCache] = {}
        self._of_case: dict[str, int] = {}  # cached answers that are those of the case
        # Which cached answers have counted within the outermost limit; None outside of it.
        self._counted: dict[str, np.ndarray] | None = None

    @property
    def seconds_per_row(self) -> float:
        """Seconds that the model takes for a row, on average; nan before the first."""
        return self.seconds / self.n_sent if self.n_sent else np.nan

    @property
    def repeated_in_time(self) -> int:
        """Rows that can be repeated with a slow model, for the determinism check."""
        return int(REPEAT_SECONDS / max(self.seconds_per_row, 1e-9))

    @contextmanager
    def deadline(self, seconds: float) -> Iterator["Queries"]:
        """Hold the queries inside a ``with`` block to `seconds` from now, by the pace of the queries so far.

        Raises
        ------
        DeadlineError
            Inside the block, by a query that would end too late, of which no row is sent, or by one that did not end in
            time (see `time_limit`).
        """
        outer, self._until = self._until, min(self._until, time.monotonic() + seconds)
        try:
            yield self
        finally:
            self._until = outer

    @contextmanager
    def limit(self, n_rows: float) -> Iterator["Queries"]:
        """Hold the queries inside a ``with`` block to a number of rows; inside another limit, to the smaller one.

        Raises
        ------
        BudgetSpentError
            Inside the block, by the question that would exceed the limit; none of its rows is sent.
        ValueError
            If `n_rows` is negative.
        """
        check_number(n_rows, "n_rows", least=0, infinite=True)
        outer, self.left = self.left, min(self.left, n_rows)
        granted, counted = self.left, self._counted
        self._counted = {} if counted is None else counted
        try:
            yield self
        finally:
            self.left, self._counted = outer - (granted - self.left), counted

    def answers(self, question: str, answer: Callable, rows: pd.DataFrame) -> np.ndarray:
        """Return one number for each row, the cached one where the same row was sent before.

        Parameters
        ----------
        question : str
            Name of the question: answers to different questions are kept apart.
        answer : callable
            Takes a DataFrame with new rows and a RangeIndex, returns one float each.
        rows : DataFrame
            Always of the same columns and dtypes.

        Raises
        ------
        BudgetSpentError
            If there are more new rows than the limit has left.
        """
        known = self._answers.setdefault(question, AnswerCache())
        numbers, is_new = known.find(row_keys(rows))
        n_new = int(is_new.sum())
        self._count_answers(question, numbers, n_new)
        if n_new:
            known.keep(self._send(answer, _batches(rows[is_new])))
        self.n_cached += len(rows) - n_new
        return known.values.take(numbers)

    def store(self, question: str, values: np.ndarray, rows: pd.DataFrame) -> None:
        """Keep answers that are known already."""
        known = self._answers.setdefault(question, AnswerCache())
        _, is_new = known.find(row_keys(rows))
        known.keep(np.asarray(values, dtype=float)[is_new])

    def repeat(self, question: str, answer: Callable, rows: pd.DataFrame) -> float:
        """Send some rows a second time, in other batches, and return the share of answers that changed.

        Rows whose answers are cached by now are the rows of the case. The repeated rows are sorted by their answers and
        sent in four batches: the lowest row, the rest of the lower half, the rest of the upper half with each row
        twice, and the highest row. A model that ranks or standardises the rows of a batch, or looks for copies, changes
        some answers.

        Parameters
        ----------
        question, answer
            As for `answers`.
        rows : DataFrame
            Distinct ones.
        """
        n = min(ROWS_REPEATED, max(len(rows), FEWEST_REPEATED), max(10, self.repeated_in_time))
        some = np.resize(np.random.default_rng(0).permutation(len(rows)), -(-2 * n // 3))
        first = self.answers(question, answer, rows.iloc[some])
        order = np.argsort(first, kind="stable")
        lowest, lower, upper, highest = np.array_split(order, [1, len(order) // 2, len(order) - 1])
        parts = [lowest, lower, np.tile(upper, 2), highest]
        sent = np.concatenate(parts)
        self._count(len(sent), len(sent))
        again = self._send(answer, [rows.iloc[some[part]].reset_index(drop=True) for part in parts])
        changed = self._changed(first[sent], again)
        self.n_for_case, self.n_repeated = self.n_queries, len(sent)
        self._of_case = {name: len(known) for name, known in self._answers.items()}
        return float(changed.mean())

    def confirm(self, question: str, answer: Callable, rows: pd.DataFrame) -> bool:
        """Send rows with known answers once more, outside any limit; return whether all answers stay the same.

        Parameters
        ----------
        question, answer, rows
            As for `answers`.
        """
        self.n_confirmed += len(rows)
        known = self._answers.setdefault(f"{question} again", AnswerCache())
        numbers, is_new = known.find(row_keys(rows))
        if is_new.any():
            known.keep(self._send(answer, _batches(rows[is_new])))
        return not self._changed(self.answers(question, answer, rows), known.values.take(numbers)).any()

    def _changed(self, first: np.ndarray, again: np.ndarray) -> np.ndarray:
        changed = ~np.isclose(first, again, rtol=1e-4, atol=1e-5 * np.median(np.abs(first)))  # independent of the unit
        self.is_deterministic = self.is_deterministic and not changed.any()
        return changed

    def distinct(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the distinct rows, in the order in which they occur first."""
        return rows[~pd.Series(row_keys(rows)).duplicated().to_numpy()].reset_index(drop=True)

    def draw(self, question: str, answer: Callable, rows: pd.DataFrame) -> np.ndarray:
        """Return answers to all rows of a case, sent together: the cached ones if no two rows are the same."""
        if not pd.Series(row_keys(rows)).duplicated().any():
            return self.answers(question, answer, rows)
        answers = self.send(answer, rows)
        self.n_for_case = self.n_queries
        return answers

    def send(self, answer: Callable, rows: pd.DataFrame | np.ndarray) -> Any:
        """Send every row to the model, counted but not cached: in batches, a matrix all at once; return the answers.

        Raises
        ------
        BudgetSpentError
            If there are more rows than the limit has left.
        """
        self._count(len(rows), len(rows))
        return self._send(answer, _batches(rows) if isinstance(rows, pd.DataFrame) else [rows])

    def _count_answers(self, question: str, numbers: np.ndarray, n_new: int) -> None:
        """Count rows, given the numbers of their answers, `n_new` still to be sent; within a limit, each once."""
        if self._counted is None:
            self._count(n_new, n_new)
            return
        counted = self._counted.get(question, np.ones(self._of_case.get(question, 0), dtype=bool))
        counted = _longer(counted, int(numbers.max(initial=-1)) + 1)  # with False
        first = np.unique(numbers[~counted[numbers]])
        self._count(len(first), n_new)
        counted[first] = True
        self._counted[question] = counted

    def check(self, n_rows: int) -> None:
        """Raise a BudgetSpentError if the limit has fewer rows left."""
        if n_rows > self.left:
            raise BudgetSpentError(f"limit: expected at most {int(self.left):,} more model queries, found {n_rows:,}")

    def _count(self, n_rows: int, n_new: int) -> None:
        """Count rows, `n_new` of them still to be sent."""
        self.check(n_rows)
        if time.monotonic() + n_new * np.nan_to_num(self.seconds_per_row) > self._until:
            raise DeadlineError(f"deadline: no time is left for {n_new:,} more model queries")
        self.left -= n_rows
        self.n_queries += n_rows
        if self.watch is not None:
            self.watch(n_rows)

    def _send(self, answer, batches: list) -> Any:
        parts, start = [], time.perf_counter()
        self.n_sent += sum(map(len, batches))
        try:
            with time_limit(self._until - time.monotonic()):
                for batch in batches:
                    # When other processes use the cores, threads wait for each other longer than a few rows take.
                    n_threads = 1 if len(batch) <= FEW_ROWS else None
                    with get_cached_controller().limit(limits=n_threads):
                        sent = time.perf_counter()
                        parts.append(answer(batch))
                    self.shortest = min(self.shortest, time.perf_counter() - sent)
        finally:
            self.seconds += time.perf_counter() - start
        if len(parts) == 1:
            return parts[0]
        return pd.concat(parts) if isinstance(parts[0], pd.DataFrame) else np.concatenate(parts)

    def __repr__(self) -> str:
        noise = "" if self.is_deterministic else ", not deterministic"
        return f"Queries: {self.n_sent:,} rows sent, {self.n_cached:,} cached{noise}"


def _batches(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [rows.iloc[k : k + BATCH_ROWS].reset_index(drop=True) for k in range(0, len(rows), BATCH_ROWS)]


class AnswerCache:
    """Answers by key, each computed once; the one cache of all methods.

    Keys have numbers, in the order in which they came first. A dictionary leads from a key to its number;
    after the first large question, and with numba, a table of slots: the slot of a key is a hash of it, or the next
    free one (open addressing).

    Examples
    --------
    >>> from fairlab.cases import AnswerCache
    >>> doubles, keys = AnswerCache(), np.array([3, 4, 3])
    >>> numbers, is_new = doubles.find(keys)
    >>> doubles.keep(2 * keys[is_new])
    >>> doubles.values[numbers].tolist(), is_new.tolist()
    ([6, 8, 6], [True, True, False])
    """

    def __init__(self) -> None:
        self._n, self._bits = 0, 11  # of a slot's number
        self._is_waiting = False  # whether the last keys found still lack their answers
        self._keys: Any = None
        self._values: Any = None
        self._numbers: Any = None
        self._slots: Any = None

    def __len__(self) -> int:
        return self._n

    @property
    def keys(self) -> np.ndarray:
        """The keys, in the order in which they came first."""
        return np.empty(0, dtype=np.int64) if self._keys is None else self._keys[: self._n]

    @property
    def values(self) -> np.ndarray:
        """Their answers."""
        return np.empty(0) if self._values is None else self._values[: self._n]

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each key, and which ones occur for the first time and need `keep` to be called next.

        If it is not called, as after an error, these keys stay unknown.

        Parameters
        ----------
        keys : ndarray of int64, or of bytes of one length, of shape (n,)
        """
        if self._is_waiting:
            self._numbers = self._slots = None
        self._keys = _longer(keys[:0] if self._keys is None else self._keys, self._n + len(keys))
        self._is_waiting = True
        numbers, is_new = self._find(keys)
        self._is_waiting = bool(is_new.any())
        return numbers, is_new

    def keep(self, new: np.ndarray) -> None:
        """Keep the answers to the keys that were found to be new."""
        new = np.asarray(new)
        kept = new[:0] if self._values is None else self._values
        kept, stop = kept.astype(np.result_type(kept, new), copy=False), self._n + len(new)
        self._values = _longer(kept, stop)
        self._values[self._n : stop] = new
        self._n, self._is_waiting = stop, False

    def _find(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each key, and whether it is the first such key of all."""
        is_large = len(asked) >= LARGE and asked.dtype.kind == "i"
        is_large &= "numba" in sys.modules or self._n + len(asked) >= VERY_LARGE
        if (self._slots is not None or is_large) and (loop := _compiled_loop()) is not None:
            self._make_room(loop, self._n + len(asked))
            return loop(self._slots, self._keys, self._n, asked, self._places(asked))
        if self._numbers is None:
            self._numbers = dict(zip(self.keys.tolist(), range(self._n), strict=True))
        numbers = self._numbers
        found = np.fromiter((numbers.setdefault(key, len(numbers)) for key in asked.tolist()), np.intp, len(asked))
        is_new = np.diff(np.maximum.accumulate(found), prepend=self._n - 1) > 0
        is_new &= found >= self._n
        self._keys[self._n : len(numbers)] = asked[is_new]
        return found, is_new

    def _make_room(self, loop: Callable, needed: int) -> None:
        """Make the table large enough for `needed` keys."""
        if self._slots is not None and needed <= MOST_FULL * len(self._slots):
            return
        while needed > MOST_FULL * (1 << self._bits):
            self._bits += 2
        self._numbers, self._slots = None, np.full(1 << self._bits, -1, dtype=np.int32)
        for start in range(0, self._n, KEYS_AT_ONCE):
            keys = self._keys[start : min(start + KEYS_AT_ONCE, self._n)]
            loop(self._slots, self._keys, start, keys, self._places(keys))

    def _places(self, keys: np.ndarray) -> np.ndarray:
        """Return the slots in which to look for keys first."""
        return (keys.view(np.uint64) * np.uint64(_STEP) >> np.uint64(64 - self._bits)).view(np.int64)


class Answers(AnswerCache):
    """Cached answers to inputs given as codes of a schema: faster to look up than rows, and each is queried once.

    Parameters
    ----------
    sizes : sequence of int
        How many values each feature has.
    ask : callable
        Takes codes, of shape (n, n_features), returns one answer each.
    queries : Queries or None
        Its limit must have room for all new inputs, including those whose answers the case has cached.

    Examples
    --------
    >>> from fairlab.cases.queries import Answers
    >>> sums = Answers((3, 4), lambda codes: codes.sum(axis=1))
    >>> sums([[2, 3], [0, 1], [2, 3]]).tolist(), len(sums), sums.inputs.tolist()
    ([5, 1, 5], 2, [[2, 3], [0, 1]])
    """

    def __init__(self, sizes: Sequence[int], ask: Callable, queries: Queries | None = None):
        super().__init__()
        self._sizes, self._ask, self._queries = tuple(sizes), ask, queries
        self._steps = None if prod(sizes) >= 2**63 else np.cumprod([1, *sizes[:0:-1]], dtype=np.int64)[::-1]

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Return the answers, shape (n,).

        Raises
        ------
        BudgetSpentError
            If more of them are new than the limit has left; none is queried then.
        """
        codes = np.asarray(codes, dtype=np.int64)
        numbers, is_new = self.find(self.keys_of(codes))
        if is_new.any():
            if self._queries is not None:
                self._queries.check(int(is_new.sum()))
            # In memory order.
            self.keep(self._ask(codes if is_new.all() else codes.T.take(np.flatnonzero(is_new), axis=1).T))
        return self.values.take(numbers)

    def positive(self, codes: np.ndarray) -> np.ndarray:
        """Return which answers are above 0: whether each is a favourable decision, or a score beyond its threshold."""
        return self(codes) > 0

    @property
    def inputs(self) -> np.ndarray:
        """The codes queried so far, shape (n, n_features), in the order in which they came first."""
        return self.codes_of(self.keys)

    def keys_of(self, codes: np.ndarray) -> np.ndarray:
        """Return one number for each input, or as many bytes if there are too many inputs for 64 bits."""
        if self._steps is None:
            return np.ascontiguousarray(codes, dtype=">u8").view(f"S{8 * codes.shape[1]}").reshape(-1)
        return codes @ self._steps

    def codes_of(self, keys: np.ndarray) -> np.ndarray:
        """Return the inputs of keys as codes, shape (n, n_features)."""
        if self._steps is None:
            return keys.view(">u8").reshape(len(keys), -1).astype(np.int64)
        return np.column_stack(np.unravel_index(keys, self._sizes))


@cache
def _compiled_loop():
    """Return `_find_each` compiled; None where it cannot be."""
    from fairlab.models.loops import IS_COMPILED, compiled

    return compiled(_find_each) if IS_COMPILED else None


def _find_each(slots, keys, known, asked, places):
    """Do what `AnswerCache._find` does; `slots` and `keys` are changed."""
    numbers, is_new = np.empty(len(asked), dtype=np.int32), np.zeros(len(asked), dtype=np.bool_)
    last = len(slots) - 1
    for row in range(len(asked)):
        place = places[row]
        held = slots[place]
        while held >= 0 and keys[held] != asked[row]:
            place = (place + 1) & last
            held = slots[place]
        if held < 0:
            held, known = known, known + 1
            slots[place], keys[held], is_new[row] = held, asked[row], True
        numbers[row] = held
    return numbers, is_new


def _longer(array: np.ndarray, needed: int) -> np.ndarray:
    """Return an array extended to at least `needed` elements; if it has to grow, by at least a quarter.

    The same array is returned if it is long enough or can grow in place.
    """
    if needed <= len(array):
        return array
    longer = array if array.flags.owndata else array.copy()
    longer.resize(max(needed, len(array) + len(array) // 4), refcheck=False)
    return longer


def row_keys(rows: pd.DataFrame) -> np.ndarray:
    """Return one 64-bit number for each row: the same for the same values of the same types.

    Two different rows get the same number with a probability of 2**-64. Among strings and other objects, 1, "1" and
    True differ, and so do a missing value and any string.
    """
    own = {}
    for name, column in rows.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            own[name] = column.cat.codes
        elif pd.api.types.is_object_dtype(column.dtype):
            own[name] = column.map(lambda value: f"{type(value).__name__} {value}", na_action="ignore")
        elif isinstance(column.dtype, pd.ArrowDtype) and column.dtype.kind in "iu":
            # With missing values they would be hashed as floats; astype("Int64") makes floats of them, too.
            known = column.fillna(0).to_numpy(dtype=f"{column.dtype.kind}8")
            own[name] = pd.arrays.IntegerArray(known, column.isna().to_numpy())
    return pd.util.hash_pandas_object(rows.assign(**own), index=False).to_numpy().view(np.int64)
