"""Keys for counting and summing people: expressions with the same value in every engine, a code from 0 or none.

A person is not counted if any key is -1.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import pandas as pd

from fairlab.seeds import derive_seed

PRIME = 2**31 - 1  # of hashes: the product of two smaller numbers, plus a third, fits into 63 bits
OTHER_PRIME = 2**31 - 19
DIGITS = 4  # digits of each number that is summed
DIGIT = 2.0**22  # their base: sums of 2**31 digits are exact floats, in any order


@dataclass(frozen=True)
class Code:
    """The code of a categorical column, one of `size`."""

    column: object
    size: int


@dataclass(frozen=True)
class Hash:
    """A reproducible pseudo-random number from 0 to ``PRIME - 1`` for each whole number of a key column.

    A random combination of the key's remainders by two primes distinguishes any two keys of 61 bits, except with a
    probability of one in two thousand million. A polynomial of degree 4 of it, with random coefficients, makes the
    numbers of any five keys independent (Wegman and Carter 1981).

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
        """Return the number below which a share of all hashes lies."""
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


# SQL of engines for `digests`.
DIGEST_IN_DUCKDB = "cast('0x' || substr(sha256({}), 1, 15) as bigint)"
DIGEST_IN_SPARK = "cast(conv(substr(sha2({}, 256), 1, 15), 16, 10) as bigint)"


def digests(texts: Iterable) -> np.ndarray:
    """Return whole numbers that stand for texts as keys: the first 60 bits of their SHA-256."""
    return np.array([int(sha256(str(text).encode()).hexdigest()[:15], 16) for text in texts], dtype=np.int64)


def check_keys(name: str, n_rows: float, n_known: float, n_different: float) -> None:
    """Raise a ValueError unless each person has a unique key."""
    if missing := n_rows - n_known:
        raise ValueError(f"key: expected one for each person in column {name!r}, {missing:.0f} are missing")
    if n_rows and n_different < n_rows:
        found = f"{n_rows - n_different:.0f} there twice"
        raise ValueError(f"key: expected another one for each person in column {name!r}, found {found}")


def check_kind_of_key(name: str, found: object, is_such: bool) -> None:
    """Raise a ValueError unless a column is of whole numbers or text."""
    if not is_such:
        raise ValueError(f"key: expected whole numbers or text in column {name!r}, found {found}")


def key_numbers(keys: pd.Series) -> np.ndarray:
    """Return one whole number for each key, by which people in memory are divided.

    Raises
    ------
    ValueError
        If keys are neither whole numbers nor strings, or not all different.
    """
    is_text = keys.dropna().map(lambda key: isinstance(key, str | UUID)).all() and len(keys) > 0
    check_kind_of_key(keys.name, keys.dtype, is_text or pd.api.types.is_integer_dtype(keys.dtype))
    check_keys(keys.name, len(keys), keys.count(), keys.nunique())
    return digests(keys) if is_text else keys.to_numpy(dtype=np.int64)


@dataclass(frozen=True)
class Distance:
    """How far two numbers of a person are apart, as a prediction and the truth."""

    first: object
    second: object


@dataclass(frozen=True)
class Cut:
    """The number of increasing thresholds below a number: of a column, a hash or a distance."""

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
        For each code of the parent, the key that splits it, and the new part for each code of this key (-1 for none).
        None for a part that is not split; its people are in no new part.
    size : int
        The number of new parts.

    Examples
    --------
    >>> from fairlab.cases.tables import Code, Split
    >>> truth, predicted = Code("truth", 2), Code("predicted", 2)
    >>> Split(truth, ((predicted, (0, 1)), (predicted, (1, 0))), 2).size  # whether the prediction is wrong
    2
    """

    parent: "Key | None"
    branches: "tuple[tuple[Key, tuple[int, ...]] | None, ...]"
    size: int


Key = Code | Cut | Split


@dataclass(frozen=True)
class Sums:
    """Sums over two numbers x and y of each person: the last in a list of keys, with an axis for count and sums.

    Attributes
    ----------
    x, y : str, Distance or Code
        Numbers; the code of a category is a number, too.
    standards : tuple of float, or of tuple of float
        Constants in the sums; with a cell, each has a value for each code of it.
    cell : Key or None
        One of the keys of the list.
    """

    x: object
    y: object
    standards: tuple
    cell: "Key | None" = None
    size: ClassVar[int]  # one more than there are sums

    def terms(self, x, y, standards: Sequence, *, floor: Callable = np.floor, keep: Callable = list) -> Iterator[Any]:
        """Yield the terms to sum, from arrays or from expressions: `keep` makes columns of a list of expressions."""
        raise NotImplementedError


class Products(Sums):
    """Sums of x, y, x², y² and xy, the same to the last bit in any order of people.

    Standards are a middle of x, a power of 2 that scales the distance of any x from it to at most 1, and the same for
    y. Nothing is divided, since not all engines divide floats.

    Examples
    --------
    >>> from fairlab.cases.tables import Column, InMemory
    >>> from fairlab.cases.tables.keys import Products
    >>> table = InMemory({"age": Column("age", np.arange(4.0)), "pay": Column("pay", np.arange(4.0) * 2)})
    >>> Products.joined(table.tabulate([(Products("age", "pay", (1.0, 0.5, 2.0, 0.25)),)])[0]).tolist()
    [4.0, 1.0, 1.0, 1.5, 1.5, 1.5]
    """

    size = 1 + 5 * DIGITS

    def terms(self, x, y, standards, *, floor=np.floor, keep=list):
        """Yield the digits of the five numbers, the leading digits first."""
        middle, scale, other_middle, other_scale = standards
        x, y = (x - middle) * scale, (y - other_middle) * other_scale
        rests = [x, y, x * x, y * y, x * y]
        for place in range(DIGITS):
            shifted = [rest * DIGIT for rest in rests]
            shifted = keep(shifted) if place == DIGITS // 2 else shifted  # expressions double with each digit
            digits = [floor(each) for each in shifted]
            yield from digits
            rests = [each - digit for each, digit in zip(shifted, digits, strict=True)]

    @staticmethod
    def joined(counted: np.ndarray) -> np.ndarray:
        """Return numbers of people and the five sums, from counts and sums of digits."""
        sums = 0.0
        for digits in np.split(counted[..., 1:], DIGITS, axis=-1)[::-1]:
            sums = (sums + digits) / DIGIT
        return np.concatenate([counted[..., :1], sums], axis=-1)


class Influences(Sums):
    """Sums of squared influences on the correlation of x and y, and of their squares; engines agree up to rounding.

    Standards are the mean of x, one over its standard deviation, the same for y, and the correlation.
    """

    size = 3

    def terms(self, x, y, standards, *, floor=np.floor, keep=list):
        """Yield squared influences, and their squares."""
        mean, scale, other_mean, other_scale, correlation = standards
        u, v = (x - mean) * scale, (y - other_mean) * other_scale
        influence = u * v - correlation * (u * u + v * v) * 0.5
        squared = influence * influence
        yield from (squared, squared * squared)
