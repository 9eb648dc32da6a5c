"""Discovery (section 4.5): which of many labels go with a binary protected attribute."""

from collections.abc import Mapping

import numpy as np

from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.regression import Regression
from fairlab.fairtest.sample import Column
from fairlab.fairtest.source import DataSource
from fairlab.fairtest.tables import Difference


class Discovery(Investigation):
    """Looks among many labels for those associated with a binary protected attribute (section 4.5).

    In training, a `Regression` chooses labels in each context; in testing, each of them is compared by itself.

    Parameters
    ----------
    source : DataSource
    protected : str or list of str
        Attributes with two categories.
    output : list of str
        Label columns: booleans, zeros and ones, or two categories. A label that is constant shows no association.
    top_k : int
        How many labels to test in each context.
    context : list of str or None
        As for `Testing`.
    metric : Metric or None
        Of one label in the test. None for `Difference`.
    random_state : int
        As for `Testing`.

    Raises
    ------
    TypeError, ValueError
        As for `Testing`, or if a column has not two categories, or every label one value in the training set.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Discovery, investigate
    >>> rng = np.random.default_rng(0)
    >>> photos = pd.DataFrame({"race": ["a", "b"] * 300, "smile": rng.random(600) < 0.5})
    >>> photos["ball"] = (photos["race"] == "a") & (rng.random(600) < 0.6)
    >>> investigation = Discovery(DataSource(photos), "race", ["smile", "ball"], context=[])
    >>> investigate(investigation).sections[0].protected
    'race'
    """

    def __init__(self, source, protected, output, *, top_k=35, context=None, metric=None, random_state=0):
        if metric is None and isinstance(source, DataSource):
            metric = Difference(reading=source.reading)
        super().__init__(
            source,
            protected,
            output,
            explanatory=None,
            context=context,
            metric=Regression(top_k=top_k, label_metric=metric),
            random_state=random_state,
        )

    def output(self, columns: Mapping[str, Column]) -> tuple[Column, ...]:
        """Return the label columns."""
        return tuple(_label(columns[name]) for name in self.outputs)

    def with_explanatory(self, explanatory, *, metric=None):
        """Raise a ValueError: labels are found without an explanatory attribute."""
        raise ValueError("a Discovery takes no explanatory attribute; use Testing for the label in question")


def _label(column: Column) -> Column:
    """Return zeros and ones as codes of both, even if one does not occur, anything else as it is."""
    if column.is_categorical and set(column.categories) <= {"0", "1"}:
        return Column(column.name, np.array(column.categories, dtype=np.intp)[column.values], ("0", "1"))
    if column.is_categorical or not np.isin(column.values, (0, 1)).all():
        return column
    return Column(column.name, column.values.astype(np.intp), ("0", "1"))
