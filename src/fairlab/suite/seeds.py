"""A trial of an experiment: its number, and the seeds of its random streams."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from fairlab.seeds import derive_seed


@dataclass(frozen=True)
class Trial:
    """One independent repetition of an experiment: what a trial function gets to draw its randomness from.

    Attributes
    ----------
    name : str
        Whose trial it is.
    index : int
        Number of the trial, from 0.
    root : int
        The user's seed of the run.

    Raises
    ------
    ValueError
        If the name is no text, or a number is no whole one of at least 0.
    """

    name: str
    index: int
    root: int = 0

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise ValueError(f"name: expected a text, found {self.name!r}")
        for name, number in (("index", self.index), ("root", self.root)):
            if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
                raise ValueError(f"{name}: expected an integer, at least 0, found {number!r}")

    def seed(self, stream: str) -> int:
        """Return the seed of one named stream of this trial, in [0, 2**32)."""
        return derive_seed(self.root, self.name, self.index, stream)

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator for one named stream of this trial, from 128 bits of entropy."""
        return np.random.default_rng(derive_seed(self.root, self.name, self.index, stream, bits=128))
