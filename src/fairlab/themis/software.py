"""Software under test, and the memory of what it answered.

A program is any callable that takes a DataFrame of inputs, one row each, and returns one output each: the ``predict``
of a model, or a `CommandSoftware`.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from fairlab.cases.schema import Schema
from fairlab.checks import align
from fairlab.models.command import CommandSoftware as CommandSoftware
from fairlab.models.command import SoftwareError

BATCH = 200_000  # inputs in one call


def run(software: Callable, schema: Schema, codes: np.ndarray, *, binary: bool = True) -> np.ndarray:
    """Run a program on inputs given as codes, in batches.

    Raises
    ------
    SoftwareError
        If it does not return one output for each input, or something else than false and true.
    """
    batches = np.split(codes, range(BATCH, len(codes), BATCH))
    return np.concatenate([_run_batch(software, schema, batch, binary) for batch in batches])


def _run_batch(software, schema, codes, binary) -> np.ndarray:
    inputs = schema.decode(codes)
    outputs = software(inputs)
    if isinstance(outputs, pd.Series) and len(outputs) == len(codes):
        try:
            outputs = align(outputs, pd.RangeIndex(len(codes)), "output")
        except ValueError as error:
            raise SoftwareError(str(error)) from error
    outputs = np.asarray(outputs)
    if outputs.shape != (len(codes),):
        raise SoftwareError(f"expected one output for each of {len(codes)} inputs, found shape {outputs.shape}")
    if not binary or outputs.dtype == bool:
        return outputs
    if outputs.dtype.kind in "iuf":
        strange = ~np.isin(outputs, (0, 1))
    else:
        strange = np.array([not isinstance(output, bool | np.bool_) for output in outputs])
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        values = ", ".join(f"{name} {value}" for name, value in inputs.iloc[row].items())
        found = f"output {outputs[[row]].tolist()[0]!r} on input ({values})"
        raise SoftwareError(f"{found}: expected 0 or 1; pass output_distance for other outputs")
    return outputs.astype(bool)


class Memory:
    """Outputs by input, so that the software is never run twice on one (section 4.1, test caching).

    Keys are kept in sorted runs of growing length, merged when the last ones are alike, so that adding to many and
    looking up many are both array operations.

    Parameters
    ----------
    software : callable
    schema : Schema
    binary : bool
        Whether outputs must be false and true.

    Attributes
    ----------
    runs : int
        How often the software has been run, which is the number of distinct inputs.
    """

    def __init__(self, software: Callable, schema: Schema, *, binary: bool = True):
        self.software, self.schema, self.binary = software, schema, binary
        self.runs = 0
        self._sorted: list[tuple[np.ndarray, np.ndarray]] = []  # keys and outputs, longest first
        self._weights = _key_weights(schema)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Return the outputs of inputs given as codes, running the software on those that are new."""
        if len(codes) == 0:
            return np.empty(0, dtype=bool)
        keys, first, inverse = np.unique(self._keys(codes), return_index=True, return_inverse=True)
        outputs, known = self._look_up(keys)
        if not known.all():
            new = run(self.software, self.schema, codes[first[~known]], binary=self.binary)
            self.runs += len(new)
            self._keep(keys[~known], new)
            outputs = new if outputs is None else _filled(outputs, ~known, new)
        return outputs[inverse.reshape(-1)]

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all inputs so far, as codes, and their outputs."""
        if not self._sorted:
            return np.empty((0, len(self.schema.sizes)), dtype=np.int64), np.empty(0, dtype=bool)
        keys, outputs = (np.concatenate(part) for part in zip(*self._sorted, strict=True))
        order = np.argsort(keys, kind="stable")
        return self._codes(keys[order]), outputs[order]

    def _keys(self, codes: np.ndarray) -> np.ndarray:
        if self._weights is None:
            return np.ascontiguousarray(codes, dtype=">u4").view(f"S{4 * codes.shape[1]}").reshape(-1)
        return codes @ self._weights

    def _codes(self, keys: np.ndarray) -> np.ndarray:
        if self._weights is None:
            width = 4 * len(self.schema.sizes)
            return np.ascontiguousarray(keys.astype(f"S{width}")).view(">u4").reshape(len(keys), -1).astype(np.int64)
        return np.column_stack(np.unravel_index(keys, self.schema.sizes))

    def _look_up(self, keys: np.ndarray):
        outputs, known = None, np.zeros(len(keys), dtype=bool)
        for run_keys, run_outputs in self._sorted:
            place = np.minimum(np.searchsorted(run_keys, keys), len(run_keys) - 1)
            here = run_keys[place] == keys
            if here.any():
                outputs = np.zeros(len(keys), dtype=run_outputs.dtype) if outputs is None else outputs
                outputs[here] = run_outputs[place[here]]
                known |= here
        return outputs, known

    def _keep(self, keys: np.ndarray, outputs: np.ndarray) -> None:
        self._sorted.append((keys, outputs))
        while len(self._sorted) > 1 and len(self._sorted[-2][0]) < 2 * len(self._sorted[-1][0]):
            keys, outputs = (np.concatenate(part) for part in zip(*self._sorted[-2:], strict=True))
            order = np.argsort(keys, kind="stable")
            self._sorted[-2:] = [(keys[order], outputs[order])]


def _filled(outputs: np.ndarray, where: np.ndarray, values: np.ndarray) -> np.ndarray:
    outputs = outputs.astype(np.result_type(outputs, values))
    outputs[where] = values
    return outputs


def _key_weights(schema: Schema) -> np.ndarray | None:
    """Return what makes one number of an input's codes; None if there are too many inputs for 64 bits."""
    if schema.n_inputs >= 2**63:
        return None
    return np.cumprod([1, *schema.sizes[:0:-1]], dtype=np.int64)[::-1]
