"""What a model's answers mean: labels, probabilities, scores or numbers, and which of them is favourable."""

import difflib
import warnings
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.cases.feature import is_missing
from fairlab.cases.queries import Queries
from fairlab.cases.table import CaseError
from fairlab.checks import align
from fairlab.models.protocol import Form

TWICE = 1000  # rows that are asked a second time
PATIENCE = 2.0  # seconds that this may take
LOGITS = "Network(model, from_logits=True) for a network that ends in logits"
LABELS = (str, bytes, Real, np.bool_)
DEFAULTS = ((False, True), (0, 1), (-1, 1))  # pairs of labels whose second is favourable unless told otherwise


@dataclass
class Decisions:
    """The favourable decisions of a model, its scores, and what is known of them.

    Attributes
    ----------
    task : {"classes", "scores", "numbers"}
    positive : object
        The favourable label; None for a score that is no class's.
    threshold : float or None
        Least favourable score; None where labels decide.
    unit : {"probability", "log odds", "score"} or None
        Of the scores, where there are any.
    notices : list of str
        What was decided without being told.
    is_told : bool
        Whether the favourable label was given.
    """

    form: Form
    queries: Queries
    positive: object = None
    threshold: float | None = None
    task: str = "classes"
    unit: str | None = None
    notices: list[str] = field(default_factory=list)
    is_told: bool = False

    @classmethod
    def learn(cls, form: Form, queries: Queries, rows: pd.DataFrame, y, positive, threshold) -> "Decisions":
        """Ask the model about all rows of a table, and say what its answers are.

        Parameters
        ----------
        form : Form
        queries : Queries
        rows : DataFrame
            The features of the table.
        y : Series or None
            True labels.
        positive, threshold
            As for `fairlab.cases.Case`.

        Raises
        ------
        CaseError
            If the answers are not one for each row, values are missing, a favourable label or a threshold is needed.
        """
        is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
        if threshold is not None and not (is_number and np.isfinite(threshold)):
            raise CaseError(f"threshold: expected a finite number, found {threshold!r}")
        if not (positive is None or isinstance(positive, LABELS)):
            raise CaseError(f"positive: expected a label, found {positive!r}")
        self = cls(form, queries, positive, None if threshold is None else float(threshold))
        self.is_told = positive is not None
        rows = queries.distinct(rows)
        if form.answer is None or (threshold is not None and form.score is not None):
            self._by_score(y)
        else:
            self._by_answer(rows, y)
        self._ask_twice(rows)
        return self

    def decide(self, rows: pd.DataFrame) -> np.ndarray:
        """Return whether the decision is favourable, shape (n_rows,)."""
        if self.task == "numbers":
            raise CaseError("threshold: the model gives numbers; the least favourable one makes them decisions")
        if self.threshold is None:
            return self.queries.ask("label", self._labels, rows).astype(bool)
        return self.score(rows) >= self.threshold

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the score of the favourable class, shape (n_rows,)."""
        if not self.has_scores:
            raise CaseError("model: gives labels, a score was asked for; hand in an object with predict_proba")
        values = self._raw_score(rows)
        return expit(values) if self.unit == "log odds" else values

    def log_odds(self, rows: pd.DataFrame) -> np.ndarray:
        """Return log odds of the favourable class; of a score that is no probability, its excess over the threshold."""
        values = self.score(rows) if self.unit != "log odds" else self._raw_score(rows)
        if self.unit == "log odds":
            return values
        if self.unit == "probability":
            tiny = np.finfo(float).eps
            values = np.clip(values, tiny, 1 - tiny)
            return np.log(values) - np.log1p(-values)
        return values - (self.threshold or 0.0)

    def number(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the numbers of a regression, shape (n_rows,)."""
        if self.task != "numbers":
            raise CaseError("model: gives decisions, numbers were asked for")
        return self.queries.ask("score", self._scores, rows)

    @property
    def has_scores(self) -> bool:
        """Whether there is a score beside the decision."""
        return self.task != "numbers" and self.unit is not None

    @property
    def label(self) -> int:
        """Number of the favourable class among the model's."""
        classes = self.form.classes or (0, 1)
        return classes.index(self.positive) if self.positive in classes else len(classes) - 1

    def truth(self, y: pd.Series) -> np.ndarray:
        """Return true labels as whether they are favourable; of a regression, as numbers.

        Raises
        ------
        CaseError
            If a value is missing, or the labels are not the model's.
        """
        if y.isna().any():
            raise CaseError(f"y_true: misses {int(y.isna().sum())} of {len(y)} values")
        if self.task == "numbers":
            if not pd.api.types.is_numeric_dtype(y):
                raise CaseError(f"y_true: the model gives numbers, expected numbers, found {y.iloc[0]!r}")
            return y.to_numpy(dtype=float)
        values = set(y.unique().tolist())
        positive = self.positive if self.is_told else _default_positive(values)
        if positive is None:
            raise CaseError(f"positive: y_true has the labels {_listed(values)}; which one is favourable?")
        if self.form.classes and self.threshold is None and (strange := values - set(self.form.classes)):
            known = _listed(self.form.classes)
            raise CaseError(f"y_true: holds {_listed(strange)}; the model's classes are {known}")
        if len(values) > 1 and positive not in values:
            raise CaseError(f"y_true: expected the favourable label {positive!r} among them, found {_listed(values)}")
        return np.asarray([value == positive for value in y.tolist()])

    def _by_score(self, y) -> None:
        """Decide by the model's own scores of a class."""
        classes = self.form.classes or (0, 1)
        self.task, self.unit = "scores", self.form.unit
        if self.positive is None:
            self.positive = _default_positive(set(classes))
        if self.positive is None:
            raise CaseError(f"positive: the model's classes are {_listed(classes)}; which one is favourable?")
        if self.positive not in classes:
            labels = set() if y is None else set(y.unique().tolist())
            if not (classes == (0, 1) and self.positive in labels):
                raise CaseError(f"positive: {self.positive!r} is not among the model's classes, {_listed(classes)}")
            # A network's class 1 stands for the favourable label.
        if self.threshold is None:
            if len(classes) > 2:
                raise CaseError(f"threshold: the model has {len(classes)} classes and no predict; give a threshold")
            self.threshold = 0.0 if self.unit == "score" else 0.5

    def _by_answer(self, rows, y) -> None:
        answers = self.queries.send(self._answers, rows)
        if answers.ndim == 2:
            self._by_matrix(rows, answers)
            return
        values = set(answers.tolist())
        floats = answers.dtype.kind == "f"
        declared = self.form.classes
        is_labels = declared is not None or not floats or any(values <= set(pair) for pair in DEFAULTS)
        if self.threshold is not None and answers.dtype.kind in "iuf" and not values <= {0, 1}:
            self._by_number(rows, answers.astype(float))
        elif self.threshold is not None and answers.dtype.kind not in "iuf":
            raise CaseError(f"threshold: the model gives the labels {_listed(values)}; leave the threshold out")
        elif is_labels or (self.is_told and self.positive in values):
            self._by_label(rows, answers, y)
        else:
            self._by_number(rows, answers, y)

    def _by_label(self, rows, answers, y) -> None:
        self.threshold = None
        values = set(answers.tolist())
        known = set(self.form.classes or ()) | values
        if self.form.classes and (strange := values - set(self.form.classes)):
            raise CaseError(f"model: answers {_listed(strange)}; its classes are {_listed(self.form.classes)}")
        labels = set() if y is None else set(y.dropna().unique().tolist())
        if not self.form.classes and labels and len(values) > 1 and not (values <= labels or labels <= values):
            raise CaseError(
                f"y_true: has the labels {_listed(labels)}, the model answers {_listed(values)}; make them alike"
            )
        known |= labels if not self.form.classes else set()
        if self.positive is None:
            self.positive = _default_positive(known)
        if self.positive is None:
            rest = ", one against the rest" if len(known) > 2 else ""
            raise CaseError(f"positive: the labels are {_listed(known)}; which one is favourable{rest}?")
        if self.positive not in known:
            if len(known) > 1:
                near = difflib.get_close_matches(str(self.positive), {str(label) for label in known}, n=3, cutoff=0.6)
                meant = " or ".join(sorted(repr(label) for label in known if str(label) in near))
                hint = f"{f'; did you mean {meant}?' if meant else ''} (known: {_listed(known)})"
                raise CaseError(f"positive: {self.positive!r} is not among the labels{hint}")
            self._notice(f"The model never answers {self.positive!r}, the favourable label.")
        if self.form.score is not None:
            self.task, self.unit = "scores", self.form.unit
        self.queries.tell("label", rows, self._is_favourable(answers))

    def _by_matrix(self, rows, answers) -> None:
        """Take columns of probabilities, one a class, from a function."""
        n_classes = answers.shape[1]
        if not _are_probabilities(answers) or not np.allclose(answers.sum(axis=1), 1, atol=1e-4):
            raise CaseError(
                f"model: returned {n_classes} columns, expected one answer a row, or probabilities; or {LOGITS}"
            )
        if n_classes > 2 and self.threshold is None:
            raise CaseError(
                f"threshold: the model gives probabilities of {n_classes} classes; give a threshold for the "
                "favourable one, or hand in labels"
            )
        if self.positive is None and n_classes > 2:
            raise CaseError(f"positive: the model gives probabilities of {n_classes} classes; which is favourable?")
        classes = tuple(range(n_classes))
        column = classes.index(self.positive) if self.positive in classes else 1
        if n_classes > 2 and self.positive not in classes:
            raise CaseError(f"positive: expected the number of a column, 0 to {n_classes - 1}, found {self.positive!r}")
        answer = self.form.answer
        self.form = Form(self.form.name, answer=lambda rows: _columns(answer(rows))[:, column])
        self._by_number(rows, answers[:, column])

    def _by_number(self, rows, answers, y=None) -> None:
        """Take scores or probabilities, or a regression's numbers."""
        probabilities = _are_probabilities(answers)
        if self.threshold is None and probabilities:
            self.threshold = 0.5
            self._notice("The model gives values within 0 and 1: from 0.5 on they count as favourable.")
        elif self.threshold is None:
            self._by_regression(answers, y)
        self.unit = "probability" if probabilities else "score"
        self.task = "scores" if self.threshold is not None else "numbers"
        self.queries.tell("score", rows, answers.astype(float))

    def _by_regression(self, answers, y) -> None:
        """Take numbers for those of a regression, unless labels say that decisions are meant."""
        found = f"the model gives numbers from {answers.min():g} to {answers.max():g}"
        labels = set() if y is None else set(y.dropna().unique().tolist())
        is_told = any(isinstance(label, str | bytes | bool | np.bool_) for label in labels) or 0 < len(labels) <= 2
        if is_told or self.is_told:
            said = (
                f"y_true has the labels {_listed(labels)}" if is_told else f"the favourable label is {self.positive!r}"
            )
            raise CaseError(f"threshold: {found}, {said}; give threshold=, or {LOGITS}")
        self._notice(f"T{found[1:]} and no threshold is given: taken as a regression.")

    def _ask_twice(self, rows) -> None:
        """Ask some rows again, in another order and batch, and compare."""
        question = self._labels if self.task != "numbers" and self.threshold is None else self._scores
        name = "label" if question == self._labels else "score"
        first = self.queries.ask(name, question, rows)
        per_row = self.queries.seconds_per_row
        n = min(TWICE, len(rows), max(10, int(PATIENCE / max(per_row, 1e-9))))
        some = np.random.default_rng(0).permutation(len(rows))[:n]
        again = self.queries.send(question, rows.iloc[some])
        self.queries.for_case, self.queries.twice = self.queries.asked, n
        self.queries.is_deterministic = bool(np.allclose(first[some], again, rtol=1e-4, atol=1e-5))
        if not self.queries.is_deterministic:
            share = 1 - np.isclose(first[some], again, rtol=1e-4, atol=1e-5).mean()
            self._notice(f"Asked again, the model answers {share:.0%} of {n} rows otherwise: it is not deterministic.")

    def _raw_score(self, rows) -> np.ndarray:
        return self.queries.ask("score", self._scores, rows)

    def _scores(self, rows) -> np.ndarray:
        try:
            if self.form.score is not None:
                values = np.asarray(self.form.score(rows, self.label), dtype=float)
            else:
                values = self._answers(rows).astype(float)
        except CaseError:
            raise
        except Exception as error:
            raise _failed(error) from error
        if not np.isfinite(values).all():
            bad = int((~np.isfinite(values)).sum())
            raise CaseError(f"model: {bad} of {len(values)} scores are missing or infinite")
        if self.unit == "probability" and not _are_probabilities(values):
            strange = values[(values < 0) | (values > 1)][0]
            raise CaseError(f"model: gives {strange:g} after values within 0 and 1; give a threshold for its scores")
        return values

    def _labels(self, rows) -> np.ndarray:
        return self._is_favourable(self._answers(rows)).astype(float)

    def _is_favourable(self, answers) -> np.ndarray:
        known = self.form.classes
        if known is None and not self.is_told:
            known = next((pair for pair in DEFAULTS if pair[1] == self.positive and self.positive in pair), None)
        if known is not None and (strange := set(answers.tolist()) - set(known) - {-1, 0, 1}):
            raise CaseError(f"model: answers {_listed(strange)}; its classes are {_listed(known)}")
        if answers.dtype != object:
            return answers == self.positive
        return np.array([value == self.positive for value in answers.tolist()], dtype=bool)

    def _answers(self, rows) -> np.ndarray:
        """Return what the model answers: one value a row, or columns; none missing."""
        try:
            answers = self.form.answer(rows)
        except Exception as error:
            raise _failed(error) from error
        if getattr(answers, "ndim", 1) == 2 and answers.shape[1] > 1:
            answers = _columns(answers)
            if answers.shape[0] != len(rows):
                raise CaseError(f"model: returned {len(answers)} answers, expected {len(rows)}, one for each row")
            return answers
        try:
            answers = align(answers, rows.index, "model")
        except ValueError as error:
            raise CaseError(f"{error} (answers of the model)") from error
        if answers.isna().any():
            bad = int(answers.isna().sum())
            raise CaseError(f"model: {bad} of {len(answers)} answers are missing, expected one for each row")
        if pd.api.types.is_numeric_dtype(answers.dtype):
            answers = answers.to_numpy(dtype=getattr(answers.dtype, "numpy_dtype", answers.dtype))
            if answers.dtype.kind == "c" or not np.isfinite(answers.astype(float)).all():
                raise CaseError("model: answers infinite or complex numbers, expected finite ones")
            return answers
        check_labels(answers, "model")
        return answers.to_numpy(dtype=object)

    def _notice(self, text: str) -> None:
        self.notices.append(text)
        warnings.warn(text, stacklevel=5)


