"""Error profiling (section 4.5): whether errors of predictions are associated with protected attributes."""

from collections.abc import Mapping

import numpy as np

from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.sample import Column


class ErrorProfiling(Investigation):
    """Looks for an association between protected attributes and the errors of predictions (section 4.5).

    Parameters
    ----------
    source : DataSource
    protected : str or list of str
    output : str
        The prediction.
    ground_truth : str
        What was to be predicted. The error is the absolute difference of numbers; of two categories, correct, false
        negative or false positive, the second category in sorted order being positive; of more, correct or incorrect.
    explanatory, context, metric, random_state
        As for `Testing`.

    Raises
    ------
    TypeError, ValueError
        As for `Testing`, or if one of prediction and truth holds numbers and the other categories.
    """

    def __init__(
        self, source, protected, output, *, ground_truth, explanatory=None, context=None, metric=None, random_state=0
    ):
        super().__init__(
            source,
            protected,
            [output, ground_truth],
            explanatory=explanatory,
            context=context,
            metric=metric,
            random_state=random_state,
        )

    def output(self, columns: Mapping[str, Column]) -> Column:
        """Return the error column."""
        return prediction_error(*(columns[name] for name in self.outputs))


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
