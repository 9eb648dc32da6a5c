"""Common parts of all maps from one sample to another: columns, DataFrames in and out, available memory."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_count, check_features, check_same_columns, estimator_features, memory_left_gb

GIB = 2**30
STEPS_AT_ONCE = 64  # steps of a GAN whose rows are drawn at once


class TransportMap(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A map that is fitted to a source and a target sample; subclasses define `fit` and `_image`.

    A transformer of scikit-learn, but for `fit` and `fit_transform`, which take two samples of the same features
    instead of features and labels.
    """

    def transform(self, X):
        """Return the image of every row.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)

        Returns
        -------
        DataFrame or array of shape (n_rows, n_features)
            As `X`, unless `set_output` says otherwise: a DataFrame keeps its columns and index.

        Raises
        ------
        NotFittedError
            If the map is not fitted.
        ValueError
            If the features are invalid or not those of the fit.
        """
        check_is_fitted(self)
        image = self._image(estimator_features(self, X, fitting=False))
        return pd.DataFrame(image, index=X.index, columns=X.columns) if isinstance(X, pd.DataFrame) else image

    def _samples(self, X_source, X_target, *, min_rows: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return both samples as float arrays; remember their columns, which must be the same."""
        source = estimator_features(self, X_source, fitting=True, name="X_source", min_rows=min_rows)
        target, columns = check_features(X_target, "X_target", min_rows=min_rows)
        check_same_columns(check_features(X_source, "X_source")[1], columns, "X_source", "X_target")
        return source, target

    def _image(self, X: np.ndarray) -> np.ndarray:
        """Return the image of an array of floats."""
        raise NotImplementedError


class DivergenceError(RuntimeError):
    """Training ended with weights that are not finite.

    Examples
    --------
    >>> from fairlab.transport import DivergenceError
    >>> issubclass(DivergenceError, RuntimeError)
    True
    """


def marginal_distances(X_target, X_image) -> pd.Series:
    """Return the distance of a map's images from the target group, feature by feature.

    That is the two-sample Kolmogorov-Smirnov statistic of each marginal, 0 to 1, of table 1 of FlipTest (Black, Yeom
    and Fredrikson 2020). It is 0 for an exact map between groups of equal size; a map with 0 for every feature may
    still miss the joint distribution.

    Parameters
    ----------
    X_target, X_image : DataFrame or array of shape (n_rows, n_features)
        Members of the target group, and images of the others; the numbers of rows may differ.

    Returns
    -------
    Series
        By feature.

    Raises
    ------
    ValueError
        If the features are not numbers, or those of the two are not the same.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairlab.transport import marginal_distances
    >>> men = pd.DataFrame({"work": [1, 2, 3, 4], "hair": [1, 1, 2, 2]})
    >>> marginal_distances(men, men.assign(hair=[2, 2, 2, 2])).to_dict()
    {'work': 0.0, 'hair': 0.5}
    """
    target, names = check_features(X_target, "X_target")
    image, image_names = check_features(X_image, "X_image")
    check_same_columns(names, image_names, "X_target", "X_image")
    return pd.Series([ks_2samp(*pair).statistic for pair in zip(target.T, image.T, strict=True)], names, dtype=float)


def check_widths(layers, name: str) -> None:
    """Raise a ValueError unless a network's hidden layers are a sequence of widths.

    Parameters
    ----------
    layers : object
    name : str
        What to call them in an error.
    """
    if isinstance(layers, str) or not isinstance(layers, Iterable):
        raise ValueError(f"{name}: expected a sequence of widths, found {layers!r}")
    for width in layers:
        check_count(width, name)


def require_memory(n_bytes: int, what: str, *, advice: str) -> int:
    """Return the free memory in bytes; raise a MemoryError with advice if `n_bytes` exceed it.

    Parameters
    ----------
    n_bytes : int
    what : str
        Description of what needs them.
    advice : str
        What to do instead.
    """
    free = int(memory_left_gb() * 1e9)
    if n_bytes > free:
        raise MemoryError(f"{what} needs about {n_bytes / GIB:.2g} GiB, found {free / GIB:.2g} GiB free; {advice}")
    return free