def check_labels(values: pd.Series, name: str) -> None:
    """Raise a CaseError unless values are texts, truth values, numbers or missing."""
    if not pd.api.types.is_numeric_dtype(values.dtype) and not isinstance(values.dtype, pd.StringDtype):
        for value in values:
            if not (isinstance(value, LABELS) or is_missing(value)):
                raise CaseError(f"{name}: expected texts, truth values or numbers, found a {type(value).__name__}")


def _failed(error: Exception) -> CaseError:
    return CaseError(f"model: fails on the rows of the table: {type(error).__name__}: {error}")


def _columns(answers) -> np.ndarray:
    try:
        columns = np.asarray(answers, dtype=float)
    except (TypeError, ValueError):
        raise CaseError("model: returned several columns that are no numbers, expected one answer a row") from None
    if not np.isfinite(columns).all():
        raise CaseError("model: some probabilities are missing or infinite")
    return columns


def _are_probabilities(values) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _default_positive(labels: set):
    """Return the favourable label where it goes without saying, else None."""
    for pair in DEFAULTS:
        if labels <= set(pair) and not any(isinstance(label, str) or is_missing(label) for label in labels):
            return pair[1] if any(isinstance(label, bool) for label in labels) or pair != (False, True) else 1
    return None


def _listed(labels) -> str:
    listed = sorted(map(repr, labels))
    return ", ".join(listed[:6]) + (", ..." if len(listed) > 6 else "")
