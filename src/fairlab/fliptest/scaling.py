"""Standardisation over both groups together, so that their difference in means survives it."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fairlab.checks import check_features, check_same_columns


class PooledScaler(BaseEstimator):
    """Zero mean and unit population variance over all groups together (FlipTest, sections 5.2 and 5.3).

    Fit it to the training draw of both groups and apply it to the test draw of either.

    Attributes
    ----------
    mean_, scale_ : Series of length n_features
        Mean and standard deviation, in the features' units.
    """

    def fit(self, *groups) -> "PooledScaler":
        """Learn means and standard deviations from one table per group, DataFrames or arrays with the same columns.

        Raises
        ------
        ValueError
            For no group, an empty one, missing values, columns that differ, or that are constant over all groups.
        """
        if not groups:
            raise ValueError("groups: expected at least one table, found none")
        tables = [check_features(group, f"group {i}") for i, group in enumerate(groups, start=1)]
        names = tables[0][1]
        for i, (_, other) in enumerate(tables[1:], start=2):
            check_same_columns(names, other, "group 1", f"group {i}")
        pooled, _ = check_features(
            pd.DataFrame(np.vstack([values for values, _ in tables]), columns=names),
            "the groups together",
            varying=True,
        )
        self.mean_ = pd.Series(pooled.mean(axis=0), index=names)
        self.scale_ = pd.Series(pooled.std(axis=0), index=names)
        return self

    def transform(self, X):
        """Return `X` in standard deviations from the mean, as the type it came in."""
        return self._apply(X, lambda values: (values - self.mean_.to_numpy()) / self.scale_.to_numpy())

    def inverse_transform(self, X):
        """Return standardised `X` in the features' units, as the type it came in."""
        return self._apply(X, lambda values: values * self.scale_.to_numpy() + self.mean_.to_numpy())

    def _apply(self, X, function):
        check_is_fitted(self)
        values, names = check_features(X, "X")
        check_same_columns(list(self.mean_.index), names, "groups of the fit", "X")
        values = function(values)
        return pd.DataFrame(values, columns=X.columns, index=X.index) if isinstance(X, pd.DataFrame) else values
