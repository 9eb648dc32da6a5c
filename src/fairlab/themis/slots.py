"""Finding many inputs in a memory's table of slots, one after the other: a compiled loop."""

import numpy as np

from fairlab.models.loops import IS_COMPILED as IS_COMPILED
from fairlab.models.loops import compiled


@compiled
def find(
    slots: np.ndarray, keys: np.ndarray, known: int, asked: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each key that is asked for, and whether it is a new one; those get the next numbers.

    Parameters
    ----------
    slots : ndarray of int32
        The number of a key, -1 where there is none; as many as a power of 2. Changed.
    keys : ndarray
        By number, with room for those that are new. Changed.
    known : int
        How many there are.
    asked : ndarray
    places : ndarray of int64
        Where to look first, for each that is asked for.

    Examples
    --------
    >>> from fairlab.themis.slots import find
    >>> slots, keys, places = np.full(4, -1, dtype=np.int32), np.empty(4, dtype=int), np.array([2, 2, 2])
    >>> [found.tolist() for found in find(slots, keys, 0, np.array([7, 9, 7]), places)]
    [[0, 1, 0], [True, True, False]]
    >>> slots.tolist()
    [-1, -1, 0, 1]
    """
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
