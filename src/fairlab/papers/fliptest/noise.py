"""The jagged model by which the flips that a map's own error causes are counted (FlipTest, section 5.1)."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

BLOCK = 200  # rows whose kernels are taken at once


class GaussianSVC(SVC):
    """SVC of two classes with a Gaussian kernel that decides by matrix products, several times faster than one by one.

    Coin tosses make nearly every row a support vector.
    """

    def predict(self, X) -> np.ndarray:
        """Return the class of each row."""
        blocks = np.array_split(X, max(len(X) // BLOCK, 1))
        kernels = (rbf_kernel(rows, self.support_vectors_, gamma=self._gamma) for rows in blocks)
        decision = np.concatenate([kernel @ self.dual_coef_[0] for kernel in kernels]) + self.intercept_[0]
        return self.classes_[(decision > 0).astype(int)]
