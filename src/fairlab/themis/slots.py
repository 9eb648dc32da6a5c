"""Finding many inputs in a memory's table of slots, one after the other: a compiled loop."""

import numpy as np

from fairlab.models.loops import IS_COMPILED as IS_COMPILED
from fairlab.models.loops import compiled


@compiled
def find(slots: np.ndarray, keys: np.ndarray, start: int, places: np.ndarray) -> np.ndarray:
    """Return the number of the first key that equals each from `start` on; new ones get a slot.

    Parameters
    ----------
    slots : ndarray of int32
        The number of a key, -1 where there is none; as many as a power of 2. Changed.
    keys : ndarray
    start : int
        Number of the first key that is looked for; those before it have their slots.
    places : ndarray of int64
        Where to look first, for each; then where it was found. Changed.

    Examples
    --------
    >>> from fairlab.themis.slots import find
    >>> slots, places = np.full(4, -1, dtype=np.int32), np.array([2, 2, 2])
    >>> find(slots, np.array([7, 9, 7]), 0, places).tolist(), places.tolist(), slots.tolist()
    ([0, 1, 0], [2, 3, 2], [-1, -1, 0, 1])
    """
    numbers, last = np.empty(len(places), dtype=np.int32), len(slots) - 1
    for row in range(len(places)):
        own, place = start + row, places[row]
        held = slots[place]
        while held >= 0 and keys[held] != keys[own]:
            place = (place + 1) & last
            held = slots[place]
        if held < 0:
            held = own
            slots[place] = own
        numbers[row], places[row] = held, place
    return numbers
