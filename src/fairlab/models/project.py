"""Project: a network that cannot see the sensitive subspace (Appendix F.3)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fairlab.fair_metric import FairMetric
from fairlab.models.mlp import BalancedMLP


class ProjectedMLP(BalancedMLP):
    """`BalancedMLP` after a fixed layer that projects the sensitive subspace, learned from the training data, out.

    Parameters
    ----------
    n_hidden, learning_rate, n_steps, batch_size, from_logits, random_state
        As for `BalancedMLP`.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_features)
        Of the metric learned from the training data.
    metric_ : FairMetric
        That metric.
    network_ : tuple of ndarray
        With the projection multiplied into the hidden weights.
    """

    def fit(self, X, y, *, sensitive_features) -> "ProjectedMLP":
        """Learn the subspace, then train.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of two classes.
        sensitive_features : DataFrame or array of shape (n_rows, n_attributes)
            Zeros and ones; see `fairlab.fair_metric.sensitive_directions`.
        """
        features, *start = self._start(X, y)
        self.projection_ = FairMetric.learned(X, sensitive_features).projection
        projection = self.projection_.astype(np.float32)
        self._train(features @ projection, *start)
        hidden, *others = self.network_
        self.network_ = (projection @ hidden, *others)
        return self

    @property
    def metric_(self) -> FairMetric:
        """The metric learned from the training data."""
        check_is_fitted(self)
        return FairMetric(self.projection_)
