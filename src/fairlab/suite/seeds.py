"""A trial of an experiment: its number, and the seeds of its random streams."""

from dataclasses import dataclass

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
    """

    name: str
    index: int
    root: int = 0

    def seed(self, stream: str) -> int:
        """Return the seed of one named stream of this trial, in [0, 2**32)."""
        return derive_seed(self.root, self.name, self.index, stream)

    def rng(self, stream: str) -> np.random.Generator:
        """Return a generator for one named stream of this trial, from 128 bits of entropy."""
        return np.random.default_rng(derive_seed(self.root, self.name, self.index, stream, bits=128))
