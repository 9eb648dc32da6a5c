"""Corrections for testing many hypotheses at once (section 4.4)."""

import numpy as np

SMALLEST_P_VALUE = 1e-180  # as in the authors' code, where smaller ones are raised to it before correction


def holm(p_values, n_hypotheses: int | None = None) -> np.ndarray:
    """Return p-values corrected by Holm's step-down method.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
    n_hypotheses : int or None
        At least `n_tests`; the hypotheses that were not tested count as having p-value 1.
    """
    p_values = np.maximum(np.asarray(p_values, dtype=float), SMALLEST_P_VALUE)
    n = n_hypotheses or len(p_values)
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * (n - np.arange(len(p_values)))), 1)
    return corrected


def bonferroni_confidence(conf: float, n: int) -> float:
    """Return the confidence of each of `n` intervals that makes `conf` the confidence of all together."""
    return 1 - (1 - conf) / n
