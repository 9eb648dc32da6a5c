"""Draws of the labs' data. The tables are made from counts in a lab's module or are generated; nothing is downloaded.

A course has a number. Number 0 gets the tables as published; any other gets its own, drawn from it, so that last year's
numbers do not fit. The statements of a lab about its table must hold for every course: the table is redrawn until they
hold.
"""

from collections.abc import Callable

import numpy as np

from fairlab.checks import check_count
from fairlab.seeds import derive_seed

MOST_DRAWS = 1_000  # of the labs' own sizes one in fifty will do, or more


def course_rng(name: str, course: int) -> np.random.Generator:
    """Return the random generator of a course, a whole number of at least 0, for one of its tables or programs."""
    return np.random.default_rng(derive_seed("labs", name, check_count(course, "course", least=0), bits=128))


def redrawn(draw: Callable, holds: Callable):
    """Return the first draw for which something holds."""
    for _ in range(MOST_DRAWS):
        if holds(table := draw()):
            return table
    raise RuntimeError(
        f"none of {MOST_DRAWS:,} random tables shows what the lab describes, as can happen with few people"
    )
