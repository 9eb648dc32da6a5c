"""Software under test.

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
        strange = (outputs != 0) & (outputs != 1)
    else:
        strange = np.array([not isinstance(output, bool | np.bool_) for output in outputs])
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        values = ", ".join(f"{name} {value}" for name, value in inputs.iloc[row].items())
        found = f"output {outputs[[row]].tolist()[0]!r} on input ({values})"
        raise SoftwareError(f"{found}: expected 0 or 1; pass output_distance for other outputs")
    return outputs.astype(bool)
