"""Exact scores of small programs, from the outputs of all inputs (definitions 3.5 to 3.7)."""

from itertools import combinations

import numpy as np

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
    every = tuple(range(len(schema.sizes)))
    return run(software, schema, schema.assignments(every)).reshape(schema.sizes)


def group_score(table: np.ndarray, positions: tuple[int, ...]) -> float:
    """Return the largest difference of the shares of true outputs between groups (definition 3.6)."""
    shares = table.mean(axis=_others(table, positions))
    return float(shares.max() - shares.min())


def causal_score(table: np.ndarray, positions: tuple[int, ...]) -> float:
    """Return the share of inputs whose output some other values of these characteristics change (definition 3.7)."""
    return float((table.any(axis=positions) != table.all(axis=positions)).mean())


def subsets(n_characteristics: int) -> list[tuple[int, ...]]:
    """Return all non-empty sets of positions, small ones first."""
    every = range(n_characteristics)
    return [subset for size in range(1, n_characteristics + 1) for subset in combinations(every, size)]


def _others(table: np.ndarray, positions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in range(table.ndim) if axis not in positions)
