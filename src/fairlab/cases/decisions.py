"""Recorded decisions in place of a model, which cannot be queried; and checks of tables of decisions."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fairlab.cases.meaning import interpret, quoted, spelled_alike
from fairlab.cases.model import ModelAdapter
from fairlab.cases.schema import MAX_GROUP_VALUES, CaseError, case_errors, check_size, check_values
from fairlab.cases.table import column_types
from fairlab.checks import align

NO_MODEL = "There is no model to query, only decisions."
# Replacements that turn a sentence about a model into one about decisions.
WORDS = {
    "the model answers": "decisions are",
    "the model gives": "decisions are",
    "The model gives": "Decisions are",
}
ADVICE = "leave these rows out, or give them a label of their own"
TOTALS = ("total", "totals", "grand total", "subtotal", "gesamt", "summe", "insgesamt")
IDENTIFIER = r"(?i:(.*[^a-z])?(id|uuid|key|person|number|nr|no))|.*[a-z](Id|ID)"  # of a column that may identify people
# Numbers as people write them, not machines; "(30, 50]" is an interval.
NUMBER = r"[-+(]?\s*[^\w\s\[(]?\s*\d[\d.,' \u00a0]*\)?\s*([^\w\s\])]|[A-Z]{3})?"
DATE = r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([T ].*)?"
MOST_BY_CHANCE = 7.0  # expected pairs of equal rows; the probability of none is then 0.001
ROWS_A_VALUE = 10  # rows for each value, above which it is no chance that each of several values has one decision
MOST_PARTS = 1_000  # largest ratio of the smallest weight to the unit of all weights


class NoModelError(CaseError):
    """A case of recorded decisions received a query that only a model can answer."""


class DecisionRecord(ModelAdapter):
    """Decisions on the people of a table, with their scores, weights and persons, if known.

    Parameters
    ----------
    index : Index
        Row labels of the table.
    decisions : Series or array-like of shape (n_rows,)
        Labels, or numbers.
    scores, weights, person : Series, array-like of shape (n_rows,), or None
        Finite numbers; finite numbers above 0; labels.
    name : str
        Name of the outcome.

    Attributes
    ----------
    rows : DataFrame
        One row for each decision: ``decision``, which `settle` replaces by ``answer``, and some of ``score``,
        ``weight`` and ``person``.
    outcome : dict
        Name and type of the outcome.

    Raises
    ------
    CaseError
        If a value is missing or does not fit.
    """

    def __init__(self, index: pd.Index, decisions, scores, weights, person, *, name: str):
        super().__init__("decisions")
        self.outcome: dict[str, Any] = {"name": name}
        columns = {"decision": _column(decisions, index, "decisions")}
        if pd.api.types.is_numeric_dtype(columns["decision"]):
            columns["decision"] = _numbers(columns["decision"], "decisions", keep=True)
        if scores is not None:
            columns["score"] = _numbers(_column(scores, index, "scores"), "scores")
        if weights is not None:
            weight = _numbers(_column(weights, index, "weights"), "weights")
            if not (weight > 0).all():
                found = f"found {weight.min():g}; leave out rows without weight"
                raise CaseError(f"weights: expected numbers above 0, {found}")
            check_size(weight.min(), "weights")
            if weight.max() > weight.min():  # or they say nothing
                columns["weight"] = weight
        if person is not None:
            codes, persons = pd.factorize(_column(person, index, "person"))
            if len(persons) < len(codes):
                columns["person"] = codes
        self.rows = pd.DataFrame(columns)

    def settle(
        self, rows: pd.DataFrame, y: pd.Series | None, pos_label: object, decision_threshold: float | None
    ) -> np.ndarray | None:
        """Interpret the decisions, as `ModelAdapter.settle` does; `rows` get the column ``answer`` for ``decision``."""
        self.outcome |= column_types(rows[["decision"]], ["decision"])["decision"]
        codes, values = pd.factorize(rows.pop("decision"))
        values = np.asarray(values)
        values = values.astype(object) if values.dtype.kind in "US" else values
        is_stated = pos_label is not None or decision_threshold is not None
        if values.dtype.kind in "iu" and len(values) > MAX_GROUP_VALUES and not is_stated:
            values = values.astype(float)  # a regression: too many values for labels
        try:
            labels = set() if y is None else set(y.dropna().unique().tolist())
            for argument, some in (("decisions", values.tolist()), ("y_true", labels)):
                if len(alike := spelled_alike({*some} | ({*values.tolist()} if some is labels else set()))) > 1:
                    raise CaseError(f"{argument}: expected one spelling of each label, found {quoted(alike)}")
            meaning = self.meaning = interpret(values, labels, pos_label, decision_threshold)
            if meaning.kind == "scores" and decision_threshold is None:
                raise CaseError(
                    "decision_threshold: decisions are numbers within 0 and 1, expected labels; give a threshold, or "
                    "the numbers as scores= beside the decisions; amounts, such as shares, times 100"
                )
            truth = None if y is None else meaning.truth(y)
        except CaseError as error:
            raise type(error)(of_decisions(str(error))) from None
        for text in meaning.warnings:
            self._warn(of_decisions(text))
        answers = meaning.values(values)
        if said := meaning.of_one_kind(answers):
            self._warn(said)
        rows["answer"] = answers[codes]
        if meaning.kind == "scores":
            rows["score"] = rows.get("score", rows["answer"])
        if "score" in rows and meaning.kind != "numbers":
            self._check_order(rows["score"].to_numpy(), meaning.favourable(rows["answer"].to_numpy()))
        self.decision_question = "label", self._answers
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
                f"has the higher score with a probability of {above:.0%}. Do both belong to the same rows?"
            )

    def _answers(self, rows):
        raise NoModelError(f"model: {NO_MODEL[0].lower()}{NO_MODEL[1:]}")


def doubts(table: pd.DataFrame, favourable: np.ndarray | None, has_person: bool) -> Iterator[str]:
    """Yield what may be wrong with the features of decisions, one sentence each.

    Raises
    ------
    CaseError
        If a row is not a decision but a total of others.
    """
    n = len(table)
    for name, column in table.items():
        values = column.drop_duplicates()
        if values.dtype.kind == "O" and (total := values[values.astype(str).str.casefold().isin(TOTALS)]).size:
            place = int(column.isin(total.head(1)).to_numpy().argmax()) + 1
            raise CaseError(
                f"table: expected one row for each decision, found {total.iloc[0]!r} in column {name!r} of row "
                f"{place:,}; leave out rows that sum others"
            )
        if len(values) == n > MAX_GROUP_VALUES and not pd.api.types.is_float_dtype(column):
            yield f"{name} has a different value in every row. If it is an identifier, leave it out of the features."
        elif MAX_GROUP_VALUES < len(values) < n and not has_person and re.fullmatch(IDENTIFIER, str(name)):
            yield (
                f"{name} has {len(values):,} values in {n:,} rows. If it identifies people, pass it as person= (in a "
                "shell, --person), or remove duplicate rows."
            )
        if favourable is not None and (only := _known_where(column.notna().to_numpy(), favourable)):
            yield (
                f"{name} is {only}. If it follows from the "
                "decision, leave it out of the features: people who are matched on it are decided alike."
            )
        if favourable is not None and determines(column, favourable):
            yield (
                f"{name} determines every decision. If it is the decision itself, or follows from it, leave it out "
                "of the features: people who are matched on it are decided alike."
            )
        if len(values) > 2 and (kind := _kind_of_texts(values.dropna())):
            advice = f" (pd.to_datetime reads dates; in a shell --dtype {name}=date does, the year first)"
            found = f"texts such as {values.dropna().iloc[0]!r}, each taken as a category{advice * (kind == 'dates')}"
            yield f"{name}: expected {kind}, found {found}."


def determines(column: pd.Series, favourable: np.ndarray) -> bool:
    """Return whether each of a few values of a column occurs with one outcome only, and both outcomes occur."""
    n_values = column.nunique(dropna=False)
    if n_values != 2 and not 2 < n_values <= min(MAX_GROUP_VALUES, len(column) / ROWS_A_VALUE):
        return False
    pairs = pd.DataFrame({"feature": column.array, "favourable": favourable}).drop_duplicates()
    return len(pairs) == n_values and pairs["favourable"].nunique() == 2


def why_no_error_rates(case) -> str:
    """Return why a case's true and false positive rates are not informative, "" if they are.

    Nobody knows whether a refused loan would have been repaid. If true labels are known for one decision only, every
    rate is 1 or 0, however the decisions were made.
    """
    if case.y_true is None or case.task == "numbers" or case.labelled.all():
        return ""
    only = _known_where(case.labelled, case.decide())
    return f"true labels are {only}" if only else ""


def _known_where(known: np.ndarray, favourable: np.ndarray) -> str:
    """Return text that names the only decision with known values, if that is not by chance; else ""."""
    if known.all() or not known.any():
        return ""
    decisions = favourable[known]
    share = (favourable == decisions[0]).mean()
    is_only = (decisions == decisions[0]).all() and share ** known.sum() < np.exp(-MOST_BY_CHANCE)
    return f"known only where the decision is {'' if decisions[0] else 'un'}favourable" if is_only else ""


def _kind_of_texts(values: pd.Series) -> str:
    """Return "numbers" or "dates" if nine in ten strings look like ones that people write, "" if not."""
    if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "categorical"):
        return ""
    texts = values.astype(str).str.strip()
    if texts.str.fullmatch("0[0-9]+").any():  # codes
        return ""
    is_date = texts.str.fullmatch(DATE)
    if is_date.mean() > 0.9:
        return "dates"
    return "numbers" if (texts.str.fullmatch(NUMBER) & ~is_date).mean() > 0.9 else ""


def check_no_counts(rows: pd.DataFrame, weights: np.ndarray) -> None:
    """Raise a CaseError if weights count how often each row occurred.

    Weights are taken for counts if they are multiples of one unit and all rows differ, provided that chance would make
    some rows equal, or that every combination of the columns' values occurs.

    Parameters
    ----------
    rows : DataFrame
        Features and what was decided of each.
    weights : ndarray of shape (n_rows,)
    """
    parts = weights / weights.min()
    units = np.arange(1, MOST_PARTS + 1)
    few = np.unique(parts)[:50]
    if not (abs(np.outer(units, few) - np.rint(np.outer(units, few))) < 1e-6).all(axis=1).any():
        return
    counts = [column.value_counts(dropna=False).to_numpy().astype(float) for _, column in rows.items()]
    n_pairs = len(rows) * (len(rows) - 1)
    by_chance = n_pairs / 2 * np.prod([count @ (count - 1) / n_pairs for count in counts])
    is_crossed = np.prod([float(len(count)) for count in counts]) == len(rows)
    if (by_chance > MOST_BY_CHANCE or is_crossed) and not rows.duplicated().any():
        raise CaseError(
            f"weights: expected one row for each decision, found {len(rows):,} rows that are all different, with "
            "weights that are multiples of one number, as of a table of counts; repeat each row as often as it "
            "occurred, table.loc[table.index.repeat(counts)]"
        )


def of_decisions(text: str) -> str:
    """Turn a sentence about a model's answers into one about decisions."""
    for now, then in WORDS.items():
        text = text.replace(now, then)
    return text.replace("model: ", "decisions: ")


