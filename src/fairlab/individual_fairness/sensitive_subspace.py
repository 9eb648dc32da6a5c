"""Sensitive directions learned from data: those along which protected attributes show in the features (F.2)."""

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairlab.checks import check_features

SOLVERS = ("published", "converged", "liblinear")
_MOST_ITERATIONS = 100
_GRADIENT_TOLERANCE = 1e-4


def sensitive_directions(X, sensitive_features, *, solver: str = "published") -> np.ndarray:
    """Return directions that span the sensitive subspace.

    Each protected attribute is regressed on the features; its coefficients, without the intercept, are a direction.
    Attributes that are features themselves (columns of the same name) take part in no regression; their own axes are
    further directions.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
        Zeros and ones.
    solver : {"published", "converged", "liblinear"}
        How the logistic regressions, with penalty ``0.5 * ||w||^2`` beside the summed loss, are solved. ``published``
        stands behind the paper's numbers: L-BFGS from zero that stops at a gradient of 1e-4 or after 100 iterations,
        on Adult before it has converged. ``converged``: the minimum. ``liblinear``: penalises the intercept too;
        used in training SenSR on Adult.

    Returns
    -------
    ndarray of shape (n_directions, n_features)
        Coefficients as they are, not normalised.

    Raises
    ------
    ValueError
        For an unknown solver, unequal numbers of rows, or an attribute that is not zeros and ones, both present.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver: expected one of {', '.join(SOLVERS)}, found {solver!r}")
    values, names = check_features(X, "X", min_rows=2)
    attributes, attribute_names = check_features(sensitive_features, "sensitive_features", min_rows=2)
    if len(attributes) != len(values):
        raise ValueError(f"sensitive_features has {len(attributes)} rows, X has {len(values)}")
    are_named = isinstance(X, pd.DataFrame) and isinstance(sensitive_features, pd.DataFrame)
    inputs = [name for name in names if are_named and name in attribute_names]
    free = np.array([name not in inputs for name in names])
    rows = np.zeros((len(attribute_names), len(names)))
    for row, name, attribute in zip(rows, attribute_names, attributes.T, strict=True):
        if not np.array_equal(np.unique(attribute), (0, 1)):
            raise ValueError(
                f"sensitive_features: column {name!r} holds {np.unique(attribute)[:5].tolist()}, expected 0 and 1, "
                "both present"
            )
        row[free] = _coefficients(values[:, free], attribute, solver)
    return np.vstack([rows, np.eye(len(names))[~free]])


def _coefficients(X, attribute, solver):
    if solver == "published":
        return _stopped_early(X, attribute)
    options = {"solver": "liblinear"} if solver == "liblinear" else {"solver": "newton-cholesky", "tol": 1e-8}
    return LogisticRegression(**options).fit(X, attribute).coef_[0]


def _stopped_early(X, attribute):
    """Minimise the summed loss as scikit-learn did before it divided the loss by the number of rows."""
    design = np.column_stack([X, np.ones(len(X))])
    penalised = np.append(np.ones(X.shape[1]), 0.0)
    sign = 2 * attribute - 1

    def objective(weights):
        logit = design @ weights
        loss = np.logaddexp(0, -sign * logit).sum() + 0.5 * (penalised * weights) @ weights
        return loss, design.T @ (expit(logit) - attribute) + penalised * weights

    options = {"maxiter": _MOST_ITERATIONS, "gtol": _GRADIENT_TOLERANCE}
    result = minimize(objective, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return result.x[:-1]
