"""How many flips a map's own error causes (FlipTest, section 5.1): two groups that do not differ, and a jagged model.

The features that the model sees have the same distribution in both groups, so that a perfect map changes nobody's
outcome. Other features tell the groups apart, so that there is something for the map to learn.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

# Difference of the groups' means in each feature that tells them apart, in standard deviations.
SHIFT = 1.0
BLOCK = 200  # rows whose kernels are taken at once


def identical_groups(rng, n_points: int, *, n_seen: int, n_telling: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two groups with equal distributions of the features that a model sees.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_points : int
        Of each group.
    n_seen : int
        Standard normal features, the first columns.
    n_telling : int
        Features that tell the groups apart: normal, unit variance, mean 0 in the source and `SHIFT` in the target.

    Returns
    -------
    source, target : array of shape (n_points, n_seen + n_telling)
    """
    source, target = rng.normal(size=(2, n_points, n_seen + n_telling))
    target[:, n_seen:] += SHIFT
    return source, target


def random_label_svm(X, rng, *, n_seen: int, C: float = 1.0, gamma="scale") -> Pipeline:
    """Fit a support vector machine with RBF kernel to a coin toss for each row.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    rng : numpy.random.Generator
        Of the tosses.
    n_seen : int
        The model sees that many columns, the first ones.
    C : float
        Price of a label that is not reproduced; the higher, the more jagged the model.
    gamma : float or "scale"
        Inverse square of the kernel's width, up to a factor; "scale" as in scikit-learn.

    Returns
    -------
    Pipeline
        Its ``predict`` takes tables such as `X`.
    """
    seen = ColumnTransformer([("seen", "passthrough", slice(n_seen))])
    return make_pipeline(seen, GaussianSVC(C=C, gamma=gamma)).fit(X, rng.integers(2, size=len(X)))


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
