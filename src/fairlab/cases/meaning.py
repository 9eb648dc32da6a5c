"""Interpretation of a model's answers: labels, scores or numbers, the favourable label, and the threshold."""

import difflib
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from fairlab.cases.schema import CaseError, check_size

MIN_MARGIN = 1e-12  # smallest lead: a score that equals its threshold still has a side
LOGITS = "Network(model, from_logits=True) for a network that ends in logits"


class PrintedLabel(str):
    """A label as text, as on a command line: it stands for the label of the model or the table that prints the same.

    Examples
    --------
    >>> from fairlab.cases.meaning import PrintedLabel
    >>> [PrintedLabel(text).among(labels) for text, labels in [("1", {0, 1}), ("1", {"0", "1"}), ("true", {True})]]
    [1, '1', True]
    """

    def among(self, labels: set):
        """Return the label that is meant, or this one if there is none."""
        value: Any = {"true": True, "false": False}.get(self.lower())
        with suppress(ValueError):
            value = float(self)
        for is_meant in (
            lambda label: label == str(self),
            lambda label: str(label) == self,
            lambda label: label == value,
        ):
            if meant := [label for label in labels if is_meant(label)]:
                return meant[0]
        return self


@dataclass(frozen=True)
class Meaning:
    """The meaning of a model's answers, as `interpret` infers it.

    Attributes
    ----------
    kind : {"labels", "scores", "numbers"}
        What decides: the model's labels, or its scores and a threshold; the numbers of a regression are not decisions.
    pos_label : object
        The favourable label; None for a score that belongs to no class.
    label : int
        Index of the favourable class among the model's classes.
    decision_threshold : float or None
        Smallest score that is favourable; None where labels decide.
    unit : {"probability", "log odds", "score"} or None
        Unit of the model's scores, where it has some.
    classes : tuple or None
        The labels, where the model knows them.
    has_own_scores : bool
        Whether the model has scores apart from its answers.
    columns : Index or None
        Names of the columns of answers, one for each class; the favourable class's column is the score.
    is_given : bool
        Whether the favourable label was named.
    warnings : tuple of str
        What was settled without being given.
    """

    kind: str
    pos_label: Any
    label: int = 1
    decision_threshold: float | None = None
    unit: str | None = None
    classes: tuple | None = None
    has_own_scores: bool = False
    columns: pd.Index | None = None
    is_given: bool = False
    warnings: tuple[str, ...] = ()

    def in_unit(self, scores: np.ndarray) -> np.ndarray:
        """Return scores as users see them; log odds become probabilities."""
        return expit(scores) if self.unit == "log odds" else scores

    def favourable(self, values: np.ndarray) -> np.ndarray:
        """Return which answers, as numbers, are favourable decisions."""
        if self.kind == "labels":
            return values.astype(bool)
        return reach(self.in_unit(values), self.decision_threshold)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return log odds of scores; for a score that is not a probability, its excess over the threshold."""
        if self.unit == "log odds":  # these do not round to certainty
            return scores
        if self.unit == "score":
            return scores - (self.decision_threshold or 0.0)
        tiny = np.finfo(float).eps
        scores = np.clip(scores, tiny, 1 - tiny)
        return np.log(scores) - np.log1p(-scores)

    @property
    def log_odds_threshold(self) -> float:
        """Value of `log_odds` at the threshold; 0 for a score that is not a probability, and where labels decide."""
        if self.decision_threshold is None or self.unit == "score":
            return 0.0
        return float(logit(min(self.decision_threshold, 1 - np.finfo(float).eps)))

    def lead(self, scores: np.ndarray) -> np.ndarray:
        """Return the excess of log odds over their threshold; where scores decide, its sign is the decision."""
        lead = self.log_odds(scores) - self.log_odds_threshold
        return lead if self.kind == "labels" else with_side(lead, self.favourable(scores))

    def of_one_kind(self, values: np.ndarray) -> str:
        """Return a sentence if all answers, as numbers, are favourable decisions, or none is; else ""."""
        if self.kind == "numbers":
            return ""
        favourable = self.favourable(values)
        if favourable.any() != favourable.all():
            return ""
        who = "favourable" if favourable[0] else "unfavourable"
        why = f"{'each' if favourable[0] else 'none'} is {self.pos_label!r}"
        if self.kind == "scores":
            scores = self.in_unit(values)
            why = f"scores are from {scores.min():g} to {scores.max():g}, the threshold is {self.decision_threshold:g}"
        return f"All decisions are {who}: {why}. Selection rates cannot differ."

    @property
    def task(self) -> str:
        """What the model gives: "classes", "scores" or "numbers"."""
        return "numbers" if self.kind == "numbers" else "classes" if self.unit is None else "scores"

    def values(self, answers: np.ndarray | pd.DataFrame) -> np.ndarray:
        """Return answers as numbers: scores, or 1 where a label is the favourable one.

        Raises
        ------
        CaseError
            If an answer is none of the model's classes, or a score after labels, or as in `scores`.
        """
        if self.kind == "labels":
            known = self.classes or (None if self.is_given else (0, 1))
            alike = {-1, 0, 1} if {-1, 0, 1}.issuperset(known or ()) else set()
            if known is not None and (strange := set(answers.tolist()) - set(known) - alike):
                raise CaseError(f"model: answers {quoted(strange)}; its classes are {quoted(known)}")
            if known is None and len(scores := _scores_among(answers, self.pos_label)):
                raise CaseError(f"model: answers {scores[0]:g} after labels; scores need decision_threshold")
            if answers.dtype != object:
                return (answers == self.pos_label).astype(float)
            return np.array([value == self.pos_label for value in answers.tolist()], dtype=float)
        return self.scores(answers)

    def scores(self, answers: Any) -> np.ndarray:
        """Return answers as scores.

        Raises
        ------
        CaseError
            If there are other columns than before, a score is not finite, or a probability not within 0 and 1.
        """
        if self.columns is not None:
            if not isinstance(answers, pd.DataFrame):
                raise CaseError(f"model: returned one value a row after {list(self.columns)}")
            if not answers.columns.equals(self.columns):
                raise CaseError(f"model: returned the columns {list(answers.columns)} after {list(self.columns)}")
            answers = answers.iloc[:, self.label].to_numpy()
        scores = finite(np.asarray(answers, dtype=float))
        if self.unit == "probability" and (strange := scores[(scores < 0) | (scores > 1)]).size:
            raise CaseError(f"model: gives {strange[0]:g} after values within 0 and 1; give a threshold for its scores")
        return scores

    def truth(self, y: pd.Series) -> np.ndarray:
        """Return whether true labels are favourable, or the numbers of a regression; False or nan where missing.

        Raises
        ------
        CaseError
            If all are missing, one is infinite, or the labels are not the model's.
        """
        known = y.dropna()
        if known.empty:
            raise CaseError("y_true: expected the true labels of some rows at least, all are missing")
        if self.kind == "numbers":
            y = y.infer_objects()  # a list of whole numbers and fractions comes as objects
            if not pd.api.types.is_numeric_dtype(y):
                raise CaseError(f"y_true: the model gives numbers, expected numbers, found {known.iloc[0]!r}")
            numbers = y.to_numpy(dtype=float, na_value=np.nan)
            if np.isinf(numbers).any():
                raise CaseError(f"y_true: expected finite or missing numbers, found {numbers[np.isinf(numbers)][0]}")
            check_size(numbers[~np.isnan(numbers)], "y_true")
            return numbers
        values = set(known.unique().tolist())
        pos_label = self.pos_label if self.is_given else default_pos_label(values)
        if pos_label is None:
            raise CaseError(f"pos_label: y_true has the labels {quoted(values)}; which one is favourable?")
        if self.classes and self.kind == "labels" and (strange := values - set(self.classes)):
            raise CaseError(f"y_true: holds {quoted(strange)}; the model's classes are {quoted(self.classes)}")
        if len(values) > 1 and pos_label not in values:
            raise CaseError(f"y_true: expected the favourable label {pos_label!r} among them, found {quoted(values)}")
        truth = np.zeros(len(y), dtype=bool)
        truth[y.notna().to_numpy()] = [value == pos_label for value in known.tolist()]
        return truth


def interpret(
    answers: np.ndarray | pd.DataFrame | None,
    labels: set,
    pos_label: object,
    decision_threshold: float | None,
    *,
    classes: tuple | None = None,
    unit: str | None = None,
) -> Meaning:
    """Return what the answers to a table mean.

    Parameters
    ----------
    answers : ndarray of shape (n_rows,), DataFrame of shape (n_rows, n_classes), or None
        One value a row, or one a class; None of a model that decides by its own scores.
    labels : set
        Labels in `y_true`.
    pos_label : object or None
    decision_threshold : float or None
        As for `fairlab.cases.Case`.
    classes : tuple or None
        The model's labels, where it knows them.
    unit : str or None
        Unit of the scores that the model has besides its answers.

    Raises
    ------
    CaseError
        If a favourable label or a threshold is needed, or labels and answers do not fit together.
    """
    given = Meaning(
        "scores",
        pos_label,
        decision_threshold=decision_threshold,
        unit=unit,
        classes=classes,
        has_own_scores=unit is not None,
        is_given=pos_label is not None,
    )
    if answers is None:
        found = _of_own_scores(given, labels)
    elif answers.ndim == 2:
        found = _of_columns(given, answers, labels)
    else:
        found = _of_values(given, answers, labels)
    threshold = found.decision_threshold
    if found.kind == "scores" and found.unit != "score" and threshold is not None and not 0 < threshold <= 1:
        raise CaseError(
            f"decision_threshold: the model gives values within 0 and 1, expected one above 0, at most 1, found "
            f"{threshold:g}"
        )
    return found


def _of_values(given: Meaning, answers: np.ndarray, labels: set) -> Meaning:
    """Decide by one value a row, a label or a number."""
    values, threshold = set(answers.tolist()), given.decision_threshold
    if isinstance(given.pos_label, PrintedLabel):
        given = replace(given, pos_label=given.pos_label.among(values | labels | set(given.classes or ())))
    is_plain = given.classes is not None or answers.dtype.kind != "f" or default_pos_label(values) is not None
    if threshold is not None:
        if answers.dtype.kind not in "iuf":
            raise CaseError(f"decision_threshold: the model gives the labels {quoted(values)}; leave the threshold out")
        is_plain = values <= {0, 1} and 0 < threshold <= 1
    is_named = given.is_given and given.pos_label in values and not len(_scores_among(answers, given.pos_label))
    if is_plain or (threshold is None and is_named):
        return _of_labels(given, values, labels)
    return _of_numbers(given, answers.astype(float), labels)


def _scores_among(answers: np.ndarray, pos_label) -> np.ndarray:
    """Return the fractions among answers, which are scores, not labels, unless the favourable label is a fraction."""
    if answers.dtype.kind != "f" or (isinstance(pos_label, Real) and pos_label % 1):
        return answers[:0]
    return answers[answers % 1 != 0]


def _of_own_scores(given: Meaning, labels: set) -> Meaning:
    """Decide by the model's own scores of a class."""
    classes = given.classes or (0, 1)
    given = replace(given, pos_label=_favourable(given, set(classes) | labels, default=set(classes)))
    given = _with_class(given, labels, is_named=given.classes is not None)
    if given.decision_threshold is not None:
        return given
    if len(classes) > 2:
        raise CaseError(f"decision_threshold: the model has {len(classes)} classes and no predict; give a threshold")
    return replace(given, decision_threshold=0.0 if given.unit == "score" else 0.5)


