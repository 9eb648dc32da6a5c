"""One adapter for any model: its answers, its scores, its favourable answer, and its gradients."""

import re
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from fairlab.cases.finding import few, percent
from fairlab.cases.foreign import from_other_library
from fairlab.cases.meaning import finite, interpret, reach
from fairlab.cases.queries import Queries
from fairlab.cases.schema import CaseError, ModelFailedError, case_errors, check_size, check_values
from fairlab.checks import align, check_number

LABELS = (str, bytes, Real, np.bool_)
# Attributes with the names of the columns that an estimator was fitted to, and patterns of the names made up for
# arrays: of scikit-learn and LightGBM, of CatBoost, and of LightGBM before 4.6.
FITTED = {"feature_names_in_": r"Column_\d+", "feature_names_": r"\d+", "feature_name_": r"Column_\d+"}
# Attributes in which a search, a calibration, an ensemble or a pipeline has the estimators that get its rows.
INNER = ("best_estimator_", "estimator_", "calibrated_classifiers_", "estimators_", "steps", "estimator")


class ModelAdapter:
    """The interface of a model to every method; `wrap_model` makes one.

    `predict`, `classes_of`, `binary_of` and `scores_of` apply the model to a table or a matrix. `settle` interprets the
    answers to a table with respect to the favourable label, and keeps the result as `meaning`. Queries for decisions
    and for scores then go through `queries`, which counts rows and sends none twice.

    Parameters
    ----------
    name : str
        Name of the model's type.
    answer : callable or None
        The model's own answers: labels, or whatever a function returns.
    scorer : callable or None
        Takes rows and the index of a class, returns one score of that class for each row.
    unit : {"probability", "log odds", "score"} or None
        Unit of the score.
    classes : tuple or None
        The labels, where the model knows them; the numbers 0, 1, ... of a network.
    columns : tuple of str or None
        The features that the model was fitted to, where it knows them.
    gradient : callable or None
        Takes a matrix of the features and the number of a class, returns log odds and their input gradient.
    takes_array : bool
        Whether `answer` and `scorer` get a matrix in place of a table: many libraries refuse, or warn about, column
        names that the model was not fitted with.

    Attributes
    ----------
    originals : dict
        By column of a case's table, the converter from the numbers that methods use to the column's values.
    meaning : Meaning or None
        What the answers to a case's table mean, once `settle` has seen them.
    decision_question, score_question : tuple of str and callable
        Name and function of the query that decides, and of the one for scores (None without scores); the same where
        scores decide.
    queries : Queries
    warnings : list of str
        What was inferred, and what is doubtful, one sentence each.

    Examples
    --------
    >>> from fairlab.cases import wrap_model
    >>> wrap_model(lambda rows: rows[:, 0] > 1).classes_of(np.array([[0], [2]])).tolist()
    [False, True]
    """

    decision_question: tuple[str, Callable]
    score_question: tuple[str, Callable] | None

    def __init__(
        self,
        name: str,
        *,
        answer: Callable | None = None,
        scorer: Callable | None = None,
        unit: str | None = None,
        classes: tuple | None = None,
        columns: tuple[str, ...] | None = None,
        gradient: Callable | None = None,
        takes_array: bool = False,
    ):
        self.name, self.unit, self.classes, self.columns, self.takes_array = name, unit, classes, columns, takes_array
        self.answer: Any = answer
        self.scorer: Any = scorer
        self.gradient: Any = gradient
        self.originals: dict[str, Callable] = {}
        self.meaning: Any = None  # of a case's answers
        self.queries = Queries()
        self.warnings: list[str] = []

    def predict(self, X: Any) -> np.ndarray:
        """Return what the model answers, one value a row of a table or a matrix.

        Raises
        ------
        CaseError
            If there is not one answer for each row, or the model has only scores that are not log odds.
        """
        if self.answer is None and self.unit != "log odds":
            raise CaseError(f"model: expected predict, found scores of {self.name} only; give decision_threshold")
        answer = self._call(self.scorer, X, 1) > 0 if self.answer is None else self._call(self.answer, X)
        if isinstance(answer, np.ndarray) and answer.shape == (len(X),):
            return answer
        return _aligned(answer, X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X))).to_numpy()

    def classes_of(self, X: Any) -> np.ndarray:
        """Return one class a row; scores are refused, since they can hardly be compared for equality.

        Raises
        ------
        CaseError
            If there is not one class for each row: one is missing, infinite or a fraction.
        """
        answer = self.predict(X)
        if answer.dtype.kind in "biuUS":
            return answer
        if (missing := pd.isna(answer)).any():
            found = f"{int(missing.sum())} of {len(answer)} rows: {answer[missing][0]}"
            raise CaseError(f"model: returned no class for {found}")
        numbers = pd.Series(answer).infer_objects().to_numpy()
        if numbers.dtype.kind in "fc" and not (whole := np.isfinite(numbers) & (numbers == np.round(numbers))).all():
            found = f"{numbers[~whole][0]!r}, expected one class per row"
            raise CaseError(f"model: returned {found}; scores and probabilities need decision_threshold")
        return answer

    def binary_of(self, X: Any) -> np.ndarray:
        """Return whether the class is 1, for a model whose classes are 0 and 1 or booleans, shape (n_rows,).

        Raises
        ------
        CaseError
            If a row has neither class; names the input.
        """
        answer = self.predict(X)
        if answer.dtype == bool:
            return answer
        known = (answer == 0) | (answer == 1) if answer.dtype.kind in "iuf" else pd.Series(answer).isin((0, 1))
        if (strange := ~np.asarray(known)).any():
            row = int(np.flatnonzero(strange)[0])
            inputs = pd.DataFrame(X).iloc[row]
            found = ", ".join(f"{name} {value}" for name, value in inputs.items())
            raise CaseError(f"model: returned {answer[[row]].tolist()[0]!r} on input ({found}), expected 0 or 1")
        return answer.astype(bool)

    def scores_of(self, X: Any) -> np.ndarray:
        """Return the score of class 1, the second, a probability where the model has one; of a function, its answer.

        Raises
        ------
        CaseError
            If there is not one finite number for each row, or the model has other than two classes.
        """
        if self.scorer is None:
            answer = self.predict(X)
        elif (n_classes := len(self.classes or (0, 1))) != 2:
            raise CaseError(f"model: expected two classes, the second with the score, found {n_classes}")
        else:
            answer = self._call(self.scorer, X, 1)
            answer = expit(answer) if self.unit == "log odds" else answer
        if answer.dtype.kind not in "biuf":
            raise CaseError(f"model: returned {answer.dtype}, expected numbers as scores")
        return finite(answer.astype(float))

    def deciding(self, decision_threshold: float | None) -> Callable:
        """Return a function from rows to classes: the model's own, or whether its score reaches a threshold."""
        if decision_threshold is None:
            return self.classes_of
        threshold = check_number(decision_threshold, "decision_threshold")
        return lambda X: reach(self.scores_of(X), threshold)

    def settle(
        self, rows: pd.DataFrame, y: pd.Series | None, pos_label: object, decision_threshold: float | None
    ) -> np.ndarray | None:
        """Apply the model to all rows of a table, and interpret its answers.

        Some rows are queried a second time as a determinism check.

        Parameters
        ----------
        rows : DataFrame
            The features of the table.
        y : Series or None
            True labels.
        pos_label, decision_threshold
            As for `fairlab.cases.Case`.

        Returns
        -------
        ndarray of bool of shape (n_rows,), or None
            Whether the true labels are favourable; of a regression, as numbers.

        Raises
        ------
        CaseError
            If the answers are not one for each row, values are missing, a favourable label or a threshold is needed.
        """
        if not (pos_label is None or isinstance(pos_label, LABELS)):
            raise CaseError(f"pos_label: expected a label, found {pos_label!r}")
        labels = set() if y is None else set(y.dropna().unique().tolist())
        by_score = self.answer is None or (decision_threshold is not None and self.scorer is not None)
        rows = self.queries.distinct(rows)
        answers = None if by_score else self.queries.send(self._answers, rows)
        self.meaning = interpret(answers, labels, pos_label, decision_threshold, classes=self.classes, unit=self.unit)
        for text in self.meaning.warnings:
            self._warn(text)
        truth = None if y is None else self.meaning.truth(y)
        scores = "score", self._scores
        self.score_question = scores if self.meaning.task == "scores" else None
        self.decision_question = ("label", self._labels) if self.meaning.kind == "labels" else scores
        if answers is None:
            values = self.queries.answers(*self.decision_question, rows)
        else:
            values = self.meaning.values(answers)
            self.queries.store(self.decision_question[0], values, rows)
        check_size(values, "model")
        if said := self.meaning.of_one_kind(values):
            self._warn(said)
        with case_errors(after=" (rows sent again, in other batches)"):
            changed = self.queries.repeat(*self.decision_question, rows)
        if changed:
            found = f"{percent(changed)} of {self.queries.n_repeated} rows otherwise: it is not deterministic"
            self._warn(f"Queried again in other batches, the model answers {found}, or goes by the rest of a batch.")
        return truth

    def _scores(self, rows) -> np.ndarray:
        with self._asking(rows):
            is_own = self.meaning.has_own_scores
            answers = self._call(self.scorer, rows, self.meaning.label) if is_own else self._answers(rows)
            return self.meaning.scores(answers)

    def _labels(self, rows) -> np.ndarray:
        return self.meaning.values(self._answers(rows))

    def _answers(self, rows) -> np.ndarray:
        """Return what the model answers: one value a row, or columns; none missing."""
        with self._asking(rows):
            answers = self._call(self.answer, rows)
        if _are_plain(answers, len(rows)):
            return answers
        if hasattr(answers, "tocsr") or isinstance(getattr(answers, "dtype", None), pd.SparseDtype):
            raise CaseError(
                "model: expected dense answers, found sparse ones; np.asarray or .toarray() makes them dense"
            )
        shape: Any = getattr(answers, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            return _columns(answers, rows.index)
        answers = _aligned(answers, rows.index).infer_objects()  # numbers in an array of objects are numbers
        if answers.isna().any():
            bad = int(answers.isna().sum())
            raise CaseError(f"model: {bad} of {len(answers)} answers are missing, expected one for each row")
        if pd.api.types.is_numeric_dtype(answers.dtype):
            answers = answers.to_numpy(dtype=getattr(answers.dtype, "numpy_dtype", answers.dtype))
            if answers.dtype.kind == "c" or not np.isfinite(answers.astype(float)).all():
                raise CaseError("model: answers infinite or complex numbers, expected finite ones")
            return answers
        check_values(answers, "model")
        return answers.to_numpy(dtype=object)

    def _call(self, function: Callable, rows, *more):
        """Call the model with a copy of the rows, so that changes in place have no effect.

        Features come in the order in which the model was fitted: not every library looks at names.
        """
        if isinstance(rows, pd.DataFrame):
            if self.columns is not None and len(self.columns) == rows.shape[1] and {*self.columns} == {*rows}:
                rows = rows[list(self.columns)]
            rows = rows.assign(**{name: back(rows[name]) for name, back in self.originals.items() if name in rows})
        elif isinstance(rows, np.ndarray):
            rows = rows.copy()
        return function(_as_array(rows) if self.takes_array else rows, *more)

    @contextmanager
    def _asking(self, rows):
        """Turn any error inside the block into one that names the model and the rows."""
        try:
            yield
        except CaseError:
            raise
        except (Exception, SystemExit) as error:  # SystemExit would set the exit status
            which, kind = "the rows of the table", CaseError
            if self.queries.n_for_case:  # the case is made
                kind = ModelFailedError
                first = rows.iloc[0] if isinstance(rows, pd.DataFrame) else rows[0]
                row = few([f"{name} {value}" for name, value in pd.Series(first).items()])
                which = f"rows that a method made, or asks more about, such as {row}"
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise kind(f"model: fails on {which}: {reason}") from error

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        warnings.warn(text, stacklevel=4)


def wrap_model(model: Any) -> ModelAdapter:
    """Return the adapter of a model.

    Parameters
    ----------
    model : object with ``predict`` or ``predict_proba``, Keras model, `Network`, PyTorch module, or callable
        A callable takes a table, or a matrix, as does a `CommandModel`.

    Raises
    ------
    TypeError
        If it is none of these.

    Examples
    --------
    >>> from fairlab.cases import wrap_model
    >>> wrap_model(lambda rows: rows["age"] > 40).predict(pd.DataFrame({"age": [30, 50]})).tolist()
    [False, True]
    """
    if isinstance(model, ModelAdapter):
        adapter = copy(model)  # two cases have their own queries and meaning
        adapter.queries, adapter.warnings, adapter.originals = Queries(), [], {}
        return adapter
    torch = sys.modules.get("torch")  # without importing it
    if torch is not None and isinstance(model, torch.nn.Module):
        return _of_network(_imported("..models.torch_network").TorchNetwork(model))
    if hasattr(model, "log_odds_gradient") and hasattr(model, "n_classes"):  # a `fairlab.networks.Network`
        return _of_network(model)
    if is_keras(model):
        return _of_keras(model)
    if not isinstance(model, type) and (hasattr(model, "predict") or hasattr(model, "predict_proba")):
        return _of_estimator(model)
    if callable(model) and not isinstance(model, type):
        return ModelAdapter(getattr(model, "__name__", type(model).__name__), answer=model)
    expected = "an object with .predict or .predict_proba, a Keras or PyTorch network, or a function of a DataFrame"
    hint = "; a program comes in as fairlab.models.CommandModel([...])" if isinstance(model, str | list | tuple) else ""
    found = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
    raise TypeError(f"model: expected {expected}, found {found}{hint}")


def is_keras(model) -> bool:
    """Return whether `model` is a Keras model, without importing Keras."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def as_matrix(rows: pd.DataFrame, n_features: int) -> np.ndarray:
    """Return rows of numbers and booleans as a network takes them, in float32.

    Raises
    ------
    ValueError
        If there are other columns than the network takes, a column is not numeric, or a value is missing.
    """
    if not isinstance(rows, pd.DataFrame):
        return np.asarray(rows, dtype=np.float32)
    if rows.shape[1] != n_features:
        found = ", ".join(rows.columns)
        raise ValueError(f"features: the network takes {n_features} columns, found {rows.shape[1]}: {found}")
    for name, dtype in rows.dtypes.items():
        if not pd.api.types.is_numeric_dtype(dtype):
            advice = "put its encoding and the network into a function of a DataFrame"
            raise ValueError(f"model: a network takes numbers, column {name!r} has type {dtype}; {advice}")
        if rows[name].isna().any():
            raise ValueError(f"model: a network takes no missing values, column {name!r} has some")
    with np.errstate(over="ignore"):
        return rows.to_numpy(dtype=np.float64).astype(np.float32)


def _of_keras(model) -> ModelAdapter:
    inputs = getattr(model, "inputs", None)
    if inputs is not None and len(inputs) > 1:
        raise TypeError(f"model: expected a Keras model with one input, found {len(inputs)}; wrap it in a function")
    try:
        return _of_network(_imported("..networks").Network(model))
    except (AttributeError, ValueError):
        # No final softmax or sigmoid, nested layers, or a custom class: the model is queried as it is.
        shape = getattr(model, "input_shape", None)
        answer = partial(_answers_of_keras, model, shape[-1] if isinstance(shape, tuple) else None)
        return ModelAdapter(type(model).__name__, answer=answer)


def _answers_of_keras(model, n_features: int | None, rows):
    return model.predict(as_matrix(rows, n_features or rows.shape[1]), verbose=0)


def _imported(name: str):
    """Import a module that only networks need; without a statement, or trials of other models would depend on it."""
    return import_module(name, __package__)


def _of_network(network) -> ModelAdapter:
    return ModelAdapter(
        type(getattr(network, "model", network)).__name__,
        answer=partial(_best, network) if network.n_classes > 2 else None,
        scorer=partial(_log_odds, network),
        unit="log odds",
        classes=tuple(range(network.n_classes)),
        gradient=network.log_odds_gradient,
    )


# Functions of a model, at module level so that they can be pickled with a report.


def _best(network, rows):
    return network.logits(as_matrix(rows, network.n_features)).argmax(axis=1)


def _log_odds(network, rows, label):
    return network.log_odds(as_matrix(rows, network.n_features), label)


def _probability(model, n_classes, rows, label):
    return _shaped(model.predict_proba(rows), (len(rows), n_classes), "predict_proba")[:, label]


def _decision_function(model, rows, label):
    values = _shaped(model.decision_function(rows), (len(rows),), "decision_function")
    return values if label == 1 else -values


def _of_estimator(model) -> ModelAdapter:
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list) and any(np.ndim(each) for each in classes):
        raise TypeError("model: expected one output, found several; hand them in one by one")
    if classes is not None:
        classes = tuple(np.asarray(classes).tolist())
    columns = _fitted_names(model) or None
    score = unit = None
    if hasattr(model, "predict_proba"):
        score, unit = partial(_probability, model, 2 if classes is None else len(classes)), "probability"
    elif hasattr(model, "decision_function") and classes is not None and len(classes) == 2:
        score, unit = partial(_decision_function, model), "score"
    return ModelAdapter(
        type(model).__name__,
        answer=getattr(model, "predict", None),
        scorer=score,
        unit=unit,
        classes=classes,
        columns=columns,
        takes_array=columns is None and hasattr(model, "n_features_in_"),
    )


def _fitted_names(model) -> tuple[str, ...]:
    """Return the columns that an estimator, or one inside it, was fitted to; none if they are not recorded."""
    for attribute, made_up in FITTED.items():
        if (names := _attribute(model, attribute)) is not None:
            names = tuple(map(str, names))
            return () if all(re.fullmatch(made_up, name) for name in names) else names
    parts = [_attribute(model, attribute) for attribute in INNER]
    parts = [part[0] if isinstance(part, list) and part else part for part in parts]
    parts = [part[-1] if isinstance(part, tuple) else part for part in parts]  # a name, and the step
    return next((names for part in parts if part is not None and (names := _fitted_names(part))), ())


def _attribute(model, name: str):
    """Return an attribute; None if the estimator has none, as before it is fitted."""
    with suppress(Exception):
        return getattr(model, name)
    return None


def _as_array(rows) -> np.ndarray:
    if not isinstance(rows, pd.DataFrame):
        return np.asarray(rows)
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in rows.dtypes):
        return rows.to_numpy(dtype=float, na_value=np.nan)
    return rows.to_numpy()


def _shaped(values, shape: tuple[int, ...], what: str) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.shape != shape:
        raise ValueError(f"model: {what} returned shape {values.shape}, expected {shape}")
    return values


def _aligned(answers, index: pd.Index) -> pd.Series:
    with case_errors(after=" (answers of the model)"):
        return align(answers, index, "model")


def _are_plain(answers, n_rows: int) -> bool:
    """Return whether answers are an array of one finite number or boolean a row, as most are."""
    is_array = type(answers) is np.ndarray and answers.shape == (n_rows,) and answers.dtype.kind in "biuf"
    return is_array and bool(np.isfinite(answers).all())


def _columns(answers, index: pd.Index) -> pd.DataFrame:
    """Return several finite numbers a row, with the names of their columns: 0, 1, ... of an array."""
    order = np.arange(len(answers))
    if hasattr(answers, "columns"):
        answers = answers if isinstance(answers, pd.DataFrame) else from_other_library(answers)
        order = pd.Series(order, answers.index)
    order = _aligned(order, index).to_numpy()
    try:
        columns = pd.DataFrame(answers if isinstance(answers, pd.DataFrame) else np.asarray(answers)).astype(float)
    except (TypeError, ValueError):
        raise CaseError("model: returned several columns that are no numbers, expected one answer a row") from None
    finite(columns.to_numpy())
    return columns.iloc[order].set_axis(index)
