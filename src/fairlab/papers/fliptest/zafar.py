"""Equal-rates linear classifier of Zafar et al. 2017, which Lipton et al. train on hiring (section 5.3)."""

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import expit

# Covariances below this, with features in standard deviations, are rounding errors.
_ROUNDING = 1e-12


class EqualRatesLogistic:
    r"""Logistic regression with a bound on the covariance between decisions and membership in one of two groups.

    .. math::

        \min_{w, b} \frac1n \sum_i \log(1 + e^{-(2 y_i - 1) d(x_i)})
        \quad\text{subject to}\quad
        \Bigl| \frac1n \sum_i (z_i - \bar z)\, d(x_i) \Bigr| \le c,
        \qquad d(x) = w \cdot x + b

    The covariance is linear in w, so the problem is solved exactly. If the unconstrained optimum exceeds the bound c,
    the optimum lies where the covariance equals it, with the same sign. That equation is eliminated, and Newton's
    method with a trust region finds the minimum over the remaining dimensions.
    """

    def __init__(self, covariance_bound: float = 0.0):
        self.covariance_bound = covariance_bound

    def fit(self, X, y, *, sensitive_features) -> "EqualRatesLogistic":
        """Learn the weights for labels 0 and 1; raise a RuntimeError if the loss has no minimum or it is not found.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y, sensitive_features : array-like of shape (n_rows,)
            Zeros and ones; two groups.
        """
        values, labels = np.asarray(X, dtype=float), np.asarray(y).astype(int)
        self.groups_, group = np.unique(sensitive_features, return_inverse=True)
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
        return np.asarray(X, dtype=float) @ self.coef_ + self.intercept_

    def predict(self, X) -> np.ndarray:
        """Return 1 where the distance is positive, else 0."""
        return (self.decision_function(X) > 0).astype(int)

    def _minimise(self, design, labels, covariance) -> np.ndarray:
        target = 0.0
        # At bound zero the unconstrained optimum is not needed, and may not exist although the constrained one does.
        if self.covariance_bound > 0 or np.abs(covariance).max() < _ROUNDING:
            weights = _newton(design, labels, np.zeros(len(covariance)), np.eye(len(covariance)))
            reached = covariance @ weights
            if abs(reached) <= self.covariance_bound + _ROUNDING:
                return weights
            target = np.sign(reached) * self.covariance_bound
        on_bound = covariance * target / (covariance @ covariance)
        return _newton(design, labels, on_bound, null_space(covariance[None, :]))


def _newton(design, labels, origin, directions) -> np.ndarray:
    """Minimise the mean loss over the weights ``origin + directions @ v``."""
    offset, reduced, sign = design @ origin, design @ directions, 2 * labels - 1

    def loss(v):
        return np.logaddexp(0, -sign * (offset + reduced @ v)).mean()

    def gradient(v):
        return reduced.T @ (expit(offset + reduced @ v) - labels) / len(labels)

    def hessian(v):
        p = expit(offset + reduced @ v)
        return reduced.T @ (reduced * (p * (1 - p))[:, None]) / len(labels)

    options = {"gtol": 1e-8, "maxiter": 200}
    start = np.zeros(reduced.shape[1])
    result = minimize(loss, start, method="trust-exact", jac=gradient, hess=hessian, options=options)
    if (sign * (offset + reduced @ result.x) > 0).all():
        raise RuntimeError("a hyperplane separates the classes, so no finite weights minimise the loss")
    if not result.success:
        raise RuntimeError(f"no optimum after {result.nit} steps: {result.message}")
    return origin + directions @ result.x
