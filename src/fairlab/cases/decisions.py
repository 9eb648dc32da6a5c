"""Decisions that were made, in place of a model: there is nothing to query."""

from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.meaning import interpret
from fairlab.cases.model import ModelAdapter
from fairlab.cases.schema import GROUPS, CaseError, case_errors, check_values
from fairlab.checks import align

NO_MODEL = "There is no model to query, only decisions."
# What is said of a model's answers, and of decisions.
WORDS = {
    "the model answers": "decisions are",
    "the model gives": "decisions are",
    "The model gives": "Decisions are",
    "The model never answers": "No decision is",
}
ADVICE = "leave these rows out, or give them a label of their own"


class NoModelError(CaseError):
    """A case of decisions was asked for what only a model can answer."""


class DecisionRecord(ModelAdapter):
    """Decisions on the people of a table, with what else is known of each that is no feature.

    Parameters
    ----------
    rows : DataFrame
        One row for each decision: ``decision``, and some of ``score``, ``weight`` and ``person``; see `record_of`.
    """

    def __init__(self, rows: pd.DataFrame):
        super().__init__("decisions")
        self.rows = rows

    def settle(
        self, rows: pd.DataFrame, y: pd.Series | None, pos_label: object, decision_threshold: float | None
    ) -> np.ndarray | None:
        """Find out what decisions mean, as `ModelAdapter.settle`; adds the column ``answer`` to `rows`."""
        codes, values = pd.factorize(rows.pop("decision"))
        values = np.asarray(values)
        values = values.astype(object) if values.dtype.kind in "US" else values
        if values.dtype.kind in "iu" and len(values) > GROUPS and pos_label is None and decision_threshold is None:
            values = values.astype(float)  # a regression: nobody has as many labels
        try:
            labels = set() if y is None else set(y.dropna().unique().tolist())
            meaning = self.meaning = interpret(values, labels, pos_label, decision_threshold)
            if meaning.kind == "scores" and decision_threshold is None:
                raise CaseError(
                    "decision_threshold: decisions are numbers within 0 and 1, expected labels; give a threshold, or "
                    "the numbers as scores= beside the decisions"
                )
            truth = None if y is None else meaning.truth(y)
        except CaseError as error:
            raise type(error)(of_decisions(str(error))) from None
        for text in meaning.warnings:
            self._warn(of_decisions(text))
        rows["answer"] = meaning.values(values)[codes]
        if meaning.kind == "scores":
            rows["score"] = rows.get("score", rows["answer"])
        if "score" in rows and meaning.kind != "numbers":
            self._check_order(rows["score"].to_numpy(), self.decide(rows))
        return truth

    def _check_order(self, scores: np.ndarray, favourable: np.ndarray) -> None:
        """Warn where scores and decisions do not go together: they may be of other rows, or of the other label."""
        n_yes, n_no = favourable.sum(), (~favourable).sum()
        if not n_yes * n_no:
            return
        above = (pd.Series(scores).rank()[favourable].mean() - (n_yes + 1) / 2) / n_no
        if above < 0.5:
            self._warn("Favourable decisions have the lower scores.")
        if abs(above - 0.5) < 0.25:
            self._warn(
                "Scores say little about the decisions: of a favourable and an unfavourable one, the favourable one "
                f"has the higher score with a probability of {above:.0%}. Are they of the same rows?"
            )

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the scores that came with the decisions."""
        if "score" not in rows:
            raise CaseError("scores: expected a score for each decision, none are given")
        return rows["score"].to_numpy()

    def _known(self, question, answer, rows) -> np.ndarray:
        return rows["answer"].to_numpy()

    def _answers(self, rows):
        raise NoModelError(f"model: {NO_MODEL[0].lower()}{NO_MODEL[1:]}")


def record_of(index: pd.Index, decisions, scores, weights, person) -> DecisionRecord:
    """Return decisions as a case takes them, each checked.

    Parameters
    ----------
    index : Index
        Of the table.
    decisions : Series or array-like of shape (n_rows,)
        Labels, or numbers.
    scores, weights, person : Series, array-like of shape (n_rows,), or None
        Finite numbers; finite numbers above 0; labels.

    Raises
    ------
    CaseError
        If a value is missing or does not fit.
    """
    columns = {"decision": _column(decisions, index, "decisions")}
    if pd.api.types.is_numeric_dtype(columns["decision"]):
        columns["decision"] = _numbers(columns["decision"], "decisions", keep=True)
    if scores is not None:
        columns["score"] = _numbers(_column(scores, index, "scores"), "scores")
    if weights is not None:
        weight = _numbers(_column(weights, index, "weights"), "weights")
        if not (weight > 0).all():
            raise CaseError(f"weights: expected numbers above 0, found {weight.min():g}; leave out rows without weight")
        if weight.max() > weight.min():  # or they say nothing
            columns["weight"] = weight
    if person is not None:
        codes, persons = pd.factorize(_column(person, index, "person"))
        if len(persons) < len(codes):
            columns["person"] = codes
    return DecisionRecord(pd.DataFrame(columns))


def of_decisions(text: str) -> str:
    """Return a sentence on the answers of a model as one on decisions."""
    for now, then in WORDS.items():
        text = text.replace(now, then)
    return text.replace("model: ", "decisions: ")


def _column(values, index: pd.Index, name: str) -> pd.Series:
    """Return one value for each row, none missing."""
    with case_errors():
        values = align(values, index, name).reset_index(drop=True)
    if n_missing := int(values.isna().sum()):
        raise CaseError(f"{name}: expected one for each row, {n_missing:,} of {len(values):,} are missing; {ADVICE}")
    check_values(values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values, name)
    return values


def _numbers(values: pd.Series, name: str, *, keep: bool = False) -> np.ndarray:
    """Return finite numbers as floats, or in a dtype of numpy."""
    if not pd.api.types.is_numeric_dtype(values) or (not keep and pd.api.types.is_bool_dtype(values)):
        raise CaseError(f"{name}: expected numbers, found {values.tolist()[0]!r}")
    numbers: Any = values.to_numpy(dtype=getattr(values.dtype, "numpy_dtype", values.dtype) if keep else float)
    if not np.isfinite(numbers.astype(float)).all():
        raise CaseError(f"{name}: expected finite numbers, found {numbers[~np.isfinite(numbers)][0]}")
    return numbers
