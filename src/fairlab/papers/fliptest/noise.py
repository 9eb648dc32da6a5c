"""The jagged model that shows how many flips are due to a map's own error (FlipTest, section 5.1)."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

BLOCK = 200  # rows whose kernels are computed at once


class GaussianSVC(SVC):
    """Two-class SVC with a Gaussian kernel that predicts by matrix products, several times faster than row by row.

    Coin tosses make nearly every row a support vector.
    """

    def predict(self, X) -> np.ndarray:
        """Return the class of each row."""
        blocks = np.array_split(X, max(len(X) // BLOCK, 1))
        kernels = (rbf_kernel(rows, self.support_vectors_, gamma=self._gamma) for rows in blocks)
        decision = np.concatenate([kernel @ self.dual_coef_[0] for kernel in kernels]) + self.intercept_[0]
        return self.classes_[(decision > 0).astype(int)]
