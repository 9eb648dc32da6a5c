"""Equal-rates linear classifier of Zafar et al. 2017: logistic regression under a bound on unfairness."""

import numpy as np
import pandas as pd
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_count, check_number, estimator_features
from fairlab.models.binary import BinaryClassifier, two_classes

# Covariances below this, with features in standard deviations, are rounding errors.
_ROUNDING = 1e-12


class EqualRatesLogistic(BinaryClassifier):
    r"""Logistic regression whose decisions hardly covary with a sensitive group.

    .. math::

        \min_{w, b} \frac1n \sum_i \log(1 + e^{-(2 y_i - 1) d(x_i)})
        \quad\text{subject to}\quad
        \Bigl| \frac1n \sum_i (z_i - \bar z)\, d(x_i) \Bigr| \le c,
        \qquad d(x) = w \cdot x + b

    with z the group as 0 or 1. A small covariance of the group with the signed distance d(x) stands in for equal
    rates of positive decisions, which are not convex in w; it does not make the rates equal.

    The covariance is linear in w, so the problem is solved exactly. If the unconstrained optimum exceeds the bound,
    the optimum lies where the covariance equals the bound, with the same sign. That equation is eliminated, and
    Newton's method with a trust region finds the minimum in what is left.

    Parameters
    ----------
    covariance_bound : float
        c, zero or more; in units of d(x). Infinity gives plain logistic regression.
    max_iter : int
        Most Newton steps.
    tol : float
        Largest norm of the gradient of the mean loss, features in standard deviations, that counts as an optimum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w, for the features as given.
    intercept_ : float
        b.
    covariance_ : float
        Covariance reached; positive when decisions favour ``groups_[1]``.
    n_iter_ : int
        Newton steps to the optimum.
    groups_ : ndarray of shape (2,)
        Values of the sensitive feature: z = 0 and z = 1.
    classes_ : ndarray of shape (2,)
        The labels that count as 0 and 1.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi. Fairness Constraints: Mechanisms for Fair Classification. AISTATS 2017.

    Examples
    --------
    >>> from fairlab.models import EqualRatesLogistic
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(200, 2)), np.tile([0, 1], 100)
    >>> X[:, 0] += sex
    >>> model = EqualRatesLogistic(0.0).fit(X, X.sum(axis=1) > 0.5, sensitive_features=sex)
    >>> model.predict(X).shape
    (200,)
    """

    def __init__(self, covariance_bound=0.0, *, max_iter=200, tol=1e-8):
        self.covariance_bound = covariance_bound
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X, y, *, sensitive_features) -> "EqualRatesLogistic":
        """Learn the weights.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
            Features of the decision. The sensitive feature is among them only if the caller puts it there.
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : array-like of shape (n_rows,), or DataFrame with one column
            Group of each row; two values.

        Raises
        ------
        ValueError
            For a negative bound, one class or group only, missing values, constant columns, or unequal numbers of
            rows.
        RuntimeError
            If a hyperplane separates the classes, so that the loss has no minimum, or the minimum is not found.
        """
        check_number(self.covariance_bound, "covariance_bound", least=0, infinite=True)
        check_count(self.max_iter, "max_iter")
        check_number(self.tol, "tol", above=0)
        values = estimator_features(self, X, fitting=True, min_rows=2, varying=True)
        labels, self.classes_ = two_classes(y, len(values))
        group, self.groups_ = _two_groups(sensitive_features, len(values))

        mean, std = values.mean(axis=0), values.std(axis=0)
        design = np.column_stack([(values - mean) / std, np.ones(len(values))])
        covariance = (group - group.mean()) @ design / len(group)
        weights = self._minimise(design, labels, covariance)

        self.coef_ = weights[:-1] / std
        self.intercept_ = float(weights[-1] - self.coef_ @ mean)
        self.covariance_ = float(covariance @ weights)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return the signed distance d(x), in units of the weights, shape (n_rows,)."""
        check_is_fitted(self)
        return estimator_features(self, X, fitting=False) @ self.coef_ + self.intercept_

    def _minimise(self, design, labels, covariance) -> np.ndarray:
        target = 0.0
        # At bound zero the unconstrained optimum is of no use, and may not exist where the constrained one does.
        if self.covariance_bound > 0 or np.abs(covariance).max() < _ROUNDING:
            weights = self._newton(design, labels, np.zeros(len(covariance)), np.eye(len(covariance)))
            reached = covariance @ weights
            if abs(reached) <= self.covariance_bound + _ROUNDING:
                return weights
            target = np.sign(reached) * self.covariance_bound
        on_bound = covariance * target / (covariance @ covariance)
        return self._newton(design, labels, on_bound, null_space(covariance[None, :]))

    def _newton(self, design, labels, origin, directions) -> np.ndarray:
        """Minimise the mean loss over the weights ``origin + directions @ v``."""
        offset, reduced, sign = design @ origin, design @ directions, 2 * labels - 1

        def loss(v):
            return np.logaddexp(0, -sign * (offset + reduced @ v)).mean()

        def gradient(v):
            return reduced.T @ (expit(offset + reduced @ v) - labels) / len(labels)

        def hessian(v):
            p = expit(offset + reduced @ v)
            return reduced.T @ (reduced * (p * (1 - p))[:, None]) / len(labels)

        options = {"gtol": self.tol, "maxiter": self.max_iter}
        start = np.zeros(reduced.shape[1])
        result = minimize(loss, start, method="trust-exact", jac=gradient, hess=hessian, options=options)
        if (sign * (offset + reduced @ result.x) > 0).all():
            raise RuntimeError("a hyperplane separates the classes, so no finite weights minimise the loss")
        if not result.success:
            raise RuntimeError(f"no optimum after {result.nit} steps: {result.message}")
        self.n_iter_ = int(result.nit)
        return origin + directions @ result.x


def _two_groups(column, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes 0 and 1 of a sensitive feature with two values, and the values."""
    column = np.asarray(column)
    if column.ndim != 1 and column.shape[1:] != (1,):
        raise ValueError(f"sensitive_features: expected one column, found shape {column.shape}")
    column = pd.Series(column.ravel())
    if len(column) != n_rows:
        raise ValueError(f"sensitive_features has {len(column)} rows, X has {n_rows}")
    if column.isna().any():
        raise ValueError(f"sensitive_features: {int(column.isna().sum())} values are missing")
    codes, values = pd.factorize(column, sort=True)
    if len(values) != 2:
        found = ", ".join(map(str, values[:5])) + (", ..." if len(values) > 5 else "")
        raise ValueError(f"sensitive_features: expected two values, found {len(values)}: {found}")
    return codes, np.asarray(values)
