"""What a test found: of one hypothesis, and of one context."""

from dataclasses import dataclass

import numpy as np

from fairlab.fairtest.metric import Hypothesis, Interval
from fairlab.fairtest.sample import Sample
from fairlab.fairtest.tree import Node

SIGNIFICANCE = 0.05


@dataclass(frozen=True, eq=False)
class Association:
    """The test of one hypothesis.

    Attributes
    ----------
    hypothesis : Hypothesis
    low, high : float
        Interval, corrected for the number of hypotheses; nan if nobody of the test set is concerned.
    p_value : float
        Corrected.
    raw_p_value : float
        Before correction.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(Testing(DataSource(people), "sex", "offer")).sections
    >>> (association,) = section.findings[0].associations
    >>> association.low > 0.5, association.p_value < 0.05
    (True, True)
    """

    hypothesis: Hypothesis
    low: float
    high: float
    p_value: float
    raw_p_value: float

    @property
    def size(self) -> int:
        """Number of people."""
        return len(self.hypothesis.sample)

    @property
    def effect(self) -> float:
        """Strength that the corrected interval proves."""
        if self.size == 0:
            return 0.0
        return float(self.hypothesis.metric.effect(Interval(self.low, self.high, self.p_value)))


@dataclass(frozen=True, eq=False)
class Finding:
    """The test of one context.

    Attributes
    ----------
    node : Node
        The context.
    sample : Sample
        Its people in the test set.
    associations : tuple of Association
        The context's own, then those of its strata; for a `Discovery`, one for each label.

    Examples
    --------
    >>> from fairlab.fairtest import DataSource, Testing, investigate
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 300, "offer": ["no", "yes"] * 300})
    >>> (section,) = investigate(Testing(DataSource(people), "sex", "offer")).sections
    >>> finding = section.findings[0]
    >>> len(finding.sample), finding.associations[0].p_value < 0.05
    (300, True)
    """

    node: Node
    sample: Sample
    associations: tuple[Association, ...]

    @property
    def size(self) -> int:
        """Number of people in the test set."""
        return len(self.sample)

    def association(self, part: str = "") -> Association:
        """Return the test of the whole context, or of a part of it.

        Parameters
        ----------
        part : str
            A stratum, such as ``"department: A"``, or a label of a `Discovery`.

        Raises
        ------
        KeyError
            If there is no such part; the message lists those that are.
        """
        for association in self.associations:
            if association.hypothesis.part == part:
                return association
        known = ", ".join(repr(association.hypothesis.part) for association in self.associations)
        raise KeyError(f"{self.node} has no part {part!r}; there are {known}")

    @property
    def effect(self) -> float:
        """Effect of the context's own association, or the mean over labels."""
        own = [a.effect for a in self.associations if not a.hypothesis.part]
        return own[0] if own else float(np.mean([a.effect for a in self.associations]))

    @property
    def is_significant(self) -> bool:
        """Whether the context's corrected p-value is at most 0.05, or, for labels, whether its effect is above 0."""
        own = [a.p_value for a in self.associations if not a.hypothesis.part]
        return own[0] <= SIGNIFICANCE if own else self.effect > 0
