"""A case by codes: its decisions and scores, each asked once, and the slopes of its scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlab.adf.gradients import FiniteDifferences, with_side
from fairlab.cases import AnswerCache, BudgetSpentError, Case


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


class Answers:
    """A case's decisions and scores by codes; the rows that they take are counted, and limited, by the case's queries.

    A search asks for the same inputs again and again: their codes are found sooner than their rows in the case's cache,
    and are what is counted in the end.

    Parameters
    ----------
    case : Case
    """

    def __init__(self, case: Case):
        self.case, self.domain = case, case.schema.of_codes
        self._decisions = AnswerCache()
        # Where a score decides, one answer is both: its sign is the decision.
        self._leads = self._decisions if case.decision_threshold is not None else AnswerCache()

    def __len__(self) -> int:
        """Return the number of inputs whose decision was asked."""
        return len(self._decisions)

    @property
    def left(self) -> int:
        """Rows that the model may still be asked for."""
        return self.case.queries.left

    def check(self, n_rows: int) -> None:
        """Raise a BudgetSpentError if fewer rows are left, those included that the case knows the answers of."""
        if n_rows > self.left:
            raise BudgetSpentError(f"expected at most {self.left:,} more model queries, found {n_rows:,}")

    def favourable(self, codes) -> np.ndarray:
        """Return whether the decision on each input is the favourable one.

        Raises
        ------
        BudgetSpentError
            If that takes more rows than are left; none is asked then.
        """
        return self._cached(self._decisions, self._score if self._leads is self._decisions else self._decide, codes) > 0

    def lead(self, codes) -> np.ndarray:
        """Return log odds of the favourable decision, or the excess of a score over its threshold; as `favourable`.

        Where a threshold decides, the sign is the decision's, also of a score that is just the threshold; otherwise the
        decisions are rows of their own.
        """
        return self._cached(self._leads, self._score, codes)

    def pairs(self, column: int) -> DiscriminatoryPairs:
        """Return the discriminatory among all inputs asked: two differ in this attribute and decision alone."""
        codes = self.domain.codes_of_keys(self._decisions.keys)
        favourable, others = self._decisions.values > 0, codes.copy()
        others[:, column] = 0
        group = pd.factorize(self.domain.keys(others))[0]
        first = pd.DataFrame({"group": group, "favourable": favourable}).drop_duplicates()
        first = first.sort_values("group", kind="stable")
        own = first.index[first["group"].duplicated(keep="last")].to_numpy(dtype=int)
        other = first.index[first["group"].duplicated(keep="first")].to_numpy(dtype=int)
        return DiscriminatoryPairs(codes[own], codes[other, column], favourable[own])

    def _cached(self, known: AnswerCache, ask, codes) -> np.ndarray:
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        return known(self.domain.keys(codes), lambda new: ask(codes[new]))[0]

    def _decide(self, codes) -> np.ndarray:
        self.check(len(codes))
        return self.case.decide(self.case.decode(codes))

    def _score(self, codes) -> np.ndarray:
        self.check(len(codes))
        rows = self.case.decode(codes)
        lead = self.case.log_odds(rows) - self.case.log_odds_threshold
        return with_side(lead, self.case.decide(rows)) if self._leads is self._decisions else lead


class Slopes(FiniteDifferences):
    """A case's model for ADF, over codes: the gradients of a network, or differences of a score.

    Of a network, a step to the next value of an attribute is a move in the encoding, of one column or of two of one
    category; the gradient along that move takes one row, not two for every attribute.

    Parameters
    ----------
    answers : Answers
    name : str
        The sensitive feature.
    """

    def __init__(self, answers: Answers, name: str):
        super().__init__(answers.lead, answers.domain, name, decision_threshold=0.0)
        self._answers, case = answers, answers.case
        if case.has_gradients:
            source = np.array(case.encoding.source)
            self._columns = [np.flatnonzero(source == feature) for feature in case.schema.names]
            codes = [case.schema.combinations([position]) for position in range(self.n_features)]
            rows = [case.encoding.transform(case.decode(values)) for values in codes]
            self._values = [part[:, columns] for part, columns in zip(rows, self._columns, strict=True)]

    def encoded(self, X) -> np.ndarray:
        """Return codes in the units of the encoding, shape (n_rows, n_columns)."""
        matrix = np.empty((len(X), len(self._answers.case.encoding.source)))
        for position, columns in enumerate(self._columns):
            matrix[:, columns] = self._values[position][X[:, position]]
        return matrix

    def _is_positive(self, X, score):
        return self._answers.favourable(X)  # labels may decide otherwise than the score

    def _slopes(self, X) -> np.ndarray:
        if not self._answers.case.has_gradients:
            return super()._slopes(X)
        self._answers.check(len(X))
        _, gradient = self._answers.case.log_odds_gradient(self.encoded(X))
        slopes = np.zeros(X.shape)
        for position in self._free:
            above = np.minimum(X[:, position] + 1, self.high[position])
            below = np.maximum(X[:, position] - 1, self.low[position])
            move = self._values[position][above] - self._values[position][below]
            slope = (gradient[:, self._columns[position]] * move).sum(axis=1)
            slopes[:, position] = slope / np.maximum(above - below, 1)
        return slopes
