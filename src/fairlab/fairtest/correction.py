"""Corrections for testing many hypotheses at once (section 4.4)."""

import numpy as np

SMALLEST_P_VALUE = 1e-180  # as in the authors' code, where smaller ones are raised to it before correction


def holm(p_values) -> np.ndarray:
    """Return p-values corrected by Holm's step-down method, the ones below 1e-180 raised to that first.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)

    Notes
    -----
    Bit for bit what ``statsmodels.stats.multitest.multipletests(p_values, method="holm")`` returns. That function
    collects the garbage of the whole process in every call, which takes longer than a small investigation.
    """
    p_values = np.maximum(np.asarray(p_values, dtype=float), SMALLEST_P_VALUE)
    order = np.argsort(p_values)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)), 1)
    return corrected


def bonferroni_confidence(conf: float, n: int) -> float:
    """Return the confidence of each of `n` intervals that makes `conf` the confidence of all together."""
    return 1 - (1 - conf) / n
