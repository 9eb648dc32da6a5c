"""The memory of what a program answered, so that it is never run twice on one input (section 4.1, test caching)."""

from collections.abc import Callable

import numpy as np

from fairlab.cases.schema import Schema
from fairlab.themis.software import BATCH, run

MOST_FULL = 0.55  # share of the slots
LARGE = 5_000  # inputs from which on a compiled loop is quicker than arrays
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number whose multiples spread over all 64 bits


class Memory:
    """Outputs by input.

    Inputs are kept in the order in which they were run first. A table of slots leads from an input to its number: the
    slot is a hash of the input, or the next free one (open addressing). All rows of a call go through it together;
    many of them one after the other, where numba is installed.

    Parameters
    ----------
    software : callable
    schema : Schema
    binary : bool
        Whether outputs must be false and true.

    Attributes
    ----------
    runs : int
        How often the software has been run, which is the number of distinct inputs.
    """

    def __init__(self, software: Callable, schema: Schema, *, binary: bool = True):
        self.software, self.schema, self.binary = software, schema, binary
        self.runs = 0
        self._weights = _key_weights(schema)
        self._keys, self._outputs = self._key(np.empty((0, len(schema.sizes)), dtype=np.int64)), None
        self._slots, self._bits = np.empty(0, dtype=np.int32), 11  # of a slot's number

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Return the outputs of inputs given as codes, running the software on those that are new."""
        return self.ask(codes)[0]

    def ask(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs of inputs, and for which of them the software was run."""
        if len(codes) == 0:
            return np.empty(0, dtype=bool), np.empty(0, dtype=bool)
        try:
            self._make_room(self.runs + len(codes))
            numbers, is_new = self._find(self._key(codes), self.runs)
            if is_new.all():
                return self._run(codes), is_new
            if is_new.any():
                self._run(codes.T.take(np.flatnonzero(is_new), axis=1).T)
        except BaseException:  # the slots may lead to inputs without an output, so they are filled anew
            self._slots = np.empty(0, dtype=np.int32)
            raise
        return self._outputs.take(numbers), is_new

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all inputs so far, as codes, and their outputs."""
        if self.runs == 0:
            return np.empty((0, len(self.schema.sizes)), dtype=np.int64), np.empty(0, dtype=bool)
        order = np.argsort(self._keys[: self.runs], kind="stable")
        return self._codes(self._keys[order]), self._outputs[order]

    def _find(self, asked: np.ndarray, known: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each key, and whether it is the first such key beyond the first `known` ones.

        Those that are new get the next numbers, and slots.
        """
        places = self._places(asked)
        if len(asked) >= LARGE and self._weights is not None:
            from fairlab.themis.slots import IS_COMPILED, find  # which loads a compiler

            if IS_COMPILED:
                return find(self._slots, self._keys, known, asked, places)
        stop = known + len(asked)
        self._keys[known:stop] = asked
        numbers, slots = self._find_rows(known, stop, places)
        is_new = numbers == np.arange(known, stop)
        if is_new.any() and not is_new.all():  # their numbers have gaps
            first, again = np.flatnonzero(is_new), np.flatnonzero(~is_new)
            here = again[numbers[again] >= known]
            numbers[here] = known + np.searchsorted(first, numbers[here] - known)
            numbers[first] = self._slots[slots.take(first)] = np.arange(known, known + len(first))
            self._keys[known : known + len(first)] = asked.take(first)
        return numbers, is_new

    def _find_rows(self, start: int, stop: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each of some keys, the number of the first that equals it, and the slot that holds this number.

        Those that are new get a slot.
        """
        numbers, slots = np.arange(start, stop, dtype=np.int32), places.copy()
        own, at, rows = numbers, places, None  # those without a number so far; at first all
        while len(own):
            held = self._slots.take(at)
            free = np.flatnonzero(held < 0)[::-1]
            self._slots[at.take(free)] = own.take(free)  # of several, the last one is kept: the first row
            held[free] = self._slots.take(at.take(free))
            other = np.flatnonzero(held != own)
            held, own, at = held.take(other), own.take(other), at.take(other)
            rows = other if rows is None else rows.take(other)
            same = self._keys.take(held) == self._keys.take(own)
            numbers[rows[same]] = held[same]
            left = np.flatnonzero(~same)
            rows, own, at = rows.take(left), own.take(left), (at.take(left) + 1) & (len(self._slots) - 1)
            slots[rows] = at
        return numbers, slots

    def _run(self, codes: np.ndarray) -> np.ndarray:
        """Run the software on inputs that have their slots, and keep the outputs."""
        outputs = run(self.software, self.schema, codes, binary=self.binary)
        stop = self.runs + len(codes)
        kept = outputs[:0] if self._outputs is None else self._outputs
        kept = kept.astype(np.result_type(kept, outputs), copy=False)
        self._outputs = kept if stop <= len(kept) else _longer(kept, stop)
        self._outputs[self.runs : stop] = outputs
        self.runs = stop
        return outputs

    def _make_room(self, needed: int) -> None:
        """Make the arrays large enough for so many inputs."""
        if needed > len(self._keys):
            self._keys = _longer(self._keys, needed)
        if needed > MOST_FULL * len(self._slots):
            while needed > MOST_FULL * (1 << self._bits):
                self._bits += 2
            self._slots = np.full(1 << self._bits, -1, dtype=np.int32)
            for start in range(0, self.runs, BATCH):
                self._find(self._keys[start : min(start + BATCH, self.runs)], start)

    def _places(self, keys: np.ndarray) -> np.ndarray:
        """Return the slots in which to look for keys first."""
        if self._weights is None:
            words = keys.view(np.uint32).reshape(len(keys), len(self.schema.sizes)).astype(np.uint64)
            keys = words @ (_GOLDEN ** np.arange(1, words.shape[1] + 1, dtype=np.uint64))
        places = keys.view(np.uint64) * _GOLDEN
        places >>= np.uint64(64 - self._bits)
        return places.view(np.int64)

    def _key(self, codes: np.ndarray) -> np.ndarray:
        if self._weights is None:
            return np.ascontiguousarray(codes, dtype=">u4").view(f"S{4 * codes.shape[1]}").reshape(-1)
        return codes @ self._weights

    def _codes(self, keys: np.ndarray) -> np.ndarray:
        if self._weights is None:
            return keys.view(">u4").reshape(len(keys), -1).astype(np.int64)
        return np.column_stack(np.unravel_index(keys, self.schema.sizes))


def _longer(array: np.ndarray, needed: int) -> np.ndarray:
    """Return an array with the same first elements and room for at least so many, and for a quarter more than before.

    It is the same array, where it can be made longer in its place.
    """
    longer = array if array.flags.owndata else array.copy()
    longer.resize(max(needed, len(array) + len(array) // 4), refcheck=False)
    return longer


def _key_weights(schema: Schema) -> np.ndarray | None:
    """Return what makes one number of an input's codes; None if there are too many inputs for 64 bits."""
    if schema.n_inputs >= 2**63:
        return None
    return np.cumprod([1, *schema.sizes[:0:-1]], dtype=np.int64)[::-1]
