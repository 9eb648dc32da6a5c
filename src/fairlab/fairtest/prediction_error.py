"""Errors of predictions, which `ErrorProfiling` looks into."""

import numpy as np

from fairlab.fairtest.sample import Column


def prediction_error(prediction: Column, truth: Column) -> Column:
    """Return the error of predictions, as `ErrorProfiling` defines it."""
    name = f"error of {prediction.name}"
    if prediction.is_categorical != truth.is_categorical:
        numbers, other = (truth, prediction) if prediction.is_categorical else (prediction, truth)
        raise ValueError(f"column {numbers.name!r} holds numbers and {other.name!r} categories; expected one kind")
    if not truth.is_categorical:
        return Column(name, np.abs(prediction.values - truth.values))
    categories = sorted({*prediction.categories, *truth.categories})
    predicted, true = (np.searchsorted(categories, column.categories)[column.values] for column in (prediction, truth))
    if len(categories) > 2:
        return Column(name, (predicted != true).astype(np.intp), ("correct", "incorrect"))
    error = np.where(predicted == true, 0, np.where(predicted < true, 1, 2))
    return Column(name, error, ("correct", "false negative", "false positive"))
