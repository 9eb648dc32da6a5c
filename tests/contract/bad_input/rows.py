"""What a row of the table of bad inputs is, and good inputs to spoil."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from fairlab.cases import Schema


@dataclass(frozen=True)
class Bad:
    """A call that must be refused.

    Attributes
    ----------
    public : str
        The public callable whose input is bad, by its name in its package.
    argument : str
        What the error must name.
    call : callable
        Makes the call.
    says : str
        Part of the message: what was expected, or what was found.
    error : type
        The error.
    """

    public: str
    argument: str
    call: Callable[[], object]
    says: str
    error: type[Exception] = ValueError

    def __repr__(self) -> str:
        return f"{self.public}-{self.argument}"


def number(row) -> int:
    """A model that is none: it answers with one number for all rows."""
    return 1


def at_40(rows) -> np.ndarray:
    """A model: 1 from 40 years on."""
    return (np.asarray(rows)[:, 0] >= 40).astype(int)


TABLE = pd.DataFrame({"age": [25, 31, 38, 42, 47, 55, 61, 29], "income": [1.0, 2.5, 2.0, 4.0, 3.0, 5.5, 4.5, 1.5]})
OTHER = TABLE + 1.0
NAN = TABLE.astype(float).mask(TABLE > 60)
TEXTS = TABLE.assign(age=[*"abcdefgh"])
SEX = pd.Series([0, 1, 0, 1, 0, 1, 0, 1], name="sex")
Y = np.array([0, 0, 1, 1, 0, 1, 1, 0])
SCHEMA = Schema.from_dict({"sex": [0, 1], "age": range(5), "skill": range(4)})
INPUTS = pd.DataFrame({"sex": [0, 1, 0, 1], "age": [0, 1, 2, 3], "skill": [3, 2, 1, 0]})


def skilled(inputs) -> np.ndarray:
    """A program and a classifier: true for the skilled."""
    return np.asarray(inputs)[:, 2] > 1


@cache
def network():
    """A tiny Keras network of three features."""
    from fairlab.benchmarks.adf import dense_network

    return dense_network([np.ones((3, 2), np.float32), np.zeros(2, np.float32)])


def lacking(record: type, argument: str) -> Bad:
    """Return the row of a result that the library makes: without its parts there is none."""
    return Bad(record.__name__, argument, lambda: record(), "missing", TypeError)
