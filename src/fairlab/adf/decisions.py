"""What a model decides about rows: one class each, or a score held against a threshold, and never one for the other."""

import numpy as np
import pandas as pd

from fairlab.checks import check_number
from fairlab.models.protocol import as_classifier, is_keras
from fairlab.networks import Network


def as_classes(model, *, threshold: float | None = None):
    """Return a function from rows to one class each; what is no class is refused.

    Whether two answers are the same class is asked by equality, which scores and probabilities do not stand.

    Parameters
    ----------
    model : Keras model, Network, object with ``predict``, or callable
        With a threshold, see `as_scores`.
    threshold : float or None
        The class is then whether the score is at least this.

    Raises
    ------
    TypeError, ValueError
        If the model cannot be called, or the threshold is no number. The function raises a ValueError for answers that
        are missing, infinite, fractions, or not one per row.
    """
    if threshold is not None:
        score, threshold = as_scores(model), check_number(threshold, "threshold")
        return lambda X: score(X) >= threshold
    classify = as_classifier(model)
    return lambda X: check_classes(classify(X))


def as_scores(model, name: str = "model"):
    """Return a function from rows to one score each, in float.

    Parameters
    ----------
    model : Keras model or Network of two classes, object with ``predict_proba`` or ``predict``, or callable
        Of two probabilities, the second is the score.
    name : str
        What to call it in an error.

    Raises
    ------
    TypeError
        If the model cannot be called. The function raises a ValueError for answers that are missing, infinite, no
        numbers, or not one per row.
    """
    if is_keras(model):
        model = Network(model)
    probabilities = getattr(model, "probabilities", getattr(model, "predict_proba", None))
    call = probabilities or getattr(model, "predict", model)
    if not callable(call):
        raise TypeError(f"{name}: expected a function or an object with .predict_proba, found {type(model).__name__}")

    def scores(X) -> np.ndarray:
        answer = np.asarray(call(X))
        if probabilities and answer.shape == (len(X), 2):
            answer = answer[:, 1]
        answer = answer.reshape(len(X)) if answer.shape == (len(X), 1) else answer
        if answer.shape != (len(X),):
            raise ValueError(f"model: returned shape {answer.shape} for {len(X)} rows, expected one score per row")
        if answer.dtype.kind not in "biuf":
            raise ValueError(f"model: returned {answer.dtype}, expected numbers as scores")
        if not np.isfinite(answer).all():
            odd = answer[~np.isfinite(answer)]
            raise ValueError(f"model: returned {odd[0]} for {len(odd)} of {len(X)} rows, expected finite scores")
        return answer.astype(float)

    return scores


def check_classes(answer: np.ndarray) -> np.ndarray:
    """Return answers that are classes as they are.

    Raises
    ------
    ValueError
        If one is missing, infinite or a fraction.
    """
    if answer.dtype.kind in "biuUS":
        return answer
    if (missing := pd.isna(answer)).any():
        raise ValueError(
            f"model: returned no class for {int(missing.sum())} of {len(answer)} rows: {answer[missing][0]}"
        )
    numbers = pd.Series(answer).infer_objects().to_numpy()
    if numbers.dtype.kind in "fc":
        whole = np.isfinite(numbers) & (numbers == np.round(numbers))
        if not whole.all():
            raise ValueError(
                f"model: returned {numbers[~whole][0]!r}, expected one class per row; scores and probabilities need a "
                "threshold"
            )
    return answer
