"""Models for searches: classes, gradients by differences for models that are no networks, and models of cases."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.cases import Case
from fairlab.cases.finding import few
from fairlab.cases.meaning import reach, with_side
from fairlab.cases.model import ModelAdapter, wrap_model
from fairlab.cases.queries import Answers
from fairlab.cases.schema import CaseError, Schema, check_schema
from fairlab.checks import check_number, check_same_columns

NEIGHBOURS_AT_ONCE = 1 << 18  # rows in one query


def model_over(model: Any, schema: Schema) -> ModelAdapter:
    """Return the adapter of a model that takes inputs without names, in the order of a schema.

    Parameters
    ----------
    model : object
        See `fairlab.cases.wrap_model`.
    schema : Schema

    Raises
    ------
    ValueError
        If the model knows the columns that it was fitted to, and these are not the schema's in the same order.
    """
    adapter = wrap_model(model)
    if adapter.columns is not None:
        check_same_columns(schema.names, list(adapter.columns), "schema", "the model's fit")
    return adapter


def check_domain(schema: Schema) -> Schema:
    """Return a schema in which inputs as integers hold the numbers themselves, and codes of other features only.

    Raises
    ------
    TypeError
        If it is no schema.
    CaseError
        If a model would get codes in place of a feature's numbers; names the feature.
    """
    if (feature := check_schema(schema).recoded) is not None:
        found = few([str(value) for value in feature.values])
        raise CaseError(
            f"schema: expected all whole numbers between two of {feature.name!r}, found {found}; "
            "Schema.from_frame(table, bins=None) has them, schema.of_codes is of codes"
        )
    return schema


class FiniteDifferences:
    """A scored model with the interface that ADF needs of a `Network`: two classes and input gradients.

    The domain is whole numbers, so that an attribute's slope is half the difference of the score one step above and one
    step below; at a bound, it is the difference to the one neighbour. It costs two rows for every attribute that is not
    sensitive. Sensitive attributes do not move, and their slope is given as 0.

    Parameters
    ----------
    score : object with ``predict_proba``, or callable
        Of two probabilities, the second is the score.
    schema : Schema
        Schema of intervals.
    sensitive_features : str or sequence of str
    decision_threshold : float
        Class 1 is a score of at least this.

    Raises
    ------
    TypeError, ValueError
        If the model cannot be called, or the threshold is no number.

    Examples
    --------
    >>> from fairlab.adf import FiniteDifferences
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> model = FiniteDifferences(lambda X: X[:, 0] + 2.0 * X[:, 1], schema, "sex", decision_threshold=5)
    >>> model.predict(np.array([[4, 0], [4, 1]])).tolist()
    [0, 1]
    """

    def __init__(
        self,
        score: Any,
        schema: Schema,
        sensitive_features: str | Sequence[str],
        *,
        decision_threshold: float,
    ):
        columns = check_domain(schema).positions(sensitive_features)
        self._score: Callable = model_over(score, schema).scores_of
        self.decision_threshold = check_number(decision_threshold, "decision_threshold")
        self.low, self.high = schema.low, schema.high
        self.n_features = len(schema.names)
        self._free = np.setdiff1d(np.arange(self.n_features), columns)

    def predict(self, X: Any) -> np.ndarray:
        """Return class 0 or 1 of every row."""
        return (self.lead(X) > 0).astype(int)

    def logits(self, X: Any) -> np.ndarray:
        """Return 0 and the lead of class 1, shape (n_rows, 2)."""
        lead = self.lead(X)
        return np.stack([np.zeros_like(lead), lead], axis=1)

    def lead(self, X: Any) -> np.ndarray:
        """Return by how much the score of each row exceeds the threshold, shape (n_rows,); its sign is the class."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X: expected {self.n_features} columns, found shape {X.shape}")
        score = self._score(X)
        return with_side(score - self.decision_threshold, reach(score, self.decision_threshold))

    def log_odds_gradient(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the lead of every row's class, shape (n_rows,), and its slope along every attribute."""
        X = np.asarray(X)
        rows = max(1, NEIGHBOURS_AT_ONCE // (2 * self.n_features))
        lead = self.lead(X)  # checks X
        slopes = [self._slopes(X[start : start + rows]) for start in range(0, len(X), rows)]
        slope = np.concatenate([np.zeros((0, self.n_features)), *slopes])
        return np.abs(lead), np.sign(lead)[:, None] * slope

    def loss_gradient(self, X: Any) -> np.ndarray:
        """Return the slopes of the cross-entropy of the predicted class, as `Network.loss_gradient` does."""
        lead, gradient = self.log_odds_gradient(X)
        return -expit(-lead)[:, None] * gradient

    def _slopes(self, X) -> np.ndarray:
        """Return the slopes of the score, shape (n_rows, n_features)."""
        own = X[:, self._free]
        low, high = self.low[self._free], self.high[self._free]
        above = np.minimum(own + 1, np.maximum(own, high))
        below = np.maximum(own - 1, np.minimum(own, low))
        each = np.arange(len(self._free))
        neighbours = np.repeat(X[:, None, None, :], 2, axis=1).repeat(len(each), axis=2)
        neighbours[:, 0, each, self._free], neighbours[:, 1, each, self._free] = above, below
        score = self._score(neighbours.reshape(-1, X.shape[1])).reshape(neighbours.shape[:3])
        slopes = np.zeros(X.shape)
        slopes[:, self._free] = (score[:, 0] - score[:, 1]) / np.maximum(above - below, 1)
        return slopes


class DiscriminatoryPairs(NamedTuple):
    """Discriminatory inputs, one per combination of the other attributes, with the value that changes the decision.

    Attributes
    ----------
    inputs : ndarray of int of shape (n, n_features)
        Codes.
    other : ndarray of int of shape (n,)
        Code of the sensitive feature with the opposite decision.
    favourable : ndarray of bool of shape (n,)
        Decision on the input itself.
    """

    inputs: np.ndarray
    other: np.ndarray
    favourable: np.ndarray


class CodedCase(FiniteDifferences):
    """A case's model over codes: its decisions, and the gradients of a network, or differences of a score.

    A search queries the same inputs again and again. The case's queries count and limit the rows that these take; the
    inputs that a search has queried are its own.

    For a network, a step to the next value of an attribute is a move in the encoding, of one column or of two of one
    category; the gradient along that move takes one row, not two for every attribute.

    Parameters
    ----------
    case : Case
    name : str
        The sensitive feature.

    Attributes
    ----------
    domain : Schema
        Schema of the codes.
    decisions, leads : Answers
        Decisions are above 0 if favourable; if a score decides, they are the leads.
    """

    def __init__(self, case: Case, name: str):
        self.case, self.domain, self._column = case, case.schema.of_codes, case.schema.names.index(name)
        # If a score decides, one answer serves as both: its sign is the decision.
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
        lead = self.leads(X)  # labels may disagree with the score
        return lead if self.leads is self.decisions else with_side(lead, self.decisions.positive(X))

    def predict(self, X) -> np.ndarray:
        """Return class 0 or 1 of every row."""
        return self.decisions.positive(X).astype(int)

    def pairs(self) -> DiscriminatoryPairs:
        """Return the discriminatory pairs of queried inputs, which differ only in sensitive feature and decision."""
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