def _of_labels(given: Meaning, values: set, labels: set) -> Meaning:
    """Decide by labels."""
    classes = given.classes
    known = set(classes) if classes else values | labels
    if strange := values - known:
        raise CaseError(f"model: answers {quoted(strange)}; its classes are {quoted(classes)}")
    is_told = labels and max(len(values), len(labels)) > 1  # one label each may be the two labels of one outcome
    if not classes and is_told and not (values <= labels or labels <= values):
        raise CaseError(f"y_true: has the labels {quoted(labels)}, the model answers {quoted(values)}; make them alike")
    pos_label = _favourable(given, known, default=known)
    found = replace(given, kind="labels", decision_threshold=None, pos_label=pos_label)
    if pos_label not in known and len(known) > 1:
        near = difflib.get_close_matches(str(pos_label), {str(label) for label in known}, n=3, cutoff=0.6)
        meant = " or ".join(sorted(repr(label) for label in known if str(label) in near))
        hint = f"{f'; did you mean {meant}?' if meant else ''} (known: {quoted(known)})"
        raise CaseError(f"pos_label: {pos_label!r} is not among the labels{hint}")
    if len(known) > 2:
        others = quoted(known - {pos_label})
        found = _warned(found, f"Only {pos_label!r} counts as favourable; as unfavourable count {others}.")
    if given.unit is None:
        return found
    try:
        return _with_class(found, known, is_named=classes is not None)
    except CaseError as error:
        return replace(_warned(found, f"The scores of the model are left out. {error}."), unit=None)


