"""Exact scores of small programs, from the outputs of all inputs (definitions 3.5 to 3.7)."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.themis.software import run

LARGEST = 10_000_000  # inputs


class DomainTooLargeError(ValueError):
    """More inputs, or groups of them, than may be enumerated."""


def output_table(software, schema: Schema, *, largest: int = LARGEST) -> np.ndarray:
    """Run a program on every input.

    Parameters
    ----------
    software : callable
        See `fairlab.themis.software`.
    schema : Schema
    largest : int
        Most inputs that may be tried.

    Returns
    -------
    ndarray of bool
        One axis for each characteristic.

    Raises
    ------
    DomainTooLargeError
        If there are more inputs.
    """
    if schema.n_inputs > largest:
        raise DomainTooLargeError(
            f"the schema has {schema.n_inputs:,} inputs, more than {largest:,}: estimate scores with Themis"
        )
    return run(software, schema, schema.assignments(range(len(schema.sizes)))).reshape(schema.sizes)


def as_program(table: np.ndarray) -> tuple[Schema, Callable[[pd.DataFrame], np.ndarray]]:
    """Return the program that a table of outputs describes, and the schema of its inputs, the table's indices.

    The reverse of `output_table`. Characteristics are called ``x0``, ``x1``, ...
    """
    table = np.asarray(table)
    schema = Schema.from_dict({f"x{axis}": range(size) for axis, size in enumerate(table.shape)})
    return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]


def group_score(table: np.ndarray, positions: tuple[int, ...]) -> float:
    """Return the largest difference of the shares of true outputs between groups (definition 3.6)."""
    shares = table.mean(axis=_others(table, positions))
    return float(shares.max() - shares.min())


def causal_score(table: np.ndarray, positions: tuple[int, ...]) -> float:
    """Return the share of inputs whose output some other values of these characteristics change (definition 3.7)."""
    return float((table.any(axis=positions) != table.all(axis=positions)).mean())


def _others(table: np.ndarray, positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(table.ndim) if axis not in positions)
