"""Exact scores of small programs, from all outputs (definitions 3.5 to 3.7)."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from fairlab.cases.model import wrap_model
from fairlab.cases.schema import Schema, check_schema
from fairlab.themis.draws import outputs_of

MAX_INPUTS = 10_000_000  # inputs


class DomainTooLargeError(ValueError):
    """More inputs, or groups of them, than may be enumerated.

    Examples
    --------
    >>> from fairlab.themis import output_table
    >>> from fairlab.cases import Schema
    >>> output_table(lambda rows: rows["a"] > 0, Schema.from_dict({"a": {"low": 1, "high": 20_000_000}}))
    Traceback (most recent call last):
    ...
    fairlab.themis.exact.DomainTooLargeError: 20,000,000 inputs, more than 10,000,000: estimate scores with Themis
    """


def output_table(model: Any, schema: Schema) -> np.ndarray:
    """Run a program on every input.

    Parameters
    ----------
    model : callable, or object with ``predict``
        See `fairlab.cases.wrap_model`.
    schema : Schema

    Returns
    -------
    ndarray of bool
        One axis for each feature.

    Raises
    ------
    DomainTooLargeError
        If there are more than `MAX_INPUTS` inputs.

    Examples
    --------
    >>> from fairlab.themis import output_table
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_dict({"sex": ["f", "m"], "race": ["red", "green"]})
    >>> output_table(lambda rows: (rows["sex"] == "m") & (rows["race"] == "red"), schema).tolist()
    [[False, False], [True, False]]
    """
    adapter = wrap_model(model)
    if check_schema(schema).n_inputs > MAX_INPUTS:
        raise DomainTooLargeError(f"{schema.n_inputs:,} inputs, more than {MAX_INPUTS:,}: estimate scores with Themis")
    return outputs_of(adapter, schema, schema.assignments(range(len(schema.sizes)))).reshape(schema.sizes)


def group_score(table: np.ndarray, positions: int | Iterable[int]) -> float:
    """Return the largest difference of the shares of true outputs between groups (definition 3.6).

    Parameters
    ----------
    table : array-like of bool, one axis for each feature
        See `output_table`.
    positions : int or iterable of int
        Axes of the features that make the groups.

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
    """Return the share of inputs whose output some other values of these features change (definition 3.7).

    Parameters
    ----------
    table : array-like of bool, one axis for each feature
        See `output_table`.
    positions : int or iterable of int
        Axes of the features that change.

    Raises
    ------
    ValueError
        As `group_score`.

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
    is_binary = table.dtype == bool or (table.dtype.kind in "iuf" and np.isin(table, (0, 1)).all())
    if table.ndim == 0 or table.size == 0 or not is_binary:
        raise ValueError(f"table: expected outputs false and true, at least one, found {table!r}")
    found = list(positions if isinstance(positions, Iterable) and not isinstance(positions, str) else [positions])
    whole = all(isinstance(p, Integral) and not isinstance(p, bool | np.bool_) for p in found)
    if not whole or not found or len(set(found)) < len(found) or not set(found) <= set(range(table.ndim)):
        axes = f"0 to {table.ndim - 1}"
        raise ValueError(f"positions: expected different ones of {axes}, found {', '.join(map(repr, found)) or 'none'}")
    return table.astype(bool), tuple(int(position) for position in found)
