"""Testing (section 4.5): whether one output is associated with protected attributes."""

from collections.abc import Mapping

from fairlab.fairtest.investigation import Investigation
from fairlab.fairtest.sample import Column


class Testing(Investigation):
    """Looks for an association between protected attributes and one output (section 4.5).

    Parameters
    ----------
    source : DataSource
    protected : str or list of str
        Protected attributes. Each gets its own contexts, which may use the others.
    output : str
    explanatory : str or None
        A categorical attribute on which it is acceptable to differentiate: associations are those among people who
        share its value.
    context : list of str or None
        Attributes that define subpopulations. None for all columns but output and explanatory attribute. One that is
        constant never defines any.
    metric : Metric, dict of str to Metric, or None
        For all protected attributes, or for each by name; with an explanatory attribute, its conditional version is
        taken. None: if both sides are categorical `NMI`, or given an explanatory attribute and two categories on each
        side `Difference`; otherwise `Correlation`.
    random_state : int
        For Monte Carlo tests and bootstraps; they start with it anew in every context.

    Raises
    ------
    TypeError
        If `source` is no DataSource.
    ValueError
        If a column does not exist, has two roles that exclude each other, has one value in the training set, more
        than 100 categories, or a type that the metric is not for; if the explanatory attribute is continuous; or if a
        context attribute says the same as the output.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame(
    ...     {"sex": ["f", "m"] * 300, "town": ["a", "a", "b", "b"] * 150, "offer": ["no", "yes"] * 300}
    ... )
    >>> found = investigate(Testing(DataSource(people), "sex", "offer"))
    >>> found.sections[0].findings[0].associations[0].p_value < 0.05
    True
    """

    __test__ = False  # pytest would take the class for a test

    def __init__(self, source, protected, output, *, explanatory=None, context=None, metric=None, random_state=0):
        super().__init__(
            source,
            protected,
            output,
            explanatory=explanatory,
            context=context,
            metric=metric,
            random_state=random_state,
        )

    def output(self, columns: Mapping[str, Column]) -> Column:
        """Return the output column."""
        return columns[self.outputs[0]]