def _column(values, index: pd.Index, name: str) -> pd.Series:
    """Return one value for each row, none missing."""
    with case_errors():
        values = align(values, index, name).reset_index(drop=True)
    if n_missing := int(values.isna().sum()):
        raise CaseError(f"{name}: expected one for each row, {n_missing:,} of {len(values):,} are missing; {ADVICE}")
    if name != "person" and pd.api.types.infer_dtype(values) == "decimal":  # some engines return sums as decimals
        values = values.astype(float)
    check_values(values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values, name)
    return values


def _numbers(values: pd.Series, name: str, *, keep: bool = False) -> np.ndarray:
    """Return finite numbers as floats, or in a dtype of numpy."""
    values = values.infer_objects()
    if not pd.api.types.is_numeric_dtype(values) or (not keep and pd.api.types.is_bool_dtype(values)):
        raise CaseError(f"{name}: expected numbers, found {values.tolist()[0]!r}")
    numbers: Any = values.to_numpy(dtype=getattr(values.dtype, "numpy_dtype", values.dtype) if keep else float)
    if not np.isfinite(numbers.astype(float)).all():
        raise CaseError(f"{name}: expected finite numbers, found {numbers[~np.isfinite(numbers)][0]}")
    check_size(numbers.astype(float), name)
    return numbers
