"""Linear regression on labels, cut at a threshold: Themis' system G."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_number, estimator_features
from fairlab.models.binary import BinaryClassifier, two_classes


class LeastSquaresClassifier(BinaryClassifier):
    """Least squares on labels that count as 0 and 1; the second above a threshold.

    Parameters
    ----------
    threshold : float
        The natural one is 0.5. Themis' "logistic regression" cuts at 0, so that hardly any input is negative.

    Attributes
    ----------
    regression_ : LinearRegression
    classes_ : ndarray of shape (2,)
        The labels that count as 0 and 1.

    Examples
    --------
    >>> from fairlab.models import LeastSquaresClassifier
    >>> LeastSquaresClassifier().fit(np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]).predict(
    ...     [[0.2], [2.8]]
    ... ).tolist()
    [0, 1]
    """

    def __init__(self, threshold=0.5):
        self.threshold = threshold

    def fit(self, X, y) -> "LeastSquaresClassifier":
        """Fit the regression to the labels of two classes."""
        check_number(self.threshold, "threshold")
        values = estimator_features(self, X, fitting=True, min_rows=2)
        labels, self.classes_ = two_classes(y, len(values))
        self.regression_ = LinearRegression().fit(values, labels)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return by how much the regression exceeds the threshold, shape (n_rows,)."""
        check_is_fitted(self)
        values = estimator_features(self, X, fitting=False)
        return values @ self.regression_.coef_ + self.regression_.intercept_ - self.threshold
