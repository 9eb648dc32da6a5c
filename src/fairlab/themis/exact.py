"""Exact scores of small programs, from the outputs of all inputs (definitions 3.5 to 3.7)."""

from collections.abc import Callable, Iterable
from numbers import Integral

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.checks import check_count
from fairlab.themis.software import run

LARGEST = 10_000_000  # inputs


class DomainTooLargeError(ValueError):
    """More inputs, or groups of them, than may be enumerated.

    Examples
    --------
    >>> from fairlab.themis import output_table
    >>> from fairlab.cases import Schema
    >>> output_table(lambda rows: rows["a"] > 0, Schema.from_dict({"a": {"low": 0, "high": 99}}), largest=10)
    Traceback (most recent call last):
    ...
    fairlab.themis.exact.DomainTooLargeError: the schema has 100 inputs, more than 10: estimate scores with Themis
    """


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

    Examples
    --------
    >>> from fairlab.themis import output_table
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "race": ["red", "green"]})
    >>> output_table(lambda rows: (rows["sex"] == "m") & (rows["race"] == "red"), schema).tolist()
    [[False, False], [True, False]]
    """
    if not callable(software):
        raise TypeError(f"software: expected a function, found {type(software).__name__}")
    if not isinstance(schema, Schema):
        raise TypeError(f"schema: expected a Schema, found {type(schema).__name__}")
    if schema.n_inputs > check_count(largest, "largest"):
        raise DomainTooLargeError(
            f"the schema has {schema.n_inputs:,} inputs, more than {largest:,}: estimate scores with Themis"
        )
    return run(software, schema, schema.assignments(range(len(schema.sizes)))).reshape(schema.sizes)


def as_program(table: np.ndarray) -> tuple[Schema, Callable[[pd.DataFrame], np.ndarray]]:
    """Return the program that a table of outputs describes, and the schema of its inputs, the table's indices.

    The reverse of `output_table`. Characteristics are called ``x0``, ``x1``, ...

    Raises
    ------
    ValueError
        If the table has no axis or no output.

    Examples
    --------
    >>> from fairlab.themis import as_program, output_table
    >>> schema, program = as_program(np.array([[True, False], [False, False]]))
    >>> schema.n_inputs, output_table(program, schema).tolist()
    (4, [[True, False], [False, False]])
    """
    table = np.asarray(table)
    if table.ndim == 0 or table.size == 0:
        raise ValueError(f"table: expected at least one axis and one output, found shape {table.shape}")
    schema = Schema.from_dict({f"x{axis}": range(size) for axis, size in enumerate(table.shape)})
    return schema, lambda inputs: table[tuple(inputs.to_numpy().T)]


def group_score(table: np.ndarray, positions: int | Iterable[int]) -> float:
    """Return the largest difference of the shares of true outputs between groups (definition 3.6).

    Parameters
    ----------
    table : array-like of bool, one axis for each characteristic
        See `output_table`.
    positions : int or iterable of int
        Axes of the characteristics that make the groups.

    Raises
    ------
    ValueError
        If the table holds anything but false and true, or positions are not different axes of it.

    Examples
    --------
    >>> from fairlab.themis import group_score
    >>> group_score(np.array([[True, False], [False, False]]), 0)
    0.5
    """
    table, positions = _checked(table, positions)
    shares = table.mean(axis=tuple(axis for axis in range(table.ndim) if axis not in positions))
    return float(shares.max() - shares.min())


def causal_score(table: np.ndarray, positions: int | Iterable[int]) -> float:
    """Return the share of inputs whose output some other values of these characteristics change (definition 3.7).

    Parameters and errors are those of `group_score`.

    Examples
    --------
    >>> from fairlab.themis import causal_score
    >>> causal_score(np.array([[True, False], [False, False]]), 0)
    0.5
    """
    table, positions = _checked(table, positions)
    return float((table.any(axis=positions) != table.all(axis=positions)).mean())


def _checked(table, positions) -> tuple[np.ndarray, tuple[int, ...]]:
    table = np.asarray(table)
    if table.ndim == 0 or table.size == 0 or not (table.dtype == bool or _is_binary(table)):
        raise ValueError(f"table: expected outputs false and true, at least one, found {table!r}")
    found = positions if isinstance(positions, Iterable) and not isinstance(positions, str) else [positions]
    found = list(found)
    whole = all(isinstance(p, Integral) and not isinstance(p, bool | np.bool_) for p in found)
    if not whole or not found or len(set(found)) < len(found) or not set(found) <= set(range(table.ndim)):
        axes = f"0 to {table.ndim - 1}"
        raise ValueError(f"positions: expected different ones of {axes}, found {', '.join(map(repr, found)) or 'none'}")
    return table.astype(bool), tuple(int(position) for position in found)


def _is_binary(table: np.ndarray) -> bool:
    return table.dtype.kind in "iuf" and bool(np.isin(table, (0, 1)).all())
