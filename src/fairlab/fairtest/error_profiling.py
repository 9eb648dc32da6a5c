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
        negative or false positive, the second category being positive; of more, correct or incorrect.
    explanatory, context, metric, random_state
        As for `Testing`.

    Raises
    ------
    TypeError, ValueError
        As for `Testing`, or if prediction and truth are not of one kind: one holds numbers and the other categories, or
        each holds two values at most and they are not the same two.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, ErrorProfiling, investigate
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300, "truth": ["no", "yes", "yes"] * 200}
    ... )
    >>> investigation = ErrorProfiling(DataSource(people), "sex", "offer", ground_truth="truth", context=[])
    >>> investigate(investigation).sections[0].protected
    'sex'
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
        raise ValueError(
            f"column {numbers.name!r} holds numbers and {other.name!r} categories; expected one kind, which "
            "DataSource(..., numbers=...) or categories=... can make of whole numbers"
        )
    if not truth.is_categorical:
        return Column(name, np.abs(prediction.values - truth.values))
    _check_same_two(prediction, truth)
    longer, shorter = sorted([truth.categories, prediction.categories], key=len, reverse=True)
    categories = longer if set(shorter) <= set(longer) else sorted({*longer, *shorter})
    place = {category: code for code, category in enumerate(categories)}
    predicted, true = (
        np.array([place[category] for category in column.categories])[column.values] for column in (prediction, truth)
    )
    if len(categories) > 2:
        return Column(name, (predicted != true).astype(np.intp), ("correct", "incorrect"))
    error = np.where(predicted == true, 0, np.where(predicted < true, 1, 2))
    return Column(name, error, ("correct", "false negative", "false positive"))


def _check_same_two(prediction, truth):
    """Raise a ValueError if each of two columns has two categories at most, and together they have more."""
    predicted, true = prediction.categories, truth.categories
    if len(predicted) <= 2 and len(true) <= 2 and len({*predicted, *true}) > 2:
        raise ValueError(
            f"column {prediction.name!r} holds {' and '.join(predicted)}, {truth.name!r} {' and '.join(true)}; "
            "expected the same two labels"
        )
