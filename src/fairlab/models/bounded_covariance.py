"""Logistic regression of Zafar et al. 2017 for groups of any number, as Themis' system A has it."""

import numpy as np
import pandas as pd
from scipy.optimize import LinearConstraint, minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_count, check_features, check_number, estimator_features
from fairlab.models.binary import BinaryClassifier, two_classes


class BoundedCovarianceLogistic(BinaryClassifier):
    r"""Logistic regression whose decisions hardly covary with membership in any of several groups.

    Minimises the mean logistic loss subject to :math:`|\\operatorname{cov}(z_g, w \\cdot x)| \\le c` for the indicator
    :math:`z_g` of every group. Without an intercept the boundary goes through the origin, as in Themis' system A, and
    the solution depends on where the codes start. For two groups, with an intercept, see
    `fairlab.models.zafar.EqualRatesLogistic`.

    Parameters
    ----------
    covariance_bound : float
        c, zero or more, in units of w.x.
    fit_intercept : bool
    max_iter : int

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    covariance_ : dict
        Covariance reached, by group.
    n_iter_ : int
        Steps of the optimiser.
    classes_ : ndarray of shape (2,)
        The labels that count as 0 and 1.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi. Fairness Constraints: Mechanisms for Fair Classification. AISTATS 2017.

    Examples
    --------
    >>> from fairlab.models import BoundedCovarianceLogistic
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(200, 2)), np.tile([0, 1], 100)
    >>> X[:, 0] += sex
    >>> model = BoundedCovarianceLogistic(0.0).fit(X, X.sum(axis=1) > 0.5, sensitive_features=sex)
    >>> model.predict(X).shape
    (200,)
    """

    def __init__(self, covariance_bound=0.0, *, fit_intercept=True, max_iter=1000):
        self.covariance_bound = covariance_bound
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    def fit(self, X, y, *, sensitive_features) -> "BoundedCovarianceLogistic":
        """Learn the weights.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : array-like of shape (n_rows,)
            Group of each row.

        Raises
        ------
        ValueError
            For a negative bound, labels of other than two classes, a column of zeros, or groups of another length.
        RuntimeError
            If the minimum is not found.
        """
        check_number(self.covariance_bound, "covariance_bound", least=0, infinite=True)
        check_count(self.max_iter, "max_iter")
        values = estimator_features(self, X, fitting=True, min_rows=2)
        labels, self.classes_ = two_classes(y, len(values))
        groups = pd.Series(np.asarray(sensitive_features))
        if len(groups) != len(values):
            raise ValueError(f"sensitive_features has {len(groups)} rows, X has {len(values)}")
        scale = np.sqrt((values**2).mean(axis=0))
        if not scale.all():
            name = check_features(X)[1][int(scale.argmin())]
            raise ValueError(f"X: column {name!r} holds zeros only")
        design = values / scale  # for the optimiser; the solution is the same
        if self.fit_intercept:
            design = np.column_stack([design, np.ones(len(design))])
        members = pd.get_dummies(groups).astype(float)
        covariances = (members - members.mean()).to_numpy().T @ design / len(design)

        # The last group's indicator follows from the others', so its equation would make the system singular.
        bounded = covariances[:-1] if self.covariance_bound == 0 else covariances
        result = minimize(
            lambda w: np.logaddexp(0, -(2 * labels - 1) * (design @ w)).mean(),
            np.zeros(design.shape[1]),
            jac=lambda w: design.T @ (expit(design @ w) - labels) / len(labels),
            method="SLSQP",
            constraints=LinearConstraint(bounded, -self.covariance_bound, self.covariance_bound),
            options={"maxiter": self.max_iter, "ftol": 1e-12},
        )
        if not result.success:
            raise RuntimeError(f"no optimum after {result.nit} steps: {result.message}")
        self.coef_ = result.x[: values.shape[1]] / scale
        self.intercept_ = float(result.x[-1]) if self.fit_intercept else 0.0
        self.n_iter_ = int(result.nit)
        self.covariance_ = dict(zip(members.columns.tolist(), (covariances @ result.x).tolist(), strict=True))
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return w.x plus the intercept, shape (n_rows,)."""
        check_is_fitted(self)
        return estimator_features(self, X, fitting=False) @ self.coef_ + self.intercept_
