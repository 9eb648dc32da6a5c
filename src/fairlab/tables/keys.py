"""What people are counted by: expressions that every engine computes equally, each a code from 0 or none.

A person of whom some key is -1 is not counted.
"""

from dataclasses import dataclass

import numpy as np

from fairlab.seeds import derive_seed

PRIME = 2**31 - 1  # of hashes: products of two numbers below it, and a third, fit into 63 bits
OTHER_PRIME = 2**31 - 19


@dataclass(frozen=True)
class Code:
    """The code of a categorical column, one of `size`."""

    column: object
    size: int


@dataclass(frozen=True)
class Hash:
    """A number from 0 to ``PRIME - 1`` for each whole number of a key column: as if drawn at random, and always equal.

    It is a polynomial of degree 4 with random coefficients, by which any five keys get independent numbers (Wegman and
    Carter 1981), of a random combination of the key's remainders by two primes, which tells keys of 61 bits apart but
    for a chance of one in two thousand million for each pair.

    Attributes
    ----------
    column : str
    coefficients : tuple of int
        The factors of both remainders, then those of the polynomial, the highest power first.
    """

    column: object
    coefficients: tuple[int, ...]

    @classmethod
    def keyed(cls, column, random_state: int) -> "Hash":
        """Return the hash of a column under a random state."""
        rng = np.random.default_rng(derive_seed("split of a table by hash", random_state))
        return cls(column, tuple(rng.integers(1, PRIME, size=7).tolist()))

    @staticmethod
    def below(share: float) -> int:
        """Return the number that a share of all hashes is below."""
        return round(share * PRIME)

    def of(self, key):
        """Return the hash of a key, which may be an array of 64-bit integers or an expression of an engine."""
        first, second, power, *others = self.coefficients
        # Engines do not agree on the sign of remainders of negative numbers.
        near, far = ((key % prime + prime) % prime for prime in (PRIME, OTHER_PRIME))
        mixed = ((near * first) % PRIME + (far * second) % PRIME) % PRIME
        hashed = mixed * power
        for coefficient in others[:-1]:
            hashed = ((hashed + coefficient) % PRIME) * mixed
        return (hashed + others[-1]) % PRIME


@dataclass(frozen=True)
class Cut:
    """How many of some increasing thresholds lie below a number: of a column, or of a hash."""

    number: object
    thresholds: tuple[float, ...]

    @property
    def size(self) -> int:
        """One more than there are thresholds."""
        return len(self.thresholds) + 1


@dataclass(frozen=True)
class Split:
    """The part that a person is in, after each part of a parent was split by a key of its own.

    Attributes
    ----------
    parent : Key or None
        None for everyone in one part.
    branches : tuple of (Key, tuple of int) or None
        For each code of the parent the key that splits it, and the new part for each code of this key; -1 is none. None
        for a part that is not split: its people are in no new one.
    size : int
        The number of new parts.

    Examples
    --------
    >>> from fairlab.tables import Code, Split
    >>> truth, predicted = Code("truth", 2), Code("predicted", 2)
    >>> Split(truth, ((predicted, (0, 1)), (predicted, (1, 0))), 2).size  # whether the prediction is wrong
    2
    """

    parent: "Key | None"
    branches: "tuple[tuple[Key, tuple[int, ...]] | None, ...]"
    size: int


Key = Code | Cut | Split
