"""Support vector machine that looks at nearby support vectors only: the same decisions, orders of magnitude faster."""

import numpy as np
from scipy.spatial import KDTree
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import estimator_features
from fairlab.models.binary import BinaryClassifier, two_classes

_NEGLIGIBLE = 1e-6  # of the decision function
_KERNEL_CACHE = 1000  # MB; holds the whole kernel of 15,000 rows, without which a fit takes twenty times as long


class NearbySVC(BinaryClassifier):
    """SVC with a Gaussian kernel of one width for all features, evaluated with a search tree.

    Support vectors that together change the decision function by less than 1e-6 are left out, so decisions are those
    of scikit-learn's SVC unless the function is as near to zero. On inputs unlike the training data most have no
    support vector nearby at all.

    Parameters
    ----------
    C : float
    gamma : {"auto", "scale"} or float
        "auto" is 1 / n_features, the default when Themis was written.

    Attributes
    ----------
    svc_ : SVC
    radius_ : float
        Distance beyond which support vectors are left out.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from fairlab.models import NearbySVC
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> NearbySVC().fit(X, [0, 0, 1, 1]).predict(X).tolist()
    [0, 0, 1, 1]
    """

    def __init__(self, C=1.0, *, gamma="auto"):
        self.C = C
        self.gamma = gamma

    def fit(self, X, y) -> "NearbySVC":
        """Fit scikit-learn's SVC to two classes."""
        values = estimator_features(self, X, fitting=True, min_rows=2)
        labels, self.classes_ = two_classes(y, len(values))
        self.svc_ = SVC(C=self.C, gamma=self.gamma, cache_size=_KERNEL_CACHE).fit(values, labels)
        self._width = self.svc_._gamma
        self._weights = self.svc_.dual_coef_[0]
        self.radius_ = float(np.sqrt(np.log(max(2.0, np.abs(self._weights).sum()) / _NEGLIGIBLE) / self._width))
        self._tree = KDTree(self.svc_.support_vectors_)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return the decision function, shape (n_rows,)."""
        check_is_fitted(self)
        values = estimator_features(self, X, fitting=False)
        pairs = KDTree(values).sparse_distance_matrix(self._tree, self.radius_, output_type="ndarray")
        parts = self._weights[pairs["j"]] * np.exp(-self._width * pairs["v"] ** 2)
        return self.svc_.intercept_[0] + np.bincount(pairs["i"], parts, minlength=len(values))
