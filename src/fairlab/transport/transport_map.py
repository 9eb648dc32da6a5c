"""What all maps from one sample to another have in common: the columns, DataFrames in and out."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_features, check_same_columns, estimator_features


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
            If the features are not what is expected.
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


def one_each(X, n_maps: int, name: str) -> list:
    """Return one sample per map: its own of an array with three dimensions, else the one that all share.

    Raises
    ------
    ValueError
        If there is not one sample for each map.
    """
    if np.ndim(X) != 3:
        return [X] * n_maps
    if len(X) != n_maps:
        raise ValueError(f"{name}: has {len(X)} samples for {n_maps} random_states, expected one each")
    return list(X)
