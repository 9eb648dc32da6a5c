"""Logistic models of the simulated people: the optimal intercept for given weights (Appendix E)."""

import numpy as np
from scipy.special import expit

from fairlab.checks import check_features

# Search range and tolerance of the intercepts.
_RANGE = 20.0
_TOLERANCE = 1e-7


def fitted_intercepts(coef, X, y) -> np.ndarray:
    """Return the intercept that minimises the logistic loss of each pair of weights (equation E.2).

    There the mean probability equals the share of ones. The intercepts of all models are found at once, by bisection.

    Parameters
    ----------
    coef : array-like of shape (n_models, n_features)
    X : DataFrame or array of shape (n_points, n_features)
    y : array-like of shape (n_points,)
        Labels 0 and 1, both present.

    Returns
    -------
    ndarray of shape (n_models,)
    """
    share = np.mean(y)
    if not 0 < share < 1:
        raise ValueError(f"y: every label is {share:.0f}, so that no finite intercept is best")
    logit = np.asarray(coef) @ check_features(X, "X")[0].T
    low, high = np.full((2, len(logit)), [[-_RANGE], [_RANGE]])
    while high[0] - low[0] > _TOLERANCE:  # all brackets shrink alike
        middle = (low + high) / 2
        too_low = expit(logit + middle[:, None]).mean(axis=1) < share
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return (low + high) / 2