def _of_columns(given: Meaning, answers: pd.DataFrame, labels: set) -> Meaning:
    """Interpret a function's probabilities, one a class: take the column of the favourable class."""
    n_classes, matrix = answers.shape[1], answers.to_numpy()
    if not are_probabilities(matrix) or not np.allclose(matrix.sum(axis=1), 1, atol=1e-4):
        raise CaseError(
            f"model: returned {n_classes} columns, expected one answer a row, or probabilities; or {LOGITS}"
        )
    classes = tuple(answers.columns.tolist())
    if n_classes > 2 and (given.decision_threshold is None or not given.is_given):
        raise CaseError(
            f"decision_threshold, pos_label: the model gives probabilities of {n_classes} classes; give the "
            f"favourable one, found {given.pos_label!r}, and a threshold for it, or hand in labels"
        )
    pos_label = _favourable(given, labels | set(classes), default=labels or set(classes))
    given = replace(given, pos_label=pos_label, classes=classes, columns=answers.columns)
    given = _with_class(given, labels, is_named=classes != tuple(range(n_classes)))
    return _of_numbers(given, matrix[:, given.label], labels)


def _of_numbers(given: Meaning, answers: np.ndarray, labels: set) -> Meaning:
    """Interpret numbers as scores or probabilities, or as a regression unless labels show that decisions are meant."""
    unit = "probability" if are_probabilities(answers) else "score"
    found = replace(given, unit=unit, has_own_scores=False)
    if given.decision_threshold is not None:
        return found
    if unit == "probability":
        is_other = given.is_given and default_pos_label({given.pos_label, 1}) not in (None, given.pos_label)
        if is_other and given.columns is None:
            raise CaseError(
                f"pos_label: {given.pos_label!r} is favourable, and one value within 0 and 1 a row speaks for 1; "
                f"expected a column for each class, or scores of {given.pos_label!r} with decision_threshold"
            )
        said = "The model gives values within 0 and 1: from 0.5 on they count as favourable."
        return _warned(replace(found, decision_threshold=0.5), said)
    range_of = f"he model gives numbers from {answers.min():g} to {answers.max():g}"
    is_label = any(isinstance(label, str | bytes | bool | np.bool_) for label in labels)
    if given.is_given or is_label or 0 < len(labels) <= 2:
        meant = f"the favourable label is {given.pos_label!r}"
        if is_label or 0 < len(labels) <= 2:
            meant = f"y_true has the labels {quoted(labels)}"
        raise CaseError(f"decision_threshold: t{range_of}, {meant}; give decision_threshold=, or {LOGITS}")
    return _warned(replace(found, kind="numbers"), f"T{range_of} and no threshold is given: taken as a regression.")


