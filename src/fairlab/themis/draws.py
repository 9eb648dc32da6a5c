"""Draws of inputs from a schema or a case's table, and the model's decisions on them with other values."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlab.cases.case import Case
from fairlab.cases.model import ModelAdapter, wrap_model
from fairlab.cases.queries import Answers
from fairlab.cases.schema import Schema, check_schema

BATCH_INPUTS = 200_000  # inputs in one call of the model
INPUTS_AT_ONCE = 50_000  # inputs processed at once
INPUTS = "generated inputs"


class Comparison(NamedTuple):
    """Inputs, and the model's decisions on them with other values of some features.

    Attributes
    ----------
    inputs : DataFrame, or ndarray of int, of shape (n, n_features)
        Rows, or codes of a schema.
    own : ndarray of shape (n,)
        The output on each input as it is.
    changed : ndarray of shape (n,)
        Whether, or by how much, other values change it.
    partner : ndarray of int of shape (n,)
        Number of the first values that change it, or change it most; 0 if none do.
    tests : ndarray of int of shape (n,), or None
        Number of inputs that algorithm 2 tests one by one: the input itself, and its counterparts up to the first
        change.
    decisions : ndarray of bool of shape (n, n_values), or None
        Decisions with all values, where all were queried.
    """

    inputs: Any
    own: Any
    changed: Any
    partner: Any
    tests: Any = None
    decisions: Any = None

    def take(self, rows: np.ndarray) -> "Comparison":
        """Return some of the inputs."""
        return Comparison(*(None if part is None else part.take(rows, axis=0) for part in self))


def outputs_of(model: ModelAdapter, schema: Schema, codes: np.ndarray, *, binary: bool = True) -> np.ndarray:
    """Return a model's outputs for inputs given as codes, in batches.

    Parameters
    ----------
    model : ModelAdapter
    schema : Schema
    codes : ndarray of int of shape (n_inputs, n_features)
    binary : bool
        Whether outputs must be false and true.

    Raises
    ------
    CaseError
        If the model does not return one output for each input, or returns anything but false and true.
    """
    batches = np.split(codes, range(BATCH_INPUTS, len(codes), BATCH_INPUTS))
    outputs = model.binary_of if binary else model.predict
    return np.concatenate([outputs(schema.decode(batch)) for batch in batches])


class UniformDraw:
    """Inputs drawn uniformly from a schema, as codes; the model is never applied to one twice (section 4.1, caching).

    Parameters
    ----------
    model : callable, or object with ``predict``
        See `fairlab.cases.wrap_model`.
    schema : Schema
    output_distance : callable or None
        See `fairlab.themis.Themis`; None where outputs must be false and true.
    """

    def __init__(self, model, schema: Schema, output_distance: Callable | None = None):
        self.schema, self.output_distance = check_schema(schema), output_distance
        self._model, self.decide = wrap_model(model), Answers(self.schema.sizes, self._outputs)

    @property
    def runs(self) -> int:
        """Number of inputs, all distinct, to which the model has been applied."""
        return len(self.decide)

    def sample(self, owner: np.ndarray, rngs: Sequence[np.random.Generator], every: np.ndarray | None) -> np.ndarray:
        """Return new inputs as codes: random ones, or those in `every`, repeated.

        Parameters
        ----------
        owner : ndarray of int of shape (n,)
            Number of the generator for each input, sorted.
        rngs : sequence of Generator
        every : ndarray of int of shape (n_inputs, n_features), or None
        """
        if every is not None:
            return np.resize(every, (len(owner), every.shape[1]))
        parts = [self.schema.sample_codes(len(some), random_state=rngs[k]) for k, some in of_each(owner, owner)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _outputs(self, codes: np.ndarray) -> np.ndarray:
        return outputs_of(self._model, self.schema, codes, binary=self.output_distance is None)

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all inputs so far, as codes in the order of the domain, and their outputs."""
        order = np.argsort(self.decide.keys, kind="stable")
        return self.decide.inputs[order], self.decide.values[order]

    def compare(self, inputs: np.ndarray, sets: Sequence[list[int]], owner: np.ndarray) -> Comparison:
        """Return whether, or by how much, other values of some features change the output of inputs.

        Equivalent to this loop for each input, but for all inputs together and some values at a time::

            for number, values in enumerate(schema.assignments(positions)):
                other = input with these values
                difference = distance(decide(input), decide(other))
                if difference > changed:
                    changed, partner = difference, number
                    if outputs are binary: break

        Parameters
        ----------
        inputs : ndarray of int of shape (n, n_features)
        sets : sequence of list of int
            Positions of the features that are varied together.
        owner : ndarray of int of shape (n,)
            Which of the sets is varied on each input, sorted.
        """
        n_values = np.array([self.schema.n_assignments(positions) for positions in sets])
        own = self.decide(inputs)
        changed, partner, tests = np.zeros(len(inputs)), np.zeros(len(inputs), dtype=np.int64), n_values[owner]
        active, start, width = np.arange(len(inputs)), 0, 1
        while len(active):
            parts = of_each(active, owner[active])
            numbers = [range(start, min(start + width, int(n_values[k]))) for k, _ in parts]
            codes = [
                _with_values(self.schema, inputs, part, sets[k], some)
                for (k, part), some in zip(parts, numbers, strict=True)
            ]
            outputs = self.decide(codes[0] if len(codes) == 1 else np.concatenate(codes))
            outputs = np.split(outputs, np.cumsum([len(block) for block in codes])[:-1])
            left = [active[:0]]
            for (k, part), some, others in zip(parts, numbers, outputs, strict=True):
                difference = self._difference(np.repeat(own[part], len(some)), others).reshape(len(part), -1)
                largest = difference.max(axis=1)
                more = largest > changed[part]
                changed[part[more]] = largest[more]
                partner[part[more]] = start + difference[more].argmax(axis=1)
                if self.output_distance is None:  # one change is enough
                    tests[part[more]] = partner[part[more]] + 1
                    part = part[~more]
                if some.stop < n_values[k]:
                    left.append(part)
            active, start = np.concatenate(left), start + width
            width = min(2 * width, max(1, INPUTS_AT_ONCE // max(1, len(active))))
        for k, part in of_each(np.arange(len(inputs)), owner):  # the input itself is tested once
            sizes = [self.schema.sizes[position] for position in sets[k]]
            tests[part] += np.ravel_multi_index(tuple(inputs[part][:, sets[k]].T), sizes) >= tests[part]
        return Comparison(inputs, own, changed, partner, tests)

    def _difference(self, first, second) -> np.ndarray:
        if self.output_distance is None:
            return first != second
        distance = np.asarray(self.output_distance(first, second), dtype=float)
        if distance.shape != first.shape or not ((distance >= 0) & (distance <= 1)).all():
            raise ValueError(f"output_distance: expected {len(first)} numbers from 0 to 1, found {distance!r}")
        return distance


def of_each(rows: np.ndarray, owner: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return the owners that occur, in order, each with its rows.

    Parameters
    ----------
    rows : ndarray of shape (n,)
    owner : ndarray of int of shape (n,)
        Sorted.
    """
    if len(rows) == 0:
        return []
    first = np.flatnonzero(np.diff(owner, prepend=owner[0] - 1))
    return list(zip(owner[first].tolist(), np.split(rows, first[1:]), strict=True))


def _with_values(schema: Schema, inputs, chosen, positions, numbers: range) -> np.ndarray:
    """Return the codes of each chosen input with some assignments of its features at some positions, in turn."""
    codes = np.empty((inputs.shape[1], len(chosen), len(numbers)), dtype=inputs.dtype)
    for column, values in zip(codes, inputs.T, strict=True):
        column[:] = values.take(chosen)[:, None]
    codes[positions] = schema.assignments(positions, np.arange(numbers.start, numbers.stop)).T[:, None]
    return codes.reshape(len(codes), -1).T


def from_people(case: Case, names: tuple[str, ...], people: np.ndarray) -> Comparison:
    """Return people of a case's table, given by their positions, with all values of some features.

    Parameters
    ----------
    case : Case
    names : tuple of str
        Features to vary.
    people : ndarray of int of shape (n,)
        Positions in the table.
    """
    rows = case.table[list(case.features)].iloc[people]
    decisions = case.vary(rows, names)
    return _of_decisions(rows, case.decide(rows), decisions)


def from_table(case: Case, names: tuple[str, ...], n_inputs: int, rng: np.random.Generator) -> Comparison:
    """Return generated inputs, each feature drawn by itself from the people of the table, with all values of some.

    Parameters
    ----------
    case : Case
    names : tuple of str
        Features to vary; a binned number takes the value that represents each bin.
    n_inputs : int
    rng : Generator
    """
    drawn, values = case.draw(n_inputs, rng), case.values(names)
    positions = case.schema.positions(names)
    codes, sizes = case.schema.encode(drawn)[:, positions], [case.schema.sizes[position] for position in positions]
    own = np.ravel_multi_index(tuple(codes.T), sizes)
    rows = drawn.assign(**{name: column.take(own).array for name, column in values.items()})
    decisions = case.vary(rows, names)
    return _of_decisions(rows, decisions[np.arange(n_inputs), own], decisions)


def _of_decisions(rows: pd.DataFrame, own: np.ndarray, decisions: np.ndarray) -> Comparison:
    differs = decisions != own[:, None]
    return Comparison(rows, own, differs.any(axis=1), differs.argmax(axis=1), decisions=decisions)
