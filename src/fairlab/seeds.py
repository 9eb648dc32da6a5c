"""Seeds derived from names, so that adding a draw or running a subset changes nothing else."""

import hashlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np


def derive_seed(*names: str | int, bits: int = 32) -> int:
    """Return a seed in [0, 2**bits) that depends on all `names` and on nothing else.

    Parameters
    ----------
    *names : str or int
        For instance the user's seed, the trial's name and number, and the stream (``"gan"``, ``"test"``).
    bits : int
        A multiple of 8, at most 256. 32 is what every library takes; NumPy's generators take as many as there are.

    Raises
    ------
    ValueError
        If there is no name, one is neither text nor a whole number, or the bits are no such multiple.

    Examples
    --------
    >>> derive_seed(0, "fliptest/lipton", 3, "gan") == derive_seed(0, "fliptest/lipton", 3, "gan")
    True
    """
    odd = [name for name in names if not isinstance(name, str | Integral)]
    if odd or not names:
        raise ValueError(f"names: expected texts and whole numbers, at least one, found {odd[0] if odd else 'none'!r}")
    if bits not in range(8, 257, 8):
        raise ValueError(f"bits: expected a multiple of 8 from 8 to 256, found {bits!r}")
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[: bits // 8], "big")


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
