"""A case by codes, as a search asks about it: decisions and scores, each asked once, and slopes of scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.adf.gradients import FiniteDifferences
from fairlab.cases import Case
from fairlab.cases.meaning import with_side
from fairlab.cases.queries import Answers


class DiscriminatoryPairs(NamedTuple):
    """Discriminatory inputs, one for each combination of the other attributes, with what changes their decision.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_features)
        Codes.
    other : ndarray of int of shape (n,)
        Code of the sensitive feature that gets another decision.
    favourable : ndarray of bool of shape (n,)
        Decision on the input itself.
    """

    inputs: np.ndarray
    other: np.ndarray
    favourable: np.ndarray


class CodedCase(FiniteDifferences):
    """A case's model over codes: what it decides, and the gradients of a network, or differences of a score.

    A search asks for the same inputs again and again. The rows that they take are counted, and limited, by the case's
    queries; what a search has asked for are its own inputs.

    Of a network, a step to the next value of an attribute is a move in the encoding, of one column or of two of one
    category; the gradient along that move takes one row, not two for every attribute.

    Parameters
    ----------
    case : Case
    name : str
        The sensitive feature.

    Attributes
    ----------
    domain : Schema
        Of the codes.
    decisions, leads : Answers
        Decisions are above 0 where they are favourable; where a score decides, they are the leads.
    """

    def __init__(self, case: Case, name: str):
        self.case, self.domain, self._column = case, case.schema.of_codes, case.schema.names.index(name)
        # Where a score decides, one answer is both: its sign is the decision.
        scores_decide = case.decision_threshold is not None
        self.decisions = Answers(case.schema.sizes, case.lead if scores_decide else case.decide, case.queries)
        self.leads = self.decisions if scores_decide else Answers(case.schema.sizes, case.lead, case.queries)
        super().__init__(self.leads, self.domain, name, decision_threshold=0.0)
        self._score = self.leads
        if case.has_gradients:
            source = np.array(case.encoding.source)
            self._columns = [np.flatnonzero(source == feature) for feature in case.schema.names]
            codes = [case.schema.combinations([position]) for position in range(self.n_features)]
            rows = [case.encoding.transform(case.decode(values)) for values in codes]
            self._values = [part[:, columns] for part, columns in zip(rows, self._columns, strict=True)]

    def lead(self, X) -> np.ndarray:
        """Return log odds beyond their threshold, on the side of the decision."""
        lead = self.leads(X)  # labels may decide otherwise than the score
        return lead if self.leads is self.decisions else with_side(lead, self.decisions.positive(X))

    def pairs(self) -> DiscriminatoryPairs:
        """Return the discriminatory among all inputs asked: two differ in the sensitive feature and decision alone."""
        codes = self.decisions.inputs
        favourable, others = self.decisions.values > 0, codes.copy()
        others[:, self._column] = 0
        group = pd.factorize(self.decisions.keys_of(others))[0]
        first = pd.DataFrame({"group": group, "favourable": favourable}).drop_duplicates()
        first = first.sort_values("group", kind="stable")
        own = first.index[first["group"].duplicated(keep="last")].to_numpy(dtype=int)
        other = first.index[first["group"].duplicated(keep="first")].to_numpy(dtype=int)
        return DiscriminatoryPairs(codes[own], codes[other, self._column], favourable[own])

    def _slopes(self, X) -> np.ndarray:
        if not self.case.has_gradients:
            return super()._slopes(X)
        self.case.queries.check(len(X))
        matrix = np.empty((len(X), len(self.case.encoding.source)))
        for position, columns in enumerate(self._columns):
            matrix[:, columns] = self._values[position][X[:, position]]
        _, gradient = self.case.log_odds_gradient(matrix)
        slopes = np.zeros(X.shape)
        for position in self._free:
            above = np.minimum(X[:, position] + 1, self.high[position])
            below = np.maximum(X[:, position] - 1, self.low[position])
            move = self._values[position][above] - self._values[position][below]
            slope = (gradient[:, self._columns[position]] * move).sum(axis=1)
            slopes[:, position] = slope / np.maximum(above - below, 1)
        return slopes
