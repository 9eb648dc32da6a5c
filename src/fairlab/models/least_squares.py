"""Linear regression on labels, cut at a threshold: Themis' system G."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted


class LeastSquaresClassifier(ClassifierMixin, BaseEstimator):
    """Least squares on labels 0 and 1; positive above a threshold.

    Parameters
    ----------
    threshold : float
        The natural one is 0.5. Themis' "logistic regression" cuts at 0, so that hardly any input is negative.

    Attributes
    ----------
    regression_ : LinearRegression
    classes_ : ndarray of shape (2,)
        0 and 1.
    """

    def __init__(self, threshold=0.5):
        self.threshold = threshold

    def fit(self, X, y) -> "LeastSquaresClassifier":
        """Fit the regression to labels 0 and 1."""
        if not np.isin(y, (0, 1)).all():
            raise ValueError(f"y: expected labels 0 and 1, found {np.unique(y)[:5].tolist()}")
        self.regression_ = LinearRegression().fit(X, y)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X) -> np.ndarray:
        """Return 1 where the regression exceeds the threshold, else 0, shape (n_rows,)."""
        check_is_fitted(self)
        return (self.regression_.predict(X) > self.threshold).astype(int)