def _favourable(given: Meaning, known: set, *, default: set):
    """Return the favourable label: the one given, or a default."""
    pos_label = given.pos_label
    if isinstance(pos_label, PrintedLabel):
        pos_label = pos_label.among(known)
    if pos_label is None:
        pos_label = default_pos_label(default)
    if pos_label is None:
        rest = ", one against the rest" if len(default) > 2 else ""
        raise CaseError(f"pos_label: the labels are {quoted(default)}; which one is favourable{rest}?")
    return pos_label


def _with_class(given: Meaning, labels: set, *, is_named: bool) -> Meaning:
    """Find the class, or column, of the model that is the favourable label.

    Parameters
    ----------
    given : Meaning
    labels : set
        Labels in `y_true`, or among the model's answers.
    is_named : bool
        Whether the names of the classes are known, as for a fitted estimator or a network.

    Raises
    ------
    CaseError
        If the classes are only numbered and the labels are different: which class is which is then unknown.
    """
    classes, pos_label = given.classes or (0, 1), given.pos_label
    is_two = classes == (0, 1) and {pos_label} < {-1, 1} >= labels and -1 in labels
    if is_two:
        return replace(given, label=int(pos_label == 1))
    if pos_label in classes and labels <= set(classes) and (is_named or not labels or 0 in labels):
        found = replace(given, label=classes.index(pos_label))
        if is_named or labels or not given.is_given:
            return found
        place = f"Column {found.label}, counted from 0,"
        return _warned(found, f"{place} of the probabilities is taken for {pos_label!r}: nothing names the columns.")
    if set(classes) != set(range(len(classes))):
        if pos_label not in classes:
            raise CaseError(f"pos_label: {pos_label!r} is not among the model's classes, {quoted(classes)}")
        strange = quoted(labels - set(classes))
        raise CaseError(f"y_true: holds {strange}; the model's classes are {quoted(classes)}")
    known = f"the labels are {quoted(labels)}" if labels else f"found {pos_label!r}"
    raise CaseError(
        f"pos_label: {known}, and nothing says which class of the model is which; expected an object with classes_ "
        "beside predict_proba, a function that returns a DataFrame with the labels as columns, or true labels and "
        f"pos_label as numbers of classes, {quoted(classes)}"
    )


