"""A case's model as ADF follows it: slopes by the network's own gradients where it has them, else by differences."""

import numpy as np

from fairlab.adf.answers import Answers
from fairlab.adf.finite_differences import FiniteDifferences


class NetworkSlopes(FiniteDifferences):
    """Slopes of a network's log odds along codes.

    A step to the next value of an attribute is a move in the encoding, of one column or of two of one category; the
    gradient along that move takes one row, not two for every attribute.

    Parameters
    ----------
    answers : Answers
        Of a case with gradients.
    name : str
        The sensitive attribute.
    """

    def __init__(self, answers: Answers, name: str):
        super().__init__(answers.lead, answers.domain, name, threshold=0.0, decide=answers.favourable)
        self._answers = answers
        case, encoding = answers.case, answers.case.encoding
        self._columns = [np.flatnonzero(np.array(encoding.source) == feature) for feature in answers.domain.names]
        self._values = []
        for position, columns in enumerate(self._columns):
            codes = np.zeros((answers.sizes[position], len(answers.sizes)), dtype=np.int64)
            codes[:, position] = np.arange(len(codes))
            self._values.append(encoding.transform(case.rows(case.schema.decode(codes)))[:, columns])
        self._n_columns = len(encoding.source)

    def encoded(self, X) -> np.ndarray:
        """Return codes in the units of the encoding, shape (n_rows, n_columns)."""
        matrix = np.empty((len(X), self._n_columns))
        for position, columns in enumerate(self._columns):
            matrix[:, columns] = self._values[position][X[:, position]]
        return matrix

    def _slopes(self, X) -> np.ndarray:
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


def with_slopes(answers: Answers, name: str) -> FiniteDifferences:
    """Return a case's model for ADF, with the gradients of a network or differences of a score."""
    if answers.case.has_gradients:
        return NetworkSlopes(answers, name)
    return FiniteDifferences(answers.lead, answers.domain, name, threshold=0.0, decide=answers.favourable)