def _warned(meaning: Meaning, text: str) -> Meaning:
    return replace(meaning, warnings=(*meaning.warnings, text))


def are_probabilities(values) -> bool:
    """Return whether all values are within 0 and 1."""
    return bool(((values >= 0) & (values <= 1)).all())


def reach(scores: np.ndarray, threshold: Any) -> np.ndarray:
    """Return which scores are at least a threshold; 0.7 in single precision, 0.69999999, counts as at least 0.7."""
    with np.errstate(over="ignore"):
        single = float(np.float32(threshold))
    is_rounded = abs(single - threshold) < np.finfo(np.float32).eps * abs(threshold)  # False if it is infinite or 0
    return (scores >= threshold) | ((scores == single) & is_rounded)


def with_side(lead: np.ndarray, is_positive: np.ndarray) -> np.ndarray:
    """Return leads on the side of their decisions, at least `MIN_MARGIN` from 0."""
    return np.where(is_positive, np.maximum(lead, MIN_MARGIN), np.minimum(lead, -MIN_MARGIN))


def finite(scores: np.ndarray) -> np.ndarray:
    """Return scores as they are; raises a CaseError if one is not finite."""
    if (bad := ~np.isfinite(scores)).any():
        raise CaseError(
            f"model: returned {scores[bad][0]} for {bad.sum()} of {len(scores)} rows, expected finite scores"
        )
    return scores


def default_pos_label(labels: set):
    """Return the favourable label among 0 and 1, -1 and 1, or booleans; None for other labels."""
    if labels <= {0, 1}:
        return True if any(isinstance(label, bool) for label in labels) else 1
    return 1 if labels <= {-1, 1} else None


def spelled_alike(labels) -> list:
    """Return the first labels that may be spellings of one: "yes", "Yes " and "Y"; none if all are different.

    Labels are spellings of one if they are equal up to case, surrounding space and Unicode compatibility (a combining
    accent, a no-break space), or if one is a single letter with which exactly one other label begins.
    """
    plain = {label: unicodedata.normalize("NFKC", str(label)).strip().casefold() for label in sorted(labels, key=str)}
    words = {word for word in plain.values() if len(word) > 1 and word.isalpha()}
    meant = {letter: [word for word in words if word[0] == letter] for letter in plain.values() if len(letter) == 1}
    groups: dict[str, list] = {}
    for label, word in plain.items():
        [word] = meant[word] if len(meant.get(word, ())) == 1 else [word]
        groups.setdefault(word, []).append(label)
    return next((alike for alike in groups.values() if len(alike) > 1), [])


def two_spellings(name: str, groups) -> str:
    """Return a sentence if groups of a sensitive feature may be one in several spellings, "" if not."""
    alike = spelled_alike(groups)
    return f"{name}: expected one spelling of each group, found {quoted(alike)}." if alike else ""


def quoted(labels) -> str:
    """Return the first labels as Python writes them; in ASCII if some would look the same."""
    written = sorted(map(repr, labels))
    if len({unicodedata.normalize("NFKC", each) for each in written}) < len(written):
        written = sorted(map(ascii, labels))
    return ", ".join(written[:6]) + (", ..." if len(written) > 6 else "")
